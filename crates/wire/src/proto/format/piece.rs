//! Tokens and comments with what is between them.

use super::super::lex::TokenKind;

/// A token or a comment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum PieceKind {
    Token(TokenKind),
    /// A comment up to the end of its line.
    LineComment,
    /// A comment between `/*` and `*/`.
    BlockComment,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Piece<'t> {
    pub(super) kind: PieceKind,
    pub(super) text: &'t str,
    /// The ends of lines before it.
    pub(super) lines: usize,
    /// It follows the previous piece at once.
    pub(super) is_adjacent: bool,
}

impl Piece<'_> {
    pub(super) fn is_sign(&self, sign: u8) -> bool {
        self.kind == PieceKind::Token(TokenKind::Sign(sign))
    }

    pub(super) fn is_comment(&self) -> bool {
        matches!(self.kind, PieceKind::LineComment | PieceKind::BlockComment)
    }
}
