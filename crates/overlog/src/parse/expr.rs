//! Values and conditions.
//!
//! From loose to tight; operators of one line bind from left to right:
//!
//! ```text
//! ||
//! &&
//! == != <>            conditions: their operands are values
//! < > <= >=           these do not chain
//! !  in               `!` takes the comparison after it; `in` takes the value before it
//! |                   values from here on
//! |||
//! ^
//! &
//! ~                   before its operand, which is all that binds tighter
//! << >>
//! + -
//! * / % **
//! -                   before its operand
//! ```
//!
//! Conditions have values as operands, never the other way round: that decides where the order of
//! the operators alone would not. `A & B == C` compares `A & B` with `C`, and `!A == B` is the
//! opposite of `A == B`. A condition in parentheses is a value.

use super::{CONDITIONAL, HEIGHT_MAX, NESTING_MAX, Parsed, Parser};
use crate::ast::{BinaryOp, Expr, ExprKind, Ident, Literal, Range, UnaryOp};
use crate::lex::{Sym, TokenKind};
use tidemill_diag::{Diagnostic, Span};
use tidemill_relation::aggregate::Aggregate;
use tidemill_relation::function::FunctionId;

/// The level of `<<`: what `~` takes.
const SHIFT: u8 = 5;
/// The level of `|`: the loosest of values.
pub(super) const VALUE: u8 = 1;
/// The level above `|`: what an element of a list pattern takes.
const ELEMENT: u8 = 2;

const RANGE: &str =
    "a range is `(A, B)`, `(A, B]`, `[A, B)` or `[A, B]`; `f_member(List, X)` asks about a list";

/// Whether `[H | T]` is a pattern here.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Bar {
    /// It is: in predicates of bodies.
    Tail,
    /// It is the operator.
    Or,
}

/// The binding level of an operator between values.
fn value_operator(kind: &TokenKind) -> Option<(BinaryOp, u8)> {
    let TokenKind::Sym(sym) = kind else { return None };
    Some(match sym {
        Sym::Bar => (BinaryOp::BitOr, 1),
        Sym::Append => (BinaryOp::Append, 2),
        Sym::Caret => (BinaryOp::BitXor, 3),
        Sym::And => (BinaryOp::BitAnd, 4),
        Sym::Shl => (BinaryOp::Shl, SHIFT),
        Sym::Shr => (BinaryOp::Shr, SHIFT),
        Sym::Plus => (BinaryOp::Add, 6),
        Sym::Minus => (BinaryOp::Sub, 6),
        Sym::Star => (BinaryOp::Mul, 7),
        Sym::Slash => (BinaryOp::Div, 7),
        Sym::Percent => (BinaryOp::Rem, 7),
        Sym::Power => (BinaryOp::Pow, 7),
        _ => return None,
    })
}

/// The level of `||`: the loosest of all.
const EITHER: u8 = 0;
/// The level of `&&`.
const BOTH: u8 = 1;
/// The level of `==`: what `!` takes.
const EQUALITY: u8 = 2;
/// The level of `<`.
const ORDER: u8 = 3;

/// The binding level of an operator of conditions; the levels are separate from those between
/// values.
fn condition_operator(kind: &TokenKind) -> Option<(BinaryOp, u8)> {
    let TokenKind::Sym(sym) = kind else { return None };
    Some(match sym {
        Sym::OrOr => (BinaryOp::Or, EITHER),
        Sym::AndAnd => (BinaryOp::And, BOTH),
        Sym::EqEq => (BinaryOp::Eq, EQUALITY),
        Sym::NotEq | Sym::LessGreater => (BinaryOp::Ne, EQUALITY),
        Sym::Less => (BinaryOp::Lt, ORDER),
        Sym::Greater => (BinaryOp::Gt, ORDER),
        Sym::LessEq => (BinaryOp::Le, ORDER),
        Sym::GreaterEq => (BinaryOp::Ge, ORDER),
        _ => return None,
    })
}

impl Parser {
    // A level of parentheses takes the frames of the functions from here to `parenthesised`, and
    // there may be many levels: rare cases are in functions of their own, so that their temporaries
    // are not in each of those frames.

    /// A value or a condition.
    pub(super) fn expr(&mut self) -> Parsed<Expr> {
        if self.nesting >= NESTING_MAX {
            return self.too_deep();
        }
        self.nesting += 1;
        let done = self.condition(EITHER);
        self.nesting -= 1;
        done
    }

