//! Nodes whose program is replaced.

use tidemill_event::Conditions;
use tidemill_stdx::rng::Rng;

use crate::harness::Network;

/// The lines seen since the last call.
fn seen(network: &Network) -> Vec<String> {
    std::mem::take(&mut *network.lines.borrow_mut())
}

const LINKS: &str = "materialize(link, infinity, infinity, keys(1, 2)).
    materialize(reach, infinity, infinity, keys(1, 2)).
    watchmod(reach, \"id\").
    link(@\"n0:1\", 1, 2). link(@\"n0:1\", 2, 3).
    a reach(@N, A, B) :- link(@N, A, B).";

#[test]
fn rows_stay_and_views_are_those_of_the_new_rules() {
    let before = LINKS.replace("keys(1, 2)", "keys(2, 3)");
    let mut network = Network::new(&before, 1, 1);
    network.run_for(1.0).inject(0, "link(\"n0:1\", 3, 4)").run_for(1.0);
    assert_eq!(seen(&network).len(), 3);
    let after = format!("{before} b reach(@N, A, C) :- link(@N, A, B), reach(@N, B, C).");
    network.replace(&after).run_for(1.0);
    // Existing rows are not reported again.
    let news =
        ["i - reach(\"n0:1\", 1, 3)", "i - reach(\"n0:1\", 1, 4)", "i - reach(\"n0:1\", 2, 4)"];
    let mut lines = seen(&network);
    lines.sort();
    assert_eq!(lines, news);
    assert_eq!(network.rows(0, "link").len(), 3);
    // And back: rows that only the second rule supported are removed.
    network.replace(&before).run_for(1.0);
    let mut lines = seen(&network);
    lines.sort();
    assert_eq!(lines, news.map(|line| line.replace("i -", "d -")));
    // The views are still maintained.
    network.delete(0, "link(\"n0:1\", 3, 4)").run_for(1.0);
    assert_eq!(seen(&network), ["d - reach(\"n0:1\", 3, 4)"]);
}

#[test]
fn facts_that_are_gone_retract_what_they_asserted_and_others_come() {
    let mut network = Network::new(&LINKS.replace("keys(1, 2)", "keys(2, 3)"), 1, 1);
    network.run_for(1.0).inject(0, "link(\"n0:1\", 7, 8)").run_for(1.0);
    let other = LINKS.replace("keys(1, 2)", "keys(2, 3)").replace(", 2, 3).", ", 5, 6).");
    network.replace(&other).run_for(1.0);
    let links = ["link(\"n0:1\", 1, 2)", "link(\"n0:1\", 5, 6)", "link(\"n0:1\", 7, 8)"];
    assert_eq!(network.rows(0, "link"), links);
    assert_eq!(network.rows(0, "reach").len(), 3);
}

#[test]
fn a_table_that_is_declared_otherwise_begins_empty() {
    let mut network = Network::new(&LINKS.replace("keys(1, 2)", "keys(2, 3)"), 1, 1);
    network.run_for(1.0).inject(0, "link(\"n0:1\", 7, 8)").run_for(1.0);
    let other = LINKS.replace("keys(1, 2)", "keys(2)");
    network.replace(&other).run_for(1.0);
    // Its facts are inserted again.
    assert_eq!(network.rows(0, "link"), ["link(\"n0:1\", 1, 2)", "link(\"n0:1\", 2, 3)"]);
}

#[test]
fn soft_state_keeps_its_age_and_size() {
    let soft = "materialize(s, 10, 2, keys(2)).";
    let mut network = Network::new(soft, 1, 1);
    network.inject(0, "s(\"n0:1\", 1)").run_to(4.0).inject(0, "s(\"n0:1\", 2)").run_to(6.0);
    network.replace(&format!("{soft} watchmod(s, \"d\").")).run_to(9.0);
    assert_eq!(network.rows(0, "s").len(), 2);
    network.run_to(11.0);
    assert_eq!(network.rows(0, "s"), ["s(\"n0:1\", 2)"]);
    // The oldest of them is evicted first.
    network.inject(0, "s(\"n0:1\", 3)").inject(0, "s(\"n0:1\", 4)").run_to(12.0);
    assert_eq!(network.rows(0, "s"), ["s(\"n0:1\", 3)", "s(\"n0:1\", 4)"]);
}

#[test]
fn periodics_that_stay_keep_their_phase_and_their_count() {
    let rules = "watch(tick). watch(tock). t tick(@N) :- periodic(@N, E, 10, 3).";
    let mut network = Network::new(rules, 1, 1);
    let count = |lines: &[String], name: &str| {
        lines.iter().filter(|line| line.starts_with('h') && line.contains(name)).count()
    };
    network.run_to(14.0);
    assert_eq!(count(&seen(&network), "tick"), 1);
    network.replace(&format!("{rules} u tock(@N) :- periodic(@N, E, 3).")).run_to(19.0);
    let lines = seen(&network);
    assert_eq!((count(&lines, "tick"), count(&lines, "tock")), (0, 1), "{lines:?}");
    network.run_to(60.0);
    // At 20 and at 30, and no more; each 3 seconds from 17 on.
    let lines = seen(&network);
    assert_eq!((count(&lines, "tick"), count(&lines, "tock")), (2, 14), "{lines:?}");
    // Another period is another timer.
    network.replace("watch(tick). t tick(@N) :- periodic(@N, E, 7).").run_to(66.0);
    assert_eq!(seen(&network), Vec::<String>::new());
    network.run_to(68.0);
    assert_eq!(count(&seen(&network), "tick"), 1);
}

#[test]
fn a_row_that_a_view_has_displaced_returns_when_that_goes() {
    let rules = "materialize(v, infinity, infinity, keys(2)). v(@\"n0:1\", 1, 5).
        materialize(b, infinity, infinity, keys(2)).";
    let view = format!("{rules} a v(@N, X, Y) :- b(@N, X, Y).");
    let mut network = Network::new(&view, 1, 1);
    network.run_for(1.0).inject(0, "b(\"n0:1\", 1, 7)").run_for(1.0);
    assert_eq!(network.rows(0, "v"), ["v(\"n0:1\", 1, 7)"]);
    network.replace(&format!("{view} watch(b).")).run_for(1.0);
    assert_eq!(network.rows(0, "v"), ["v(\"n0:1\", 1, 7)"]);
    network.delete(0, "b(\"n0:1\", 1, 7)").run_for(1.0);
    assert_eq!(network.rows(0, "v"), ["v(\"n0:1\", 1, 5)"]);
    network.replace(rules).run_for(1.0);
    assert_eq!(network.rows(0, "v"), ["v(\"n0:1\", 1, 5)"]);
}

#[test]
fn a_program_that_derives_too_much_never_takes_over() {
    let rules = "materialize(n, infinity, infinity, keys(2)). n(@\"n0:1\", 1).
        materialize(m, infinity, infinity, keys(2)). a m(@N, X) :- n(@N, X).";
    let mut network = Network::new(rules, 1, 1);
    network.run_for(1.0);
    network.replace(&format!("{rules} b n(@N, Y) :- n(@N, X), Y := X + 1.")).run_for(1.0);
    assert_eq!(seen(&network), ["KEPT TooMuch"]);
    assert_eq!(network.rows(0, "m"), ["m(\"n0:1\", 1)"]);
    network.inject(0, "n(\"n0:1\", 5)").run_for(1.0);
    assert_eq!(network.rows(0, "m").len(), 2);
}

#[test]
fn what_waits_goes_on_and_what_has_no_place_is_counted() {
    let rules = "materialize(got, infinity, infinity, keys(2)). a got(@N, X) :- e(@N, X).
        b gone(@N, X) :- f(@N, X).";
    let mut network = Network::new(rules, 1, 1);
    network.run_for(1.0);
    network.inject(0, "e(\"n0:1\", 1)").inject(0, "f(\"n0:1\", 2)");
    network.replace("materialize(got, infinity, infinity, keys(2)). c got(@N, -X) :- e(@N, X).");
    network.run_for(1.0);
    assert_eq!(network.rows(0, "got"), ["got(\"n0:1\", -1)"]);
    let node = network.world.fleet_ref().node(tidemill_overlog::fleet::NodeId(0)).unwrap();
    assert_eq!(node.counters().dropped_replaced, 1);
}

/// Two versions of a program whose views lie on several nodes.
const TWO: &str = "t two(@A, C) :- link(@A, B), link(@B, C).";
const NAMED: &str = "t two(@A, C, B) :- link(@A, B), link(@B, C).
    r reach(@A, B) :- link(@A, B). s reach(@A, C) :- link(@A, B), reach(@B, C).";
const TABLES: &str = "materialize(link, infinity, infinity, keys(1, 2)).
    materialize(reach, infinity, infinity, keys(1, 2)).";

fn version(number: u64) -> String {
    let (keys, rules) = if number == 0 { ("1, 2", TWO) } else { ("1, 2, 3", NAMED) };
    format!("{TABLES} materialize(two, infinity, infinity, keys({keys})). {rules}")
}

/// While links change and messages are lost, duplicated and delayed, all nodes switch from one
/// version to the other and back; at rest they hold the same rows as nodes that ran only the last
/// version.
#[test]
fn views_across_nodes_are_those_of_the_last_version() {
    for seed in 0..6 {
        let mut rng = Rng::new(seed);
        let conditions = Conditions { loss: 0.1, duplicate: 0.1, ..Conditions::default() };
        let mut changed = Network::under(conditions, &version(0), 4, seed);
        let mut links: Vec<(u64, u64)> = Vec::new();
        let mut last = 0;
        for step in 0..30 {
            changed.run_for(rng.f64());
            let link = (rng.below(4), rng.below(4));
            let tuple = format!("link(\"n{}:1\", \"n{}:1\")", link.0, link.1);
            match links.iter().position(|known| *known == link) {
                Some(at) => {
                    links.remove(at);
                    changed.delete(link.0 as u32, &tuple);
                }
                None => {
                    links.push(link);
                    changed.inject(link.0 as u32, &tuple);
                }
            }
            if step % 7 == 6 {
                last = 1 - last;
                changed.replace(&version(last));
            }
        }
        changed.run_for(300.0);
        let mut fresh = Network::new(&version(last), 4, seed);
        for (from, to) in links {
            fresh.inject(from as u32, &format!("link(\"n{from}:1\", \"n{to}:1\")"));
        }
        fresh.run_for(100.0);
        for node in 0..4 {
            for table in ["link", "two", "reach"] {
                let (one, other) = (changed.rows(node, table), fresh.rows(node, table));
                assert_eq!(one, other, "seed {seed}, node {node}, {table}");
            }
        }
    }
}
