//! The library, as programs embed it.

mod borders;
mod loops;
mod messages;
mod noise;
mod packets;
mod pores;
mod system;
