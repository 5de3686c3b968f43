//! The library's front door.
#![forbid(unsafe_code)]

pub mod script;
