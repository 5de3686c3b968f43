//! The derivations reported, against all that there are.

use std::collections::BTreeSet;

use super::*;
use crate::eval::EvalError;
use crate::flat::Seq;
use crate::plan::{HeadColumn, Output, ViewKind};
use crate::strand::{JoinedRow, PREMISES_MAX, Reading, Sink, run_traced};

/// A row by what it holds.
type Row = (RelationId, Vec<i64>);

/// A derivation by its rule, the row derived and the rows behind it, ascending.
type Known = (RuleId, Row, Vec<Row>);

fn row_of(database: &Database, relation: RelationId, row: RowId) -> Row {
    let table = database.table(relation);
    let columns = (0..table.spec().arity).map(|at| table.value(row, at).as_int().unwrap());
    (relation, columns.collect())
}

fn rows_of(database: &Database, joined: &[JoinedRow]) -> Vec<Row> {
    let mut rows: Vec<Row> =
        joined.iter().map(|it| row_of(database, it.relation, it.row)).collect();
    rows.sort();
    rows
}

fn ints(columns: &[Value<'_>]) -> Vec<i64> {
    columns.iter().map(|value| value.as_int().unwrap()).collect()
}

/// Takes all results of a scan with the rows behind each.
#[derive(Default)]
struct Scanned {
    joined: Vec<JoinedRow>,
    results: Vec<(Vec<i64>, Vec<JoinedRow>)>,
}

impl Sink for Scanned {
    fn derive(&mut self, _: &Output, columns: &[Value<'_>], _: u64) {
        self.results.push((ints(columns), self.joined.clone()));
    }

    fn failed(&mut self, _: RuleId, error: EvalError) {
        panic!("{error:?}");
    }

    fn joined(&mut self, _: RuleId, rows: &[JoinedRow]) {
        self.joined = rows.to_vec();
    }
}

impl Bench {
    fn trace_all(&mut self, noted_max: usize) {
        self.views.trace(&self.plan, |_, _| true, noted_max);
    }

    /// All derivations that the tables hold, from nothing and without deltas.
    fn all_derivations(&mut self) -> BTreeSet<Known> {
        self.database.iter_mut().for_each(|(_, table)| table.prepare_all());
        let scope = Scope { scratch: &self.scratch, ambient: &Nowhere };
        let mut all = BTreeSet::new();
        for rule in self.plan.strata.iter().flat_map(|stratum| &stratum.rules) {
            let mut scanned = Scanned::default();
            let reading = Reading::present(&self.database);
            run_traced(&rule.scan, Seq::EMPTY, reading, scope, &mut scanned);
            if rule.kind != ViewKind::Grouped {
                for (columns, joined) in scanned.results {
                    let premises = rows_of(&self.database, &joined);
                    all.insert((rule.rule, (rule.head, columns), premises));
                }
                continue;
            }
            // The last column is the aggregate, of the results that are equal in all others.
            let check = rule.check.as_ref().unwrap();
            let is_min = matches!(
                check.output.columns.last(),
                Some(HeadColumn::Aggregate { function: crate::aggregate::Aggregate::Min, .. })
            );
            let table = self.database.table(rule.head);
            for row in table.rows(Access::Scan, &[], Visible::Live) {
                let head = row_of(&self.database, rule.head, row);
                let (value, group) = head.1.split_last().unwrap();
                let behind = scanned.results.iter().filter(|(columns, _)| {
                    let (input, of) = columns.split_last().unwrap();
                    of == group && (!is_min || input == value)
                });
                let mut premises: Vec<Row> =
                    behind.flat_map(|(_, joined)| rows_of(&self.database, joined)).collect();
                premises.sort();
                premises.dedup();
                all.insert((rule.rule, head, premises));
            }
        }
        all
    }

    /// The derivations that the engine reports, each with its first premise.
    fn reported(&mut self) -> Vec<(Known, Option<Row>)> {
        let scope = Scope { scratch: &self.scratch, ambient: &Nowhere };
        let mut reported = Vec::new();
        self.views.derivations(&self.plan, &mut self.database, scope, &mut |it| {
            let premises = it.premises.to_vec();
            reported.push((it.rule, (it.head, ints(it.columns)), premises));
        });
        let database = &self.database;
        reported
            .into_iter()
            .map(|(rule, head, premises)| {
                let first = premises.first().map(|it| row_of(database, it.relation, it.row));
                ((rule, head, rows_of(database, &premises)), first)
            })
            .collect()
    }

    /// The rows that exist and did not before this commit.
    fn new_rows(&self) -> BTreeSet<Row> {
        let new = |change: &Change| change.kind == ChangeKind::Insert;
        let net = self.views.net(&self.database).into_iter().filter(new);
        net.map(|change| row_of(&self.database, change.relation, change.row)).collect()
    }
}

#[test]
fn each_new_derivation_is_reported_once() {
    for (plan, text) in PLANS.iter().enumerate() {
        for seed in 0..if cfg!(miri) { 1 } else { 30 } {
            let mut random = tidemill_stdx::rng::Rng::new(seed + 100 * plan as u64);
            let mut bench = Bench::new(text);
            bench.trace_all(usize::MAX);
            assert!(bench.views.is_traced());
            let grouped: BTreeSet<RelationId> = (bench.plan.strata.iter())
                .flat_map(|stratum| &stratum.rules)
                .filter(|rule| rule.kind == ViewKind::Grouped)
                .map(|rule| rule.head)
                .collect();
            let mut before = BTreeSet::new();
            for _ in 0..if cfg!(miri) { 5 } else { 12 } {
                for _ in 0..random.below(6) {
                    let mut row = vec![random.below(5) as i64, random.below(5) as i64];
                    if plan == 1 {
                        row.push(random.below(9) as i64 + 1);
                    }
                    let relation = random.below(BASES[plan]) as u32;
                    match random.below(3) {
                        0 => bench.delete(relation, &row),
                        _ => bench.insert(relation, &row),
                    }
                }
                bench.evaluate();
                let (all, new) = (bench.all_derivations(), bench.new_rows());
                // A row of a group is derived when it comes, and not when what is behind it does.
                let is_new = |it: &&Known| {
                    if grouped.contains(&it.1.0) {
                        new.contains(&it.1)
                    } else {
                        !before.contains(*it)
                    }
                };
                let expected: Vec<&Known> = all.iter().filter(is_new).collect();
                let mut reported = bench.reported();
                reported.sort();
                let known: Vec<&Known> = reported.iter().map(|(known, _)| known).collect();
                assert_eq!(known, expected, "plan {plan}, seed {seed}");
                for ((rule, head, premises), first) in &reported {
                    if premises.iter().any(|it| new.contains(it)) {
                        let first = first.as_ref().unwrap();
                        assert!(new.contains(first), "{rule:?} {head:?}: {first:?}");
                    }
                }
                assert_eq!(bench.views.derivations_beyond(), 0);
                bench.views.settle(&mut bench.database);
                assert_eq!(bench.reported(), []);
                before = all;
            }
        }
    }
}

#[test]
fn of_many_derivations_some_are_noted_and_the_others_counted() {
    let mut bench = Bench::new(CLOSURE);
    bench.trace_all(2);
    for (at, beyond) in [(10, 3), (20, 3)] {
        for edge in 0..5 {
            bench.insert(0, &[at + 2 * edge, at + 2 * edge + 1]);
        }
        bench.evaluate();
        assert_eq!(bench.reported().len(), 2);
        assert_eq!(bench.views.derivations_beyond(), beyond);
        bench.views.settle(&mut bench.database);
        assert_eq!(bench.views.derivations_beyond(), 0);
    }
}

#[test]
fn rules_that_are_not_traced_report_nothing() {
    let mut bench = Bench::new(CLOSURE);
    bench.views.trace(&bench.plan, |stratum, rule| (stratum, rule) == (0, 1), 100);
    bench.insert(0, &[1, 2]);
    bench.insert(0, &[2, 3]);
    bench.evaluate();
    let reported = bench.reported();
    assert_eq!(reported.len(), 1);
    let (known, _) = &reported[0];
    assert_eq!((known.0, &known.1), (RuleId(1), &(RelationId(1), vec![1, 3])));
    bench.views.trace(&bench.plan, |_, _| false, 100);
    assert!(!bench.views.is_traced());
}

#[test]
fn behind_a_large_group_stand_some_of_its_rows() {
    let mut bench = Bench::new(NEGATION);
    bench.trace_all(1000);
    let many = PREMISES_MAX as i64 + 6;
    for x in 0..many {
        bench.insert(0, &[x, 7]);
    }
    bench.evaluate();
    let reported = bench.reported();
    let of_group = reported.iter().find(|(known, _)| known.0 == RuleId(1)).unwrap();
    assert_eq!(of_group.0.1, (RelationId(3), vec![7, many]));
    assert_eq!(of_group.0.2.len(), PREMISES_MAX);
}
