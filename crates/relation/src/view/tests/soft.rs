//! Soft state: rows that are inserted again fire rules.

use super::*;

/// `alive(X, Y) :- ping(X, Y)`, and how many pings each node has, among them those of it that are
/// in a table of hard state.
const PINGS: &str = r#"
relation p0 "ping" at 0 (int64, int64)
  table key(0, 1) lifetime 100 soft
relation p1 "alive" at 0 (int64, int64)
  table key(0, 1) lifetime 100 soft
relation p2 "known" at 0 (int64, int64)
  table key(0, 1)
relation p3 "pings" at 0 (int64, int64)
  table key(0) soft
  hidden
relation p4 "joined" at 0 (int64, int64)
  table key(0) soft
  hidden
relation p5 "steady" at 0 (int64, int64)
  table key(0)
rule r0 "alive" at "t:1:1"
rule r1 "pings" at "t:2:1"
rule r2 "joined" at "t:3:1"
rule r3 "steady" at "t:4:1"
stratum heads(p1) selected()
  view r0 plain p1 from p0
    scan r0 on scan p1 () regs 2
      join p0 scan [] atom 0 (v0, v1)
      insert p1 (v0, v1)
    delta r0 on delta p0 (v0, v1) regs 2
      insert p1 (v0, v1)
stratum heads(p3) selected()
  view r1 grouped p3 from p0
    scan r1 on scan p3 () regs 2
      join p0 scan [] atom 0 (v0, v1)
      insert p3 (v0, v1)
    delta r1 on delta p0 (v0, v1) regs 2
      insert p3 (v0, v1)
    check r1 on head p3 (v0, _) regs 2
      join p0 scan [] atom 0 (=v0, v1)
      insert p3 (v0, COUNT<v1>) group 0
stratum heads(p4) selected()
  view r2 grouped p4 from p0, p2
    scan r2 on scan p4 () regs 2
      join p0 scan [] atom 0 (v0, v1)
      join p2 primary [v0, v1] atom 1 (_, _)
      insert p4 (v0, v1)
    delta r2 on delta p0 (v0, v1) regs 2
      join p2 primary [v0, v1] atom 1 (_, _)
      insert p4 (v0, v1)
    delta r2 on delta p2 (v0, v1) regs 2
      join p0 primary [v0, v1] atom 0 (_, _)
      insert p4 (v0, v1)
    check r2 on head p4 (v0, _) regs 2
      join p0 scan [] atom 0 (=v0, v1)
      join p2 primary [v0, v1] atom 1 (_, _)
      insert p4 (v0, COUNT<v1>) group 0
stratum heads(p5) selected()
  view r3 grouped p5 from p0
    scan r3 on scan p5 () regs 2
      join p0 scan [] atom 0 (v0, v1)
      insert p5 (v0, v1)
    delta r3 on delta p0 (v0, v1) regs 2
      insert p5 (v0, v1)
    check r3 on head p5 (v0, _) regs 2
      join p0 scan [] atom 0 (=v0, v1)
      insert p5 (v0, COUNT<v1>) group 0
"#;

impl Bench {
    /// Evaluates, settles, and returns the changes by row.
    fn happened(&mut self) -> Vec<(ChangeKind, u32, Vec<i64>)> {
        assert_eq!(self.run(), Progress::Done);
        let of = |change: Change| {
            let row: Vec<i64> = (self.database.table(change.relation).values(change.row))
                .map(|value| value.as_int().unwrap())
                .collect();
            (change.kind, change.relation.0, row)
        };
        let mut changes: Vec<_> = self.views.net(&self.database).into_iter().map(of).collect();
        changes.sort_by_key(|(_, relation, row)| (*relation, row.clone()));
        self.views.settle(&mut self.database);
        changes
    }
}

#[test]
fn a_refresh_goes_on_to_what_follows_and_happens_once() {
    use ChangeKind::{Delete, Insert, Refresh};
    let row = |kind, relation, row: [i64; 2]| (kind, relation, row.to_vec());
    let mut bench = Bench::new(PINGS);
    bench.insert(2, &[1, 1]);
    bench.insert(0, &[1, 1]);
    let both = |kind, number: i64| {
        let at = |relation| row(kind, relation, [number, number]);
        let counted = |relation| row(kind, relation, [number, 1]);
        (at(0), at(1), counted(3), counted(4), counted(5))
    };
    let (ping, alive, pings, joined, steady) = both(Insert, 1);
    let known = row(Insert, 2, [1, 1]);
    assert_eq!(bench.happened(), [ping, alive, known, pings, joined, steady]);
    // Hard state has no use for it: no refresh of p5 is reported.
    let (ping, alive, pings, joined, _) = both(Refresh, 1);
    bench.insert(0, &[1, 1]);
    bench.insert(0, &[1, 1]);
    assert_eq!(bench.happened(), [ping, alive, pings, joined]);
    // It is over with its commit.
    let (ping, alive, pings, _, steady) = both(Insert, 2);
    let pings = (pings.0, pings.1, vec![2, 1]);
    let steady = (steady.0, steady.1, vec![2, 1]);
    bench.insert(0, &[2, 2]);
    assert_eq!(bench.happened(), [ping, alive, pings, steady]);
    // What was put in twice is new once, and a group with one more result is another row.
    bench.insert(0, &[1, 3]);
    bench.insert(0, &[1, 3]);
    let expected = [
        row(Insert, 0, [1, 3]),
        row(Insert, 1, [1, 3]),
        row(Delete, 3, [1, 1]),
        row(Insert, 3, [1, 2]),
        row(Delete, 5, [1, 1]),
        row(Insert, 5, [1, 2]),
    ];
    assert_eq!(bench.happened(), expected);
    // A row of hard state that comes again refreshes nothing behind it.
    bench.insert(2, &[1, 1]);
    assert_eq!(bench.happened(), [row(Refresh, 2, [1, 1])]);
}

#[test]
fn what_plain_rules_have_put_in_stays() {
    let mut bench = Bench::new(PINGS);
    bench.insert(0, &[1, 1]);
    bench.run_and_settle();
    bench.delete(0, &[1, 1]);
    bench.run_and_settle();
    assert_eq!((bench.rows(0).len(), bench.rows(1)), (0, vec![vec![1, 1]]));
    assert_eq!((bench.rows(3).len(), bench.rows(5).len()), (0, 0));
}
