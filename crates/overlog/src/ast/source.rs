//! The tree as a source: what is printed parses to the same tree, all names resolved.
//!
//! Parentheses are written where the parser needs them and nowhere else, by the levels of
//! `crate::parse`: a value is accepted as a condition, never the other way round. So what is
//! printed is nested no deeper than what was parsed, which has a limit.

use std::fmt::{self, Display, Formatter, Write};

use super::{
    AggView, Aggregate, AggregateOver, Arg, BinaryOp, Expr, ExprKind, Functor, Keys, Literal,
    Materialize, Range, Rule, Term, UnaryOp,
};

/// Prints a part of a tree as source.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a, T>(pub &'a T);

/// The level where any expression is allowed.
const ANY: u8 = 0;
/// Operators of conditions, the loosest first.
const EITHER: u8 = 0;
const BOTH: u8 = 1;
const EQUALITY: u8 = 2;
const ORDER: u8 = 3;
/// `value in range`.
const MEMBER: u8 = 4;
/// The loosest of values: `|`.
const VALUE: u8 = 10;
/// An element of a list, which may be a pattern.
const ELEMENT: u8 = VALUE + 1;
/// What `~` takes: `<<`, and all that binds tighter.
const SHIFT: u8 = VALUE + 4;
/// The level of expressions that never need parentheses.
const OPERAND: u8 = 20;
/// No operator follows, or the loosest.
const NONE: u8 = 0;

/// The binding level of an operator, and the least level of its left operand.
fn levels(op: BinaryOp) -> (u8, u8) {
    let both = |level| (level, level);
    match op {
        BinaryOp::Or => both(EITHER),
        BinaryOp::And => both(BOTH),
        BinaryOp::Eq | BinaryOp::Ne => both(EQUALITY),
        // These do not chain.
        BinaryOp::Lt | BinaryOp::Gt | BinaryOp::Le | BinaryOp::Ge => (ORDER, MEMBER),
        BinaryOp::BitOr => both(VALUE),
        BinaryOp::Append => both(VALUE + 1),
        BinaryOp::BitXor => both(VALUE + 2),
        BinaryOp::BitAnd => both(VALUE + 3),
        BinaryOp::Shl | BinaryOp::Shr => both(SHIFT),
        BinaryOp::Add | BinaryOp::Sub => both(VALUE + 5),
        BinaryOp::Mul | BinaryOp::Div | BinaryOp::Rem | BinaryOp::Pow => both(VALUE + 6),
    }
}

/// Whether an expression stands in parentheses where the level `least` is allowed and an operator
/// of level `after` follows. `!` and `~` stand before any operand, and take what follows that binds
/// tightly enough: `!A == B` is `!(A == B)`, and `~A + B` is `~(A + B)`.
fn is_wrapped(expr: &Expr, least: u8, after: u8) -> bool {
    match &expr.kind {
        ExprKind::Binary(op, ..) => levels(*op).0 < least,
        ExprKind::In(..) => MEMBER < least,
        ExprKind::Unary(UnaryOp::Not, _) => MEMBER < least || EQUALITY <= after,
        ExprKind::Unary(UnaryOp::BitNot, _) => SHIFT <= after,
        _ => false,
    }
}

fn write_expr(f: &mut Formatter<'_>, expr: &Expr, least: u8) -> fmt::Result {
    write_before(f, expr, least, NONE)
}

/// Writes an expression before an operator of level `after`.
fn write_before(f: &mut Formatter<'_>, expr: &Expr, least: u8, after: u8) -> fmt::Result {
    if is_wrapped(expr, least, after) {
        f.write_char('(')?;
        write_bare(f, expr, NONE)?;
        return f.write_char(')');
    }
    write_bare(f, expr, after)
}

fn write_bare(f: &mut Formatter<'_>, expr: &Expr, after: u8) -> fmt::Result {
    match &expr.kind {
        ExprKind::Literal(it) => it.fmt(f),
        ExprKind::Var(name) => f.write_str(name),
        ExprKind::Fresh => f.write_char('_'),
        ExprKind::Unary(op, operand) => write_unary(f, *op, operand, after),
        ExprKind::Binary(op, a, b) => {
            let (own, left) = levels(*op);
            write_before(f, a, left, own)?;
            write!(f, " {} ", op.symbol())?;
            write_before(f, b, own + 1, after)
        }
        ExprKind::In(value, range) => {
            write_before(f, value, VALUE, MEMBER)?;
            f.write_str(" in ")?;
            write_range(f, range)
        }
        ExprKind::Call(function, args) => {
            write_all(f, (&format!("{}(", function.text), ")"), args, ANY)
        }
        ExprKind::Conditional(condition, then, otherwise) => {
            f.write_char('(')?;
            write_expr(f, condition, ANY)?;
            f.write_str(" ? ")?;
            write_expr(f, then, ANY)?;
            f.write_str(" : ")?;
            write_expr(f, otherwise, ANY)?;
            f.write_char(')')
        }
        ExprKind::List(items) => write_all(f, ("[", "]"), items, ELEMENT),
        ExprKind::ListPattern(items, tail) => {
            write_all(f, ("[", " | "), items, ELEMENT)?;
            write_expr(f, tail, ELEMENT)?;
            f.write_char(']')
        }
        ExprKind::Matrix(rows) => {
            f.write_char('{')?;
            for (position, row) in rows.iter().enumerate() {
                f.write_str(if position > 0 { ", " } else { "" })?;
                write_all(f, ("[", "]"), row, ANY)?;
            }
            f.write_char('}')
        }
        ExprKind::VectorIndex(base, index) => {
            write_expr(f, base, OPERAND)?;
            write_all(f, ("[", "]"), std::slice::from_ref(&**index), ANY)
        }
        ExprKind::MatrixIndex(base, row, column) => {
            write_expr(f, base, OPERAND)?;
            f.write_char('{')?;
            write_expr(f, row, ANY)?;
            f.write_str(", ")?;
            write_expr(f, column, ANY)?;
            f.write_char('}')
        }
    }
}

