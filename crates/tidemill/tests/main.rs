//! The library, as programs embed it.

mod borders;
mod decode;
mod loops;
mod messages;
mod noise;
mod packets;
mod pores;
mod sinks;
mod system;
