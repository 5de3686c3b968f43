//! Views with parts on several nodes, under random changes of their base tables: at rest each node
//! holds exactly the consequences of the links of all.

use std::collections::BTreeSet;

use crate::harness::Network;
use tidemill_event::Conditions;
use tidemill_stdx::rng::Rng;

const NODES: u32 = 4;
const CHANGES: u32 = 40;

const PROGRAM: &str = r#"
materialize(link, infinity, infinity, keys(1, 2)).
materialize(back, infinity, infinity, keys(1, 2)).
materialize(lonely, infinity, infinity, keys(1, 2)).
materialize(two, infinity, infinity, keys(1, 2)).
materialize(ways, infinity, infinity, keys(1)).
materialize(reach, infinity, infinity, keys(1, 2)).
materialize(apart, infinity, infinity, keys(1, 2, 3)).
materialize(choice, infinity, infinity, keys(1)).

b1 back(@B, A) :- link(@A, B).
b2 lonely(@A, B) :- link(@A, B), notin back(@A, B).
t1 two(@A, C) :- link(@A, B), link(@B, C).
t2 ways(@A, a_COUNT<*>) :- link(@A, B), link(@B, C).
r1 reach(@A, B) :- link(@A, B), A < B.
r2 reach(@A, C) :- link(@A, B), A < B, reach(@B, C).
a1 apart(@A, B, C) :- link(@A, B), link(@A, C), notin link(@B, C).
c1 choice(@B, a_MIN<A>) :- back(@B, A), notin reach(@A, "n3:1").
"#;

/// Routes here lead upwards only; cycles have tests of their own.
type Links = BTreeSet<(u32, u32)>;

fn name(node: u32) -> String {
    format!("n{node}:1")
}

/// The expected rows of node `a`, as sorted text.
fn expected(links: &Links, a: u32) -> Vec<String> {
    let has = |from: u32, to: u32| links.contains(&(from, to));
    let all = 0..NODES;
    let mut reach: Links = links.iter().copied().filter(|(from, to)| from < to).collect();
    for middle in all.clone() {
        for from in all.clone() {
            for to in all.clone() {
                if reach.contains(&(from, middle)) && reach.contains(&(middle, to)) {
                    reach.insert((from, to));
                }
            }
        }
    }
    let mut rows = BTreeSet::new();
    let mut ways = 0;
    for b in all.clone() {
        let mut say = |table: &str, holds: bool| {
            if holds {
                rows.insert(format!("{table}({:?}, {:?})", name(a), name(b)));
            }
        };
        say("back", has(b, a));
        say("lonely", has(a, b) && !has(b, a));
        say("two", all.clone().any(|c| has(a, c) && has(c, b)));
        say("reach", reach.contains(&(a, b)));
        for c in all.clone() {
            ways += u32::from(has(a, b) && has(b, c));
            if has(a, b) && has(a, c) && !has(b, c) {
                rows.insert(format!("apart({:?}, {:?}, {:?})", name(a), name(b), name(c)));
            }
        }
    }
    if ways > 0 {
        rows.insert(format!("ways({:?}, {ways})", name(a)));
    }
    if let Some(b) = all.clone().find(|&b| has(b, a) && !reach.contains(&(b, 3))) {
        rows.insert(format!("choice({:?}, {:?})", name(a), name(b)));
    }
    rows.into_iter().collect()
}

fn held(network: &Network, node: u32) -> Vec<String> {
    let tables = ["back", "lonely", "two", "ways", "reach", "apart", "choice"];
    let mut rows: Vec<String> = tables.iter().flat_map(|table| network.rows(node, table)).collect();
    rows.sort();
    rows
}

#[test]
fn views_across_nodes_follow_every_change() {
    for seed in 0..5 {
        let mut rng = Rng::new(seed);
        let mut network = Network::new(PROGRAM, NODES, seed);
        let mut links = Links::new();
        for change in 0..CHANGES {
            let link = (rng.below(NODES.into()) as u32, rng.below(NODES.into()) as u32);
            let tuple = format!("link({:?}, {:?})", name(link.0), name(link.1));
            if links.remove(&link) {
                network.delete(link.0, &tuple)
            } else {
                links.insert(link);
                network.inject(link.0, &tuple)
            };
            if rng.chance(0.5) {
                continue; // several changes on their way at once
            }
            network.run_for(3.0);
            for node in 0..NODES {
                let (held, expected) = (held(&network, node), expected(&links, node));
                assert_eq!(
                    held,
                    expected,
                    "seed {seed}, change {change}, {}, {links:?}",
                    name(node)
                );
            }
        }
    }
}