fn write_unary(f: &mut Formatter<'_>, op: UnaryOp, operand: &Expr, after: u8) -> fmt::Result {
    f.write_str(op.symbol())?;
    // A `-` before a number would be a part of it.
    let is_number = |kind: &ExprKind| {
        use Literal::{Double, Int, Interval, Time};
        matches!(kind, ExprKind::Literal(Int(_) | Double(_) | Time(_) | Interval(_)))
    };
    if op == UnaryOp::Neg && is_number(&operand.kind) {
        f.write_char('(')?;
        write_bare(f, operand, NONE)?;
        return f.write_char(')');
    }
    let least = match op {
        UnaryOp::Not => EQUALITY,
        UnaryOp::BitNot => SHIFT,
        UnaryOp::Neg => OPERAND,
    };
    write_before(f, operand, least, after)
}

fn write_range(f: &mut Formatter<'_>, range: &Range) -> fmt::Result {
    f.write_char(if range.low_closed { '[' } else { '(' })?;
    write_expr(f, &range.low, VALUE)?;
    f.write_str(", ")?;
    write_expr(f, &range.high, VALUE)?;
    f.write_char(if range.high_closed { ']' } else { ')' })
}

fn write_all(
    f: &mut Formatter<'_>,
    (open, close): (&str, &str),
    items: &[Expr],
    least: u8,
) -> fmt::Result {
    f.write_str(open)?;
    for (position, item) in items.iter().enumerate() {
        f.write_str(if position > 0 { ", " } else { "" })?;
        write_expr(f, item, least)?;
    }
    f.write_str(close)
}

impl Display for Source<'_, Expr> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write_expr(f, self.0, ANY)
    }
}

impl Display for Source<'_, Aggregate> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Aggregate { func, over, limit, .. } = self.0;
        let over = match over {
            AggregateOver::Star => "*",
            AggregateOver::Var(variable) => &variable.name,
        };
        write!(f, "a_{}<{over}", func.text)?;
        if let Some(limit) = limit {
            f.write_str(", ")?;
            write_expr(f, limit, VALUE)?;
        }
        f.write_char('>')
    }
}

impl Display for Source<'_, Functor> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Functor { name, location, args, .. } = self.0;
        write!(f, "{}(", name.resolved)?;
        for (position, arg) in args.iter().enumerate() {
            f.write_str(if position > 0 { ", " } else { "" })?;
            f.write_str(if *location == Some(position) { "@" } else { "" })?;
            match arg {
                Arg::Expr(it) => Source(it).fmt(f)?,
                Arg::Aggregate(it) => Source(it).fmt(f)?,
            }
        }
        f.write_char(')')
    }
}

impl Display for Source<'_, AggView> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let AggView { func, group, result, of, .. } = self.0;
        write!(f, "a_{}(", func.text)?;
        write_all(f, ("(", "), "), group, ANY)?;
        write_all(f, ("(", "), "), result, ANY)?;
        write!(f, "{})", Source(of))
    }
}

impl Display for Source<'_, Term> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0 {
            Term::Predicate(it) => {
                f.write_str(if it.negated { "notin " } else { "" })?;
                Source(&it.functor).fmt(f)
            }
            Term::Assign(it) => write!(f, "{} := {}", it.var.name, Source(&it.expr)),
            Term::Condition(it) => Source(it).fmt(f),
            Term::AggView(it) => Source(it).fmt(f),
        }
    }
}

impl Display for Source<'_, Rule> {
    /// Without its label.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Rule { delete, head, body, .. } = self.0;
        f.write_str(if *delete { "delete " } else { "" })?;
        write!(f, "{} :- ", Source(head))?;
        for (position, term) in body.iter().enumerate() {
            f.write_str(if position > 0 { ", " } else { "" })?;
            Source(term).fmt(f)?;
        }
        f.write_char('.')
    }
}

impl Display for Source<'_, Materialize> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Materialize { name, lifetime, size, keys: Keys { columns, .. }, .. } = self.0;
        write!(f, "materialize({}, ", name.resolved)?;
        match lifetime {
            Some(seconds) => write!(f, "{seconds}, ")?,
            None => f.write_str("infinity, ")?,
        }
        match size {
            Some(rows) => write!(f, "{rows}, keys(")?,
            None => f.write_str("infinity, keys(")?,
        }
        for (position, column) in columns.iter().enumerate() {
            let comma = if position > 0 { ", " } else { "" };
            write!(f, "{comma}{column}")?;
        }
        f.write_str(")).")
    }
}
