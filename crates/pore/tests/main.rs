//! Pores of each kind, and what a hostile peer may do.

mod common;
mod descriptors;
mod noise;
mod packet;
mod pores;
mod uring;
mod xenstore;
