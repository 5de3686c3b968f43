//! The component language: from a source to components that run.
//!
//! ```text
//! lex, parse -> ast -> check -> tree -> lower -> ir -> interpret
//!                                                   | optimise -> compile
//! fmt: tokens -> tokens
//! ```
#![deny(unsafe_code)]

pub mod ast;
pub mod check;
pub mod compile;
pub mod fmt;
pub mod interpret;
pub mod ir;
pub mod lex;
pub mod lower;
pub mod optimise;
pub mod parse;
pub mod system;
pub mod tree;
