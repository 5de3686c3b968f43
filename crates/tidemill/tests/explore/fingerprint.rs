//! Fingerprints of the states that a search finds.

use tidemill::explore::{ExploreOptions, ExploreReport, Explorer};
use tidemill::program::{LoadOptions, Program};
use tidemill_diag::Sources;

/// A server numbers requests, and clients note the answers.
const TABLES: [&str; 3] = [
    "materialize(last, infinity, infinity, keys(1)).\n",
    "materialize(answered, infinity, infinity, keys(2)).\n",
    "materialize(ticks, infinity, infinity, keys(1)).\n",
];
const RULES: [&str; 5] = [
    "f1 last(@N, 0) :- start(@N).\n",
    "r1 answer(@C, C, X + 1) :- request(@S, C), last(@S, X).\n",
    "r2 last(@S, X + 1) :- request(@S, _), last(@S, X).\n",
    "r3 answered(@N, X) :- answer(@N, _, X).\n",
    "r4 ticks(@N, 1) :- periodic(@N, _, 1, 1).\n",
];
const SCRIPT: &str = "\
    at 0 inject 0 start(NODE)\n\
    at 1 inject 0 request(NODE, \"n1:1\")\n\
    at 1 inject 0 request(NODE, \"n2:1\")\n";

fn options() -> ExploreOptions {
    ExploreOptions { nodes: 3, timers: 1, drops: 1, fingerprint: true, ..ExploreOptions::default() }
}

fn explored(text: &str, options: ExploreOptions) -> ExploreReport {
    let program = Program::of_text("it.olg", text, &LoadOptions::default());
    let mut explorer = Explorer::new(program, options).expect("it compiles");
    let mut sources = Sources::new();
    let file = sources.add("it.sim", SCRIPT.to_owned());
    let (script, wrong) = tidemill::script::parse(file, SCRIPT);
    assert!(wrong.is_empty() && explorer.script(&script, &sources).is_empty());
    explorer.run().expect("a search")
}

fn states(text: &str, options: ExploreOptions) -> (u64, u128) {
    let found = explored(text, options);
    assert!(found.is_complete() && found.distinct > 50, "{found}");
    (found.distinct, found.fingerprint.expect("complete"))
}

#[test]
fn the_order_of_a_search_and_of_rules_does_not_matter() {
    let text = TABLES.concat() + &RULES.concat();
    let expected = states(&text, options());
    for workers in 2..4 {
        assert_eq!(states(&text, ExploreOptions { workers, ..options() }), expected);
    }
    assert_eq!(states(&text, ExploreOptions { depth_first: true, ..options() }), expected);
    let [mut tables, mut rules] = [TABLES.to_vec(), RULES.to_vec()];
    tables.reverse();
    rules.reverse();
    let unused = "materialize(a, infinity, infinity, keys(1)).\nx1 a(@N) :- never(@N).\n";
    let other = unused.to_owned() + &tables.concat() + &rules.concat();
    assert_eq!(states(&other, options()), expected);
    // Each permutation of nodes stands for all, whichever was found.
    let symmetric = ExploreOptions { symmetry: true, ..options() };
    let expected_alike = states(&text, symmetric.clone());
    assert!(expected_alike.0 < expected.0);
    assert_eq!(states(&other, symmetric.clone()), expected_alike);
    let divided = ExploreOptions { workers: 3, ..symmetric.clone() };
    assert_eq!(states(&text, divided), expected_alike);
    let deep = ExploreOptions { depth_first: true, ..symmetric };
    assert_eq!(states(&other, deep), expected_alike);
}

#[test]
fn a_state_that_differs_changes_it() {
    let text = TABLES.concat() + &RULES.concat();
    let (count, fingerprint) = states(&text, options());
    let changed = [
        // A value in a table and in messages; in a table only.
        ("last(@N, 0)", "last(@N, 1)"),
        ("ticks(@N, 1) :-", "ticks(@N, 2) :-"),
        // A name of a table, of messages, of a timer.
        ("ticks(", "tocks("),
        ("answer(@", "reply(@"),
        ("r4 ticks", "r9 ticks"),
    ];
    for (from, to) in changed {
        let (other_count, other) = states(&text.replace(from, to), options());
        assert_eq!(other_count, count, "{to}");
        assert_ne!(other, fingerprint, "{to}");
    }
}

#[test]
fn a_search_that_is_cut_has_none() {
    let text = TABLES.concat() + &RULES.concat();
    let (count, _) = states(&text, options());
    for workers in [1, 2] {
        let cut = ExploreOptions { distinct_max: Some(20), workers, ..options() };
        let found = explored(&text, cut);
        assert_eq!(found.missed, ["there are more than 20 states"]);
        assert!(found.fingerprint.is_none() && found.distinct > 20);
        let enough = ExploreOptions { distinct_max: Some(count), workers, ..options() };
        assert!(explored(&text, enough).is_complete());
    }
    let shallow = ExploreOptions { depth: Some(2), ..options() };
    assert!(explored(&text, shallow.clone()).fingerprint.is_none());
    let deep = ExploreOptions { depth_first: true, ..shallow };
    assert!(explored(&text, deep).fingerprint.is_none());
}
