//! The rule language: from a source to a running node.
//!
//! ```text
//! pre, lex, parse -> ast -> check, translate -> ir -> rewrite, localise, stratify -> lower -> plan
//!                                                                                             |
//!                              net <- fleet (the loop) -> node <- program (compiled) <--------+
//! ```
#![forbid(unsafe_code)]

pub mod absent;
pub mod arrivals;
pub mod ast;
mod check;
mod compile;
pub mod control;
pub mod exports;
pub mod fleet;
pub mod fmt;
mod glance;
pub mod global;
mod ir;
pub mod lex;
mod localise;
mod lower;
pub mod mutants;
mod names;
pub mod net;
pub mod node;
mod options;
pub mod parse;
pub mod pre;
pub mod program;
pub mod query;
mod rewrite;
pub mod sequential;
pub mod stage;
mod stratify;
pub mod traces;
mod translate;

pub use check::system::is_predeclared;
pub use compile::compile;
pub use options::{ForeignTable, Given, Options};
