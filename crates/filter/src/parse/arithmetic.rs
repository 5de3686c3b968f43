//! Numbers that are computed: `tcp[12] >> 4 << 2`, and relations between them.
//!
//! From loose to tight, all from the left: `|`, `&`, `<< >>`, `+ -`, `* /`; then a sign, then `[ ]`
//! and parentheses. `%` and `^` bind tighter than all on their left and looser than all on their
//! right, as libpcap reads them: `8 * 7 % 2 + 1` is `8 * (7 % (2 + 1))`.

use tidemill_diag::Diagnostic;

use super::{Parsed, Parser};
use crate::ast::{Arithmetic, ArithmeticKind, Operator, PrimitiveKind, Protocol, Relation};
use crate::lex::TokenKind;

/// Operators that take everything on their right as their right side.
const GREEDY: &[Operator] = &[Operator::Remainder, Operator::Xor];

const LEVELS: [&[Operator]; 5] = [
    &[Operator::Or],
    &[Operator::And],
    &[Operator::ShiftLeft, Operator::ShiftRight],
    &[Operator::Add, Operator::Subtract],
    &[Operator::Multiply, Operator::Divide],
];

/// In one relation.
const OPERATORS_MAX: u32 = 200;

/// A sign that continues a number.
fn continues(kind: &TokenKind) -> bool {
    matches!(
        kind,
        TokenKind::Sign(
            "+" | "-"
                | "*"
                | "/"
                | "%"
                | "&"
                | "|"
                | "^"
                | "<<"
                | ">>"
                | "="
                | "!="
                | "<"
                | "<="
                | ">"
                | ">="
        )
    )
}

impl Parser<'_> {
    /// True if what begins here is the left side of a relation.
    pub(super) fn number_begins(&self) -> bool {
        match self.kind() {
            TokenKind::Number(_) => continues(self.kind_at(self.at + 1)),
            TokenKind::Word("len") | TokenKind::Sign("-") => true,
            TokenKind::Word(_) => matches!(self.kind_at(self.at + 1), TokenKind::Sign("[")),
            TokenKind::Sign("(") => {
                let behind = self.closing[self.at].saturating_add(1);
                behind != usize::MAX && continues(self.kind_at(behind))
            }
            _ => false,
        }
    }

    pub(super) fn relation(&mut self) -> Parsed<PrimitiveKind> {
        self.operators = 0;
        let left = self.sum(0)?;
        let relation = match self.kind() {
            TokenKind::Sign("=") => Relation::Equal,
            TokenKind::Sign("!=") => Relation::NotEqual,
            TokenKind::Sign("<") => Relation::Less,
            TokenKind::Sign("<=") => Relation::LessOrEqual,
            TokenKind::Sign(">") => Relation::Greater,
            TokenKind::Sign(">=") => Relation::GreaterOrEqual,
            _ => return Err(self.unexpected("a relation (`=`, `!=`, `<`, `<=`, `>` or `>=`)")),
        };
        self.at += 1;
        let right = self.sum(0)?;
        Ok(PrimitiveKind::Relation(relation, left, right))
    }

    fn operator(&self, level: &[Operator]) -> Option<Operator> {
        let TokenKind::Sign(sign) = self.kind() else { return None };
        level.iter().copied().find(|operator| operator.sign() == *sign)
    }

    fn sum(&mut self, level: usize) -> Parsed<Arithmetic> {
        let Some(operators) = LEVELS.get(level) else { return self.greedy() };
        let start = self.at;
        let mut left = self.sum(level + 1)?;
        while let Some(operator) = self.operator(operators) {
            // In a row, each hangs one level below the next.
            self.operators += 1;
            if self.operators > OPERATORS_MAX {
                let message = format!("more than {OPERATORS_MAX} operators in one relation");
                let span = self.since(start);
                return Err(self.note(Diagnostic::error("nesting-too-deep", span, message)));
            }
            self.at += 1;
            let right = self.sum(level + 1)?;
            let kind = ArithmeticKind::Binary(operator, Box::new(left), Box::new(right));
            left = Arithmetic { kind, span: self.since(start) };
        }
        Ok(left)
    }

    /// `a`, `a % whatever + follows`
    fn greedy(&mut self) -> Parsed<Arithmetic> {
        let start = self.at;
        let left = self.factor()?;
        let Some(operator) = self.operator(GREEDY) else { return Ok(left) };
        self.at += 1;
        let right = self.deeper(|parser| parser.sum(0))?;
        let kind = ArithmeticKind::Binary(operator, Box::new(left), Box::new(right));
        Ok(Arithmetic { kind, span: self.since(start) })
    }

    fn factor(&mut self) -> Parsed<Arithmetic> {
        self.deeper(|parser| {
            let start = parser.at;
            let kind = match *parser.kind() {
                TokenKind::Number(number) => {
                    parser.at += 1;
                    ArithmeticKind::Number(number)
                }
                TokenKind::Word("len") => {
                    parser.at += 1;
                    ArithmeticKind::Length
                }
                TokenKind::Sign("-") => {
                    parser.at += 1;
                    ArithmeticKind::Negate(Box::new(parser.factor()?))
                }
                TokenKind::Sign("(") => {
                    parser.at += 1;
                    let inner = parser.sum(0)?;
                    if !parser.take_sign(")") {
                        return Err(parser.unexpected("`)`"));
                    }
                    return Ok(inner);
                }
                TokenKind::Word(word) => match Protocol::of(word) {
                    Some(protocol) => parser.load(protocol)?,
                    None => return Err(parser.unexpected("a number")),
                },
                _ => return Err(parser.unexpected("a number")),
            };
            Ok(Arithmetic { kind, span: parser.since(start) })
        })
    }

    /// `tcp[index]`, `tcp[index : bytes]`
    fn load(&mut self, protocol: Protocol) -> Parsed<ArithmeticKind> {
        self.at += 1;
        if !self.take_sign("[") {
            return Err(self.unexpected("`[`"));
        }
        let index = self.sum(0)?;
        let mut bytes = 1;
        if self.take_sign(":") {
            bytes = match *self.kind() {
                TokenKind::Number(bytes @ (1 | 2 | 4)) => bytes,
                TokenKind::Number(_) => {
                    let message = "a load has 1, 2 or 4 bytes";
                    let span = self.span();
                    self.note(Diagnostic::error("load-size", span, message));
                    1
                }
                _ => return Err(self.unexpected("1, 2 or 4")),
            };
            self.at += 1;
        }
        if !self.take_sign("]") {
            return Err(self.unexpected("`]`"));
        }
        Ok(ArithmeticKind::Load(protocol, Box::new(index), bytes))
    }
}
