//! Aggregate views on one node: winners keep their columns, groups of all sizes follow changes.

use crate::harness::Network;
use tidemill_stdx::rng::Rng;

fn best(network: &Network) -> Vec<String> {
    network.rows(0, "best")
}

const OFFERS: &str = r#"
materialize(offer, infinity, infinity, keys(2, 3, 4)).
materialize(best, infinity, infinity, keys(1, 2)).
"#;

#[test]
fn a_minimum_keeps_the_columns_of_the_row_that_wins() {
    let rule = "r best(@N, I, a_MIN<C>, S) :- offer(@N, I, S, C).";
    let mut network = Network::new(&format!("{OFFERS}{rule}"), 1, 1);
    for row in ["1, \"b\", 5", "1, \"a\", 5", "1, \"c\", 3", "2, \"z\", 9"] {
        network.inject(0, &format!("offer(\"n0:1\", {row})"));
    }
    let row = |i, c, s| format!("best(\"n0:1\", {i}, {c}, \"{s}\")");
    network.run_for(1.0);
    assert_eq!(best(&network), [row(1, 3, "c"), row(2, 9, "z")]);
    // Of equal values the least row wins.
    network.delete(0, "offer(\"n0:1\", 1, \"c\", 3)").run_for(1.0);
    assert_eq!(best(&network), [row(1, 5, "a"), row(2, 9, "z")]);
    network.delete(0, "offer(\"n0:1\", 1, \"a\", 5)").run_for(1.0);
    network.delete(0, "offer(\"n0:1\", 2, \"z\", 9)").run_for(1.0);
    assert_eq!(best(&network), [row(1, 5, "b")]);
}

#[test]
fn a_maximum_keeps_the_columns_of_the_least_row_among_equals() {
    let rule = "r best(@N, I, S, a_MAX<C>) :- offer(@N, I, S, C).";
    let mut network = Network::new(&format!("{OFFERS}{rule}"), 1, 1);
    // Enough rows for groups to be kept from commit to commit.
    for number in 0..100 {
        network.inject(0, &format!("offer(\"n0:1\", 1, {number}, {})", number % 10));
    }
    let row = |s, c| format!("best(\"n0:1\", 1, {s}, {c})");
    network.run_for(1.0);
    assert_eq!(best(&network), [row(9, 9)]);
    for number in [9, 19, 29] {
        network.delete(0, &format!("offer(\"n0:1\", 1, {number}, 9)")).run_for(1.0);
        assert_eq!(best(&network), [row(number + 10, 9)]);
    }
    for number in (39..100).step_by(10) {
        network.delete(0, &format!("offer(\"n0:1\", 1, {number}, 9)"));
    }
    network.run_for(1.0);
    assert_eq!(best(&network), [row(8, 8)]);
}

/// Shortest paths with their paths, through a cycle of rules.
#[test]
fn the_winner_of_a_recursive_view_keeps_its_columns() {
    let program = r#"
        materialize(edge, infinity, infinity, keys(2, 3)).
        materialize(path, infinity, infinity, keys(1, 2, 3, 4, 5)).
        materialize(best, infinity, infinity, keys(1, 2, 3)).
        p1 path(@N, X, Y, [X, Y], C) :- edge(@N, X, Y, C).
        p2 path(@N, X, Z, f_cons(X, P), C + D) :- edge(@N, X, Y, C), best(@N, Y, Z, P, D),
            !f_member(P, X).
        b best(@N, X, Y, P, a_MIN<C>) :- path(@N, X, Y, P, C).
    "#;
    let mut network = Network::new(program, 1, 1);
    for edge in ["1, 2, 1", "2, 3, 1", "1, 3, 5"] {
        network.inject(0, &format!("edge(\"n0:1\", {edge})"));
    }
    let from_1_to_3 = |network: &Network| {
        best(network).into_iter().find(|row| row.starts_with("best(\"n0:1\", 1, 3"))
    };
    network.run_for(1.0);
    assert_eq!(from_1_to_3(&network).unwrap(), "best(\"n0:1\", 1, 3, [1, 2, 3], 2)");
    network.delete(0, "edge(\"n0:1\", 2, 3, 1)").run_for(1.0);
    assert_eq!(from_1_to_3(&network).unwrap(), "best(\"n0:1\", 1, 3, [1, 3], 5)");
}

