//! What the languages of the house need alike: sources, places in them, what is wrong there, and
//! pieces of their readers.
//!
//! Depends on no crate of the house, and knows none of its languages.

#![forbid(unsafe_code)]

mod diagnostic;
mod names;
mod source;
pub mod text;

pub use diagnostic::{Diagnostic, Severity, has_errors};
pub use names::{meant, nearest, nearest_three};
pub use source::{FileId, LineColumn, Sources, Span};
