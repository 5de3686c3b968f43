//! The common layout of `.proto` texts.
//!
//! ```text
//! tokens and comments --> [spacing] what is between two on one line
//!                     --> [nesting] how far a line is indented
//! ```
//! Lines stay lines: they are indented by two blanks more than the line with the bracket around
//! them, and by four more if they continue a statement. Of several empty lines one is left. Tokens
//! and comments stay as they are; so does the meaning.

use tidemill_diag::{Diagnostic, FileId};

use super::compile::syntax_errors;
use super::lex::{Token, TokenKind, lex};

mod nesting;
mod piece;
mod spacing;

use nesting::Nesting;
use piece::{Piece, PieceKind};

/// Formats a text.
///
/// # Errors
/// The errors in its syntax; names and types are not checked.
pub fn format(file: FileId, text: &str) -> Result<String, Vec<Diagnostic>> {
    let errors = syntax_errors(file, text);
    if !errors.is_empty() {
        return Err(errors);
    }
    Ok(lay_out(&pieces(text)))
}

/// The tokens and comments of a text without errors.
fn pieces(text: &str) -> Vec<Piece<'_>> {
    let tokens = lex(text, crate::schema::FileId::default(), &mut Vec::new());
    let (mut pieces, mut at) = (Vec::with_capacity(tokens.len()), 0);
    for Token { kind, start, end } in tokens {
        let (start, end) = (start as usize, end as usize);
        let (lines, is_adjacent) = gap(text.get(at..start).unwrap_or(""), &mut pieces);
        if kind != TokenKind::End {
            let text = text.get(start..end).unwrap_or("");
            pieces.push(Piece { kind: PieceKind::Token(kind), text, lines, is_adjacent });
        }
        at = end;
    }
    pieces
}

/// Adds the comments between two tokens. Returns the ends of lines after the last of them, and
/// whether nothing is there.
fn gap<'t>(mut gap: &'t str, pieces: &mut Vec<Piece<'t>>) -> (usize, bool) {
    let mut is_adjacent = true;
    loop {
        let Some(begin) = gap.find('/') else {
            return (gap.matches('\n').count(), is_adjacent && gap.is_empty());
        };
        let (blank, rest) = gap.split_at(begin);
        let (kind, end) = if rest.starts_with("//") {
            (PieceKind::LineComment, rest.find('\n').unwrap_or(rest.len()))
        } else {
            (PieceKind::BlockComment, rest.find("*/").map_or(rest.len(), |at| at + 2))
        };
        let (text, after) = rest.split_at(end);
        let lines = blank.matches('\n').count();
        pieces.push(Piece { kind, text: text.trim_end(), lines, is_adjacent: blank.is_empty() });
        (gap, is_adjacent) = (after, true);
    }
}

fn lay_out(pieces: &[Piece<'_>]) -> String {
    let mut out = String::new();
    let mut nesting = Nesting::default();
    for (at, piece) in pieces.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|at| pieces.get(at));
        // What follows a comment up to the end of its line is on the next.
        match before {
            Some(before) if piece.lines == 0 && before.kind != PieceKind::LineComment => {
                out.push_str(spacing::between(before, piece, &nesting));
            }
            _ => {
                let is_after_opening = before.is_none_or(|before| before.is_sign(b'{'));
                end_line(&mut out, piece, is_after_opening);
                out.push_str(&" ".repeat(nesting.begin_line(piece)));
            }
        }
        write(&mut out, piece, &nesting);
        nesting.pass(piece);
    }
    if !out.is_empty() {
        out.push('\n');
    }
    out
}

/// Ends a line before a piece; an empty one is kept, except at the ends of a block.
fn end_line(out: &mut String, next: &Piece<'_>, is_after_opening: bool) {
    if out.is_empty() {
        return;
    }
    out.push('\n');
    if next.lines > 1 && !is_after_opening && !next.is_sign(b'}') {
        out.push('\n');
    }
}

/// Writes a piece; later lines of a comment that begin with a star are below its first one.
fn write(out: &mut String, piece: &Piece<'_>, nesting: &Nesting) {
    let mut lines = piece.text.lines();
    out.push_str(lines.next().unwrap_or("").trim_end());
    for line in lines {
        out.push('\n');
        let line = line.trim_end();
        match line.trim_start() {
            starred if starred.starts_with('*') => {
                out.push_str(&" ".repeat(nesting.line() + 1));
                out.push_str(starred);
            }
            _ => out.push_str(line),
        }
    }
}
