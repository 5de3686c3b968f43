//! Tables whose rows are selected among several derivations.
//!
//! Where maintained rules fill a table whose key is not its whole row, two derivations may have the
//! key of one row. They are kept in a hidden table of *candidates*, with the number of the rule
//! before the columns; the view engine keeps the last of each key in the table itself.

use tidemill_relation::expr::Expr;
use tidemill_relation::plan::{HeadColumn, Pattern, RelationId, Storage, Strand, ViewKind};
use tidemill_relation::table::Key;
use tidemill_relation::{TypeSet, Value};

use super::parts::{Parts, View};
use crate::ir::{Catalog, Softness, Term, whole_row};
use crate::program::Fact;
use crate::translate::count_once;

/// Adds candidates to the tables that need them, and redirects their rules there.
pub(crate) fn candidates(parts: &mut Parts, facts: &[Fact], catalog: &mut Catalog) {
    let maintained = |view: &&View| view.kind == ViewKind::Maintained;
    let mut tables: Vec<RelationId> =
        parts.views.iter().filter(maintained).map(|view| view.rule.head.relation).collect();
    tables.sort_unstable();
    tables.dedup();
    for table in tables {
        count_once(catalog, table);
        if let Some(candidates) = catalog.relation(table).candidates {
            redirect(parts, table, candidates);
            continue;
        }
        if is_keyed_by_row(table, catalog) {
            continue;
        }
        let rules = parts.views.iter().filter(maintained);
        let rules: Vec<&View> = rules.filter(|view| view.rule.head.relation == table).collect();
        if let [only] = rules[..]
            && keeps_keys(only, catalog)
            && !is_written(table, &parts.strands, &parts.views, facts)
        {
            continue;
        }
        let candidates = add(table, catalog);
        redirect(parts, table, candidates);
    }
}

/// The rule number of asserted candidates.
pub(super) const ASSERTED: i64 = tidemill_relation::view::ASSERTED;

/// The candidates of a table, which gets them even if its rows are not selected: for rewrites that
/// need to know which rows are asserted.
pub(super) fn forced(table: RelationId, catalog: &mut Catalog) -> RelationId {
    count_once(catalog, table);
    match catalog.relation(table).candidates {
        Some(candidates) => candidates,
        None => add(table, catalog),
    }
}

/// Redirects derivations for a table to its candidates.
fn redirect(parts: &mut Parts, table: RelationId, candidates: RelationId) {
    for view in &mut parts.views {
        let head = &mut view.rule.head;
        if view.kind == ViewKind::Maintained && head.relation == table {
            head.relation = candidates;
            let number = Expr::constant(Value::Int(i64::from(view.rule.id.0)));
            head.columns.insert(0, HeadColumn::Value(number));
            head.place = head.place.map(|column| column + 1);
        }
    }
}

/// Whether no two rows of a table have the same key: it has all columns but the location, which
/// is the same in all.
fn is_keyed_by_row(table: RelationId, catalog: &Catalog) -> bool {
    let relation = catalog.relation(table);
    match relation.table().map(|spec| &spec.key) {
        Some(Key::Columns(key)) => {
            let constant = catalog.constant_column(table);
            (0..relation.arity() as u32).all(|c| Some(c) == constant || key.contains(&c))
        }
        _ => true,
    }
}

/// Whether a rule that copies one table derives at most one row for each key.
fn keeps_keys(view: &View, catalog: &Catalog) -> bool {
    let head = catalog.relation(view.rule.head.relation);
    let Some(Key::Columns(head_key)) = head.table().map(|spec| &spec.key) else { return false };
    let [Term::Atom(atom)] = &view.rule.body[..] else { return false };
    let body = catalog.relation(atom.relation);
    let Some(Key::Columns(body_key)) = body.table().map(|spec| &spec.key) else { return false };
    // Rows of one key of the body differ in it, so they differ in what the head makes its key.
    let kept = |column: &u32| {
        let Some(Pattern::Reg(reg)) = atom.columns.get(*column as usize) else { return false };
        let value = HeadColumn::Value(Expr::Reg(*reg));
        head_key.iter().any(|at| view.rule.head.columns.get(*at as usize) == Some(&value))
    };
    let constant = catalog.constant_column(atom.relation);
    !atom.negated && body_key.iter().filter(|column| Some(**column) != constant).all(kept)
}

/// Whether something other than maintained rules inserts rows into a table.
fn is_written(table: RelationId, strands: &[Strand], views: &[View], facts: &[Fact]) -> bool {
    strands.iter().any(|strand| strand.output.relation == table)
        || facts.iter().any(|fact| fact.relation == table)
        || views.iter().any(|view| view.kind == ViewKind::Plain && view.rule.head.relation == table)
}

fn add(table: RelationId, catalog: &mut Catalog) -> RelationId {
    let relation = catalog.relation(table);
    let mut columns = vec![TypeSet::INT];
    columns.extend(&relation.columns);
    let key = match relation.table().map(|spec| &spec.key) {
        Some(Key::Columns(key)) => key.iter().map(|column| column + 1).collect(),
        _ => (1..columns.len() as u32).collect(),
    };
    let location = relation.location + 1;
    let name = catalog.marked(&relation.name, "candidates");
    let whole = whole_row(columns.len());
    let candidates = catalog.hidden_table(name, columns, location, whole, Softness::Hard);
    if let Storage::Table { spec, .. } = &mut catalog.relation_mut(candidates).storage {
        spec.indexes.push(key);
    }
    catalog.relation_mut(table).candidates = Some(candidates);
    if catalog.is_moving(table) {
        catalog.mark_moving(candidates, catalog.locations(table));
    }
    candidates
}
