//! The engine against the naive oracle, and against expected results.

mod commits;
mod soft;
mod traced;

use super::delta::Delta;
use super::*;
use crate::eval::{Ambient, Param};
use crate::plan::{parse, verify};
use crate::table::Access;
use tidemill_stdx::keyed::Secret;
use tidemill_stdx::region::Bump;

/// Transitive closure, linear and in hard state.
const CLOSURE: &str = r#"
relation p0 "edge" at 0 (int64, int64)
  table key(0, 1)
relation p1 "path" at 0 (int64, int64)
  table key(0, 1) index(1)
rule r0 "base" at "t:1:1"
rule r1 "step" at "t:2:1"
stratum heads(p1) selected()
  view r0 maintained p1 from p0
    scan r0 on scan p1 () regs 2
      join p0 scan [] atom 0 (v0, v1)
      insert p1 (v0, v1)
    delta r0 on delta p0 (v0, v1) regs 2
      insert p1 (v0, v1)
    check r0 on head p1 (v0, v1) regs 2
      join p0 primary [v0, v1] atom 0 (_, _)
      insert p1 (v0, v1)
  view r1 maintained p1 from p1, p0
    scan r1 on scan p1 () regs 3
      join p1 scan [] atom 0 (v0, v1)
      join p0 scan [] atom 1 (=v1, v2)
      insert p1 (v0, v2)
    delta r1 on delta p1 (v0, v1) regs 3
      join p0 scan [] atom 1 (=v1, v2)
      insert p1 (v0, v2)
    delta r1 on delta p0 (v1, v2) regs 3
      join p1 index 0 [v1] atom 0 (v0, _)
      insert p1 (v0, v2)
    check r1 on head p1 (v0, v2) regs 3
      join p1 scan [] atom 0 (=v0, v1)
      join p0 primary [v1, v2] atom 1 (_, _)
      insert p1 (v0, v2)
"#;

/// Shortest paths: `edge(X, Y, C)`, `path(X, Y, C)`, `best(X, Y, MIN<C>)` in one cycle.
const SHORTEST: &str = r#"
relation p0 "edge" at 0 (int64, int64, int64)
  table key(0, 1)
relation p1 "path" at 0 (int64, int64, int64)
  table key(0, 1, 2) index(0, 1)
relation p2 "best" at 0 (int64, int64, int64)
  table key(0, 1) index(1)
  hidden
rule r0 "base" at "t:1:1"
rule r1 "step" at "t:2:1"
rule r2 "best" at "t:3:1"
stratum heads(p1, p2) selected()
  view r0 maintained p1 from p0
    scan r0 on scan p1 () regs 3
      join p0 scan [] atom 0 (v0, v1, v2)
      insert p1 (v0, v1, v2)
    delta r0 on delta p0 (v0, v1, v2) regs 3
      insert p1 (v0, v1, v2)
    check r0 on head p1 (v0, v1, v2) regs 3
      join p0 primary [v0, v1] atom 0 (_, _, =v2)
      insert p1 (v0, v1, v2)
  view r1 maintained p1 from p0, p2
    scan r1 on scan p1 () regs 6
      join p0 scan [] atom 0 (v0, v1, v2)
      join p2 scan [] atom 1 (=v1, v3, v4)
      insert p1 (v0, v3, (+ v2 v4))
    delta r1 on delta p0 (v0, v1, v2) regs 6
      join p2 scan [] atom 1 (=v1, v3, v4)
      insert p1 (v0, v3, (+ v2 v4))
    delta r1 on delta p2 (v1, v3, v4) regs 6
      join p0 scan [] atom 0 (v0, =v1, v2)
      insert p1 (v0, v3, (+ v2 v4))
    check r1 on head p1 (v0, v3, v5) regs 6
      join p0 scan [] atom 0 (=v0, v1, v2)
      join p2 primary [v1, v3] atom 1 (_, _, v4)
      filter (== (+ v2 v4) v5)
      insert p1 (v0, v3, v5)
  view r2 grouped p2 from p1
    scan r2 on scan p2 () regs 3
      join p1 scan [] atom 0 (v0, v1, v2)
      insert p2 (v0, v1, v2)
    delta r2 on delta p1 (v0, v1, v2) regs 3
      insert p2 (v0, v1, v2)
    check r2 on head p2 (v0, v1, _) regs 3
      join p1 index 0 [v0, v1] atom 0 (_, _, v2)
      insert p2 (v0, v1, MIN<v2>) group 0
"#;

/// `only(X) :- a(X), notin b(X)`, and a count of them by parity.
const NEGATION: &str = r#"
relation p0 "a" at 0 (int64, int64)
  table key(0, 1)
