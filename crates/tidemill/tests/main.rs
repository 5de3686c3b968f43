//! The library, as programs embed it.

mod loops;
#[path = "../../../tests/support/mutate.rs"]
mod mutate;
mod noise;
mod packets;
mod pores;
