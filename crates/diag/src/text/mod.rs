//! Parts of readers of texts: a cursor, numbers, escapes, comments, tokens, and the reader of
//! textual IRs.
//!
//! None of it knows a language: it finds the ends and the values of tokens, and returns errors as
//! values. Messages, and what may follow, are up to the language.

mod comment;
mod cursor;
mod escape;
pub mod ir;
pub mod number;
pub mod verify;

pub use comment::{Block, block_comment};
pub use cursor::{Cursor, is_blank, is_word, is_word_start};
pub use escape::{BadEscape, LETTERS, escape};
