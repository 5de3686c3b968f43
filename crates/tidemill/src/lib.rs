//! The library's front door.
#![forbid(unsafe_code)]

pub mod ask;
pub mod catalogue;
pub mod console;
pub mod ended;
pub mod graph;
pub mod journal;
pub mod load;
pub mod run;
pub mod script;
pub mod sim;
pub mod summary;
pub mod tuples;
