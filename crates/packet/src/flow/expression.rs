//! Expressions of kernels: from tokens to a tree.

use super::code::address::{address, net};
use super::code::ast::{Constant, Expr, ExprKind, Net};
use super::lex::TokenKind;
use super::literal::Literal;
use super::parse::Parser;

/// How addresses are written.
const ADDRESSES: &str = "texts are \"10.0.0.1\", \"2001:db8::1\" or \"02:00:00:00:00:01\"";

/// Parts of an expression.
const PARTS_MAX: u32 = 200;

/// Binary operators, and how tightly they bind.
const OPERATORS: [(&str, u32); 19] = [
    ("||", 1),
    ("&&", 2),
    ("==", 3),
    ("!=", 3),
    ("<=", 3),
    (">=", 3),
    ("<", 3),
    (">", 3),
    ("in", 3),
    ("|", 4),
    ("^", 5),
    ("&", 6),
    ("<<", 7),
    (">>", 7),
    ("+", 8),
    ("-", 8),
    ("*", 9),
    ("/", 9),
    ("%", 9),
];

impl Parser<'_> {
    pub(super) fn expr(&mut self) -> Option<Expr> {
        let mut parts = PARTS_MAX;
        self.operators(0, &mut parts)
    }

    fn spend(&mut self, parts: &mut u32) -> Option<()> {
        if *parts == 0 {
            self.expected("a shorter expression", "name a part of it with `let`");
            return None;
        }
        *parts -= 1;
        Some(())
    }

    fn operator(&self) -> Option<(&'static str, u32)> {
        let text = match *self.kind() {
            TokenKind::Name => self.source(),
            TokenKind::Operator(text) => text,
            TokenKind::Mark(_) => self.source(),
            // `a -1` is a difference.
            TokenKind::Integer(_) | TokenKind::Double(_) if self.source().starts_with('-') => "-",
            _ => return None,
        };
        OPERATORS.iter().find(|(operator, _)| *operator == text).copied()
    }

    fn operators(&mut self, least: u32, parts: &mut u32) -> Option<Expr> {
        let mut left = self.operand(parts)?;
        while let Some((operator, binds)) = self.operator().filter(|(_, binds)| *binds > least) {
            self.spend(parts)?;
            let at = self.at;
            match self.tokens[at].kind {
                TokenKind::Integer(number) => {
                    self.tokens[at].kind = TokenKind::Integer(-number);
                    self.tokens[at].start += 1;
                }
                _ => self.advance(),
            }
            let start = left.span;
            let (kind, end) = if operator == "in" {
                (ExprKind::In(Box::new(left), self.net()?), self.before())
            } else {
                let right = self.operators(binds, parts)?;
                let end = right.span;
                (ExprKind::Binary(operator, Box::new(left), Box::new(right)), end)
            };
            left = Expr { kind, span: start.to(end) };
        }
        Some(left)
    }

    fn net(&mut self) -> Option<Net> {
        let found = match self.literal() {
            Some(Literal::Text(text)) => net(&text),
            // A parameter whose value is not known yet.
            Some(_) if self.kind() == &TokenKind::Parameter && self.values.is_none() => {
                Some(Net { net: 0, mask: 0, is_ipv6: false })
            }
            _ => None,
        };
        match found {
            Some(_) => self.advance(),
            None => self.expected(
                "a prefix",
                "write \"10.0.0.0/8\" or \"2001:db8::/32\"; bits after its length are 0",
            ),
        }
        found
    }

    fn literal_kind(&mut self, literal: &Literal) -> Option<ExprKind> {
        match literal {
            // A negative one is taken modulo 2^64.
            Literal::Integer(number) => {
                return Some(ExprKind::Constant(Constant::Number(*number as u64)));
            }
            Literal::Bool(truth) => return Some(ExprKind::Constant(Constant::Bool(*truth))),
            Literal::Text(text) => {
                if let Some(constant) = address(text) {
                    return Some(ExprKind::Constant(constant));
                }
                let help = if net(text).is_some() {
                    "compare an address with a prefix by `in`: `ipv4.source in \"10.0.0.0/8\"`"
                } else {
                    ADDRESSES
                };
                self.expected("an address", help);
            }
            Literal::Double(_) => {
                self.expected("an expression", "numbers of programs are whole");
            }
        }
        None
    }

    /// Behind the `(` of a call.
    fn arguments(&mut self, parts: &mut u32) -> Option<Vec<Expr>> {
        let mut all = Vec::new();
        while !self.takes(&TokenKind::Mark(')')) {
            all.push(self.operators(0, parts)?);
            let goes_on = self.takes(&TokenKind::Mark(','));
            if !goes_on && self.kind() != &TokenKind::Mark(')') {
                self.expected("`,` or `)`", "close the parenthesis");
                return None;
            }
        }
        Some(all)
    }

    fn operand(&mut self, parts: &mut u32) -> Option<Expr> {
        self.spend(parts)?;
        let start = self.span();
        if let Some(literal) = self.literal() {
            let kind = self.literal_kind(&literal)?;
            self.advance();
            return Some(Expr { kind, span: start });
        }
        let kind = match self.kind().clone() {
            TokenKind::Mark(mark @ ('!' | '-' | '~')) => {
                self.advance();
                ExprKind::Unary(mark, Box::new(self.operand(parts)?))
            }
            TokenKind::Mark('(') => {
                self.advance();
                let inner = self.operators(0, parts)?;
                self.mark(')', "close the parenthesis")?;
                return Some(inner);
            }
            TokenKind::Name => {
                let name = self.name("a name", "")?;
                if self.takes(&TokenKind::Mark('.')) {
                    ExprKind::Field(name, self.name("a field", "write `header.field`")?)
                } else if self.takes(&TokenKind::Mark('(')) {
                    ExprKind::Call(name, self.arguments(parts)?)
                } else {
                    ExprKind::Name(name.text)
                }
            }
            _ => {
                self.expected(
                    "an expression",
                    "a number, an address, a name, header.field, function(argument)",
                );
                return None;
            }
        };
        let span = start.to(self.before());
        Some(Expr { kind, span })
    }
}
