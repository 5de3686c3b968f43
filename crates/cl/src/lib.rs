//! The component language: from a source to components that run.
//!
//! ```text
//! lex, parse -> ast         fmt: tokens -> tokens
//! ```
#![forbid(unsafe_code)]

pub mod ast;
pub mod fmt;
pub mod lex;
pub mod parse;
