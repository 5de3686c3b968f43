//! The rule language: from a source to a running node.
#![forbid(unsafe_code)]

pub mod ast;
pub mod fleet;
pub mod fmt;
pub mod lex;
pub mod net;
pub mod node;
pub mod parse;
pub mod pre;
pub mod program;
pub mod stage;