/// Programs for the distance of each place from a source; all of them recurse through a MIN.
const DISTANCES: [&str; 3] = [
    "
    c0 far(@N, X, C) :- from(@N, X, C).
    c1 far(@N, Y, a_MIN<C>) :- link(@N, X, Y, C1), far(@N, X, C2), C := C1 + C2.
    ",
    "
    c1 far(@N, Y, a_MIN<C>) :- link(@N, X, Y, C1), far(@N, X, C2), C := C1 + C2.
    c0 far(@N, X, a_MIN<C>) :- from(@N, X, C).
    ",
    "
    materialize(way, infinity, infinity, keys(1, 2, 3, 4)).
    c0 way(@N, X, \"from\", C) :- from(@N, X, C).
    c1 way(@N, Y, X, C) :- link(@N, X, Y, C1), far(@N, X, C2), C := C1 + C2.
    c2 far(@N, Y, a_MIN<C>) :- way(@N, Y, _, C).
    ",
];

const PLACES: usize = 5;

/// The distances from place 0, if it is a source.
fn distances(source: bool, links: &[[Option<i64>; PLACES]; PLACES]) -> Vec<String> {
    let mut far = [None; PLACES];
    far[0] = source.then_some(0);
    for _ in 0..PLACES {
        for (x, row) in links.iter().enumerate() {
            for (y, cost) in row.iter().enumerate() {
                // A path through a source is no shorter than one that begins there.
                let way = far[x].zip(*cost).map(|(far, cost): (i64, i64)| far + cost);
                if y != 0 {
                    far[y] = far[y].into_iter().chain(way).min();
                }
            }
        }
    }
    let row = |(place, far): (usize, &Option<i64>)| {
        far.map(|far| format!("far(\"n0:1\", {place}, {far})"))
    };
    far.iter().enumerate().filter_map(row).collect()
}

/// Rows that only a cycle supports are removed, also in cycles without cost.
#[test]
fn distances_follow_graphs_with_circles_that_cost_nothing() {
    let tables = "
    materialize(from, infinity, infinity, keys(1, 2)).
    materialize(link, infinity, infinity, keys(1, 2, 3)).
    materialize(far, infinity, infinity, keys(1, 2)).
    ";
    for (number, rules) in DISTANCES.iter().enumerate() {
        // With two rules for one key the later derivation wins: no source is reached by a link.
        let to = usize::from(number < 2);
        for seed in 0..30 {
            let mut random = Rng::new(seed);
            let mut network = Network::new(&format!("{tables}{rules}"), 1, 1);
            let mut links = [[None; PLACES]; PLACES];
            let mut source = false;
            for step in 0..40 {
                if step == 0 || random.chance(0.1) {
                    source = !source;
                    if source {
                        network.inject(0, "from(\"n0:1\", 0, 0)")
                    } else {
                        network.delete(0, "from(\"n0:1\", 0, 0)")
                    };
                } else {
                    let x = random.below(PLACES as u64) as usize;
                    let y = random.range(to as u64..=PLACES as u64 - 1) as usize;
                    let cost = random.below(3) as i64;
                    let row = |cost| format!("link(\"n0:1\", {x}, {y}, {cost})");
                    match &mut links[x][y] {
                        Some(_) if random.chance(0.7) => {
                            network.delete(0, &row(cost));
                            links[x][y] = None;
                        }
                        link => {
                            network.inject(0, &row(cost));
                            *link = Some(cost);
                        }
                    }
                }
                network.run_for(0.01);
                let mut held = network.rows(0, "far");
                held.sort();
                assert_eq!(held, distances(source, &links), "{rules} seed {seed}, step {step}");
            }
        }
    }
}
