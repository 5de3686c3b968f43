//! Rewriting rules into strands and views at one location.
//!
//! 1. An aggregate over a table, as a term or in the head of a rule without an event, becomes a
//!    hidden table with one row per group, and a rule over that ([`aggregates`]).
//! 2. A rule with an event becomes strands ([`crate::localise`]).
//! 3. A rule without an event whose head is a table is a *view*: maintained if all of it is hard
//!    state, else plain; across locations it is shipped ([`remote`]). All other rules without an
//!    event fire for each new row, once per table of the body.
//! 4. Tables whose rows may support each other in a cycle through several nodes get hidden tables
//!    of the trails of their rows ([`trails`]).
//! 5. Tables whose rows are chosen among several derivations get a hidden table of those
//!    ([`candidates`]).

mod aggregates;
mod candidates;
mod circles;
mod parts;
mod remote;
mod table_rules;
mod trails;

use tidemill_diag::Diagnostic;
use tidemill_relation::expr::Expr;
use tidemill_relation::plan::{On, Pattern, Storage};

use crate::check::system;
use crate::ir::{Atom, Catalog, Rule};
use crate::localise::{self, Start};

pub(crate) use candidates::candidates;
pub(crate) use parts::{Parts, View};
pub(crate) use trails::trails;

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
    if rule.aggregates() {
        aggregates::rewrite_head(rule, catalog, parts)
    } else {
        table_rules::rewrite(rule, catalog, parts)
    }
}

/// The predicate that starts a rule, if one is an event.
fn event(rule: &Rule, catalog: &Catalog) -> Option<Start> {
    let is_event = |atom: &Atom| catalog.relation(atom.relation).storage == Storage::Event;
    let number = rule.atoms().position(is_event)?;
    let atom = rule.atoms().nth(number)?;
    let on = if catalog.relation(atom.relation).name != system::PERIODIC {
        On::Event
    } else {
        On::Periodic {
            period: constant(atom, 2)
                .unwrap_or_else(|| Expr::constant(tidemill_relation::Value::Int(0))),
            count: constant(atom, 3),
        }
    };
    Some(Start { number: number as u16, on })
}

fn constant(atom: &Atom, column: usize) -> Option<Expr> {
    match atom.columns.get(column)? {
        Pattern::Equal(expr) => Some(expr.clone()),
        _ => None,
    }
}
