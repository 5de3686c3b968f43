//! The open brackets at a point of a text, and how far lines are indented there.

use super::super::lex::TokenKind;
use super::piece::{Piece, PieceKind};

/// Blanks for each open bracket.
const STEP: usize = 2;

/// Blanks before the rest of a statement.
const CONTINUED: usize = 4;

/// The kind of a bracket.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Bracket {
    /// Around statements.
    Block,
    /// Around the fields of a value, which need no separators.
    Value,
    /// Around the types of a map.
    Map,
    /// Any other.
    List,
}

/// What the last token is for the next line.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
enum Last {
    /// The end of a statement or a field, or a bracket that opens.
    #[default]
    Complete,
    /// `=` or `:`.
    Assigns,
    /// The word of a map.
    Map,
    /// A string.
    String,
    /// Any other.
    Open,
}

/// The open brackets.
#[derive(Default, Debug)]
pub(super) struct Nesting {
    /// Each with the indentation of the line that it is on.
    open: Vec<(Bracket, usize)>,
    last: Last,
    /// The indentation of the present line.
    line: usize,
}

impl Nesting {
    /// The innermost bracket.
    pub(super) fn inside(&self) -> Option<Bracket> {
        self.open.last().map(|(bracket, _)| *bracket)
    }

    /// The kind of a bracket that opens here.
    pub(super) fn opening(&self, sign: u8) -> Bracket {
        let is_value = self.last == Last::Assigns || self.inside() == Some(Bracket::Value);
        match sign {
            b'<' if self.last == Last::Map => Bracket::Map,
            b'{' | b'<' if is_value => Bracket::Value,
            b'{' => Bracket::Block,
            _ => Bracket::List,
        }
    }

    /// Begins a line with a piece; returns the blanks before it.
    pub(super) fn begin_line(&mut self, piece: &Piece<'_>) -> usize {
        self.line = self.indentation(piece);
        self.line
    }

    /// The indentation of the present line.
    pub(super) fn line(&self) -> usize {
        self.line
    }

    fn indentation(&self, piece: &Piece<'_>) -> usize {
        let around = self.open.last().map(|(_, line)| *line);
        if is_closing(piece.kind) {
            return around.unwrap_or_default();
        }
        let is_string = piece.kind == PieceKind::Token(TokenKind::String);
        let continues = match self.last {
            Last::Complete => false,
            Last::Assigns => true,
            Last::String if self.inside() == Some(Bracket::Value) => is_string,
            _ => self.inside() != Some(Bracket::Value),
        };
        around.map_or(0, |line| line + STEP) + if continues { CONTINUED } else { 0 }
    }

    /// Passes a piece.
    pub(super) fn pass(&mut self, piece: &Piece<'_>) {
        let PieceKind::Token(kind) = piece.kind else { return };
        match kind {
            TokenKind::Sign(sign @ (b'{' | b'[' | b'(' | b'<')) => {
                self.open.push((self.opening(sign), self.line));
                self.last = Last::Complete;
            }
            TokenKind::Sign(sign @ (b'}' | b']' | b')' | b'>')) => {
                self.open.pop();
                self.last = if sign == b'}' { Last::Complete } else { Last::Open };
            }
            TokenKind::Sign(b';' | b',') => self.last = Last::Complete,
            TokenKind::Sign(b'=' | b':') => self.last = Last::Assigns,
            TokenKind::Word if piece.text == "map" => self.last = Last::Map,
            TokenKind::String => self.last = Last::String,
            _ => self.last = Last::Open,
        }
    }
}

fn is_closing(kind: PieceKind) -> bool {
    matches!(kind, PieceKind::Token(TokenKind::Sign(b'}' | b']' | b')' | b'>')))
}
