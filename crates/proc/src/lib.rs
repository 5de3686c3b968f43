//! Micro-processes: the run-time of components.
pub mod entry;
pub mod layout;
mod memory;
pub mod program;
mod worker;
