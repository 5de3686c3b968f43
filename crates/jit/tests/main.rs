//! Modules, calls and code, as generators use them.

#[macro_use]
mod common;

mod calls;
mod cost;
mod errors;
mod names;
mod tail;
mod threads;
