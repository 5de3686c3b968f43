//! The rule language: from a source to a running node.
#![forbid(unsafe_code)]

pub mod ast;
mod check;
mod compile;
mod ir;
pub mod lex;
mod localise;
mod lower;
pub mod net;
pub mod node;
pub mod parse;
pub mod pre;
pub mod program;
mod rewrite;
mod stratify;
mod translate;

pub use compile::{Options, compile};
