//! The oracle of the view engine: computes what the tables should contain from scratch, without
//! deltas.
//!
//! Each stratum is evaluated by applying all its rules to what the last application gave, from
//! empty heads, until nothing changes. That is slow, and the definition of the rules' meaning.

use std::collections::{BTreeMap, BTreeSet};

use super::{Failures, Source};
use crate::database::Database;
use crate::eval::{EvalError, Scope};
use crate::flat::{Seq, TupleBuf, write_value};
use crate::plan::{Output, Plan, RelationId, RuleId, Stratum, ViewKind, ViewRule};
use crate::strand::{Reading, Sink, run};
use crate::table::{Access, Key, Table, Visible};
use crate::value::Value;

/// The rows of all tables, encoded, in an order of their own.
pub type Contents = BTreeMap<RelationId, BTreeSet<Vec<u8>>>;

/// The live rows of `database`, but for tables without any.
pub fn contents(database: &Database) -> Contents {
    let mut contents = Contents::new();
    for (relation, table) in database.iter() {
        let rows = encoded(table);
        if !rows.is_empty() {
            contents.insert(relation, rows);
        }
    }
    contents
}

fn encoded(table: &Table) -> BTreeSet<Vec<u8>> {
    let mut rows = BTreeSet::new();
    for row in table.rows(Access::Scan, &[], Visible::Live) {
        let mut bytes = Vec::new();
        for column in 0..table.spec().arity {
            write_value(&mut bytes, table.value(row, column));
        }
        rows.insert(bytes);
    }
    rows
}

/// The expected contents of the tables of `database`, given the asserted rows in it. `None` if a
/// stratum has no fixed point within `rounds_max` applications of its rules.
pub fn evaluate_naively(
    plan: &Plan,
    database: &Database,
    scope: Scope<'_>,
    rounds_max: usize,
) -> Option<Database> {
    let mut result = database.clone();
    for stratum in &plan.strata {
        // Rows that plain rules put in stay: they count as asserted.
        let derived = stratum.heads.iter().chain(&stratum.selected);
        let base: Vec<(RelationId, Table)> =
            derived.map(|&head| (head, standing(plan, database, head))).collect();
        for (head, table) in &base {
            *result.table_mut(*head) = table.clone();
        }
        let mut rounds = 0..rounds_max;
        loop {
            rounds.next()?;
            result.iter_mut().for_each(|(_, table)| table.prepare_all());
            let next = apply(plan, stratum, &result, &base, scope);
            let stable =
                next.iter().all(|(head, table)| encoded(table) == encoded(result.table(*head)));
            for (head, table) in next {
                *result.table_mut(head) = table;
            }
            if stable {
                break;
            }
        }
    }
    Some(result)
}

/// The rows of a head that no maintained rule need support.
fn standing(plan: &Plan, database: &Database, head: RelationId) -> Table {
    let table = database.table(head);
    let mut standing = Table::new(table.spec().clone(), *database.secret());
    if plan.relation(head).candidates.is_some() {
        return standing;
    }
    let mut values = Vec::new();
    for row in table.rows(Access::Scan, &[], Visible::Live) {
        if table.is_asserted(row) {
            values.clear();
            table.read_row(row, &mut values);
            keep(&mut standing, &values, Source::Asserted);
        }
    }
    standing.settle();
    standing
}

fn keep(table: &mut Table, values: &[Value<'_>], source: Source) {
    use crate::table::Inserted::{New, Refreshed, Revived};
    let Ok(New { row, .. } | Revived { row, .. } | Refreshed(row)) = table.insert(values, 0) else {
        return;
    };
    if source == Source::Asserted {
        table.assert_row(row);
    }
}

/// One application of all rules of a stratum.
fn apply(
    plan: &Plan,
    stratum: &Stratum,
    now: &Database,
    base: &[(RelationId, Table)],
    scope: Scope<'_>,
) -> Vec<(RelationId, Table)> {
    let mut next = base.to_vec();
    for rule in &stratum.rules {
        let Some((_, head)) = next.iter_mut().find(|(head, _)| *head == rule.head) else {
            continue;
        };
        if rule.kind != ViewKind::Plain {
            derive(rule, now, scope, head);
        }
    }
    for &relation in &stratum.selected {
        select(plan, relation, &mut next);
    }
    next.iter_mut().for_each(|(_, table)| table.settle());
    next
}

fn derive(rule: &ViewRule, now: &Database, scope: Scope<'_>, head: &mut Table) {
    let mut rows = Rows::default();
    let reading = Reading::present(now);
    run(&rule.scan, Seq::EMPTY, reading, scope, &mut rows);
    if rule.kind == ViewKind::Grouped {
        let groups = std::mem::take(&mut rows.0);
        for (_, group) in groups.iter() {
            if let Some(check) = &rule.check {
                run(check, group, reading, scope, &mut rows);
            }
        }
    }
    for (results, columns) in rows.0.iter() {
        if results > 0 {
            keep(head, &columns.iter().collect::<Vec<_>>(), Source::Derived);
        }
    }
}

/// Of the candidates with one key the one of the last rule, and of its the last.
fn select(plan: &Plan, relation: RelationId, tables: &mut [(RelationId, Table)]) {
    let description = plan.relation(relation);
    let (Some(candidates), Some(spec)) = (description.candidates, description.table()) else {
        return;
    };
    let Some((_, from)) = tables.iter().find(|(other, _)| *other == candidates) else { return };
    let from = from.clone();
    let mut rows: Vec<_> = from.rows(Access::Scan, &[], Visible::Live).collect();
    rows.sort_by_key(|&row| (from.value(row, 0).as_int(), row));
    let Some((_, table)) = tables.iter_mut().find(|(other, _)| *other == relation) else { return };
    debug_assert!(spec.key != Key::Bag);
    let mut values = Vec::new();
    for row in rows {
        values.clear();
        from.read_row(row, &mut values);
        keep(table, &values[1..], Source::Derived);
    }
}

#[derive(Default)]
struct Rows(TupleBuf<u64>);

impl Sink for Rows {
    fn derive(&mut self, _: &Output, columns: &[Value<'_>], results: u64) {
        self.0.push(results, columns);
    }

    fn failed(&mut self, _: RuleId, _: EvalError) {}
}

/// The oracle ignores failures.
impl Failures for () {
    fn failed(&mut self, _: RuleId, _: EvalError) {}
}