    /// A condition whose operators bind at least as tight as `level`.
    fn condition(&mut self, level: u8) -> Parsed<Expr> {
        let mut left = self.membership()?;
        while let Some((op, its_level)) = condition_operator(self.kind())
            && its_level >= level
        {
            let height = self.height;
            self.next();
            let right = self.condition(its_level + 1)?;
            left = self.binary(op, left, right, height)?;
            if its_level == ORDER {
                self.refuse_chain()?;
            }
        }
        if self.is(Sym::Eq) {
            return self.single_equals();
        }
        Ok(left)
    }

    /// `A < B < C` compares a boolean with `C`, which is never meant.
    fn refuse_chain(&mut self) -> Parsed<()> {
        if condition_operator(self.kind()).is_none_or(|(_, level)| level != ORDER) {
            return Ok(());
        }
        let error = self.error("comparison-chain", "comparisons do not chain");
        self.fail(error.help("write `A < B, B < C`"))
    }

    #[inline(never)]
    fn single_equals<T>(&mut self) -> Parsed<T> {
        let error = self.error("single-equals", "`=` is no operator");
        self.fail(error.help("write `==` to compare, `:=` to assign"))
    }

    /// Joins two operands; `left_height` is that of the left one, the right one was read last.
    fn binary(
        &mut self,
        op: BinaryOp,
        left: Expr,
        right: Expr,
        left_height: usize,
    ) -> Parsed<Expr> {
        self.height = left_height.max(self.height);
        self.grow()?;
        let span = left.span.to(right.span);
        Ok(Expr { kind: ExprKind::Binary(op, Box::new(left), Box::new(right)), span })
    }

    /// The expression read last gets a node above it.
    fn grow(&mut self) -> Parsed<()> {
        self.height += 1;
        self.wrapped = false;
        if self.height > HEIGHT_MAX { self.too_deep() } else { Ok(()) }
    }

    /// `!condition`, or a value with or without `in range`.
    fn membership(&mut self) -> Parsed<Expr> {
        if self.is(Sym::Not) {
            return self.negation();
        }
        let value = self.value(VALUE)?;
        if self.eat_word("in") { self.within(value) } else { Ok(value) }
    }

    fn negation(&mut self) -> Parsed<Expr> {
        let start = self.span();
        if matches!(self.ahead(1), TokenKind::Name(_))
            && (self.ahead_is(2, Sym::LParen) || self.ahead_is(2, Sym::At))
        {
            let error = self.error("negation", "`!` does not negate a relation");
            return self.fail(error.help("write `notin`"));
        }
        self.next();
        let operand = self.nested(|it| it.condition(EQUALITY))?;
        self.unary(UnaryOp::Not, operand, start)
    }

    /// `value in` has been read.
    fn within(&mut self, value: Expr) -> Parsed<Expr> {
        let height = self.height;
        let range = self.range()?;
        self.height = self.height.max(height);
        self.grow()?;
        let span = value.span.to(range.span);
        Ok(Expr { kind: ExprKind::In(Box::new(value), Box::new(range)), span })
    }

    fn unary(&mut self, op: UnaryOp, operand: Expr, start: Span) -> Parsed<Expr> {
        self.grow()?;
        let span = start.to(operand.span);
        Ok(Expr { kind: ExprKind::Unary(op, Box::new(operand)), span })
    }

    fn range(&mut self) -> Parsed<Range> {
        let start = self.span();
        let low_closed = self.is(Sym::LBracket);
        if !self.eat(Sym::LBracket) && !self.eat(Sym::LParen) {
            return self.expected("`(` or `[` of a range", RANGE);
        }
        let low = self.nested(|it| it.value(VALUE))?;
        let height = self.height;
        self.expect(Sym::Comma, RANGE)?;
        let high = self.nested(|it| it.value(VALUE))?;
        self.height = self.height.max(height);
        let high_closed = self.is(Sym::RBracket);
        if !self.eat(Sym::RBracket) && !self.eat(Sym::RParen) {
            return self.expected("`)` or `]` of a range", RANGE);
        }
        Ok(Range { low, high, low_closed, high_closed, span: self.since(start) })
    }

    /// A value whose operators bind at least as tight as `level`.
    pub(super) fn value(&mut self, level: u8) -> Parsed<Expr> {
        let left = self.operand()?;
        self.operators(left, level)
    }

