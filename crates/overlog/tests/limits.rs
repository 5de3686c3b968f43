//! Limits of turns, and the order within one commit.

use std::sync::Arc;

use tidemill_overlog::node::{
    CYCLE_TUPLES_MAX, Event, GivenUp, Identity, Limit, Node, Observer, Sighting,
};
use tidemill_relation::SeqBuilder;
use tidemill_relation::text::{DisplayTuple, parse_tuple};
use tidemill_relation::view::{Overrun, Progress};
use tidemill_stdx::keyed::Secret;

use crate::harness::{Network, program};

/// The turns that were given up.
#[derive(Default)]
struct Log(Vec<(Limit, Vec<String>)>);

impl Observer for Log {
    fn sighted(&mut self, _: Sighting<'_>) {}

    fn violated(&mut self, _: Sighting<'_>) {}

    fn rule_failed(&mut self, _: &str, _: &str, _: &str, _: &str) {}

    fn given_up(&mut self, given_up: GivenUp<'_>) {
        let rules = given_up.rules.iter().map(|(name, _)| (*name).to_owned()).collect();
        self.0.push((given_up.limit, rules));
    }
}

fn node(source: &str) -> Node {
    let identity =
        Identity { address: "n0:1".to_owned(), index: 0, count: 1, landmark: "n0:1".to_owned() };
    Node::new(Arc::new(program(source)), identity, 1, Secret::FIXED)
}

/// Runs the turn of one tuple to its end.
fn turn(node: &mut Node, log: &mut Log, tuple: &str) -> Progress {
    let (name, columns) = parse_tuple(tuple).expect("a tuple");
    let relation = node.program().plan().find(&name).expect("a relation");
    let row = SeqBuilder::from(&columns[..]);
    node.enqueue(Event::Tuple { relation, row, delete: false, received: false });
    run(node, log)
}

/// Runs the next turn to its end.
fn run(node: &mut Node, log: &mut Log) -> Progress {
    node.begin(0, 0, log);
    loop {
        match node.derive(256, log) {
            Progress::More => {}
            Progress::Done => break,
            Progress::Exceeded => {
                node.abandon();
                return Progress::Exceeded;
            }
        }
    }
    node.commit(log);
    loop {
        match node.refine(log) {
            Progress::More => {}
            Progress::Done => break,
            Progress::Exceeded => {
                node.abandon();
                return Progress::Exceeded;
            }
        }
    }
    node.finish(log);
    Progress::Done
}

fn rows(node: &Node, table: &str) -> Vec<String> {
    let mut rows = Vec::new();
    let relation = node.program().plan().find(table).expect("a table");
    node.rows(relation, |row| {
        rows.push(DisplayTuple::new(table, row.iter().copied()).to_string());
    });
    rows
}

#[test]
fn an_endless_turn_is_given_up_with_all_it_did_and_its_cycle_is_named() {
    let mut node = node(
        r#"
        materialize(t, infinity, infinity, keys(1, 2)).
        r1 ping(@N, X) :- start(@N, X).
        r2 t(@N, X) :- start(@N, X).
        r3 pong(@N, X + 1) :- ping(@N, X), X > 0.
        r4 ping(@N, X) :- pong(@N, X).
        r5 done(@N, X) :- ping(@N, X), X == 0.
        "#,
    );
    node.limit_turns(1000);
    let mut log = Log::default();
    assert_eq!(turn(&mut node, &mut log, r#"start("n0:1", 1)"#), Progress::Exceeded);
    assert!(rows(&node, "t").is_empty());
    let cycle = vec!["r3".to_owned(), "r4".to_owned()];
    assert_eq!(log.0, [(Limit::Tuples(1000), cycle)]);
    assert_eq!(node.counters().turns_abandoned, 1);
    // The node continues.
    assert_eq!(turn(&mut node, &mut log, r#"start("n0:1", 0)"#), Progress::Done);
    assert_eq!(rows(&node, "t"), [r#"t("n0:1", 0)"#]);
    assert_eq!(log.0.len(), 1);
}

const COUNTING: &str = r#"
    materialize(t, infinity, infinity, keys(1, 2)).
    r1 ping(@N, X, Most) :- start(@N, Most), X := 0.
    r2 ping(@N, X + 1, Most) :- ping(@N, X, Most), X < Most.
    r3 all(@N, X, Y) :- cross(@N), t(@N, X), t(@N, Y).
    r4 t(@N, X) :- put(@N, X).
    r5 scan(@N, X) :- sweep(@N, X).
    r6 sweep(@N, X + 1) :- scan(@N, X), t(@N, Y), Y % 7 < 0.
    r7 sweep(@N, X + 1) :- scan(@N, X), notin t(@N, -1).
"#;

/// By default a turn may derive many tuples, but only few of them in a cycle.
#[test]
fn going_round_a_cycle_has_a_limit_of_its_own() {
    let mut node = node(COUNTING);
    let mut log = Log::default();
    assert_eq!(turn(&mut node, &mut log, r#"start("n0:1", 400000)"#), Progress::Done);
    assert_eq!(turn(&mut node, &mut log, r#"start("n0:1", 1000000)"#), Progress::Exceeded);
    assert_eq!(log.0, [(Limit::Cycle(CYCLE_TUPLES_MAX), vec!["r2".to_owned()])]);
    for x in 0..800 {
        turn(&mut node, &mut log, &format!(r#"put("n0:1", {x})"#));
    }
    // More tuples than that, none of them from a cycle.
    assert_eq!(turn(&mut node, &mut log, r#"cross("n0:1")"#), Progress::Done);
    assert!(node.counters().rules[2].derived > CYCLE_TUPLES_MAX);
    // Few tuples that read many rows each.
    assert_eq!(turn(&mut node, &mut log, r#"sweep("n0:1", 0)"#), Progress::Exceeded);
    let looked = (Limit::Looked(20 * CYCLE_TUPLES_MAX), vec!["r5", "r6", "r7"]);
    let last = log.0.last().expect("a report");
    assert_eq!((last.0, last.1.iter().map(String::as_str).collect()), looked);
    assert!(node.counters().rules[4].derived < CYCLE_TUPLES_MAX / 4);
}

/// Rules that change the tables that start them go round over turns, each of which ends.
#[test]
fn a_chain_of_changes_without_end_is_given_up_and_its_cycle_is_named() {
    let source = r#"
        materialize(count, infinity, 1, keys(1)).
        materialize(half, infinity, 1, keys(1)).
        c1 half(@N, X) :- count(@N, X), f_now() >= f_now().
        c2 count(@N, X + 1) :- half(@N, X), X < 5000, f_now() >= f_now().
        c3 count(@N, 0) :- half(@N, X), X == 5000, f_now() >= f_now().
        c4 count(@N, X) :- start(@N, X).
    "#;
    let mut node = node(source);
    let mut log = Log::default();
    node.limit_turns(1000);
    let chain = |node: &mut Node, log: &mut Log, tuple: &str| {
        let mut turns = 0;
        let mut progress = turn(node, log, tuple);
        while node.waiting() > 0 {
            progress = run(node, log);
            turns += 1;
        }
        (turns, progress)
    };
    let rules = vec!["c1".to_owned(), "c2".to_owned(), "c3".to_owned()];
    assert_eq!(chain(&mut node, &mut log, r#"start("n0:1", 9000)"#), (2, Progress::Done));
    assert_eq!(log.0, []);
    // The turn that is given up has had no effect.
    assert_eq!(chain(&mut node, &mut log, r#"start("n0:1", 1)"#), (1001, Progress::Exceeded));
    assert_eq!(log.0, [(Limit::Chain(1000), rules)]);
    assert_eq!(rows(&node, "count"), [r#"count("n0:1", 501)"#]);
    // The next may be half as long, until one has ended that is longer than a half of that.
    assert_eq!(chain(&mut node, &mut log, r#"start("n0:1", 1)"#), (501, Progress::Exceeded));
    assert_eq!(chain(&mut node, &mut log, r#"start("n0:1", 4900)"#), (251, Progress::Exceeded));
    assert_eq!(chain(&mut node, &mut log, r#"start("n0:1", 9000)"#), (2, Progress::Done));
    assert_eq!(chain(&mut node, &mut log, r#"start("n0:1", 1)"#), (126, Progress::Exceeded));
}

/// A turn that repeatedly does not end is limited ever more; one that ends within its limit gets it
/// back.
#[test]
fn what_is_given_up_again_and_again_costs_less_each_time() {
    let mut node = node(COUNTING);
    node.limit_turns(64_000);
    let mut log = Log::default();
    let mut most = Vec::new();
    for _ in 0..8 {
        assert_eq!(turn(&mut node, &mut log, r#"start("n0:1", 1000000)"#), Progress::Exceeded);
        most.push(log.0.last().expect("a report").0);
    }
    let halved = [64, 32, 16, 8, 4, 2, 1, 1].map(|thousands| thousands * 1000);
    let mut wanted = halved.map(Limit::Cycle);
    wanted[0] = Limit::Tuples(64_000);
    assert_eq!(most.len(), wanted.len());
    for (at, (most, wanted)) in most.iter().zip(wanted).enumerate() {
        let (Limit::Tuples(most) | Limit::Cycle(most)) = most else { panic!("{most:?}") };
        let (Limit::Tuples(wanted) | Limit::Cycle(wanted)) = wanted else { panic!("{wanted:?}") };
        assert_eq!(*most, wanted, "time {at}");
    }
    // Small turns change nothing, those near the limit do.
    for (count, ends) in [(400, true), (900, true), (1900, true), (3900, true), (9000, false)] {
        let progress = turn(&mut node, &mut log, &format!(r#"start("n0:1", {count})"#));
        assert_eq!(progress == Progress::Done, ends, "{count}");
    }
    assert_eq!(node.counters().turns_abandoned, 9);
}

/// Rows that are equal to a rule join the rest of its body once, not once each.
#[test]
fn rows_that_derive_the_same_derive_it_once() {
    let mut node = node(
        r#"
        materialize(t, infinity, infinity, keys(1, 2)).
        materialize(sign, infinity, infinity, keys(1, 2, 3)).
        materialize(lit, infinity, infinity, keys(1, 2, 3)).
        t1 t(@N, X) :- put(@N, X).
        t2 put(@N, X + 1) :- put(@N, X), X < 99.
        s1 sign(@N, "on", X) :- light(@N, X).
        s2 light(@N, X + 1) :- light(@N, X), X < 99.
        s3 delete sign(@N, "on", X) :- dark(@N, X).
        s4 dark(@N, X + 1) :- dark(@N, X), X < 99.
        v1 lit(@N, X, S) :- t(@N, X), sign(@N, S, _).
        "#,
    );
    let mut log = Log::default();
    assert_eq!(turn(&mut node, &mut log, r#"put("n0:1", 0)"#), Progress::Done);
    // 100 signs and their derivations, each once: far less than 100 times 100.
    node.limit_commits(500);
    assert_eq!(turn(&mut node, &mut log, r#"light("n0:1", 0)"#), Progress::Done);
    assert_eq!(rows(&node, "lit").len(), 100);
    assert_eq!(turn(&mut node, &mut log, r#"dark("n0:1", 1)"#), Progress::Done);
    assert_eq!(rows(&node, "lit").len(), 100);
    assert_eq!(turn(&mut node, &mut log, r#"dark("n0:1", 0)"#), Progress::Done);
    assert!(rows(&node, "lit").is_empty());
}

/// Recursion over computed values has a limit; recursion over given ones has none.
#[test]
fn views_that_compute_as_they_recurse_have_a_limit_of_their_own() {
    let mut node = node(
        r#"
        materialize(edge, infinity, infinity, keys(1, 2, 3)).
        materialize(reach, infinity, infinity, keys(1, 2, 3)).
        materialize(walk, infinity, infinity, keys(1, 2, 3)).
        r1 reach(@N, X, Y) :- edge(@N, X, Y).
        r2 reach(@N, X, Z) :- edge(@N, X, Y), reach(@N, Y, Z).
        r3 walk(@N, X, 0) :- start(@N, X).
        materialize(start, infinity, infinity, keys(1, 2)).
        r4 walk(@N, Y, C + 1) :- walk(@N, X, C), edge(@N, X, Y).
        "#,
    );
    node.limit_turns(1000);
    let mut log = Log::default();
    for x in 0..60 {
        let edge = format!(r#"edge("n0:1", {x}, {})"#, x + 1);
        assert_eq!(turn(&mut node, &mut log, &edge), Progress::Done);
    }
    assert_eq!(turn(&mut node, &mut log, r#"start("n0:1", 0)"#), Progress::Done);
    assert_eq!(rows(&node, "walk").len(), 61);
    assert_eq!(turn(&mut node, &mut log, r#"edge("n0:1", 60, 0)"#), Progress::Exceeded);
    let wanted = (Limit::Views(Overrun::Computed(1000)), vec!["r3".to_owned(), "r4".to_owned()]);
    assert_eq!(log.0, [wanted]);
    assert_eq!(rows(&node, "reach").len(), 61 * 60 / 2);
    let without_walk = r#"
        materialize(edge, infinity, infinity, keys(1, 2, 3)).
        materialize(reach, infinity, infinity, keys(1, 2, 3)).
        r1 reach(@N, X, Y) :- edge(@N, X, Y).
        r2 reach(@N, X, Z) :- edge(@N, X, Y), reach(@N, Y, Z).
    "#;
    let mut node = self::node(without_walk);
    node.limit_turns(1000);
    // The last edge closes the circle: 61 * 61 - 61 * 60 / 2 rows come with it.
    for x in 0..61 {
        let edge = format!(r#"edge("n0:1", {x}, {})"#, (x + 1) % 61);
        assert_eq!(turn(&mut node, &mut log, &edge), Progress::Done);
    }
    assert_eq!(rows(&node, "reach").len(), 61 * 61);
}

#[test]
fn a_join_that_derives_too_much_is_given_up_while_it_runs() {
    let mut node = node(
        r#"
        materialize(t, infinity, infinity, keys(1, 2)).
        r1 t(@N, X) :- put(@N, X).
        r2 all(@N, X, Y, Z) :- go(@N), t(@N, X), t(@N, Y), t(@N, Z).
        "#,
    );
    let mut log = Log::default();
    for x in 0..300 {
        turn(&mut node, &mut log, &format!(r#"put("n0:1", {x})"#));
    }
    node.limit_turns(5000);
    assert_eq!(turn(&mut node, &mut log, r#"go("n0:1")"#), Progress::Exceeded);
    assert_eq!(log.0, [(Limit::Tuples(5000), vec!["r2".to_owned()])]);
    let derived = node.counters().rules[1].derived;
    assert!((5000..6000).contains(&derived), "{derived}");
}

#[test]
fn a_commit_that_derives_too_much_leaves_nothing_and_names_its_rules() {
    let mut node = node(
        r#"
        materialize(edge, infinity, infinity, keys(1, 2, 3)).
        materialize(path, infinity, infinity, keys(1, 2, 3)).
        r1 path(@N, X, Y) :- edge(@N, X, Y).
        r2 path(@N, X, Y + 1) :- path(@N, X, Y), Y > 0.
        "#,
    );
    node.limit_commits(1000);
    let mut log = Log::default();
    assert_eq!(turn(&mut node, &mut log, r#"edge("n0:1", 1, 1)"#), Progress::Exceeded);
    assert!(rows(&node, "edge").is_empty() && rows(&node, "path").is_empty());
    let rules = vec!["r1".to_owned(), "r2".to_owned()];
    assert_eq!(log.0, [(Limit::Views(Overrun::Changed(1000)), rules)]);
    assert_eq!(turn(&mut node, &mut log, r#"edge("n0:1", 1, 0)"#), Progress::Done);
    assert_eq!(rows(&node, "path"), [r#"path("n0:1", 1, 0)"#]);
}

#[test]
fn rows_of_one_commit_enter_a_bounded_table_in_the_order_of_their_derivation() {
    // A view beside it makes the rows of `t` chosen among derivations.
    for view in ["", "r9 t(@N, K, V) :- other(@N, K, V)."] {
        let source = format!(
            r#"
            materialize(t, infinity, 2, keys(1, 2)).
            materialize(other, infinity, infinity, keys(1, 2, 3)).
            {view}
            r1 t(@N, 1, X) :- go(@N, X).
            r2 t(@N, 2, X) :- go(@N, X).
            r3 delete t(@N, 1, X) :- go(@N, X).
            r4 t(@N, 3, X) :- go(@N, X).
            r5 t(@N, 2, X) :- go(@N, X).
            r6 t(@N, 4, X) :- go(@N, X).
            "#
        );
        let mut network = Network::new(&source, 1, 1);
        network.inject(0, r#"go("n0:1", 0)"#).run_for(1.0);
        // 1, 2 without 1, then 3; 2 is refreshed, so 3 goes when 4 comes.
        assert_eq!(network.rows(0, "t"), [r#"t("n0:1", 2, 0)"#, r#"t("n0:1", 4, 0)"#], "{view}");
        // The old 2 is removed first: 1 is inserted before 2 is touched.
        network.inject(0, r#"go("n0:1", 0)"#).run_for(1.0);
        assert_eq!(network.rows(0, "t"), [r#"t("n0:1", 2, 0)"#, r#"t("n0:1", 4, 0)"#], "{view}");
    }
}

#[test]
fn what_notin_asks_for_must_have_a_value_whether_the_table_has_rows_or_not() {
    let source = r#"
        materialize(p, infinity, infinity, keys(1, 2)).
        materialize(q, infinity, infinity, keys(1, 2)).
        materialize(base, infinity, infinity, keys(1, 2)).
        materialize(view, infinity, infinity, keys(1, 2)).
        r1 q(@N, X) :- go(@N, X), notin p(@N, X + 9223372036854775807).
        r2 view(@N, X) :- base(@N, X), notin p(@N, X + 9223372036854775807).
        r3 base(@N, X) :- go(@N, X).
        r4 p(@N, X) :- put(@N, X).
    "#;
    let mut network = Network::new(source, 1, 1);
    for x in -2..3 {
        network.inject(0, &format!(r#"go("n0:1", {x})"#));
    }
    network.run_for(1.0);
    let fine = |table: &str| Vec::from_iter((-2..1).map(|x| format!(r#"{table}("n0:1", {x})"#)));
    let sorted = |mut rows: Vec<String>| {
        rows.sort();
        rows
    };
    assert_eq!(network.rows(0, "q"), sorted(fine("q")));
    assert_eq!(network.rows(0, "view"), sorted(fine("view")));
    let reports = network.lines.borrow().iter().filter(|line| line.starts_with("FAILED")).count();
    assert_eq!(reports, 2, "{:?}", network.lines.borrow());
    // The same holds with an existing row.
    network.inject(0, r#"put("n0:1", 5)"#).inject(0, r#"go("n0:1", 7)"#).run_for(1.0);
    assert_eq!(network.rows(0, "q"), sorted(fine("q")));
    assert_eq!(network.rows(0, "view"), sorted(fine("view")));
}

#[test]
fn facts_that_start_no_strand_go_in_one_commit_and_others_keep_their_place() {
    let mut facts = String::new();
    for x in 0..100 {
        facts.push_str(&format!("quiet(\"n0:1\", {x}).\n"));
    }
    let source = format!(
        r#"
        materialize(quiet, infinity, infinity, keys(1, 2)).
        materialize(doubled, infinity, infinity, keys(1, 2)).
        materialize(loud, infinity, infinity, keys(1, 2)).
        materialize(seen, infinity, infinity, keys(1, 2, 3)).
        v1 doubled(@N, 2 * X) :- quiet(@N, X).
        r1 seen(@N, "event", X) :- event(@N, X), quiet(@N, X).
        r2 heard(@N, X) :- loud(@N, X).
        quiet("n1:1", 7).
        {facts}
        event("n0:1", 5).
        event("n0:1", 100).
        quiet("n0:1", 100).
        quiet("n0:1", 101).
        loud("n0:1", 1).
        quiet("n0:1", 102).
        "#
    );
    let mut node = node(&source);
    let events = node.facts();
    let sizes: Vec<usize> = events
        .iter()
        .map(|event| match event {
            Event::Facts { tuples } => tuples.len(),
            _ => 0,
        })
        .collect();
    assert_eq!(sizes, [100, 0, 0, 2, 0, 1]);
    let mut log = Log::default();
    for event in events {
        node.enqueue(event);
    }
    while node.waiting() > 0 {
        run(&mut node, &mut log);
    }
    assert_eq!(rows(&node, "doubled").len(), 103);
    assert_eq!(rows(&node, "seen"), [r#"seen("n0:1", "event", 5)"#]);
}
