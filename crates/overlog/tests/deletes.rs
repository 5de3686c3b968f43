//! Rows that `delete` removes from views, with all rows that only they supported; only a new
//! derivation restores them.

use crate::harness::Network;

const PATHS: &str = r#"
materialize(edge, infinity, infinity, keys(1, 2, 3)).
materialize(path, infinity, infinity, keys(1, 2, 3)).
r1 path(@N, X, Y) :- edge(@N, X, Y).
r2 path(@N, X, Z) :- edge(@N, X, Y), path(@N, Y, Z).
d1 delete path(@N, X, Y) :- cut(@N, X, Y).
d2 edge(@N, A, B) :- cutAndLink(@N, X, Y, A, B).
d3 delete path(@N, X, Y) :- cutAndLink(@N, X, Y, A, B).
d4 delete edge(@N, A, B) :- cutBoth(@N, X, Y, A, B).
d5 delete path(@N, X, Y) :- cutBoth(@N, X, Y, A, B).
"#;

fn network(edges: &[(u32, u32)]) -> Network {
    let mut network = Network::new(PATHS, 1, 1);
    for (from, to) in edges {
        network.inject(0, &format!("edge(\"n0:1\", {from}, {to})"));
    }
    network.run_for(1.0);
    network
}

fn paths(network: &Network) -> Vec<(u32, u32)> {
    let rows = network.rows(0, "path");
    let pair = |row: &String| {
        let mut numbers = row.trim_end_matches(')').split(", ").skip(1);
        let mut next = || numbers.next().unwrap().parse().unwrap();
        (next(), next())
    };
    rows.iter().map(pair).collect()
}

#[test]
fn what_followed_from_a_deleted_row_does_not_bring_it_back() {
    // (2, 3) follows from itself through (3, 3) and by the edge.
    let mut network = network(&[(2, 3), (3, 2)]);
    assert_eq!(paths(&network), [(2, 2), (2, 3), (3, 2), (3, 3)]);
    network.inject(0, "cut(\"n0:1\", 2, 3)").run_for(1.0);
    assert_eq!(paths(&network), [(2, 2), (3, 2)]);
    // A new derivation restores it, and with it the rows that it supports.
    network.inject(0, "edge(\"n0:1\", 2, 4)").inject(0, "edge(\"n0:1\", 4, 3)").run_for(1.0);
    let all = [(2, 2), (2, 3), (2, 4), (3, 2), (3, 3), (3, 4), (4, 2), (4, 3), (4, 4)];
    assert_eq!(paths(&network), all);
}

#[test]
fn a_deleted_row_stays_away_while_others_change() {
    let chain = [(1, 2), (2, 3), (7, 8), (8, 7), (8, 9)];
    let without = |network: &Network| !paths(network).contains(&(1, 3));
    for change in ["cutAndLink(\"n0:1\", 1, 3, 5, 6)", "cutBoth(\"n0:1\", 1, 3, 8, 9)"] {
        let mut network = network(&chain);
        assert!(!without(&network));
        network.inject(0, change).run_for(1.0);
        assert!(without(&network), "{change}: {:?}", paths(&network));
        // Nor does a later change of other rows, some of which are restored, derive it.
        network.delete(0, "edge(\"n0:1\", 7, 8)").run_for(1.0);
        network.inject(0, "edge(\"n0:1\", 3, 1)").run_for(1.0);
        network.delete(0, "edge(\"n0:1\", 3, 1)").run_for(1.0);
        let found = paths(&network);
        assert!(without(&network) && found.contains(&(1, 2)), "{change}: {found:?}");
    }
}

#[test]
fn the_absence_of_a_row_that_came_and_went_is_nothing_new() {
    let program = r#"
        materialize(edge, infinity, infinity, keys(1, 2)).
        materialize(closed, infinity, infinity, keys(1, 2)).
        materialize(open, infinity, infinity, keys(1, 2)).
        r1 open(@N, X) :- edge(@N, X), notin closed(@N, X).
        d1 delete open(@N, X) :- cut(@N, X).
        c1 closed(@N, X) :- flash(@N, X).
        c2 delete closed(@N, X) :- flash(@N, X).
        c3 delete closed(@N, X) :- blink(@N, X).
        c4 closed(@N, X) :- blink(@N, X).
    "#;
    let mut network = Network::new(program, 1, 1);
    let open = |network: &Network| network.rows(0, "open").len();
    network.inject(0, "edge(\"n0:1\", 1)").run_for(1.0);
    assert_eq!(open(&network), 1);
    network.inject(0, "cut(\"n0:1\", 1)").inject(0, "flash(\"n0:1\", 1)").run_for(1.0);
    assert_eq!(open(&network), 0);
    // It was inserted for good, exists before and after another change, and then is removed.
    network.inject(0, "closed(\"n0:1\", 1)").inject(0, "blink(\"n0:1\", 1)").run_for(1.0);
    assert_eq!(open(&network), 0);
    network.delete(0, "closed(\"n0:1\", 1)").run_for(1.0);
    assert_eq!(open(&network), 1);
}

#[test]
fn what_was_in_the_way_for_a_moment_brings_nothing_back() {
    let program = r#"
        materialize(edge, infinity, infinity, keys(1, 2, 3)).
        materialize(closed, infinity, infinity, keys(1, 2)).
        materialize(seen, infinity, infinity, keys(1, 2)).
        r1 seen(@N, X) :- edge(@N, X, _).
        r2 seen(@N, X) :- closed(@N, X).
        r3 seen(@N, Y) :- edge(@N, X, Y), seen(@N, X), notin closed(@N, X).
        d1 delete seen(@N, X) :- cut(@N, X).
        c1 closed(@N, X) :- flash(@N, X).
        c2 delete closed(@N, X) :- flash(@N, X).
    "#;
    let mut network = Network::new(program, 1, 1);
    network.inject(0, "edge(\"n0:1\", 1, 2)").run_for(1.0);
    assert_eq!(network.rows(0, "seen"), ["seen(\"n0:1\", 1)", "seen(\"n0:1\", 2)"]);
    // 1 is removed together with a row that existed for a moment, and restored: it existed before.
    network.inject(0, "cut(\"n0:1\", 2)").inject(0, "flash(\"n0:1\", 1)").run_for(1.0);
    assert_eq!(network.rows(0, "seen"), ["seen(\"n0:1\", 1)"]);
}

#[test]
fn a_row_that_is_put_back_fires_nothing_in_soft_state() {
    let program = r#"
        materialize(base, infinity, infinity, keys(1, 2)).
        materialize(view, infinity, infinity, keys(1, 2)).
        materialize(trace, 1, infinity, keys(1, 2)).
        r1 view(@N, 0) :- base(@N, X).
        r2 trace(@N, X) :- view(@N, X).
        r3 view(@N, X) :- trace(@N, X), view(@N, X), X > 5.
    "#;
    let mut network = Network::new(program, 1, 1);
    network.inject(0, "base(\"n0:1\", 1)").inject(0, "base(\"n0:1\", 2)").run_for(0.5);
    assert_eq!(network.rows(0, "trace"), ["trace(\"n0:1\", 0)"]);
    network.run_for(2.0);
    assert!(network.rows(0, "trace").is_empty());
    // The row of the view is removed with one of its two supports, and returns by the other.
    network.delete(0, "base(\"n0:1\", 1)").run_for(0.5);
    assert_eq!(network.rows(0, "view"), ["view(\"n0:1\", 0)"]);
    assert!(network.rows(0, "trace").is_empty());
}