/// Rows that a node would ship to itself close a cycle through negation; they are applied in a turn
/// of their own, so the program is legal, and reaches a fixed point if the data has no cycle.
#[test]
fn a_cycle_through_other_nodes_is_legal() {
    let program = r#"
        materialize(link, infinity, infinity, keys(1, 2)).
        materialize(active, infinity, infinity, keys(1, 2)).
        materialize(blocked, infinity, infinity, keys(1, 2)).
        a1 active(@A, B) :- link(@A, B), notin blocked(@A, B).
        a2 blocked(@B, A) :- active(@A, B), A < B.
    "#;
    let mut network = Network::new(program, 2, 1);
    for (from, to) in [(0, 1), (1, 0), (0, 0)] {
        network.inject(from, &format!("link({:?}, {:?})", name(from), name(to)));
    }
    network.run_for(3.0);
    assert_eq!(
        network.rows(0, "active"),
        ["active(\"n0:1\", \"n0:1\")", "active(\"n0:1\", \"n1:1\")"]
    );
    assert_eq!(network.rows(1, "active"), Vec::<String>::new());
    network.delete(0, "link(\"n0:1\", \"n1:1\")").run_for(3.0);
    assert_eq!(network.rows(1, "active"), ["active(\"n1:1\", \"n0:1\")"]);
    assert_eq!(network.rows(1, "blocked"), Vec::<String>::new());
}

/// The same with a row that belongs to the node itself.
#[test]
fn rows_that_stay_at_home_take_effect_in_a_later_turn() {
    let program = r#"
        materialize(seed, infinity, infinity, keys(1, 2)).
        materialize(on, infinity, infinity, keys(1, 2)).
        materialize(off, infinity, infinity, keys(1, 2)).
        o1 on(@A, X) :- seed(@A, X), notin off(@A, X).
        o2 off(@B, Y) :- on(@A, X), B := A, Y := X + 1.
    "#;
    let mut network = Network::new(program, 1, 1);
    for x in 0..4 {
        network.inject(0, &format!("seed(\"n0:1\", {x})"));
    }
    network.run_for(1.0);
    assert_eq!(network.rows(0, "on"), ["on(\"n0:1\", 0)", "on(\"n0:1\", 2)"]);
    assert_eq!(network.rows(0, "off"), ["off(\"n0:1\", 1)", "off(\"n0:1\", 3)"]);
    network.delete(0, "seed(\"n0:1\", 0)").run_for(1.0);
    assert_eq!(network.rows(0, "on"), ["on(\"n0:1\", 1)", "on(\"n0:1\", 3)"]);
}

/// A view over the facts of another node.
const SHIPPED: &str = r#"
    materialize(fact, infinity, infinity, keys(1, 2, 3)).
    materialize(view, infinity, infinity, keys(1, 2)).
    materialize(far, infinity, infinity, keys(1, 2)).
    fact("n1:1", "n0:1", 1).
    fact("n1:1", "n0:1", 2).
    r1 view(@M, X) :- fact(@N, M, X).
    r2 far("n2:1", X) :- view(@N, X), N == "n0:1".
"#;

fn lossy(loss: f64) -> Conditions {
    Conditions { loss, ..Conditions::default() }
}

#[test]
fn nothing_stands_that_only_a_dead_node_supported_however_it_died() {
    for seed in 1..60 {
        // Rows that live for a few milliseconds, shorter than a datagram takes.
        let mut network = Network::under(lossy(0.02), SHIPPED, 3, seed);
        network.run_for(0.5 + 0.001 * (seed % 7) as f64);
        for life in 0..=(seed % 3) {
            network.crash(1).run_for(0.002 * (life + 1) as f64);
            network.restart(1).run_for(0.003 + 0.011 * (seed % 5) as f64);
        }
        network.crash(1).run_for(100.0);
        assert!(network.rows(0, "view").is_empty(), "{seed}: {:?}", network.rows(0, "view"));
        assert!(network.rows(2, "far").is_empty(), "{seed}: {:?}", network.rows(2, "far"));
    }
}

#[test]
fn what_a_restarted_node_supports_is_there_however_often_it_died() {
    for seed in 1..60 {
        let mut network = Network::under(lossy(0.02), SHIPPED, 3, seed);
        network.run_for(0.5 + 0.001 * (seed % 7) as f64);
        for life in 0..=(seed % 3) {
            network.crash(1).run_for(0.002 * (life + 1) as f64);
            network.restart(1).run_for(0.003 + 0.011 * (seed % 5) as f64);
        }
        if seed % 2 == 0 {
            network.crash(0).run_for(0.004).restart(0);
        }
        network.run_for(100.0);
        assert_eq!(network.rows(0, "view").len(), 2, "{seed}: {:?}", network.rows(0, "view"));
        assert_eq!(network.rows(2, "far").len(), 2, "{seed}: {:?}", network.rows(2, "far"));
    }
}

#[test]
fn idle_views_survive_the_loss_of_two_datagrams_in_five() {
    let source = SHIPPED.replace("materialize(fact", "watchmod(view, \"d\"). materialize(fact");
    for seed in 1..6 {
        let mut network = Network::under(lossy(0.4), &source, 3, seed);
        network.run_for(1800.0);
        assert_eq!(network.rows(0, "view").len(), 2, "{seed}");
        assert!(network.lines.borrow().is_empty(), "{seed}: {:?}", network.lines.borrow());
    }
}
