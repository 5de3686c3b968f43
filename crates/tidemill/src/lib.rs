//! The library's front door.
#![forbid(unsafe_code)]

pub mod catalogue;
pub mod console;
pub mod graph;
pub mod journal;
pub mod script;
pub mod summary;
pub mod tuples;
