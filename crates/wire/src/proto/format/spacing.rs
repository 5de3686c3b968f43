//! The blanks between two pieces of one line.

use super::super::lex::TokenKind;
use super::nesting::{Bracket, Nesting};
use super::piece::{Piece, PieceKind};

/// The blanks between two pieces; the nesting is that after the first.
pub(super) fn between(before: &Piece<'_>, after: &Piece<'_>, nesting: &Nesting) -> &'static str {
    match after.kind {
        PieceKind::LineComment => return "  ",
        PieceKind::BlockComment => return " ",
        PieceKind::Token(_) if before.is_comment() => return " ",
        PieceKind::Token(_) => {}
    }
    if is_tight_after(before, after, nesting) || is_tight_before(before, after, nesting) {
        ""
    } else {
        " "
    }
}

/// Whether nothing is between a token and what follows it.
fn is_tight_after(before: &Piece<'_>, after: &Piece<'_>, nesting: &Nesting) -> bool {
    let PieceKind::Token(TokenKind::Sign(sign)) = before.kind else { return false };
    match sign {
        b'(' | b'[' | b'-' | b'+' => true,
        b'<' => nesting.inside() == Some(Bracket::Map),
        b'{' => after.is_sign(b'}'),
        b'.' | b'/' => after.is_adjacent,
        _ => false,
    }
}

/// Whether nothing is between a token and what precedes it.
fn is_tight_before(before: &Piece<'_>, after: &Piece<'_>, nesting: &Nesting) -> bool {
    let PieceKind::Token(TokenKind::Sign(sign)) = after.kind else { return false };
    let is_after_word = before.kind == PieceKind::Token(TokenKind::Word);
    match sign {
        b';' | b',' | b')' | b']' | b':' => true,
        b'>' => nesting.inside() == Some(Bracket::Map),
        b'<' => nesting.opening(sign) == Bracket::Map,
        b'(' => is_after_word && !matches!(before.text, "option" | "returns"),
        b'.' | b'/' => after.is_adjacent,
        _ => false,
    }
}
