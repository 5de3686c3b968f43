//! Rows that support each other in a cycle through several nodes: under random changes each node
//! holds, once all is at rest, the result of a plain evaluation over the links of all nodes.

use std::collections::{BTreeMap, BTreeSet};

use crate::harness::Network;
use tidemill_event::Conditions;
use tidemill_overlog::fleet::NodeId;
use tidemill_stdx::rng::Rng;

const NODES: u32 = 5;
const CHANGES: u32 = 30;

type Links = BTreeSet<(u32, u32)>;

fn name(node: u32) -> String {
    format!("n{node}:1")
}

fn closure(links: &Links) -> Links {
    let mut reach = links.clone();
    for middle in 0..NODES {
        for from in 0..NODES {
            for to in 0..NODES {
                if reach.contains(&(from, middle)) && reach.contains(&(middle, to)) {
                    reach.insert((from, to));
                }
            }
        }
    }
    reach
}

/// The expected tables of a node, as sorted text.
type Expected = fn(&Links, u32) -> Vec<String>;

fn pairs(table: &str, a: u32, rows: &Links) -> Vec<String> {
    let of_node = rows.iter().filter(|(from, _)| *from == a);
    of_node.map(|&(a, b)| format!("{table}({:?}, {:?})", name(a), name(b))).collect()
}

/// Runs a program on nodes whose links change, and checks it whenever it is at rest. With
/// `crashes`, nodes end without notice and restart empty; their links are inserted again.
fn check(program: &str, tables: &[&str], expected: Expected, seeds: u64, crashes: bool) {
    for seed in 0..seeds {
        let mut rng = Rng::new(seed);
        // Every other network loses, duplicates and reorders messages.
        let evil = if seed % 2 == 0 { 0.0 } else { 0.1 };
        let conditions =
            Conditions { loss: evil, duplicate: evil, reorder: evil, ..Conditions::default() };
        let mut network = Network::under(conditions, program, NODES, seed);
        let mut links = Links::new();
        let node = |rng: &mut Rng| rng.below(NODES.into()) as u32;
        for change in 0..CHANGES {
            if crashes && rng.chance(0.1) {
                let victim = node(&mut rng);
                network.crash(victim).run_for(1.0);
                network.restart(victim).run_for(0.5);
                for &(from, to) in links.iter().filter(|(from, _)| *from == victim) {
                    network.inject(from, &format!("link({:?}, {:?})", name(from), name(to)));
                }
            }
            let link = (node(&mut rng), node(&mut rng));
            let tuple = format!("link({:?}, {:?})", name(link.0), name(link.1));
            // Graphs of many sizes: dense ones in the middle of a run, sparse ones at its ends.
            if links.contains(&link) || (rng.chance(0.4) && !links.is_empty()) {
                let gone = if links.contains(&link) {
                    link
                } else {
                    *links.iter().nth(rng.below(links.len() as u64) as usize).unwrap()
                };
                links.remove(&gone);
                let tuple = format!("link({:?}, {:?})", name(gone.0), name(gone.1));
                network.delete(gone.0, &tuple)
            } else {
                links.insert(link);
                network.inject(link.0, &tuple)
            };
            if rng.chance(0.5) {
                network.run_for(rng.below(40) as f64 / 1000.0);
                continue; // several changes on their way at once
            }
            network.run_for(if crashes { 60.0 } else { 15.0 });
            for a in 0..NODES {
                let mut held: Vec<String> =
                    tables.iter().flat_map(|table| network.rows(a, table)).collect();
                held.sort();
                let mut expected = expected(&links, a);
                expected.sort();
                assert_eq!(held, expected, "seed {seed}, change {change}, {}, {links:?}", name(a));
            }
        }
    }
}

const REACHABLE: &str = r#"
materialize(link, infinity, infinity, keys(1, 2)).
materialize(reachable, infinity, infinity, keys(1, 2)).
r1 reachable(@X, Y) :- link(@X, Y).
r2 reachable(@X, Z) :- link(@X, Y), reachable(@Y, Z).
"#;

#[test]
fn what_is_cut_off_is_not_reachable() {
    check(REACHABLE, &["reachable"], |links, a| pairs("reachable", a, &closure(links)), 40, false);
}

#[test]
fn what_is_cut_off_is_not_reachable_though_nodes_crash() {
    check(REACHABLE, &["reachable"], |links, a| pairs("reachable", a, &closure(links)), 10, true);
}

