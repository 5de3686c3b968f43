//! The conditions of `#if` and `#elif`: whole numbers, `defined NAME`, and the operators of C.
//!
//! Macros in it are expanded; a name that is none is 0. From the loosest to the tightest:
//! `||`, `&&`, `|`, `^`, `&`, `== !=`, `< <= > >=`, `<< >>`, `+ -`, `* / %`, `! ~ + -`.

use super::Preprocessor;
use crate::lex::{Sym, Token, TokenKind};
use tidemill_diag::{Diagnostic, Span};

/// Operators by how tightly they bind.
const LEVELS: &[&[Sym]] = &[
    &[Sym::OrOr],
    &[Sym::AndAnd],
    &[Sym::Bar],
    &[Sym::Caret],
    &[Sym::And],
    &[Sym::EqEq, Sym::NotEq],
    &[Sym::Less, Sym::LessEq, Sym::Greater, Sym::GreaterEq],
    &[Sym::Shl, Sym::Shr],
    &[Sym::Plus, Sym::Minus],
    &[Sym::Star, Sym::Slash, Sym::Percent],
];

/// Parentheses and signs within each other.
const DEPTH_MAX: usize = 64;

/// An error in a condition, with its place.
struct ConditionError(Span, &'static str);

struct ConditionReader<'t> {
    tokens: &'t [Token],
    at: usize,
    depth: usize,
    /// The place of the directive.
    line: Span,
}

impl Preprocessor<'_> {
    /// Whether the condition after `#if` or `#elif` holds; an invalid one is reported.
    pub(super) fn holds(&mut self, line: Span, condition: &[Token]) -> bool {
        let mut tokens = Vec::new();
        let mut rest = condition.iter().peekable();
        while let Some(token) = rest.next() {
            if let Some(error) = &token.error {
                self.report((**error).clone());
                return false;
            }
            if token.kind.word() != Some("defined") {
                tokens.push(token.clone());
                continue;
            }
            let open = rest.next_if(|next| next.kind == TokenKind::Sym(Sym::LParen));
            let name = rest.next().and_then(|next| next.kind.word());
            let closed = open.is_none()
                || rest.next_if(|it| it.kind == TokenKind::Sym(Sym::RParen)).is_some();
            let Some(name) = name.filter(|_| closed) else {
                let error =
                    Diagnostic::error("bad-directive", token.span, "what is to be defined?");
                self.report(error.help("write `defined NAME` or `defined(NAME)`"));
                return false;
            };
            let is_defined = self.current.contains_key(name);
            tokens.push(Token { kind: TokenKind::Int(u64::from(is_defined)), ..token.clone() });
        }
        let tokens = self.expand_condition(&tokens, line);
        let mut reader = ConditionReader { tokens: &tokens, at: 0, depth: 0, line };
        let value = reader.level(0).and_then(|value| match reader.peek() {
            None => Ok(value),
            Some(token) => Err(ConditionError(token.span, "an operator is missing before it")),
        });
        match value {
            Ok(value) => value != 0,
            Err(ConditionError(span, message)) => {
                let error = Diagnostic::error("bad-directive", span, message);
                self.report(
                    error.help(
                        "a condition has whole numbers, `defined NAME`, macros and operators",
                    ),
                );
                false
            }
        }
    }
}

impl ConditionReader<'_> {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    fn next_if(&mut self, symbols: &[Sym]) -> Option<Sym> {
        let TokenKind::Sym(found) = self.peek()?.kind else { return None };
        let found = symbols.contains(&found).then_some(found)?;
        self.at += 1;
        Some(found)
    }

    fn level(&mut self, level: usize) -> Result<i64, ConditionError> {
        let Some(symbols) = LEVELS.get(level) else { return self.operand() };
        let mut left = self.level(level + 1)?;
        while let Some(symbol) = self.next_if(symbols) {
            let span = self.tokens[self.at - 1].span;
            let right = self.level(level + 1)?;
            left = apply(symbol, left, right)
                .ok_or(ConditionError(span, "this has no value of 64 bits"))?;
        }
        Ok(left)
    }

    fn operand(&mut self) -> Result<i64, ConditionError> {
        if self.depth == DEPTH_MAX {
            return Err(ConditionError(self.line, "the condition nests too deeply"));
        }
        let Some(token) = self.peek() else {
            return Err(ConditionError(self.line, "a value is missing"));
        };
        let (kind, span) = (token.kind.clone(), token.span);
        self.at += 1;
        self.depth += 1;
        let value = match kind {
            TokenKind::Int(value) => {
                i64::try_from(value).map_err(|_| ConditionError(span, "the number is too large"))
            }
            TokenKind::Name(_) | TokenKind::Var(_) => Ok(0),
            TokenKind::Sym(Sym::Not) => self.operand().map(|value| i64::from(value == 0)),
            TokenKind::Sym(Sym::Tilde) => self.operand().map(|value| !value),
            TokenKind::Sym(Sym::Minus) => self.operand().map(i64::wrapping_neg),
            TokenKind::Sym(Sym::Plus) => self.operand(),
            TokenKind::Sym(Sym::LParen) => {
                let value = self.level(0)?;
                match self.next_if(&[Sym::RParen]) {
                    Some(_) => Ok(value),
                    None => Err(ConditionError(span, "this is not closed")),
                }
            }
            _ => Err(ConditionError(span, "this is no whole number")),
        };
        self.depth -= 1;
        value
    }
}

fn apply(symbol: Sym, a: i64, b: i64) -> Option<i64> {
    let truth = |it: bool| Some(i64::from(it));
    let shift = || u32::try_from(b).ok();
    match symbol {
        Sym::OrOr => truth(a != 0 || b != 0),
        Sym::AndAnd => truth(a != 0 && b != 0),
        Sym::Bar => Some(a | b),
        Sym::Caret => Some(a ^ b),
        Sym::And => Some(a & b),
        Sym::EqEq => truth(a == b),
        Sym::NotEq => truth(a != b),
        Sym::Less => truth(a < b),
        Sym::LessEq => truth(a <= b),
        Sym::Greater => truth(a > b),
        Sym::GreaterEq => truth(a >= b),
        Sym::Shl => a.checked_shl(shift()?),
        Sym::Shr => a.checked_shr(shift()?),
        Sym::Plus => a.checked_add(b),
        Sym::Minus => a.checked_sub(b),
        Sym::Star => a.checked_mul(b),
        Sym::Slash => a.checked_div(b),
        Sym::Percent => a.checked_rem(b),
        _ => None,
    }
}