    /// The operators after the operand read last, and their other operands.
    fn operators(&mut self, mut left: Expr, level: u8) -> Parsed<Expr> {
        while let Some((op, its_level)) = value_operator(self.kind())
            && its_level >= level
        {
            let (height, left_wrapped) = (self.height, self.wrapped);
            self.next();
            let right = self.value(its_level + 1)?;
            if matches!(op, BinaryOp::Shl | BinaryOp::Shr) {
                self.warn_shift(op, (&left, left_wrapped), (&right, self.wrapped));
            }
            left = self.binary(op, left, right, height)?;
        }
        Ok(left)
    }

    /// Old programs mean `(A << I) + N` by `A << I + N`.
    fn warn_shift(&mut self, shift: BinaryOp, left: (&Expr, bool), right: (&Expr, bool)) {
        for (operand, wrapped) in [left, right] {
            let ExprKind::Binary(op @ (BinaryOp::Add | BinaryOp::Sub), ..) = operand.kind else {
                continue;
            };
            if !wrapped {
                let (op, shift) = (op.symbol(), shift.symbol());
                let message = format!("`{op}` binds tighter than `{shift}`");
                self.report(
                    Diagnostic::warning("shift-precedence", operand.span, message)
                        .help("put the part that is meant first in parentheses"),
                );
            }
        }
    }

    /// An operand, with `-` or `~` before it.
    fn operand(&mut self) -> Parsed<Expr> {
        match self.kind() {
            TokenKind::Sym(Sym::Tilde | Sym::Minus) => self.prefixed(),
            _ => self.primary(Bar::Or),
        }
    }

    fn prefixed(&mut self) -> Parsed<Expr> {
        let start = self.span();
        if self.eat(Sym::Tilde) {
            let operand = self.nested(|it| it.value(SHIFT))?;
            return self.unary(UnaryOp::BitNot, operand, start);
        }
        if let Some(literal) = negative(self.ahead(1)) {
            self.next();
            self.next();
            return Ok(self.leaf(ExprKind::Literal(literal), start));
        }
        self.next();
        let operand = self.nested(Self::operand)?;
        self.unary(UnaryOp::Neg, operand, start)
    }

    /// A finished expression without parts, from `start` to the token consumed last.
    fn leaf(&mut self, kind: ExprKind, start: Span) -> Expr {
        self.height = 1;
        self.wrapped = false;
        Expr { kind, span: self.since(start) }
    }

    fn primary(&mut self, bar: Bar) -> Parsed<Expr> {
        match self.kind() {
            TokenKind::Sym(Sym::LParen) => self.parenthesised(),
            TokenKind::Sym(Sym::LBracket) => self.list(bar),
            TokenKind::Sym(Sym::LBrace) => self.matrix(),
            TokenKind::Function(_) => self.call(),
            _ => self.word_or_literal(),
        }
    }

    /// A variable, which may have an index, or a constant.
    fn word_or_literal(&mut self) -> Parsed<Expr> {
        let start = self.span();
        let kind = match self.kind() {
            TokenKind::Var(name) if **name == *"_" => ExprKind::Fresh,
            TokenKind::Var(name) => {
                let name = name.to_string();
                self.next();
                let variable = self.leaf(ExprKind::Var(name), start);
                return self.indexed(variable);
            }
            _ => ExprKind::Literal(self.literal()?),
        };
        self.next();
        Ok(self.leaf(kind, start))
    }

    /// The constant at the next token, which is not consumed.
    fn literal(&mut self) -> Parsed<Literal> {
        Ok(match self.kind() {
            TokenKind::Int(value) => match i64::try_from(*value) {
                Ok(value) => Literal::Int(value),
                Err(_) => {
                    let error = self.error("literal-too-large", "literal is too large");
                    return self.fail(error.help("an integer has at most 63 bits"));
                }
            },
            TokenKind::Double(value) => Literal::Double(*value),
            TokenKind::Str(text) => Literal::Str(text.to_string()),
            TokenKind::Id(bytes) => Literal::Id(**bytes),
            TokenKind::Bytes(bytes) => Literal::Bytes(bytes.to_vec()),
            TokenKind::Time(ns) => Literal::Time(*ns),
            TokenKind::Interval(ns) => Literal::Interval(*ns),
            TokenKind::Name(name) => match named_literal(name) {
                Some(literal) => literal,
                None => return self.stray_name(),
            },
            TokenKind::Aggregate(_) => {
                let error = self.error("aggregate-outside-head", "an aggregate is no value");
                let help = "aggregates are arguments of heads, `a_MIN<X>`, or terms of their own";
                return self.fail(error.help(help));
            }
            _ => return self.expected("a value", "write a variable, constant or call here"),
        })
    }

