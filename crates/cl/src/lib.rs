//! The component language: from a source to components that run.
//!
//! ```text
//! lex, parse -> ast -> check -> tree -> lower -> ir -> interpret | compile
//! ```
#![forbid(unsafe_code)]

pub mod ast;
pub mod ir;
pub mod lower;
pub mod tree;