relation p1 "b" at 0 (int64, int64)
  table key(0, 1)
relation p2 "only" at 0 (int64, int64)
  table key(0, 1) index(1)
relation p3 "count" at 0 (int64, int64)
  table key(0)
rule r0 "only" at "t:1:1"
rule r1 "count" at "t:2:1"
stratum heads(p2) selected()
  view r0 maintained p2 from p0, not p1
    scan r0 on scan p2 () regs 2
      join p0 scan [] atom 0 (v0, v1)
      absent p1 scan [] atom 1 (=v0, _)
      insert p2 (v0, v1)
    delta r0 on delta p0 (v0, v1) regs 2
      absent p1 scan [] atom 1 (=v0, _)
      insert p2 (v0, v1)
    delta r0 on delta p1 (v0, _) regs 2
      join p0 scan [] atom 0 (=v0, v1)
      absent p1 scan [] atom 1 (=v0, _)
      insert p2 (v0, v1)
    check r0 on head p2 (v0, v1) regs 2
      join p0 primary [v0, v1] atom 0 (_, _)
      absent p1 scan [] atom 1 (=v0, _)
      insert p2 (v0, v1)
stratum heads(p3) selected()
  view r1 grouped p3 from p2
    scan r1 on scan p3 () regs 2
      join p2 scan [] atom 0 (v0, v1)
      insert p3 (v1, v0)
    delta r1 on delta p2 (v0, v1) regs 2
      insert p3 (v1, v0)
    check r1 on head p3 (v1, _) regs 2
      join p2 index 0 [v1] atom 0 (v0, _)
      insert p3 (v1, COUNT<v0>) group 0
"#;

/// Two rules derive rows with one key: the later rule's row wins.
const KEYED: &str = r#"
relation p0 "a" at 0 (int64, int64)
  table key(0, 1)
relation p1 "b" at 0 (int64, int64)
  table key(0, 1)
relation p2 "c!" at 0 (int64, int64, int64)
  table key(0, 1, 2) index(1)
  hidden
relation p3 "c" at 0 (int64, int64)
  table key(0)
  candidates p2
rule r0 "from a" at "t:1:1"
rule r1 "from b" at "t:2:1"
stratum heads(p2) selected(p3)
  view r0 maintained p2 from p0
    scan r0 on scan p2 () regs 2
      join p0 scan [] atom 0 (v0, v1)
      insert p2 (0, v0, v1)
    delta r0 on delta p0 (v0, v1) regs 2
      insert p2 (0, v0, v1)
    check r0 on head p2 (=0, v0, v1) regs 2
      join p0 primary [v0, v1] atom 0 (_, _)
      insert p2 (0, v0, v1)
  view r1 maintained p2 from p1
    scan r1 on scan p2 () regs 2
      join p1 scan [] atom 0 (v0, v1)
      insert p2 (1, v0, v1)
    delta r1 on delta p1 (v0, v1) regs 2
      insert p2 (1, v0, v1)
    check r1 on head p2 (=1, v0, v1) regs 2
      join p1 primary [v0, v1] atom 0 (_, _)
      insert p2 (1, v0, v1)
"#;

/// `count(X, COUNT<Y>) :- a(X, Y), b(Y, X), notin d(X, _)`: a join of tables that are complete.
const JOINED: &str = r#"
relation p0 "a" at 0 (int64, int64)
  table key(0, 1) index(1)
relation p1 "b" at 0 (int64, int64)
  table key(0, 1) index(1)
relation p2 "d" at 0 (int64, int64)
  table key(0, 1) index(0)
relation p3 "count" at 0 (int64, int64)
  table key(0)
rule r0 "count" at "t:1:1"
stratum heads(p3) selected()
  view r0 grouped p3 from p0, p1, not p2
    scan r0 on scan p3 () regs 2
      join p0 scan [] atom 0 (v0, v1)
      join p1 primary [v1, v0] atom 1 (_, _)
      absent p2 index 0 [v0] atom 2 (_, _)
      insert p3 (v0, v1)
    delta r0 on delta p0 (v0, v1) regs 2
      join p1 primary [v1, v0] atom 1 (_, _)
      absent p2 index 0 [v0] atom 2 (_, _)
      insert p3 (v0, v1)
    delta r0 on delta p1 (v1, v0) regs 2
      join p0 primary [v0, v1] atom 0 (_, _)
      absent p2 index 0 [v0] atom 2 (_, _)
      insert p3 (v0, v1)
    delta r0 on delta p2 (v0, _) regs 2
      join p0 scan [] atom 0 (=v0, v1)
      join p1 primary [v1, v0] atom 1 (_, _)
      absent p2 index 0 [v0] atom 2 (_, _)
      insert p3 (v0, v1)
    check r0 on head p3 (v0, _) regs 2
      join p0 scan [] atom 0 (=v0, v1)
      join p1 primary [v1, v0] atom 1 (_, _)
      absent p2 index 0 [v0] atom 2 (_, _)
      insert p3 (v0, COUNT<v1>) group 0
