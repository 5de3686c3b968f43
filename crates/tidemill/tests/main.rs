//! The library, as programs embed it.

mod borders;
mod loops;
#[path = "../../../tests/support/mutate.rs"]
mod mutate;
mod noise;
mod packets;
mod pores;
