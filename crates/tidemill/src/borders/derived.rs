//! Constants in what rules derive: columns of facts and of heads, checked when the program is
//! loaded, where the other side is known then, too.

use tidemill_diag::Span;
use tidemill_overlog::ast::{ExprKind, Functor, Literal, Program, Statement};

/// The facts of a relation, and the heads of rules that derive it.
pub(super) fn derived<'p>(
    program: &'p Program,
    relation: &'p str,
) -> impl Iterator<Item = &'p Functor> {
    let tuples = program.flat().filter_map(|statement| match statement {
        Statement::Fact(fact) => Some(&fact.tuple),
        Statement::Rule(rule) if !rule.delete => Some(&rule.head),
        _ => None,
    });
    tuples.filter(move |tuple| tuple.name.resolved == relation)
}

/// The constant in a column, counted from 0, and its place.
pub(super) fn constant(tuple: &Functor, column: usize) -> Option<(&Literal, Span)> {
    let expression = tuple.args.get(column)?.as_expr()?;
    match &expression.kind {
        ExprKind::Literal(literal) => Some((literal, expression.span)),
        _ => None,
    }
}

/// The same, if it is a text.
pub(super) fn constant_text(tuple: &Functor, column: usize) -> Option<(&str, Span)> {
    match constant(tuple, column)? {
        (Literal::Str(text), place) => Some((text, place)),
        _ => None,
    }
}
