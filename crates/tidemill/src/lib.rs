//! The library's front door.
#![forbid(unsafe_code)]

pub mod console;
pub mod graph;
pub mod journal;
pub mod script;
