//! Rules over tables, without an event and without aggregates.

use tidemill_diag::Diagnostic;
use tidemill_relation::expr::Expr;
use tidemill_relation::plan::{Action, HeadColumn, On, Pattern, ViewKind};
use tidemill_relation::table::Key;

use super::parts::{Parts, View, locations, tables};
use super::remote;
use crate::ir::{Atom, Catalog, Rule};
use crate::localise::{self, Start};

/// A rule over tables without aggregates.
pub(super) fn rewrite(
    rule: Rule,
    catalog: &mut Catalog,
    parts: &mut Parts,
) -> Result<(), Diagnostic> {
    if rule.head.action != Action::Insert || rule.is_impure() || updates(&rule, catalog) {
        return on_change(&rule, catalog, parts);
    }
    if locations(&rule, catalog).len() > 1 {
        let [first, rest] = remote::split(rule, catalog)?;
        rewrite(first, catalog, parts)?;
        return rewrite(rest, catalog, parts);
    }
    let maintained = is_maintained(&rule, catalog);
    match (maintained, stays_home(&rule, catalog)) {
        (true, true) => parts.views.push(View { rule, kind: ViewKind::Maintained }),
        (false, true) => parts.views.push(View { rule, kind: ViewKind::Plain }),
        (true, false) => remote::export(rule, catalog, parts),
        (false, false) => return on_change(&rule, catalog, parts),
    }
    Ok(())
}

/// One strand for each table of the body, started by its new rows.
fn on_change(rule: &Rule, catalog: &mut Catalog, parts: &mut Parts) -> Result<(), Diagnostic> {
    for (number, atom) in rule.atoms().enumerate() {
        if !atom.negated {
            let start = Start { number: number as u16, on: On::Change };
            parts.strands.append(&mut localise::strands(rule, start, catalog)?);
        }
    }
    Ok(())
}

/// Whether the rule replaces a row that it reads, by one of the same key with other columns. It
/// cannot be a view: its row would displace what it follows from, be deleted with that, and so make
/// room for the displaced row, from which it follows again.
fn updates(rule: &Rule, catalog: &Catalog) -> bool {
    let head = &rule.head;
    let Some(spec) = catalog.relation(head.relation).table() else { return false };
    let Key::Columns(key) = &spec.key else { return false };
    let is_replaced = |atom: &Atom| {
        let is_same = |column: usize| match &head.columns[column] {
            HeadColumn::Value(value) => is_value(&atom.columns[column], value),
            HeadColumn::Aggregate { .. } => false,
        };
        let place = head.location_column(catalog);
        !atom.negated
            && atom.relation == head.relation
            && atom.columns.len() == head.columns.len()
            && atom.location_column(catalog) == place
            && key.iter().chain([&place]).all(|column| is_same(*column as usize))
            && !(0..head.columns.len()).all(is_same)
    };
    is_maintained(rule, catalog) && rule.atoms().any(is_replaced)
}

/// Whether a column that matches a pattern has this value.
fn is_value(pattern: &Pattern, value: &Expr) -> bool {
    match (pattern, value) {
        (Pattern::Reg(bound), Expr::Reg(reg)) => bound == reg,
        (Pattern::Equal(known), value) => known == value,
        _ => false,
    }
}

/// Whether the head stays until it is deleted, and the body reports its deletions.
fn is_maintained(rule: &Rule, catalog: &Catalog) -> bool {
    tables(rule).all(|table| catalog.is_exact(table)) && catalog.is_hard(rule.head.relation)
}

/// Whether the head is at the location of the body.
fn stays_home(rule: &Rule, catalog: &Catalog) -> bool {
    let Some(head) = rule.head_location(catalog) else { return false };
    let home = crate::lower::home(rule, catalog);
    head == home || head.is_here()
}
