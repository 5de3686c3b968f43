//! The component language: from a source to components that run.
//!
//! ```text
//! lex, parse -> ast
//! ```
#![forbid(unsafe_code)]

pub mod ast;
