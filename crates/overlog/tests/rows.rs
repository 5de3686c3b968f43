//! Tuples that other parts of a program insert, in reused memory.

use std::sync::Arc;

use tidemill_overlog::node::{Event, Identity, Node, Observer, Sighting};
use tidemill_relation::view::Progress;
use tidemill_relation::{SeqBuilder, Value};
use tidemill_stdx::keyed::Secret;

use crate::harness::program;

struct Silent;

impl Observer for Silent {
    fn sighted(&mut self, _: Sighting<'_>) {}

    fn violated(&mut self, _: Sighting<'_>) {}

    fn rule_failed(&mut self, _: &str, _: &str, _: &str, _: &str) {}
}

fn hand(node: &mut Node, relation: &str, columns: &[Value<'_>]) {
    let relation = node.program().plan().find(relation).expect("a relation");
    let mut row = node.spare_row();
    assert_eq!(row.as_seq().len(), 0);
    columns.iter().for_each(|column| row.push(*column));
    node.enqueue(Event::Tuple { relation, row, delete: false, received: true });
}

fn run(node: &mut Node) {
    let log = &mut Silent;
    while node.begin(0, 0, log) {
        while node.derive(256, log) == Progress::More {}
        node.commit(log);
        while node.refine(log) == Progress::More {}
        node.finish(log);
    }
}

#[test]
fn rows_are_events_and_facts_and_their_memory_is_used_again() {
    let source = "
        materialize(kept, infinity, infinity, keys(2)).
        materialize(seen, infinity, infinity, keys(2)).
        s seen(@N, X, Text) :- event(@N, X, Text).";
    let identity =
        Identity { address: "n0:1".to_owned(), index: 0, count: 1, landmark: "n0:1".to_owned() };
    let mut node = Node::new(Arc::new(program(source)), identity, 1, Secret::FIXED);
    let here = Value::Str("n0:1");
    for round in 0..3 {
        hand(&mut node, "event", &[here, Value::Int(round), Value::Str("a text")]);
        hand(&mut node, "kept", &[here, Value::Int(round)]);
        // One column too many.
        hand(&mut node, "kept", &[here, Value::Int(round), Value::Null]);
        run(&mut node);
    }
    let rows = |name: &str| {
        let mut rows: Vec<Vec<String>> = Vec::new();
        let relation = node.program().plan().find(name).expect("a table");
        node.rows(relation, |row| rows.push(row[1..].iter().map(Value::to_string).collect()));
        rows
    };
    let expected: Vec<Vec<String>> =
        (0..3).map(|at| vec![at.to_string(), "\"a text\"".to_owned()]).collect();
    assert_eq!(rows("seen"), expected);
    assert_eq!(rows("kept"), (0..3).map(|at| vec![at.to_string()]).collect::<Vec<_>>());
    let counters = node.counters();
    assert_eq!((counters.received, counters.dropped_arity), (6, 3));
    let spare: Vec<SeqBuilder> = (0..4).map(|_| node.spare_row()).collect();
    assert!(spare[..3].iter().all(|row| row.capacity() > 0 && row.as_seq().is_empty()));
}
