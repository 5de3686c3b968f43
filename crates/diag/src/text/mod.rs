//! What readers of texts are made of: a cursor, numbers, escapes, comments, tokens, and the reader
//! of textual IRs.
//!
//! None of it knows a language: it finds where things end and what digits are worth, and says what
//! is wrong as a value; what to say of it, and what else may follow, is the language's.

mod comment;
mod cursor;
mod escape;
pub mod ir;
pub mod number;

pub use comment::{Block, block_comment};
pub use cursor::{Cursor, is_blank, is_word, is_word_start};
pub use escape::{BadEscape, LETTERS, escape};
