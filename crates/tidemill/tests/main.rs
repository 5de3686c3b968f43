//! The library, as programs embed it.

mod borders;
mod loops;
mod noise;
mod packets;
mod pores;
mod system;
