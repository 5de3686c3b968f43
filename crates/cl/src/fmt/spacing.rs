//! Which tokens have no blank between them, and where a line may be broken.

use super::lines::LineKind;
use crate::lex::TokenKind;
use TokenKind::*;

/// What goes between two neighbours.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Gap {
    /// Nothing.
    Tight,
    /// A blank.
    Blank,
    /// A blank, or the end of a line that is too long otherwise.
    Break,
}

/// Walks along the tokens of a line, without its comments.
pub(super) struct Spacing {
    protocol: bool,
    previous: Option<TokenKind>,
    /// The token before that.
    before_previous: Option<TokenKind>,
    /// The token before was a sign before its operand.
    prefix: bool,
    /// The next token is the `(` of a message's parameters.
    opens_parameters: bool,
    /// Open brackets in a protocol: whether they hold parameters.
    parameters: Vec<bool>,
}

impl Spacing {
    pub(super) fn new(kind: LineKind) -> Spacing {
        let protocol = kind == LineKind::Protocol;
        Spacing {
            protocol,
            previous: None,
            before_previous: None,
            prefix: false,
            opens_parameters: false,
            parameters: Vec::new(),
        }
    }

    /// The gap before a token, after which `next` follows.
    pub(super) fn before(&mut self, kind: TokenKind, next: TokenKind) -> Gap {
        self.opens_parameters = self.protocol
            && kind == LParen
            && matches!(next, Ident | RParen)
            && self.previous == Some(Ident)
            && matches!(self.before_previous, Some(In | Out));
        let Some(previous) = self.previous else {
            self.step(kind, false);
            return Gap::Tight;
        };
        let gap = if self.prefix || self.is_tight(previous, kind) {
            Gap::Tight
        } else if self.may_break(previous, kind) {
            Gap::Break
        } else {
            Gap::Blank
        };
        let prefix = match kind {
            Tilde => true,
            Plus | Minus | Exclamation | Question => !ends_value(previous),
            _ => false,
        };
        self.step(kind, prefix);
        gap
    }

    fn step(&mut self, kind: TokenKind, prefix: bool) {
        if self.protocol {
            match kind {
                LParen | LBracket | LBrace => {
                    self.parameters.push(self.opens_parameters || self.in_parameters());
                }
                RParen | RBracket | RBrace => drop(self.parameters.pop()),
                _ => {}
            }
        }
        self.before_previous = self.previous;
        self.previous = Some(kind);
        // At the beginning of a line `!M` and `?M` speak to the client.
        self.prefix =
            prefix || self.before_previous.is_none() && matches!(kind, Exclamation | Question);
    }

    fn in_parameters(&self) -> bool {
        self.parameters.last().copied().unwrap_or(false)
    }

    fn is_tight(&self, previous: TokenKind, kind: TokenKind) -> bool {
        let spaced = self.protocol && !self.in_parameters();
        match (previous, kind) {
            (_, Comma | Semicolon | Colon) => true,
            (DotDot, _) | (_, DotDot) => true,
            (LParen | LBracket | LBrace, _) | (_, RParen | RBracket | RBrace) => !spaced,
            (Exclamation | Question, _) => true,
            (_, Exclamation | Question) => ends_value(previous),
            (_, LParen) if spaced => self.opens_parameters,
            (Ident | RParen | RBracket, LParen) => true,
            (New | Connect | Disconnect | Delete | Move | Await | Input | Exists | Any, LParen) => {
                true
            }
            (Ident | RParen | RBracket, LBracket) => !spaced,
            _ => false,
        }
    }

    fn may_break(&self, previous: TokenKind, kind: TokenKind) -> bool {
        matches!(previous, Comma | Semicolon | Assign)
            || matches!(kind, And | Or | Offers | Requires | Plus | Minus)
            || self.protocol && matches!(kind, In | Out | Bar | LBrace | LBracket | LParen)
    }
}

/// Whether an operand can end with this, so that `-`, `!`, `?` after it take it.
fn ends_value(kind: TokenKind) -> bool {
    matches!(kind, Ident | RParen | RBracket | Integer | Real | Character | Text)
        || matches!(kind, True | False | Any | Finish)
}