/// The example of `rewrite/trails.rs`: what a node ships of rows that came through it, and what
/// happens when they lose their support.
#[test]
fn a_row_that_came_through_itself_is_not_shipped() {
    let mut network = Network::new(REACHABLE, 2, 1);
    network.inject(0, r#"link("n0:1", "n1:1")"#).inject(1, r#"link("n1:1", "n0:1")"#);
    network.inject(1, r#"link("n1:1", "far")"#).run_for(5.0);
    // Height and size; the rows on a trail are hashes.
    let trails = |network: &Network, node, table: &str| -> Vec<String> {
        let rows = network.rows(node, table).into_iter().filter(|row| row.contains("far"));
        let heights = rows.map(|row| {
            let (_, trail) = row.split_once('[').unwrap();
            trail.split(", ").take(2).collect::<Vec<_>>().join(" ")
        });
        heights.collect()
    };
    // Node 1 has the row of its own link, and the one that has come back; the first is the best.
    assert_eq!(trails(&network, 1, "reachable!trails"), ["0 0", "2 2"]);
    assert_eq!(trails(&network, 1, "reachable!trail"), ["0 0"]);
    // Node 0 has it by one shipment.
    assert_eq!(trails(&network, 0, "reachable!trail"), ["1 1"]);
    // What has come back would now be the best, but it was on its way through node 1.
    network.delete(1, r#"link("n1:1", "far")"#).run_for(5.0);
    for node in 0..2 {
        assert!(trails(&network, node, "reachable!trails").is_empty());
        assert!(network.rows(node, "reachable").iter().all(|row| !row.contains("far")));
    }
}

/// Non-linear, mutual recursion, with each step at another node than the last.
#[test]
fn two_tables_that_rest_on_each_other_twice() {
    let program = r#"
        materialize(link, infinity, infinity, keys(1, 2)).
        materialize(to, infinity, infinity, keys(1, 2)).
        materialize(from, infinity, infinity, keys(1, 2)).
        t1 to(@X, Y) :- link(@X, Y).
        t2 to(@X, Z) :- to(@X, Y), to(@Y, Z).
        t3 to(@X, Y) :- from(@Y, X).
        f1 from(@Y, X) :- to(@X, Y).
    "#;
    let expected = |links: &Links, a| {
        let reach = closure(links);
        let turned = reach.iter().map(|&(from, to)| (to, from)).collect();
        [pairs("to", a, &reach), pairs("from", a, &turned)].concat()
    };
    check(program, &["to", "from"], expected, 15, false);
}

/// The least name of all nodes from which one can be reached: a label that circulates for ever if
/// nothing reports that its node is unreachable.
#[test]
fn labels_of_nodes_that_are_cut_off_are_forgotten() {
    let program = r#"
        materialize(link, infinity, infinity, keys(1, 2)).
        materialize(label, infinity, infinity, keys(1, 2)).
        materialize(least, infinity, infinity, keys(1)).
        l1 label(@X, X) :- link(@X, _).
        l2 label(@Y, L) :- link(@X, Y), least(@X, L).
        l3 least(@X, a_MIN<L>) :- label(@X, L).
    "#;
    let expected = |links: &Links, a| {
        let reach = closure(links);
        let labels =
            |b: u32| links.iter().any(|link| link.0 == b) && (a == b || reach.contains(&(b, a)));
        let least = (0..NODES).find(|&b| labels(b));
        least.map(|b| format!("least({:?}, {:?})", name(a), name(b))).into_iter().collect()
    };
    check(program, &["least"], expected, 25, false);
}

/// Distances without the list of nodes on the path: to a disconnected node they would count to
/// infinity.
#[test]
fn distances_do_not_count_up() {
    let program = r#"
        materialize(link, infinity, infinity, keys(1, 2)).
        materialize(distance, infinity, infinity, keys(1, 2, 3)).
        materialize(nearest, infinity, infinity, keys(1, 2)).
        d1 distance(@X, Y, 1) :- link(@X, Y).
        d2 distance(@X, Z, D + 1) :- link(@X, Y), nearest(@Y, Z, D).
        d3 nearest(@X, Y, a_MIN<D>) :- distance(@X, Y, D).
    "#;
    let expected = |links: &Links, a| {
        let mut rows = BTreeMap::new();
        let (mut front, mut distance) = (BTreeSet::from([a]), 0);
        while !front.is_empty() {
            distance += 1;
            let next: BTreeSet<u32> =
                links.iter().filter(|link| front.contains(&link.0)).map(|link| link.1).collect();
            front = next.into_iter().filter(|to| !rows.contains_key(to)).collect();
            front.iter().for_each(|to| assert_eq!(rows.insert(*to, distance), None));
        }
        let row = |(to, distance)| format!("nearest({:?}, {:?}, {distance})", name(a), name(to));
        rows.into_iter().map(row).collect()
    };
    check(program, &["nearest"], expected, 25, false);
}

/// Asserted rows on the cycle, inserted and deleted by event rules.
#[test]
fn what_stands_by_itself_supports_others_until_it_is_deleted() {
    let program = r#"
        materialize(link, infinity, infinity, keys(1, 2)).
        materialize(known, infinity, infinity, keys(1, 2)).
        k1 known(@Y, W) :- link(@X, Y), known(@X, W).
        k2 known(@X, W) :- hear(@X, W).
        k3 delete known(@X, W) :- forget(@X, W).
    "#;
    let mut network = Network::new(program, 3, 1);
    let known = |network: &Network| -> Vec<usize> {
        (0..3).map(|node| network.rows(node, "known").len()).collect()
    };
    for (from, to) in [(0, 1), (1, 2), (2, 1)] {
        network.inject(from, &format!("link({:?}, {:?})", name(from), name(to)));
    }
    network.inject(0, "hear(\"n0:1\", 7)").inject(0, "hear(\"n0:1\", 8)").run_for(3.0);
    assert_eq!(known(&network), [2, 2, 2]);
    network.inject(0, "forget(\"n0:1\", 7)").run_for(3.0);
    assert_eq!(known(&network), [1, 1, 1]);
    network.delete(0, "link(\"n0:1\", \"n1:1\")").run_for(3.0);
    assert_eq!(known(&network), [1, 0, 0]);
    network.inject(2, "hear(\"n2:1\", 9)").run_for(3.0);
    assert_eq!(known(&network), [1, 1, 1]);
    network.inject(2, "forget(\"n2:1\", 9)").run_for(3.0);
    assert_eq!(known(&network), [1, 0, 0]);
}

/// Rows that derive each other within a node, and are shipped back and forth, one of them to its
/// own node.
#[test]
fn circles_within_a_node_make_no_work_between_nodes() {
    let program = r#"
        materialize(b, infinity, infinity, keys(1, 2)).
        materialize(v, infinity, infinity, keys(1, 2, 3)).
        r1 v(@X, X, (I + 1) % 2) :- v(@X, X, I).
        r2 v(@X, Y, 2) :- b(@X, Y).
        r3 v(@Y, X, I) :- v(@X, Y, I).
    "#;
    for to in 0..2 {
        for seed in 0..3 {
            let mut network = Network::new(program, 2, seed);
            let (row, rows) = (format!("b(\"n0:1\", \"n{to}:1\")"), if to == 0 { 3 } else { 1 });
            for _ in 0..2 {
                network.inject(0, &row).run_for(5.0);
                assert_eq!(network.rows(0, "v").len(), rows);
                assert_eq!(network.rows(1, "v").len(), to);
                network.delete(0, &row).run_for(5.0);
                assert_eq!(network.rows(0, "v").len() + network.rows(1, "v").len(), 0);
            }
        }
    }
}

/// If all nodes are linked with each other, the removal of a row is explored in rounds: the traffic
/// grows with rows, nodes and rounds, not with the paths, of which there are 13,700 from each of 8
/// nodes.
#[test]
fn cuts_in_dense_graphs_cost_rounds() {
    const DENSE: u32 = 8;
    for seed in 0..2 {
        let mut network = Network::new(REACHABLE, DENSE, seed);
        for (from, to) in (0..DENSE).flat_map(|from| (0..DENSE).map(move |to| (from, to))) {
            if from != to {
                network.inject(from, &format!("link({:?}, {:?})", name(from), name(to)));
            }
        }
        network.run_for(5.0);
        let out = format!("link({:?}, \"away:1\")", name(0));
        let sent = |network: &Network| -> u64 {
            let nodes = (0..DENSE).filter_map(|node| network.world.fleet_ref().node(NodeId(node)));
            nodes.map(|node| node.counters().sent).sum()
        };
        let away = |network: &Network| -> usize {
            let rows = (0..DENSE).flat_map(|node| network.rows(node, "reachable"));
            rows.filter(|row| row.contains("away")).count()
        };
        for _ in 0..2 {
            network.inject(0, &out).run_for(5.0);
            assert_eq!(away(&network), DENSE as usize);
            let before = sent(&network);
            network.delete(0, &out).run_for(10.0);
            assert_eq!(away(&network), 0);
            let rounds = u64::from(DENSE.pow(3)); // rows that go, to each node, for each length
            assert!(sent(&network) - before < 4 * rounds, "{}", sent(&network) - before);
        }
    }
}
