//! Nodes that are compared by their state.

use std::sync::Arc;

use tidemill_overlog::node::{Event, Identity, Node, Observer, Sighting};
use tidemill_relation::Value;
use tidemill_stdx::keyed::Secret;

use crate::harness::program;

struct Silent;

impl Observer for Silent {
    fn sighted(&mut self, _: Sighting<'_>) {}

    fn violated(&mut self, _: Sighting<'_>) {}

    fn rule_failed(&mut self, _: &str, _: &str, _: &str, _: &str) {}
}

const SECOND: u64 = 1_000_000_000;

/// A node that gets rows of a table whose lifetime is 5 s at these times, in seconds.
fn node(rows: &[(u64, i64)], bound: &str) -> Node {
    let source = format!("materialize(row, 5, {bound}, keys(2)).\nr row(@N, X) :- put(@N, X).");
    let identity =
        Identity { address: "n0:1".to_owned(), index: 0, count: 1, landmark: "n0:1".to_owned() };
    let mut node = Node::new(Arc::new(program(&source)), identity, 1, Secret::FIXED);
    let relation = node.program().plan().find("put").expect("an event");
    for &(at, number) in rows {
        let row = [Value::Str("n0:1"), Value::Int(number)].into_iter().collect();
        let event = Event::Tuple { relation, row, delete: false, received: true };
        node.run_turn(event, at * SECOND, 0, &mut Silent).expect("an end");
    }
    node
}

/// The state of a node at a time in seconds.
fn state(node: &Node, now: u64) -> Vec<u8> {
    let mut state = Vec::new();
    node.append_state(false, now * SECOND, &mut state);
    state
}

#[test]
fn ages_count_from_now_and_end_with_the_lifetime() {
    let (early, late) =
        (node(&[(1, 7), (3, 8)], "infinity"), node(&[(11, 7), (13, 8)], "infinity"));
    assert_eq!(state(&early, 4), state(&late, 14));
    assert_ne!(state(&early, 4), state(&early, 5));
    // The lifetime of the first is over, that of the other is not, so the states differ.
    assert_ne!(state(&early, 6), state(&early, 7));
    assert_eq!(state(&early, 8), state(&early, 9));
    // The order of two rows shows in their ages, or makes no difference.
    let other = node(&[(1, 8), (1, 7)], "infinity");
    assert_eq!(state(&node(&[(1, 7), (1, 8)], "infinity"), 2), state(&other, 2));
    // It does if the table may overflow.
    assert_ne!(state(&node(&[(1, 7), (1, 8)], "9"), 2), state(&node(&[(1, 8), (1, 7)], "9"), 2));
    // A row that is inserted again has age 0.
    assert_eq!(
        state(&node(&[(1, 7), (3, 7)], "infinity"), 4),
        state(&node(&[(3, 7)], "infinity"), 4)
    );
}
