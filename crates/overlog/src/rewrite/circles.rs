//! The tables that support themselves through other nodes.
//!
//! An edge leads from a table to the head of a view over it, and from a table whose rows are
//! shipped to the one that receives them. Tables on a cycle through such a shipment may hold, on
//! several nodes, rows that support each other in a cycle that no node sees as a whole. Negated
//! rows support nothing, nor do counted or summed ones: only a MIN or MAX follows from certain
//! rows.
//!
//! A rule that prepends itself to a list on which it is not yet, as path-vector does,
//! ```text
//! path(@X, Z, f_cons(X, P)) :- link(@Y, X), path(@Y, Z, P), !f_member(P, X).
//! ```
//! closes no cycle: its rows contain their own trail.

use tidemill_relation::Value;
use tidemill_relation::expr::{Expr, Reg};
use tidemill_relation::operator::{Binary, Unary};
use tidemill_relation::plan::{HeadColumn, RelationId, ViewKind};
use tidemill_stdx::sorted::{SortedMap, SortedSet};

use super::parts::{Parts, View};
use crate::ir::{Rule, Term};
use crate::stratify::improves;

/// The cycle of each table on one, named by one of its tables.
pub(super) type Circles = SortedMap<RelationId, RelationId>;

type Edges = SortedMap<RelationId, SortedSet<RelationId>>;

/// The tables on cycles through other nodes.
pub(super) fn circles(parts: &Parts) -> Circles {
    let mut circles = Circles::new();
    if parts.exports.is_empty() {
        return circles;
    }
    let (mut forth, mut back) = (Edges::new(), Edges::new());
    let mut edge = |from: RelationId, to: RelationId| {
        forth.entry(from).or_default().insert(to);
        back.entry(to).or_default().insert(from);
    };
    for view in parts.views.iter().filter(|view| supports(view)) {
        for atom in view.rule.atoms().filter(|atom| !atom.negated) {
            edge(atom.relation, view.rule.head.relation);
        }
    }
    parts.exports.iter().for_each(|export| edge(export.out, export.into));
    for export in &parts.exports {
        let after = reachable(export.into, &forth);
        if circles.contains_key(&export.into) || !after.contains(&export.out) {
            continue;
        }
        let before = reachable(export.into, &back);
        let both = after.iter().filter(|table| before.contains(table));
        circles.extend(both.map(|&table| (table, export.into)));
    }
    circles
}

fn reachable(from: RelationId, edges: &Edges) -> SortedSet<RelationId> {
    let (mut found, mut open) = (SortedSet::from([from]), vec![from]);
    while let Some(table) = open.pop() {
        for &next in edges.get(&table).into_iter().flatten() {
            if found.insert(next) {
                open.push(next);
            }
        }
    }
    found
}

/// Whether rows of the head depend on certain rows of the body that may depend on them in turn.
fn supports(view: &View) -> bool {
    match view.kind {
        ViewKind::Plain => false,
        ViewKind::Maintained => !lists_itself(&view.rule),
        ViewKind::Grouped => improves(view),
    }
}

/// Whether the rule adds to a list an element that it has checked is not on it.
fn lists_itself(rule: &Rule) -> bool {
    let definition = |reg: Reg| {
        rule.body.iter().find_map(|term| match term {
            Term::Let(other, expr) if *other == reg => Some(expr),
            _ => None,
        })
    };
    let grows = |item: &Expr, list: &Expr| {
        let adds = |expr: &Expr| match expr {
            Expr::Call(function, operands) => {
                matches!(function.name(), "cons" | "consList" | "append")
                    && operands[..] == [item.clone(), list.clone()]
            }
            _ => false,
        };
        rule.head.columns.iter().any(|column| match column {
            HeadColumn::Value(Expr::Reg(reg)) => definition(*reg).is_some_and(adds),
            HeadColumn::Value(expr) => adds(expr),
            HeadColumn::Aggregate { .. } => false,
        })
    };
    let excluded = |term: &Term| match term {
        Term::Filter(condition) => match negated(condition) {
            Some(Expr::Call(function, operands)) => {
                matches!(function.name(), "member" | "inList" | "contains")
                    && matches!(&operands[..], [list @ Expr::Reg(_), item] if grows(item, list))
            }
            _ => false,
        },
        _ => false,
    };
    rule.body.iter().any(excluded)
}

/// `x` of `!x`, `x == false` and `x == 0`.
fn negated(condition: &Expr) -> Option<&Expr> {
    let is_false = |expr: &Expr| match expr {
        Expr::Const(value) => matches!(value.get(), Value::Bool(false) | Value::Int(0)),
        _ => false,
    };
    match condition {
        Expr::Unary(Unary::Not, operand) => Some(operand),
        Expr::Binary(Binary::Equal, operands) => match &**operands {
            [operand, other] | [other, operand] if is_false(other) => Some(operand),
            _ => None,
        },
        _ => None,
    }
}
