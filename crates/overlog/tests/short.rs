//! Turns that run in one go: they do what turns in parts do.

use std::fmt::Write;
use std::sync::Arc;

use tidemill_overlog::node::{
    GivenUp, Identity, Node, Observer, Program, Sighting, Started, TURN_TUPLES_MAX,
};
use tidemill_relation::Value;
use tidemill_relation::plan::RelationId;
use tidemill_relation::text::{DisplayTuple, parse_tuple};
use tidemill_relation::view::Progress;
use tidemill_stdx::keyed::Secret;

use crate::harness::program;

/// What a node reports.
#[derive(Default)]
struct Log(String);

impl Observer for Log {
    fn sighted(&mut self, sighting: Sighting<'_>) {
        let _ = writeln!(self.0, "{sighting:?}");
    }

    fn violated(&mut self, sighting: Sighting<'_>) {
        let _ = writeln!(self.0, "violated {sighting:?}");
    }

    fn rule_failed(&mut self, _: &str, rule: &str, _: &str, reason: &str) {
        let _ = writeln!(self.0, "{rule}: {reason}");
    }

    fn given_up(&mut self, given_up: GivenUp<'_>) {
        let _ = writeln!(self.0, "{given_up:?}");
    }
}

fn node(program: &Program, turn_tuples_max: u64) -> Node {
    let address = "n0:1".to_owned();
    let identity = Identity { landmark: address.clone(), address, index: 0, count: 1 };
    let mut node = Node::new(Arc::new(program.clone()), identity, 1, Secret::FIXED);
    node.limit_turns(turn_tuples_max);
    node
}

/// Queues a tuple.
fn give(node: &mut Node, tuple: &str) {
    let (name, columns) = parse_tuple(tuple).expect("a tuple");
    let relation = node.program().plan().find(&name).expect("a relation");
    let row = node.enqueue_tuple(relation, false, true);
    columns.iter().for_each(|column| row.push(column.get()));
}

/// Runs the next turn in parts, as far as it has not ended.
fn go_on(node: &mut Node, log: &mut Log) {
    loop {
        match node.derive(256, log) {
            Progress::More => {}
            Progress::Done => break,
            Progress::Exceeded => return node.abandon(),
        }
    }
    node.commit(log);
    while node.refine(log) == Progress::More {}
    node.finish(log);
}

/// What a node does with these tuples, whose turns are run in one go if they can be, or in parts;
/// and how many of them have ended in one go.
fn run(mut node: Node, tuples: &[&str], in_one_go: bool) -> (String, usize) {
    let (mut log, mut ended) = (Log::default(), 0);
    tuples.iter().for_each(|tuple| give(&mut node, tuple));
    loop {
        let started = match in_one_go {
            true => node.start(0, 0, &mut log),
            false if node.begin(0, 0, &mut log) => Started::Begun,
            false => Started::Nothing,
        };
        match started {
            Started::Nothing => break,
            Started::Begun => go_on(&mut node, &mut log),
            Started::Ended => ended += 1,
        }
        let program = node.program().clone();
        node.take_sends(|send, columns| {
            let name = &program.plan().relation(send.relation).name;
            let _ = writeln!(log.0, "sends {}", DisplayTuple::new(name, columns.iter()));
        });
        let crossings = node.take_crossings();
        let _ = writeln!(log.0, "crosses {crossings:?}");
        if in_one_go {
            // Nothing of a turn shows in those that use its memory.
            node.reuse_crossings(crossings);
        }
    }
    for (index, relation) in (0..).zip(&node.program().plan().relations) {
        node.rows(RelationId(index), |row: &[Value<'_>]| {
            let _ = writeln!(log.0, "{}", DisplayTuple::new(&relation.name, row.iter().copied()));
        });
    }
    let _ = writeln!(log.0, "{:?}", node.counters());
    (log.0, ended)
}

/// Checks that turns in one go do what turns in parts do, interpreted and as machine code; returns
/// what that is, and how many turns have ended in one go.
fn same(program: Program, turn_tuples_max: u64, tuples: &[&str]) -> (String, usize) {
    let mut native = program.clone();
    native.compile().expect("code can be made here");
    let (expected, in_parts) = run(node(&program, turn_tuples_max), tuples, false);
    assert_eq!(in_parts, 0);
    let (interpreted, ended) = run(node(&program, turn_tuples_max), tuples, true);
    assert_eq!(interpreted, expected);
    let (compiled, compiled_ended) = run(node(&native, turn_tuples_max), tuples, true);
    assert_eq!(compiled, expected);
    assert_eq!(compiled_ended, ended);
    (expected, ended)
}

