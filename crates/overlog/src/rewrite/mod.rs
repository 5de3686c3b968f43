//! Rewriting: what a rule means in terms of strands and views at one location.
//!
//! 1. An aggregate over a table, as a term or in the head of a rule without an event, becomes a
//!    hidden table with one row per group, and a rule over that ([`aggregates`]).
//! 2. A rule with an event becomes strands ([`crate::localise`]).
//! 3. A rule without an event whose head is a table is a *view*: maintained if all of it is hard
//!    state, else plain; across locations it is shipped ([`remote`]). All other rules without an
//!    event fire for each row that comes, once per table of the body.
//! 4. Tables whose rows may support each other in a circle through several nodes get hidden
//!    tables of what their rows came through ([`trails`]).
//! 5. Tables whose rows are chosen among several derivations get a hidden table of those
//!    ([`candidates`]).

mod aggregates;
mod candidates;
mod circles;
mod remote;
mod trails;

use tidemill_diag::Diagnostic;
use tidemill_relation::expr::Expr;
use tidemill_relation::plan::{Action, On, Pattern, RelationId, Storage, Strand, ViewKind};

use crate::check::system;
use crate::ir::{Atom, Catalog, Location, Rule};
use crate::localise::{self, Start};
use crate::program::Export;

pub(crate) use candidates::candidates;
pub(crate) use trails::trails;

/// A rule whose body and head are tables of one node.
#[derive(Clone, Debug)]
pub(crate) struct View {
    pub rule: Rule,
    pub kind: ViewKind,
}

/// What the rules of a program become.
#[derive(Default)]
pub(crate) struct Parts {
    pub strands: Vec<Strand>,
    pub views: Vec<View>,
    pub exports: Vec<Export>,
    pub warnings: Vec<Diagnostic>,
}

/// Rewrites one rule.
pub(crate) fn rewrite(
    rule: Rule,
    catalog: &mut Catalog,
    parts: &mut Parts,
) -> Result<(), Diagnostic> {
    let rule = aggregates::extract_terms(rule, catalog, parts);
    if let Some(start) = event(&rule, catalog) {
        parts.strands.append(&mut localise::strands(&rule, start, catalog)?);
        return Ok(());
    }
    match rule.aggregates() {
        true => aggregates::rewrite_head(rule, catalog, parts),
        false => table_rule(rule, catalog, parts),
    }
}

/// The predicate that starts a rule, if one is an event.
fn event(rule: &Rule, catalog: &Catalog) -> Option<Start> {
    let is_event = |atom: &Atom| catalog.relation(atom.relation).storage == Storage::Event;
    let number = rule.atoms().position(is_event)?;
    let atom = rule.atoms().nth(number)?;
    let on = match catalog.relation(atom.relation).name == system::PERIODIC {
        false => On::Event,
        true => On::Periodic {
            period: constant(atom, 2)
                .unwrap_or_else(|| Expr::constant(tidemill_relation::Value::Int(0))),
            count: constant(atom, 3),
        },
    };
    Some(Start { number: number as u16, on })
}

fn constant(atom: &Atom, column: usize) -> Option<Expr> {
    match atom.columns.get(column)? {
        Pattern::Equal(expr) => Some(expr.clone()),
        _ => None,
    }
}

/// A rule over tables without aggregates.
fn table_rule(rule: Rule, catalog: &mut Catalog, parts: &mut Parts) -> Result<(), Diagnostic> {
    if rule.head.action != Action::Insert || rule.is_impure() {
        return on_change(&rule, catalog, parts);
    }
    if locations(&rule, catalog).len() > 1 {
        let [first, rest] = remote::split(rule, catalog)?;
        table_rule(first, catalog, parts)?;
        return table_rule(rest, catalog, parts);
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

/// One strand for each table of the body: what its new rows derive.
fn on_change(rule: &Rule, catalog: &mut Catalog, parts: &mut Parts) -> Result<(), Diagnostic> {
    for (number, atom) in rule.atoms().enumerate() {
        if !atom.negated {
            let start = Start { number: number as u16, on: On::Change };
            parts.strands.append(&mut localise::strands(rule, start, catalog)?);
        }
    }
    Ok(())
}

/// Whether the head stays until it is deleted, and the body tells what goes.
fn is_maintained(rule: &Rule, catalog: &Catalog) -> bool {
    tables(rule).all(|table| catalog.is_exact(table)) && catalog.is_hard(rule.head.relation)
}

/// The tables of a body, negated ones included.
fn tables(rule: &Rule) -> impl Iterator<Item = RelationId> {
    rule.atoms().map(|atom| atom.relation)
}

/// The different locations of a body, in textual order; `@NODE` is any of them.
fn locations(rule: &Rule, catalog: &Catalog) -> Vec<Location> {
    let mut locations = Vec::new();
    for atom in rule.atoms() {
        let location = atom.location(catalog);
        if !location.is_here() && !locations.contains(&location) {
            locations.push(location);
        }
    }
    locations
}

/// Whether the head lies where the body does.
fn stays_home(rule: &Rule, catalog: &Catalog) -> bool {
    let Some(head) = rule.head_location(catalog) else { return false };
    let home = crate::lower::home(rule, catalog);
    head == home || head.is_here()
}