"#;

/// [`CLOSURE`], and how many nodes each reaches, in a later stratum.
fn reach() -> String {
    CLOSURE
        .replace(
            "rule r0 ",
            r#"relation p2 "reach" at 0 (int64, int64)
  table key(0)
rule r0 "#,
        )
        .replace("stratum ", "rule r2 \"reach\" at \"t:3:1\"\nstratum ")
        + r#"
stratum heads(p2) selected()
  view r2 grouped p2 from p1
    scan r2 on scan p2 () regs 2
      join p1 scan [] atom 0 (v0, v1)
      insert p2 (v0, v1)
    delta r2 on delta p1 (v0, v1) regs 2
      insert p2 (v0, v1)
    check r2 on head p2 (v0, _) regs 2
      join p1 scan [] atom 0 (=v0, v1)
      insert p2 (v0, COUNT<v1>) group 0
"#
}

pub(crate) const PLANS: [&str; 5] = [CLOSURE, SHORTEST, NEGATION, KEYED, JOINED];

/// The number of tables of each plan, and of [`reach`], that hold facts; these are the first ones.
const BASES: [u64; 6] = [1, 1, 2, 2, 3, 1];

struct Nowhere;

impl Ambient for Nowhere {
    fn now_ns(&self) -> i64 {
        0
    }

    fn random(&self) -> u64 {
        0
    }

    fn param(&self, _: Param) -> Value<'_> {
        Value::Null
    }
}

/// The engine on a plan.
pub(super) struct Bench {
    plan: Plan,
    pub(super) database: Database,
    pub(super) views: Views,
    scratch: Bump,
}

impl Bench {
    pub(super) fn new(text: &str) -> Bench {
        let mut bench = Bench::unobserved(text);
        for relation in 0..bench.plan.relations.len() as u32 {
            bench.views.observe(RelationId(relation));
        }
        bench
    }

    /// Its changes are not recorded.
    pub(super) fn unobserved(text: &str) -> Bench {
        let plan = parse(text).unwrap();
        assert_eq!(verify(&plan), Ok(()));
        let views = Views::new(&plan, Secret::new(2));
        Bench { database: Database::new(&plan, Secret::new(1)), views, plan, scratch: Bump::new() }
    }

    fn insert(&mut self, relation: u32, row: &[i64]) {
        let row: Vec<Value<'_>> = row.iter().map(|&value| Value::Int(value)).collect();
        self.change(relation, &row, false);
    }

    fn delete(&mut self, relation: u32, row: &[i64]) {
        let row: Vec<Value<'_>> = row.iter().map(|&value| Value::Int(value)).collect();
        self.change(relation, &row, true);
    }