    fn stray_name<T>(&mut self) -> Parsed<T> {
        let found = self.kind().describe();
        let error = self.error("unexpected-name", format!("{found} is no value"));
        let help = if self.ahead_is(1, Sym::LParen) {
            let name = self.kind().word().unwrap_or("");
            let function = FunctionId::from_name(name).map(|_| format!("`f_{name}(...)`"));
            let aggregate = Aggregate::from_name(name).map(|it| format!("`a_{it}<X>` in a head"));
            match (aggregate, function) {
                (Some(aggregate), Some(function)) => {
                    format!("write {aggregate}, or {function} for values of one row")
                }
                (Some(one), None) | (None, Some(one)) => format!("write {one}"),
                (None, None) => {
                    "functions begin with `f_`; a relation is a term of its own".to_owned()
                }
            }
        } else {
            "variables begin with a capital, strings stand in quotes".to_owned()
        };
        self.fail(error.help(help))
    }

    /// `v[i]` and `m{i, j}`.
    fn indexed(&mut self, mut base: Expr) -> Parsed<Expr> {
        loop {
            let (start, height) = (base.span, self.height);
            let kind = if self.eat(Sym::LBracket) {
                let index = self.expr()?;
                self.expect(Sym::RBracket, "write `vector[index]`")?;
                ExprKind::VectorIndex(Box::new(base), Box::new(index))
            } else if self.eat(Sym::LBrace) {
                let row = self.expr()?;
                let row_height = self.height;
                self.expect(Sym::Comma, "write `matrix{row, column}`")?;
                let column = self.expr()?;
                self.height = self.height.max(row_height);
                self.expect(Sym::RBrace, "write `matrix{row, column}`")?;
                ExprKind::MatrixIndex(Box::new(base), Box::new(row), Box::new(column))
            } else {
                return Ok(base);
            };
            self.height = self.height.max(height);
            self.grow()?;
            base = Expr { kind, span: self.since(start) };
        }
    }

    fn call(&mut self) -> Parsed<Expr> {
        let start = self.span();
        let function = Ident { text: self.kind().word().unwrap_or("").into(), span: start };
        self.next();
        // The oldest programs write the location: `f_now@X()`, which is where the rule runs.
        if self.is(Sym::At) && matches!(self.ahead(1), TokenKind::Var(_)) {
            self.next();
            self.next();
        }
        if !self.eat(Sym::LParen) {
            let what = format!("`(` after function `{}`", function.text);
            return self.expected(&what, "a call has parentheses, `f_now()`");
        }
        let args = self.values(Sym::RParen)?;
        Ok(Expr { kind: ExprKind::Call(function, args), span: self.since(start) })
    }

    /// Expressions up to `close`, all of them under one node.
    fn values(&mut self, close: Sym) -> Parsed<Vec<Expr>> {
        let mut height = 0;
        let values = self.items(close, |it| {
            let value = it.expr()?;
            height = height.max(it.height);
            Ok(value)
        })?;
        self.height = height;
        self.grow()?;
        Ok(values)
    }

    /// `(expr)` or `(condition ? then : otherwise)`.
    fn parenthesised(&mut self) -> Parsed<Expr> {
        let start = self.span();
        self.next();
        let inner = self.expr()?;
        if !self.eat(Sym::Question) {
            if !self.eat(Sym::RParen) {
                return self.expected("an operator or `)`", "each `(` needs its `)`");
            }
            self.wrapped = true;
            return Ok(Expr { kind: inner.kind, span: self.since(start) });
        }
        self.conditional(inner, start)
    }

    /// `(condition ?` has been read.
    fn conditional(&mut self, inner: Expr, start: Span) -> Parsed<Expr> {
        let mut height = self.height;
        let then = self.expr()?;
        height = height.max(self.height);
        self.colon()?;
        let otherwise = self.expr()?;
        height = height.max(self.height);
        self.expect(Sym::RParen, CONDITIONAL)?;
        self.height = height;
        self.grow()?;
        let kind = ExprKind::Conditional(Box::new(inner), Box::new(then), Box::new(otherwise));
        Ok(Expr { kind, span: self.since(start) })
    }

    /// The `:` of a conditional, also where a `-` stands right after it and looks like a rule.
    fn colon(&mut self) -> Parsed<()> {
        if self.is(Sym::If) {
            self.tokens[self.at].kind = TokenKind::Sym(Sym::Minus);
            return Ok(());
        }
        self.expect(Sym::Colon, CONDITIONAL)
    }

