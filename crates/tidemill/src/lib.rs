//! The library's front door.
#![forbid(unsafe_code)]

pub mod graph;
pub mod script;
