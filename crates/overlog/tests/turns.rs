//! The semantics of rules, as users see them: turns, commits, aggregates, views.

// Each test uses a part of it.

use crate::harness::Network;

#[test]
fn a_counter_incremented_a_hundred_times_with_period_0_counts_to_100() {
    let source = r#"
        materialize(counter, infinity, 1, keys(1)).
        counter("n0:1", 0).
        r1 counter(@N, C + 1) :- periodic(@N, E, 0, 100), counter(@N, C).
    "#;
    let mut network = Network::new(source, 1, 1);
    network.run_to(1.0);
    assert_eq!(network.rows(0, "counter"), [r#"counter("n0:1", 100)"#]);
}

#[test]
fn a_recursive_chain_of_events_runs_inside_one_turn() {
    let source = r#"
        materialize(done, infinity, infinity, keys(1, 2)).
        r1 step(@N, C + 1) :- step(@N, C), C < 500.
        r2 done(@N, C, f_now()) :- step(@N, C), C == 500.
    "#;
    let mut network = Network::new(source, 1, 1);
    network.run_to(0.5).inject(0, r#"step("n0:1", 0)"#).run_for(0.1);
    assert_eq!(network.rows(0, "done"), [r#"done("n0:1", 500, 0.500000000t)"#]);
}

#[test]
fn an_event_aggregate_over_nothing_counts_0() {
    let source = r#"
        materialize(t, infinity, infinity, keys(1, 2)).
        materialize(result, infinity, infinity, keys(1, 2, 3)).
        r1 result(@N, X, a_COUNT<*>) :- ask(@N, X), t(@N, Y), Y > X.
        r2 least(@N, X, a_MIN<Y>) :- ask(@N, X), t(@N, Y), Y > X.
        watchmod(least, "c").
    "#;
    let mut network = Network::new(source, 1, 1);
    network.inject(0, r#"ask("n0:1", 7)"#).run_for(0.1);
    assert_eq!(network.rows(0, "result"), [r#"result("n0:1", 7, 0)"#]);
    assert_eq!(*network.lines.borrow(), [r#"c r2 least("n0:1", 7, null)"#]);
    for y in [8, 9, 3] {
        network.inject(0, &format!(r#"t("n0:1", {y})"#));
    }
    network.inject(0, r#"ask("n0:1", 7)"#).run_for(0.1);
    assert_eq!(network.rows(0, "result").len(), 2);
    assert_eq!(network.lines.borrow()[1], r#"c r2 least("n0:1", 7, 8)"#);
}

#[test]
fn reads_see_the_state_before_the_turn() {
    let source = r#"
        materialize(t, infinity, 1, keys(1)).
        t("n0:1", 1).
        r1 t(@N, X + 1) :- go(@N), t(@N, X).
        r2 again(@N) :- go(@N).
        r3 t(@N, X + 10) :- again(@N), t(@N, X).
    "#;
    let mut network = Network::new(source, 1, 1);
    network.run_to(0.1).inject(0, r#"go("n0:1")"#).run_for(0.1);
    // Both rules see 1; the later change wins.
    assert_eq!(network.rows(0, "t"), [r#"t("n0:1", 11)"#]);
}

#[test]
fn rows_expire_once_and_with_their_views() {
    let source = r#"
        materialize(soft, 2, infinity, keys(1, 2)).
        materialize(total, infinity, infinity, keys(1)).
        r1 total(@N, a_COUNT<*>) :- soft(@N, X).
        watchmod(soft, "ird").
    "#;
    let mut network = Network::new(source, 1, 1);
    network.inject(0, r#"soft("n0:1", 1)"#).inject(0, r#"soft("n0:1", 2)"#).run_to(1.0);
    assert_eq!(network.rows(0, "total"), [r#"total("n0:1", 2)"#]);
    network.inject(0, r#"soft("n0:1", 1)"#).run_to(2.5);
    assert_eq!(network.rows(0, "total"), [r#"total("n0:1", 1)"#]);
    network.run_to(10.0);
    assert!(network.rows(0, "total").is_empty());
    let lines = network.lines.borrow();
    let letters: String = lines.iter().map(|line| &line[..1]).collect();
    assert_eq!(letters, "iirdd", "{lines:?}");
}

#[test]
fn a_rule_over_two_locations_ships_what_it_needs() {
    let source = r#"
        materialize(link, infinity, infinity, keys(1, 2)).
        materialize(price, infinity, infinity, keys(1, 2)).
        link("n0:1", "n1:1").
        price("n1:1", "fish", 7).
        r1 offer(@X, Y, What, P) :- ask(@X, What), link(@X, Y), price(@Y, What, P).
        watchmod(offer, "c").
    "#;
    let mut network = Network::new(source, 2, 1);
    network.run_to(0.1).inject(0, r#"ask("n0:1", "fish")"#).run_for(1.0);
    assert_eq!(*network.lines.borrow(), [r#"c - offer("n0:1", "n1:1", "fish", 7)"#]);
}

const PATH_VECTOR: &str = r#"
    materialize(link, infinity, infinity, keys(1, 2)).
    materialize(path, infinity, infinity, keys(1, 2, 3)).
    materialize(best, infinity, infinity, keys(1, 2)).
    p1 path(@X, Y, [X, Y], C) :- link(@X, Y, C).
    p2 path(@X, Z, f_cons(X, P), C1 + C2) :- link(@X, Y, C1), path(@Y, Z, P, C2),
       f_member(P, X) == 0.
    p3 best(@X, Z, a_MIN<C>) :- path(@X, Z, P, C).
"#;

/// Both directions of a link at both ends.
fn link(network: &mut Network, a: u32, b: u32, cost: Option<i64>) {
    for (from, to) in [(a, b), (b, a)] {
        let tuple = format!(r#"link("n{from}:1", "n{to}:1", {})"#, cost.unwrap_or(0));
        match cost {
            Some(_) => network.inject(from, &tuple),
            None => network.delete(from, &tuple),
        };
    }
}

/// All shortest distances by Floyd and Warshall, as rows of `best`.
fn shortest(links: &[(u32, u32, i64)]) -> Vec<Vec<String>> {
    let mut far = vec![vec![i64::MAX / 4; 5]; 5];
    for &(a, b, cost) in links {
        far[a as usize][b as usize] = cost;
        far[b as usize][a as usize] = cost;
    }
    for k in 0..5 {
        for i in 0..5 {
            for j in 0..5 {
                far[i][j] = far[i][j].min(far[i][k] + far[k][j]);
            }
        }
    }
    let row = |i: usize, j: usize| format!(r#"best("n{i}:1", "n{j}:1", {})"#, far[i][j]);
    let known = |&(i, j): &(usize, usize)| i != j && far[i][j] < i64::MAX / 8;
    (0..5).map(|i| (0..5).map(|j| (i, j)).filter(known).map(|(i, j)| row(i, j)).collect()).collect()
}

#[test]
fn path_vector_has_exactly_the_right_routes_after_each_change() {
    let mut network = Network::new(PATH_VECTOR, 5, 1);
    let mut links: Vec<(u32, u32, i64)> = Vec::new();
    let steps: [&[(u32, u32, Option<i64>)]; 3] = [
        &[(0, 1, Some(7)), (1, 2, Some(4)), (2, 3, Some(2)), (3, 4, Some(6))],
        &[(1, 2, None)],
        &[(1, 2, Some(10)), (0, 4, Some(3))],
    ];
    for step in steps {
        for &(a, b, cost) in step {
            link(&mut network, a, b, cost);
            links.retain(|l| (l.0, l.1) != (a, b));
            links.extend(cost.map(|cost| (a, b, cost)));
        }
        network.run_for(20.0);
        for (node, want) in shortest(&links).into_iter().enumerate() {
            assert_eq!(network.rows(node as u32, "best"), want, "{links:?}");
        }
    }
}

#[test]
fn a_peer_that_restarts_empty_is_sent_all_rows_again() {
    let mut network = Network::new(PATH_VECTOR, 3, 1);
    for (from, to) in [(0, 1), (1, 0), (1, 2), (2, 1)] {
        network.inject(from, &format!(r#"link("n{from}:1", "n{to}:1", 4)"#));
    }
    network.run_to(10.0);
    assert_eq!(network.rows(2, "best").len(), 2);
    network.crash(1).run_to(60.0);
    assert_eq!(network.rows(2, "best"), [r#"best("n2:1", "n1:1", 4)"#]);
    assert_eq!(network.rows(0, "best"), [r#"best("n0:1", "n1:1", 4)"#]);
    network.restart(1);
    for to in [0, 2] {
        network.inject(1, &format!(r#"link("n1:1", "n{to}:1", 4)"#));
    }
    network.run_for(60.0);
    assert_eq!(network.rows(2, "best").len(), 2);
    assert_eq!(network.rows(1, "best").len(), 2);
}

#[test]
fn a_cycle_through_another_location_is_no_cycle() {
    let source = r#"
        materialize(link, infinity, infinity, keys(1, 2)).
        materialize(best, infinity, infinity, keys(1, 2)).
        materialize(offer, infinity, infinity, keys(1, 2, 3, 4)).
        b1 offer(@X, Y, X, C) :- link(@X, Y, C).
        b2 offer(@X, Z, Y, C1 + C2) :- link(@Y, X, C1), best(@Y, Z, C2), C1 + C2 < 50.
        b3 best(@X, Z, a_MIN<C>) :- offer(@X, Z, Y, C).
    "#;
    let mut network = Network::new(source, 3, 1);
    for (from, to, cost) in [(0, 1, 3), (1, 0, 3), (1, 2, 4), (2, 1, 4)] {
        network.inject(from, &format!(r#"link("n{from}:1", "n{to}:1", {cost})"#));
    }
    network.run_to(5.0);
    let far = network.rows(0, "best");
    assert!(far.contains(&r#"best("n0:1", "n2:1", 7)"#.to_owned()), "{far:?}");
}

#[test]
fn a_standing_query_shows_the_tuples_that_fit() {
    let source = r#"
        materialize(seen, infinity, infinity, keys(1, 2, 3)).
        Query seen(N, X, "b").
        Query pair(N, X, X).
        r1 seen(@N, X, T) :- e(@N, X, T).
        r2 pair(@N, X, T) :- e(@N, X, T).
    "#;
    let mut network = Network::new(source, 1, 1);
    for tuple in [r#"e("n0:1", 1, "a")"#, r#"e("n0:1", 2, "b")"#, r#"e("n0:1", 3, 3)"#] {
        network.inject(0, tuple);
    }
    network.run_to(1.0);
    let lines = network.lines.borrow();
    assert!(lines.contains(&r#"i - seen("n0:1", 2, "b")"#.to_owned()), "{lines:?}");
    assert!(lines.contains(&r#"h r2 pair("n0:1", 3, 3)"#.to_owned()), "{lines:?}");
    assert!(lines.iter().all(|line| !line.contains("\"a\"") && !line.contains("pair(\"n0:1\", 2")));
}

#[test]
fn a_replaced_row_goes_before_the_new_one_comes() {
    let source = r#"
        materialize(t, infinity, infinity, keys(1)).
        watchmod(t, "id").
        r1 t(@N, X) :- e(@N, X).
    "#;
    let mut network = Network::new(source, 1, 1);
    network.inject(0, r#"e("n0:1", 1)"#).inject(0, r#"e("n0:1", 2)"#).run_to(1.0);
    let expected = [r#"i - t("n0:1", 1)"#, r#"d - t("n0:1", 1)"#, r#"i - t("n0:1", 2)"#];
    assert_eq!(*network.lines.borrow(), expected);
}

/// Watched or not, which must not change the effect of rules.
#[test]
fn a_refresh_of_hard_state_refreshes_nothing_else() {
    for watch in ["", "watch(hard)."] {
        let program = format!(
            r#"
            {watch}
            materialize(hard, infinity, infinity, keys(1, 2)).
            materialize(soft, 5, infinity, keys(1, 2)).
            materialize(softer, 5, infinity, keys(1, 2)).
            materialize(most, 5, infinity, keys(1)).
            p1 hard(@N, 1) :- periodic(@N, E, 1, 20).
            r1 soft(@N, X) :- hard(@N, X).
            r2 softer(@N, X) :- soft(@N, X).
            r3 most(@N, a_MAX<X>) :- hard(@N, X).
            "#
        );
        let mut network = Network::new(&program, 1, 1);
        let counts = |network: &Network| {
            ["soft", "softer", "most"].map(|table| network.rows(0, table).len())
        };
        network.run_to(5.9);
        assert_eq!(counts(&network), [1, 1, 1]);
        network.run_to(6.1);
        assert_eq!(counts(&network), [0, 0, 0], "{watch}");
    }
}

/// As views, the rows of such rules would displace what they follow from.
#[test]
fn a_table_rule_that_replaces_the_row_it_reads_updates_it() {
    let source = r#"
        materialize(state, infinity, infinity, keys(2)).
        materialize(expired, infinity, infinity, keys(2)).
        materialize(sample, infinity, 1, keys(1)).
        materialize(most, infinity, 1, keys(1)).
        materialize(ended, infinity, infinity, keys(2)).
        most("n0:1", 0).
        s1 state(@N, D, "closed") :- state(@N, D, "open"), expired(@N, D).
        s2 most(@N, X) :- sample(@N, X), most(@N, Old), X > Old.
        s3 ended(@N, D) :- state(@N, D, "closed").
        watchmod(most, "i").
    "#;
    let mut network = Network::new(source, 1, 1);
    network.run_to(0.1);
    for tuple in [
        r#"state("n0:1", 1, "open")"#,
        r#"state("n0:1", 2, "open")"#,
        r#"expired("n0:1", 2)"#,
        r#"expired("n0:1", 3)"#,
        r#"state("n0:1", 3, "open")"#,
        r#"sample("n0:1", 5)"#,
        r#"sample("n0:1", 3)"#,
        r#"sample("n0:1", 7)"#,
    ] {
        network.inject(0, tuple).run_for(0.1);
    }
    let states = [
        r#"state("n0:1", 1, "open")"#,
        r#"state("n0:1", 2, "closed")"#,
        r#"state("n0:1", 3, "closed")"#,
    ];
    assert_eq!(network.rows(0, "state"), states);
    assert_eq!(network.rows(0, "ended"), [r#"ended("n0:1", 2)"#, r#"ended("n0:1", 3)"#]);
    let lines = ["i - most(\"n0:1\", 0)", "i - most(\"n0:1\", 5)", "i - most(\"n0:1\", 7)"];
    assert_eq!(*network.lines.borrow(), lines);
    // Its effect stays, as that of an event rule does.
    network.delete(0, r#"expired("n0:1", 2)"#).run_for(0.1);
    assert_eq!(network.rows(0, "state"), states);
}
