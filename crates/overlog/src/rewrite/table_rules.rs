//! Rules over tables, without an event and without aggregates.

use tidemill_diag::Diagnostic;
use tidemill_relation::plan::{Action, On, ViewKind};

use super::parts::{Parts, View, locations, tables};
use super::remote;
use crate::ir::{Catalog, Rule};
use crate::localise::{self, Start};

/// A rule over tables without aggregates.
pub(super) fn rewrite(
    rule: Rule,
    catalog: &mut Catalog,
    parts: &mut Parts,
) -> Result<(), Diagnostic> {
    if rule.head.action != Action::Insert || rule.is_impure() {
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
