//! One relation with its location in different columns.

use crate::harness::Network;

#[test]
fn an_event_goes_where_each_head_says_and_is_read_where_each_body_says() {
    let source = r#"
        materialize(log, infinity, infinity, keys(1, 2, 3)).
        r1 hello(X, @Y) :- greet(@X, Y).
        r2 hello(@X, Y) :- back(@X, Y).
        r3 log(@Y, "second", X) :- hello(X, @Y).
        r4 log(@X, "first", Y) :- hello(@X, Y).
    "#;
    let mut network = Network::new(source, 2, 1);
    network.inject(0, r#"greet("n0:1", "n1:1")"#).run_for(1.0);
    assert!(network.rows(0, "log").is_empty());
    assert_eq!(network.rows(1, "log"), [r#"log("n1:1", "second", "n0:1")"#]);
    network.inject(0, r#"back("n0:1", "n1:1")"#).run_for(1.0);
    assert_eq!(network.rows(0, "log"), [r#"log("n0:1", "first", "n1:1")"#]);
    assert_eq!(network.rows(1, "log").len(), 1);
    // To itself: both locations match.
    network.inject(1, r#"greet("n1:1", "n1:1")"#).run_for(1.0);
    assert_eq!(network.rows(1, "log").len(), 3);
}

/// A link is located at both of its ends; each end reads it by its own rule.
const LINKS: &str = r#"
    materialize(link, infinity, infinity, keys(1, 2)).
    materialize(from, infinity, infinity, keys(1, 2)).
    materialize(to, infinity, infinity, keys(1, 2)).
    materialize(lonely, infinity, infinity, keys(1, 2)).
    r1 link(X, @Y) :- link(@X, Y).
    r2 from(@Y, X) :- link(X, @Y).
    r3 to(@X, Y) :- link(@X, Y).
    r4 lonely(@X, Y) :- link(@X, Y), notin link(Y, @X).
"#;

#[test]
fn a_view_keeps_a_row_at_both_ends_and_takes_it_back_from_both() {
    let mut network = Network::new(LINKS, 2, 1);
    network.inject(0, r#"link("n0:1", "n1:1")"#).run_for(1.0);
    let link = [r#"link("n0:1", "n1:1")"#];
    assert_eq!(network.rows(0, "link"), link);
    assert_eq!(network.rows(1, "link"), link);
    assert_eq!(network.rows(0, "to"), [r#"to("n0:1", "n1:1")"#]);
    assert_eq!(network.rows(1, "from"), [r#"from("n1:1", "n0:1")"#]);
    assert_eq!(network.rows(0, "lonely"), [r#"lonely("n0:1", "n1:1")"#]);
    assert!(network.rows(0, "from").is_empty() && network.rows(1, "to").is_empty());
    network.inject(1, r#"link("n1:1", "n0:1")"#).run_for(1.0);
    assert_eq!(network.rows(0, "link").len(), 2);
    assert!(network.rows(0, "lonely").is_empty() && network.rows(1, "lonely").is_empty());
    network.delete(0, r#"link("n0:1", "n1:1")"#).run_for(1.0);
    let back = [r#"link("n1:1", "n0:1")"#];
    assert_eq!(network.rows(0, "link"), back);
    assert_eq!(network.rows(1, "link"), back);
    assert_eq!(network.rows(1, "to"), [r#"to("n1:1", "n0:1")"#]);
    assert_eq!(network.rows(1, "lonely"), [r#"lonely("n1:1", "n0:1")"#]);
    network.delete(1, r#"link("n1:1", "n0:1")"#).run_for(1.0);
    for table in ["link", "from", "to", "lonely"] {
        assert!(network.rows(0, table).is_empty() && network.rows(1, table).is_empty(), "{table}");
    }
}

#[test]
fn facts_say_where_they_lie() {
    let source = r#"
        materialize(p, infinity, infinity, keys(1, 2)).
        materialize(q, infinity, infinity, keys(1)).
        p("n0:1", "n1:1").
        p("n0:1", @"n1:1").
        r1 q(@X) :- p(@X, Y).
        r2 q(@Y) :- p(X, @Y).
    "#;
    let mut network = Network::new(source, 2, 1);
    network.run_for(1.0);
    assert_eq!(network.rows(0, "p"), [r#"p("n0:1", "n1:1")"#]);
    assert_eq!(network.rows(1, "p"), [r#"p("n0:1", "n1:1")"#]);
    assert_eq!(network.rows(0, "q"), [r#"q("n0:1")"#]);
    assert_eq!(network.rows(1, "q"), [r#"q("n1:1")"#]);
}

#[test]
fn a_rule_with_several_locations_reads_each_as_it_is_marked() {
    let source = r#"
        materialize(p, infinity, infinity, keys(1, 2, 3)).
        materialize(found, infinity, infinity, keys(1, 2, 3)).
        r1 p(@X, Y, I) :- put(@X, Y, I).
        r2 p(X, @Y, I) :- put(@X, Y, I).
        r3 found(@X, I, J) :- ask(@X), p(@X, Y, I), p(X, @Y, J), I == J.
    "#;
    let mut network = Network::new(source, 3, 1);
    for tuple in [r#"put("n0:1", "n1:1", 1)"#, r#"put("n0:1", "n2:1", 2)"#] {
        network.inject(0, tuple);
    }
    network.inject(2, r#"put("n2:1", "n0:1", 3)"#).run_for(1.0);
    assert_eq!(network.rows(0, "p").len(), 3);
    network.inject(0, r#"ask("n0:1")"#).run_for(1.0);
    let wanted = [r#"found("n0:1", 1, 1)"#, r#"found("n0:1", 2, 2)"#];
    assert_eq!(network.rows(0, "found"), wanted);
}
