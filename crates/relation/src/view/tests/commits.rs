//! Limits of commits, commits that are given up, and rows that are put in or taken out of what
//! rules fill.

use super::*;

impl Bench {
    fn step(&mut self) -> Progress {
        let scope = Scope { scratch: &self.scratch, ambient: &Nowhere };
        self.views.step(&self.plan, &mut self.database, scope, 0, &mut ())
    }

    /// Evaluates without the oracle, which does not know in which order things happened.
    fn run(&mut self) -> Progress {
        loop {
            match self.step() {
                Progress::More => {}
                ended => return ended,
            }
        }
    }

    fn run_and_settle(&mut self) {
        assert_eq!(self.run(), Progress::Done);
        self.views.settle(&mut self.database);
    }
}

/// Counts to 9 from each seed, then pairs the numbers with each other.
const COUNTING: &str = r#"
relation p0 "seed" at 0 (int64, int64)
  table key(0, 1)
relation p1 "number" at 0 (int64, int64)
  table key(0, 1)
relation p2 "pair" at 0 (int64, int64)
  table key(0, 1)
rule r0 "seed" at "t:1:1"
rule r1 "next" at "t:2:1"
rule r2 "pair" at "t:3:1"
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
  view r1 maintained p1 from p1
    scan r1 on scan p1 () regs 3
      join p1 scan [] atom 0 (v0, v1)
      filter (< v1 9)
      insert p1 (v0, (+ v1 1))
    delta r1 on delta p1 (v0, v1) regs 3
      filter (< v1 9)
      insert p1 (v0, (+ v1 1))
    check r1 on head p1 (v0, v2) regs 3
      join p1 scan [] atom 0 (=v0, v1)
      filter (== (+ v1 1) v2)
      insert p1 (v0, v2)
stratum heads(p2) selected()
  view r2 maintained p2 from p1, p1
    scan r2 on scan p2 () regs 3
      join p1 scan [] atom 0 (v0, v1)
      join p1 scan [] atom 1 (=v0, v2)
      insert p2 (v1, v2)
    delta r2 on delta p1 (v0, v1) regs 3
      join p1 scan [] atom 1 (=v0, v2)
      insert p2 (v1, v2)
    delta r2 on delta p1 (v0, v2) regs 3
      join p1 scan [] atom 0 (=v0, v1)
      insert p2 (v1, v2)
    check r2 on head p2 (v1, v2) regs 3
      join p1 scan [] atom 0 (v0, =v1)
      join p1 scan [] atom 1 (=v0, =v2)
      insert p2 (v1, v2)
"#;

#[test]
fn a_commit_that_changes_too_much_is_given_up() {
    let mut bench = Bench::new(CLOSURE);
    bench.views.limit(6);
    for edge in [[1, 2], [2, 3]] {
        bench.insert(0, &edge);
    }
    // Two edges, three paths.
    let before = bench.commit(&Contents::new());
    for edge in [[3, 4], [4, 5]] {
        bench.insert(0, &edge);
    }
    assert_eq!(bench.run(), Progress::Exceeded);
    assert_eq!(bench.views.overrun(), Overrun::Changed(6));
    bench.views.roll_back(&mut bench.database);
    assert_eq!(contents(&bench.database), before);
    // As many as there may be: an edge, three paths.
    bench.insert(0, &[3, 4]);
    bench.commit(&before);
}

#[test]
fn the_limit_of_a_stratum_that_computes_is_its_own() {
    let mut bench = Bench::new(COUNTING);
    bench.views.limit_computed(9);
    // Nine numbers come in the first stratum, 81 pairs in the second.
    bench.insert(0, &[0, 1]);
    let before = bench.commit(&Contents::new());
    assert_eq!((bench.rows(1).len(), bench.rows(2).len()), (9, 81));
    bench.insert(0, &[1, 0]);
    assert_eq!(bench.run(), Progress::Exceeded);
    assert_eq!(bench.views.overrun(), Overrun::Computed(9));
    bench.views.roll_back(&mut bench.database);
    assert_eq!(contents(&bench.database), before);
}

#[test]
fn a_commit_names_the_rules_at_work() {
    let mut bench = Bench::new(COUNTING);
    bench.insert(0, &[0, 8]);
    assert_eq!(bench.step(), Progress::More);
    assert_eq!(bench.views.rules_at_work(&bench.plan), [RuleId(0), RuleId(1)]);
    while bench.views.rules_at_work(&bench.plan) != [RuleId(2)] {
        assert_eq!(bench.step(), Progress::More);
    }
    assert_eq!(bench.run(), Progress::Done);
    assert_eq!(bench.views.rules_at_work(&bench.plan), []);
    // A rule may have several views.
    let mut bench =
        Bench::new(&CLOSURE.replace("r1", "r0").replace("rule r0 \"step\"", "rule r1 \"step\""));
    bench.insert(0, &[0, 8]);
    assert_eq!(bench.step(), Progress::More);
    assert_eq!(bench.views.rules_at_work(&bench.plan), [RuleId(0)]);
}

#[test]
fn what_a_commit_retracted_before_it_was_given_up_is_forgotten() {
    let mut bench = Bench::new(CLOSURE);
    for edge in [[1, 2], [2, 3], [3, 1]] {
        bench.insert(0, &edge);
    }
    bench.run_and_settle();
    bench.delete(0, &[1, 2]);
    // Until paths have been taken out, and none is put back yet.
    while bench.rows(1).len() == 9 {
        assert_eq!(bench.step(), Progress::More);
    }
    bench.views.roll_back(&mut bench.database);
    assert_eq!(bench.rows(1).len(), 9);
    // A path that is deleted, and not retracted, stays away although its edge is there.
    bench.delete(1, &[1, 2]);
    bench.run_and_settle();
    assert!(!bench.rows(1).contains(&vec![1, 2]));
}

#[test]
fn a_row_that_is_put_in_takes_the_place_of_what_rules_derived() {
    let mut bench = Bench::new(KEYED);
    bench.insert(1, &[1, 20]);
    bench.run_and_settle();
    bench.insert(3, &[1, 99]);
    assert_eq!(bench.rows(3), [[1, 99]], "at once");
    bench.run_and_settle();
    assert_eq!(bench.rows(3), [[1, 99]]);
    assert_eq!(bench.rows(2), [[ASSERTED, 1, 99]]);
    // A later derivation takes its place, and it is back when that goes.
    bench.insert(0, &[1, 10]);
    bench.run_and_settle();
    assert_eq!(bench.rows(3), [[1, 10]]);
    bench.delete(0, &[1, 10]);
    bench.run_and_settle();
    assert_eq!(bench.rows(3), [[1, 99]]);
    bench.delete(3, &[1, 99]);
    bench.run_and_settle();
    assert_eq!((bench.rows(3).len(), bench.rows(2).len()), (0, 0));
}

#[test]
fn what_follows_from_a_row_goes_when_its_time_has_come() {
    let text = CLOSURE.replacen("table key(0, 1)", "table key(0, 1) lifetime 100", 1);
    let mut bench = Bench::new(&text);
    bench.insert(0, &[1, 2]);
    bench.run_and_settle();
    assert_eq!(bench.rows(1), [[1, 2]]);
    assert!(!bench.views.expire(&mut bench.database, RelationId(0), 99));
    assert!(bench.views.expire(&mut bench.database, RelationId(0), 100));
    assert!(!bench.views.expire(&mut bench.database, RelationId(0), 100));
    bench.run_and_settle();
    assert_eq!((bench.rows(0).len(), bench.rows(1).len()), (0, 0));
}
