//! Small tools that every other crate uses.
//!
//! Knows nothing of loops, relations, processes or packets, and depends on no crate of the project.

pub mod cache;
pub mod calendar;
pub mod copy;
pub mod decimal;
pub mod frozen;
pub mod hash;
pub mod id;
pub mod internet;
pub mod keyed;
pub mod log;
pub mod marks;
pub mod ordered;
pub mod region;
pub mod rng;
pub mod scc;
pub mod sort;
pub mod sorted;