    pub(super) fn change(&mut self, relation: u32, row: &[Value<'_>], delete: bool) {
        let (plan, database, relation) = (&self.plan, &mut self.database, RelationId(relation));
        if delete {
            self.views.delete(plan, database, relation, row)
        } else {
            self.views.insert(plan, database, relation, row, 0)
        }
    }

    /// Evaluates, and compares with the oracle.
    fn evaluate(&mut self) -> Contents {
        let scope = Scope { scratch: &self.scratch, ambient: &Nowhere };
        loop {
            match self.views.step(&self.plan, &mut self.database, scope, 0, &mut ()) {
                Progress::More => {}
                Progress::Done => break,
                Progress::Exceeded => panic!("too much"),
            }
        }
        let now = contents(&self.database);
        let naive = evaluate_naively(&self.plan, &self.database, scope, 1000).unwrap();
        assert_eq!(now, contents(&naive));
        now
    }

    /// Evaluates, compares with the oracle, settles.
    pub(super) fn commit_unobserved(&mut self) {
        self.evaluate();
        self.views.settle(&mut self.database);
    }

    /// Evaluates, compares with the oracle and with the net changes, settles.
    pub(super) fn commit(&mut self, before: &Contents) -> Contents {
        let now = self.evaluate();
        let mut replayed = before.clone();
        for change in self.views.net(&self.database) {
            let mut bytes = Vec::new();
            let table = self.database.table(change.relation);
            for column in 0..table.spec().arity {
                crate::flat::write_value(&mut bytes, table.value(change.row, column));
            }
            let rows = replayed.entry(change.relation).or_default();
            match change.kind {
                ChangeKind::Insert => assert!(rows.insert(bytes)),
                ChangeKind::Delete => assert!(rows.remove(&bytes)),
                ChangeKind::Refresh => assert!(rows.contains(&bytes)),
            }
        }
        replayed.retain(|_, rows| !rows.is_empty());
        assert_eq!(replayed, now, "the net changes lead from the state before to the state after");
        self.views.settle(&mut self.database);
        now
    }

    fn rows(&self, relation: u32) -> Vec<Vec<i64>> {
        let table = self.database.table(RelationId(relation));
        let mut rows: Vec<Vec<i64>> = table
            .rows(Access::Scan, &[], Visible::Live)
            .map(|row| {
                (0..table.spec().arity).map(|c| table.value(row, c).as_int().unwrap()).collect()
            })
            .collect();
        rows.sort();
        rows
    }
}

#[test]
fn a_cycle_does_not_support_itself() {
    let mut bench = Bench::new(CLOSURE);
    for edge in [[1, 2], [2, 3], [3, 2]] {
        bench.insert(0, &edge);
    }
    let before = bench.commit(&Contents::new());
    assert_eq!(bench.rows(1), [[1, 2], [1, 3], [2, 2], [2, 3], [3, 2], [3, 3]]);
    bench.delete(0, &[1, 2]);
    bench.commit(&before);
    assert_eq!(bench.rows(1), [[2, 2], [2, 3], [3, 2], [3, 3]]);
}

/// The example of `rounds.rs`: the phases of a commit, and the paths after each pass.
#[test]
fn the_phases_of_a_commit() {
    let mut bench = Bench::new(CLOSURE);
    for edge in [[1, 2], [2, 3], [1, 3]] {
        bench.insert(0, &edge);
    }
    bench.commit(&Contents::new());
    bench.delete(0, &[2, 3]);
    bench.insert(0, &[3, 4]);
    let scope = Scope { scratch: &bench.scratch, ambient: &Nowhere };
    let mut passes = Vec::new();
    loop {
        let phase = bench.views.phase;
        let progress = bench.views.step(&bench.plan, &mut bench.database, scope, 0, &mut ());
        let paths = bench.rows(1);
        let paths: Vec<String> =
            paths.iter().map(|path| format!("{}{}", path[0], path[1])).collect();
        passes.push(format!("{phase:?} {}", paths.join(" ")));
        if progress == Progress::Done {
            break;
        }
    }
    let expected = [
        "Start 12 13 23",
        "Retract 12 13",
        "Retract 12 13",
        "Rederive 12 13",
        "Extend 12 13 14 34",
        "Retract 12 13 14 34",
        "Rederive 12 13 14 34",
        "Extend 12 13 14 34",
        "Retract 12 13 14 34",
        "Rederive 12 13 14 34",
        "Extend 12 13 14 34",
    ];
    assert_eq!(passes, expected);
    // 13 was not even retracted.
    assert_eq!(bench.views.stayed, 1);
}

/// The table of `delta.rs`: which entries of the logs are in which delta.
#[test]
fn a_log_has_the_rows_of_each_delta() {
    let mut bench = Bench::new(CLOSURE);
    let [inserted, removed, came_and_went, put_back] = [1, 2, 3, 4].map(|row| [row, row]);
    bench.insert(0, &removed);
    bench.insert(0, &put_back);
    bench.commit(&Contents::new());
    bench.insert(0, &inserted);
    bench.delete(0, &removed);
    bench.insert(0, &came_and_went);
    bench.delete(0, &came_and_went);
    bench.delete(0, &put_back);
    bench.insert(0, &put_back);
    let rows = |delta: Delta| -> Vec<[i64; 2]> {
        let table = bench.database.table(RelationId(0));
        let entries = delta.entries(bench.views.changes.log(RelationId(0)));
        let rows = entries.iter().filter(|row| delta.has(table, **row));
        rows.map(|row| [0, 1].map(|column| table.value(*row, column).as_int().unwrap())).collect()
    };
    assert_eq!(rows(Delta::Inserted), [inserted, put_back]);
    assert_eq!(rows(Delta::Blocking), [inserted, put_back]);
    assert_eq!(rows(Delta::Removed), [removed, came_and_went]);
    assert_eq!(rows(Delta::Unblocking), [removed]);
}

#[test]
fn an_asserted_row_stands_without_support() {
    let mut bench = Bench::new(CLOSURE);
    bench.insert(0, &[1, 2]);
    bench.insert(1, &[1, 2]);
    bench.insert(1, &[7, 1]);
    let before = bench.commit(&Contents::new());
    assert_eq!(bench.rows(1), [[1, 2], [7, 1], [7, 2]]);
    bench.delete(0, &[1, 2]);
    let before = bench.commit(&before);
    assert_eq!(bench.rows(1), [[1, 2], [7, 1]]);
    bench.delete(1, &[1, 2]);
    bench.commit(&before);
    assert_eq!(bench.rows(1), [[7, 1]]);
}

#[test]
fn a_longer_path_takes_over_when_the_shortest_goes() {
    let mut bench = Bench::new(SHORTEST);
    for edge in [[1, 2, 1], [2, 3, 1], [1, 3, 5], [3, 1, 1]] {
        bench.insert(0, &edge);
    }
    let before = bench.commit(&Contents::new());
    let distance = |bench: &Bench| bench.rows(2).into_iter().find(|r| r[..2] == [1, 3]);
    assert_eq!(distance(&bench), Some(vec![1, 3, 2]));
    bench.delete(0, &[2, 3, 1]);
    let before = bench.commit(&before);
    assert_eq!(distance(&bench), Some(vec![1, 3, 5]));
    bench.delete(0, &[1, 3, 5]);
    bench.commit(&before);
    assert_eq!(distance(&bench), None);
}

#[test]
fn the_later_rule_wins_a_key_and_the_other_returns() {
    let mut bench = Bench::new(KEYED);
    bench.insert(1, &[1, 20]);
    let before = bench.commit(&Contents::new());
    bench.insert(0, &[1, 10]);
    let before = bench.commit(&before);
    assert_eq!(bench.rows(3), [[1, 20]]);
    bench.delete(1, &[1, 20]);
    bench.commit(&before);
    assert_eq!(bench.rows(3), [[1, 10]]);
}

#[test]
fn a_rolled_back_commit_leaves_no_trace() {
    let mut bench = Bench::new(CLOSURE);
    bench.insert(0, &[1, 2]);
    let before = bench.commit(&Contents::new());
    bench.insert(0, &[2, 3]);
    bench.delete(0, &[1, 2]);
    let scope = Scope { scratch: &bench.scratch, ambient: &Nowhere };
    bench.views.step(&bench.plan, &mut bench.database, scope, 0, &mut ());
    bench.views.roll_back(&mut bench.database);
    assert_eq!(contents(&bench.database), before);
}

/// Random changes to the base tables of each plan, several in a commit; the oracle agrees.
#[test]
fn random_changes_agree_with_the_oracle() {
    let reach = reach();
    for (plan, text) in PLANS.into_iter().chain([&*reach]).enumerate() {
        for seed in 0..if cfg!(miri) { 2 } else { 60 } {
            let mut random = tidemill_stdx::hash::hash_u64(seed + 1000 * plan as u64);
            let mut next = |below: u64| {
                random = tidemill_stdx::hash::hash_u64(random);
                (random >> 32) % below
            };
            let mut bench = Bench::new(text);
            // Every other run looks at words wherever it can.
            bench.views.narrow_from *= (seed % 2) as usize;
            bench.views.keep_groups_from(if seed % 3 == 0 { 0 } else { 3 });
            let mut before = Contents::new();
            for _ in 0..if cfg!(miri) { 5 } else { 25 } {
                for _ in 0..next(6) {
                    let relation = next(BASES[plan]) as u32;
                    let mut row = vec![next(6) as i64, next(6) as i64];
                    if plan == 1 {
                        row.push(next(9) as i64 + 1);
                    }
                    match next(5) {
                        0 | 1 => bench.delete(relation, &row),
                        _ => bench.insert(relation, &row),
                    }
                }
                before = bench.commit(&before);
            }
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "thousands of paths")]
fn a_dense_closure_is_right_while_edges_come_and_go() {
    let mut random = tidemill_stdx::rng::Rng::new(7);
    let mut bench = Bench::unobserved(CLOSURE);
    let mut edges: Vec<[i64; 2]> = Vec::new();
    for round in 0..8 {
        for _ in 0..if round == 0 { 130 } else { 6 } {
            let edge = [random.below(70) as i64, random.below(70) as i64];
            edges.push(edge);
            bench.insert(0, &edge);
        }
        for _ in 0..round % 3 {
            let at = random.below(edges.len() as u64) as usize;
            bench.delete(0, &edges.swap_remove(at));
        }
        bench.commit_unobserved();
        assert!(bench.database.table(RelationId(1)).len() > 2000, "{round}");
    }
    assert!(bench.views.ran_on_words > 0);
}
