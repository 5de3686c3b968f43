//! Limits of commits, commits that are given up, and rows inserted into or deleted from tables that
//! rules fill.

use super::*;

impl Bench {
    pub(super) fn step(&mut self) -> Progress {
        let scope = Scope { scratch: &self.scratch, ambient: &Nowhere };
        self.views.step(&self.plan, &mut self.database, scope, 0, &mut ())
    }

    /// Evaluates without the oracle, which does not know in which order things happened.
    pub(super) fn run(&mut self) -> Progress {
        loop {
            match self.step() {
                Progress::More => {}
                ended => return ended,
            }
        }
    }

    pub(super) fn run_and_settle(&mut self) {
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
    // Until paths have been retracted, and none is put back yet.
    while bench.rows(1).len() == 9 {
        assert_eq!(bench.step(), Progress::More);
    }
    bench.views.roll_back(&mut bench.database);
    assert_eq!(bench.rows(1).len(), 9);
    // A path that is deleted, and not retracted, stays deleted although its edge exists.
    bench.delete(1, &[1, 2]);
    bench.run_and_settle();
    assert!(!bench.rows(1).contains(&vec![1, 2]));
}

#[test]
fn a_deleted_row_stays_away_when_what_led_to_it_is_put_back() {
    let mut bench = Bench::new(CLOSURE);
    for edge in [[1, 2], [2, 3], [1, 4], [4, 2]] {
        bench.insert(0, &edge);
    }
    bench.run_and_settle();
    assert!(bench.rows(1).contains(&vec![1, 3]));
    // The path from 1 to 2 has another way, which is younger: it is retracted and put back.
    bench.delete(0, &[1, 2]);
    bench.delete(1, &[1, 3]);
    bench.run_and_settle();
    assert_eq!(bench.rows(1), [[1, 2], [1, 4], [2, 3], [4, 2], [4, 3]]);
    // A derivation that did not hold brings it back.
    bench.insert(0, &[4, 3]);
    bench.run_and_settle();
    assert!(bench.rows(1).contains(&vec![1, 3]));
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

/// Values go along links, one for each node: the last rule's, and of its the last.
const ALONG_LINKS: &str = r#"
relation p0 "a" at 0 (int64, int64)
  table key(0, 1)
relation p1 "link" at 0 (int64, int64)
  table key(0, 1) index(1)
relation p2 "c!" at 0 (int64, int64, int64)
  table key(0, 1, 2) index(1)
  hidden
relation p3 "c" at 0 (int64, int64)
  table key(0)
  candidates p2
rule r0 "from a" at "t:1:1"
rule r1 "along" at "t:2:1"
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
  view r1 maintained p2 from p1, p3
    scan r1 on scan p2 () regs 3
      join p1 scan [] atom 0 (v0, v1)
      join p3 primary [v1] atom 1 (_, v2)
      insert p2 (1, v0, v2)
    delta r1 on delta p1 (v0, v1) regs 3
      join p3 primary [v1] atom 1 (_, v2)
      insert p2 (1, v0, v2)
    delta r1 on delta p3 (v1, v2) regs 3
      join p1 index 0 [v1] atom 0 (v0, _)
      insert p2 (1, v0, v2)
    check r1 on head p2 (=1, v0, v2) regs 3
      join p1 scan [] atom 0 (=v0, v1)
      join p3 primary [v1] atom 1 (_, =v2)
      insert p2 (1, v0, v2)
"#;

#[test]
fn a_cycle_of_selected_rows_does_not_support_itself() {
    let mut bench = Bench::new(ALONG_LINKS);
    bench.insert(0, &[1, 7]);
    for link in [[2, 1], [1, 2]] {
        bench.insert(1, &link);
    }
    let before = bench.commit(&Contents::new());
    assert_eq!(bench.rows(3), [[1, 7], [2, 7]]);
    bench.delete(0, &[1, 7]);
    bench.commit(&before);
    assert_eq!(bench.rows(3), [[0; 2]; 0]);
}

/// [`KEYED`], and a table of its kind in a stratum after it.
fn keyed_twice() -> String {
    let (tables, stratum) = KEYED.split_at(KEYED.find("stratum").unwrap());
    let (tables, rules) = tables.split_at(tables.find("rule").unwrap());
    let later = |text: &str| {
        let text = text.replace("p3", "p7").replace("p2", "p6").replace("p1", "p5");
        let text = text.replace("p0", "p4").replace("r1", "r3").replace("r0", "r2");
        text.replace(" \"", " \"later ")
    };
    let parts = [tables, &later(tables), rules, &later(rules), stratum, &later(stratum)];
    parts.concat().replace("at \"later", "at \"")
}

#[test]
fn what_a_later_stratum_selects_anew_waits_for_it() {
    let mut bench = Bench::new(&keyed_twice());
    for row in [[1, 10], [1, 11]] {
        bench.insert(4, &row);
    }
    bench.run_and_settle();
    assert_eq!(bench.rows(7), [[1, 11]]);
    // The row that stands goes with its derivation, while an earlier stratum selects too.
    bench.delete(7, &[1, 11]);
    bench.insert(0, &[5, 50]);
    bench.run_and_settle();
    assert_eq!((bench.rows(3), bench.rows(7)), (vec![vec![5, 50]], vec![vec![1, 10]]));
}

#[test]
fn a_row_that_came_and_went_is_not_there_when_the_commit_is_given_up() {
    let mut bench = Bench::new(CLOSURE);
    bench.insert(0, &[1, 2]);
    let before = bench.commit(&Contents::new());
    bench.insert(0, &[8, 9]);
    bench.delete(0, &[8, 9]);
    bench.delete(0, &[1, 2]);
    bench.step();
    bench.views.roll_back(&mut bench.database);
    assert_eq!(contents(&bench.database), before);
}

#[test]
fn what_is_put_in_again_is_no_change() {
    let mut bench = Bench::unobserved(CLOSURE);
    bench.insert(0, &[1, 2]);
    bench.insert(0, &[1, 2]);
    assert_eq!(bench.views.changed(), 1);
    bench.run_and_settle();
    bench.insert(0, &[1, 2]);
    assert_eq!((bench.views.changed(), bench.views.has_changed()), (0, false));
    bench.run_and_settle();
    // A row is removed once.
    bench.delete(0, &[1, 2]);
    bench.delete(0, &[1, 2]);
    assert_eq!(bench.views.changed(), 1);
}

/// All pairs of rows that have one first column.
const PAIRS: &str = r#"
relation p0 "a" at 0 (int64, int64)
  table key(0, 1)
relation p1 "pair" at 0 (int64, int64)
  table key(0, 1)
rule r0 "pair" at "t:1:1"
stratum heads(p1) selected()
  view r0 maintained p1 from p0, p0
    scan r0 on scan p1 () regs 3
      join p0 scan [] atom 0 (v0, v1)
      join p0 scan [] atom 1 (=v0, v2)
      insert p1 (v1, v2)
    delta r0 on delta p0 (v0, v1) regs 3
      join p0 scan [] atom 1 (=v0, v2)
      insert p1 (v1, v2)
    delta r0 on delta p0 (v0, v2) regs 3
      join p0 scan [] atom 0 (=v0, v1)
      insert p1 (v1, v2)
    check r0 on head p1 (v1, v2) regs 3
      join p0 scan [] atom 0 (v0, =v1)
      join p0 scan [] atom 1 (=v0, =v2)
      insert p1 (v1, v2)
"#;

#[test]
fn what_is_given_up_has_taken_little_more_than_it_may() {
    for narrow_from in [0, usize::MAX] {
        let mut bench = Bench::unobserved(PAIRS);
        bench.views.narrow_from = narrow_from;
        bench.views.limit(1000);
        for value in 0..300 {
            bench.insert(0, &[0, value]);
        }
        assert_eq!(bench.run(), Progress::Exceeded);
        // Of 90,000 pairs.
        let (values, words) = (bench.views.derived.len(), bench.views.derived_words.capacity());
        assert!(values + words < 10_000, "{narrow_from}: {values} and {words}");
        assert!(bench.database.table(RelationId(1)).len() < 10_000, "{narrow_from}");
    }
}

#[test]
fn tables_of_bounded_size_keep_what_came_last() {
    let text = CLOSURE.replace(
        "\"path\" at 0 (int64, int64)\n  table key(0, 1)",
        "\"path\" at 0 (int64, int64)\n  table key(0, 1) size 3",
    );
    for narrow_from in [0, usize::MAX] {
        let mut bench = Bench::new(&text);
        bench.views.narrow_from = narrow_from;
        for node in 0..20 {
            bench.insert(0, &[2 * node, 2 * node + 1]);
        }
        bench.run_and_settle();
        assert_eq!(bench.rows(1), [[34, 35], [36, 37], [38, 39]], "{narrow_from}");
    }
}
