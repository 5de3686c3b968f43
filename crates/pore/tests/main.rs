//! Pores of each kind, and what a hostile peer may do.

mod common;
mod descriptors;
#[path = "../../../tests/support/mutate.rs"]
mod mutate;
mod noise;
mod packet;
mod pores;
mod uring;
mod xenstore;
