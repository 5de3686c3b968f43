//! The parts that all languages of the project share: sources, places in them, diagnostics, and the
//! parts of their readers.
//!
//! Depends on no crate of the project, and knows none of its languages.

#![forbid(unsafe_code)]

mod diagnostic;
mod names;
mod source;
pub mod text;

pub use diagnostic::{Diagnostic, MORE_FINDINGS, Severity, add_limited, given_up, has_errors};
pub use names::{meant, nearest, nearest_three};
pub use source::{FileId, LineColumn, Sources, Span};