#[test]
fn a_tuple_whose_rules_derive_only_what_nothing_takes_is_a_turn_in_one_go() {
    let rules = program(
        "r1 out(@N, X + 1) :- in(@N, X).
         r2 out(@N, Y) :- in(@N, X), X > 5, Y := f_strlen(f_tostr(X)).
         r3 out(@N, [X]) :- in(@N, X), X > 5.",
    );
    let tuples = [
        r#"in("n0:1", 1)"#,
        r#"in("n0:1", 7)"#,
        r#"in("n0:1", 9223372036854775807)"#,
        r#"in("n0:1", 1.5)"#,
        r#"in("n0:1", "text")"#,
        r#"in("n0:1", null)"#,
        r#"in("n0:1")"#,
    ];
    let (done, ended) = same(rules, TURN_TUPLES_MAX, &tuples);
    // The tuple with too few columns is none of the relation.
    assert_eq!(ended, tuples.len() - 1);
    assert!(done.contains("dropped_arity: 1"), "{done}");
    assert!(done.contains("r1: "), "the overflow is reported: {done}");
}

#[test]
fn heads_for_other_nodes_and_for_none_leave_the_turn_as_they_do_else() {
    let rules = program("r1 out(@M, X) :- in(@N, M, X).");
    let tuples = [
        r#"in("n0:1", "n0:1", 1)"#,
        r#"in("n0:1", "n1:1", 2)"#,
        r#"in("n0:1", "NIL", 3)"#,
        r#"in("n0:1", null, 4)"#,
        r#"in("n0:1", "n0:2", 5)"#,
    ];
    let (done, ended) = same(rules, TURN_TUPLES_MAX, &tuples);
    assert_eq!(ended, 3);
    assert!(done.contains(r#"sends out("n1:1", 2)"#), "{done}");
    assert!(done.contains("dropped_unaddressed: 2"), "{done}");
}

#[test]
fn tables_change_in_the_commit_of_the_turn() {
    let rules = program(
        "materialize(t, infinity, infinity, keys(2)).
         materialize(v, infinity, infinity, keys(2)).
         r1 t(@N, X, Y) :- in(@N, X), Y := X * 2.
         r2 delete t(@N, X, Y) :- in(@N, Z), X := Z - 1, Y := 0.
         r3 seen(@N, X) :- in(@N, X), t(@N, X, Y).
         r4 v(@N, X) :- t(@N, X, Y).
         r5 out(@N, X, Y) :- t(@N, X, Y).",
    );
    let tuples = [r#"in("n0:1", 1)"#, r#"in("n0:1", 1)"#, r#"in("n0:1", 2)"#, r#"in("n0:1", 4)"#];
    let (done, ended) = same(rules, TURN_TUPLES_MAX, &tuples);
    assert_eq!(ended, 0);
    assert!(done.contains(r#"t("n0:1", 2, 4)"#) && done.contains(r#"v("n0:1", 4)"#), "{done}");
}

#[test]
fn tuples_that_start_something_or_are_seen_are_kept() {
    let source = "r1 next(@N, X + 1) :- in(@N, X).
                  r2 last(@N, X) :- next(@N, X).
                  r3 out(@N, X) :- in(@N, X).";
    let tuple = r#"in("n0:1", 1)"#;
    let (_, ended) = same(program(source), TURN_TUPLES_MAX, &[tuple, r#"next("n0:1", 3)"#]);
    assert_eq!(ended, 1);
    let (done, ended) = same(program(&format!("watch(out). {source}")), TURN_TUPLES_MAX, &[tuple]);
    assert!(ended == 0 && done.contains("Received"), "{done}");
    let mut crossing = program("r1 out(@N, X) :- in(@N, X).");
    let out = crossing.plan().find("out").expect("a relation");
    crossing.cross(out);
    let (_, ended) = same(crossing, TURN_TUPLES_MAX, &[tuple]);
    assert_eq!(ended, 0);
    let violates = program("r1 violation(@N, X) :- in(@N, X).");
    let (done, ended) = same(violates, TURN_TUPLES_MAX, &[tuple]);
    assert!(ended == 0 && done.contains("violated"), "{done}");
}

#[test]
fn many_tuples_of_a_turn_count_against_its_limit() {
    let rules = || {
        program(
            "materialize(t, infinity, infinity, keys(2)).
             r1 t(@N, X) :- put(@N, X).
             r2 first(@N, X) :- all(@N, A), A > 0, X := A.
             r3 pair(@N, X, Y) :- all(@N, _), t(@N, X), t(@N, Y).
             r4 count(@N, a_COUNT<*>) :- all(@N, _), t(@N, X), t(@N, Y).",
        )
    };
    let puts: Vec<String> = (0..30).map(|x| format!(r#"put("n0:1", {x})"#)).collect();
    let with = |rows: usize| {
        let puts = puts[..rows].iter().map(String::as_str);
        puts.chain([r#"all("n0:1", 1)"#, r#"all("n0:1", 0)"#]).collect::<Vec<_>>()
    };
    // 255 tuples that nothing takes are counted, further ones are kept.
    for (rows, ends) in [(3, 2), (15, 2), (16, 0), (30, 0)] {
        let (_, ended) = same(rules(), TURN_TUPLES_MAX, &with(rows));
        assert_eq!(ended, ends, "{rows} rows");
    }
    for most in [1, 5, 254, 255, 256, 257, 500] {
        let (done, _) = same(rules(), most, &with(30));
        assert!(done.contains("turns_abandoned: 2"), "{most}: {done}");
    }
}
