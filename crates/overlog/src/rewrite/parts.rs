//! The result of the rewriting, and queries on a rule.

use tidemill_diag::Diagnostic;
use tidemill_relation::TypeSet;
use tidemill_relation::expr::Expr;
use tidemill_relation::plan::{RelationId, Strand, ViewKind};

use crate::glance;
use crate::ir::{Catalog, Location, Rule};
use crate::localise::type_of;
use crate::program::Export;

/// A rule whose body and head are tables of one node.
#[derive(Clone, Debug)]
pub(crate) struct View {
    pub rule: Rule,
    pub kind: ViewKind,
}

/// The rewritten rules of a program.
#[derive(Default)]
pub(crate) struct Parts {
    pub strands: Vec<Strand>,
    pub views: Vec<View>,
    pub exports: Vec<Export>,
    pub warnings: Vec<Diagnostic>,
}

/// The tables of a body, negated ones included.
pub(super) fn tables(rule: &Rule) -> impl Iterator<Item = RelationId> {
    rule.atoms().map(|atom| atom.relation)
}

/// The different locations of a body, in textual order; `@NODE` is any of them.
pub(super) fn locations(rule: &Rule, catalog: &Catalog) -> Vec<Location> {
    let mut locations = Vec::new();
    for atom in rule.atoms() {
        let location = atom.location(catalog);
        if !location.is_here() && !locations.contains(&location) {
            locations.push(location);
        }
    }
    locations
}

/// The types that an expression may have, by the result types of its operators.
pub(super) fn type_of_expr(rule: &Rule, expr: &Expr) -> TypeSet {
    glance::type_of_expr(expr, &|reg| type_of(rule, reg))
}