    fn list(&mut self, bar: Bar) -> Parsed<Expr> {
        let start = self.span();
        self.next();
        if bar == Bar::Tail {
            return self.nested(|it| it.pattern(start));
        }
        let (mut height, mut bare_or) = (0, None);
        let items = self.items(Sym::RBracket, |it| {
            let value = it.expr()?;
            height = height.max(it.height);
            let is_or = matches!(value.kind, ExprKind::Binary(BinaryOp::BitOr, ..));
            bare_or = (is_or && !it.wrapped).then_some(value.span);
            Ok(value)
        })?;
        if let (1, Some(span)) = (items.len(), bare_or) {
            self.report(
                Diagnostic::warning("list-bar", span, "here `|` is the bitwise or")
                    .help("`[H | T]` takes lists apart in bodies; to build one use `f_cons(H, T)`"),
            );
        }
        self.height = height;
        self.grow()?;
        Ok(Expr { kind: ExprKind::List(items), span: self.since(start) })
    }

    /// `a, b]` or `a, b | tail]` after a `[` at `start`.
    fn pattern(&mut self, start: Span) -> Parsed<Expr> {
        let (mut items, mut height) = (Vec::new(), 0);
        while !self.is(Sym::RBracket) || !items.is_empty() {
            items.push(self.pattern_value(ELEMENT)?);
            height = height.max(self.height);
            if !self.eat(Sym::Comma) {
                break;
            }
        }
        let mut tail = None;
        if !items.is_empty() && self.eat(Sym::Bar) {
            tail = Some(Box::new(self.pattern_value(ELEMENT)?));
            height = height.max(self.height);
        }
        if !self.eat(Sym::RBracket) {
            let what = if tail.is_some() { "`]`" } else { "`,`, `|` or `]`" };
            return self.expected(what, "a list pattern is `[A, B]` or `[Head | Tail]`");
        }
        self.height = height;
        self.grow()?;
        let kind = match tail {
            Some(tail) => ExprKind::ListPattern(items, tail),
            None => ExprKind::List(items),
        };
        Ok(Expr { kind, span: self.since(start) })
    }

    /// A value in a pattern: a list in it is a pattern too.
    fn pattern_value(&mut self, level: u8) -> Parsed<Expr> {
        if !self.is(Sym::LBracket) {
            return self.value(level);
        }
        let list = self.list(Bar::Tail)?;
        self.operators(list, level)
    }

    /// An argument of a predicate: a list pattern, or any expression.
    pub(super) fn pattern_expr(&mut self) -> Parsed<Expr> {
        if self.is(Sym::LBracket) { self.nested(|it| it.pattern_value(VALUE)) } else { self.expr() }
    }

    fn matrix(&mut self) -> Parsed<Expr> {
        let start = self.span();
        self.next();
        let mut height = 0;
        let rows = self.items(Sym::RBrace, |it| {
            it.expect(Sym::LBracket, "write `{[1, 2], [3, 4]}`")?;
            let row = it.values(Sym::RBracket)?;
            height = height.max(it.height);
            Ok(row)
        })?;
        if rows.is_empty() {
            let error = Diagnostic::error("empty-matrix", self.since(start), "a matrix has rows");
            return self.fail(error.help("write `{[1, 2], [3, 4]}`"));
        }
        self.height = height;
        self.grow()?;
        Ok(Expr { kind: ExprKind::Matrix(rows), span: self.since(start) })
    }
}

/// The constant that is written as this name.
pub(super) fn named_literal(name: &str) -> Option<Literal> {
    match name {
        "true" => Some(Literal::Bool(true)),
        "false" => Some(Literal::Bool(false)),
        "null" => Some(Literal::Null),
        "infinity" => Some(Literal::Infinity),
        _ => None,
    }
}

/// The constant that a number becomes after a `-`.
fn negative(kind: &TokenKind) -> Option<Literal> {
    match kind {
        // Two's complement: the magnitude 2^63 is fine here.
        TokenKind::Int(value) => Some(Literal::Int((*value as i64).wrapping_neg())),
        TokenKind::Double(value) => Some(Literal::Double(-value)),
        TokenKind::Time(ns) => Some(Literal::Time(-ns)),
        TokenKind::Interval(ns) => Some(Literal::Interval(-ns)),
        _ => None,
    }
}
