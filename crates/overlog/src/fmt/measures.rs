//! The width of lines, and the text of a token.

use crate::lex::Token;

/// Columns of a line.
pub const WIDTH: usize = 100;
/// Columns that the lines of a statement after its first are indented by.
pub const CONTINUATION: usize = 4;

/// The text of a token.
pub(super) fn slice<'a>(text: &'a str, token: &Token) -> &'a str {
    &text[token.span.start as usize..token.span.end as usize]
}
