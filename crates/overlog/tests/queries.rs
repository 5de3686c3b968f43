//! Queries to a node: what they mean, and that no text can harm it.

// Each test uses a part of it.
mod harness;

use harness::Network;
use tidemill_overlog::fleet::{NodeId, World};
use tidemill_overlog::node::Node;
use tidemill_overlog::query::{Answer, Answers, evaluate, message};
use tidemill_relation::text::DisplayTuple;
use tidemill_stdx::rng::Rng;

const PROGRAM: &str = r#"
    materialize(edge, infinity, infinity, keys(1, 2)).
    materialize(cost, infinity, infinity, keys(2)).
    materialize(late, infinity, infinity, keys(1, 2)).
    edge("n0:1", 1). edge("n0:1", 2). edge("n0:1", 30).
    cost("n0:1", 1, 2.5). cost("n0:1", 2, "much").
    r1 late(X, @N) :- hint(X, @N).
    late(7, @"n0:1").
"#;

fn network() -> Network {
    let mut network = Network::new(PROGRAM, 1, 1);
    network.run_to(1.0);
    network
}

fn node(network: &mut Network) -> &Node {
    network.world.fleet().node(NodeId(0)).expect("it is alive")
}

fn lines(answer: &Answer) -> Vec<String> {
    answer.rows().map(|row| DisplayTuple::new(&answer.name, row).to_string()).collect()
}

fn ask(text: &str) -> Result<Vec<String>, String> {
    let mut network = network();
    evaluate(node(&mut network), text).map(|answer| lines(&answer))
}

#[test]
fn a_table_is_given_sorted_by_value() {
    let rows = [r#"edge("n0:1", 1)"#, r#"edge("n0:1", 2)"#, r#"edge("n0:1", 30)"#];
    for text in ["edge", " edge . ", "::edge"] {
        assert_eq!(ask(text).expect(text), rows);
    }
}

#[test]
fn a_rule_is_evaluated_over_the_node() {
    let cases: [(&str, &[&str]); 9] = [
        ("big(X) :- edge(@N, X), X > 1.", &["big(2)", "big(30)"]),
        ("x(N, X) :- edge(N, X), X == 2", &[r#"x("n0:1", 2)"#]),
        (r#"x(X) :- edge(@"n0:1", X), X < 2."#, &["x(1)"]),
        (r#"x(X) :- edge(@"n1:1", X)."#, &[]),
        ("x(X, C) :- edge(@N, X), cost(@N, X, C), X < 2.", &["x(1, 2.5)"]),
        ("none(X) :- edge(@N, X), notin cost(@N, X, _).", &["none(30)"]),
        ("sum(a_SUM<X>) :- edge(@N, X).", &["sum(33)"]),
        ("edge(Y) :- edge(@N, X), Y := X * 2, X > 2.", &["edge(60)"]),
        // A table whose location is not its first column.
        ("l(X, N) :- late(X, @N).", &[r#"l(7, "n0:1")"#]),
    ];
    for (text, expected) in cases {
        assert_eq!(ask(text).expect(text), expected, "{text}");
    }
}

#[test]
fn what_is_wrong_is_said() {
    let cases = [
        ("edg", "there is no table `edg`; is `edge` meant?"),
        ("hint", "`hint` is an event"),
        ("", "there is no table ``"),
        ("x(X) :- edge(@N).", "query:1:9: error[query-table]: `edge` has 2 columns"),
        ("x(Y) :- edge(@N, X).", "query:1:3: error[unbound-variable]"),
        ("x(X) :- edge(@N, X), Y := f_rand().", "a query cannot call"),
        ("x(X) :- edge(@N, X), X / 0 > 1.", "division by zero"),
        ("x(X) :- edge(@N, X). y(X) :- edge(@N, X).", "query:1:1: error[query-form]"),
        ("// :- nothing", "query:1:1: error[query-form]"),
        ("delete edge(@N, X) :- edge(@N, X).", "query:1:1: error[query-form]"),
    ];
    for (text, expected) in cases {
        let error = ask(text).expect_err(text);
        assert!(error.starts_with(expected), "{text}: {error}");
    }
}

/// Whatever is asked is answered or refused, and the node is as before.
#[test]
fn mutated_queries_never_panic() {
    let seeds = [
        "x(X, C) :- edge(@N, X), cost(@N, X, C), X < 2.",
        "none(a_COUNT<X>) :- edge(@N, X), notin cost(@N, X, _), Y := [X | 1].",
        "x(X) :- a_MAX((N), (X), edge(@N, X)), late(7, @N), X in (1, 5].",
    ];
    let tokens =
        ["@", "(", ")", ",", "_", "X", "\"", ":-", "a_MIN<*>", "f_now()", "edge", "1", "."];
    let mut network = network();
    let mut random = Rng::new(11);
    for _ in 0..3000 {
        let mut text = seeds[random.below(3) as usize].to_owned();
        for _ in 0..random.range(1..=3) {
            let at = random.below(text.len() as u64) as usize;
            let end = (at + random.range(0..=4) as usize).min(text.len());
            let with = tokens[random.below(tokens.len() as u64) as usize];
            text.replace_range(at..end, with);
        }
        let _ = evaluate(node(&mut network), &text);
    }
    assert_eq!(network.rows(0, "edge").len(), 3);
}

#[test]
fn answers_are_kept_for_those_who_ask_for_the_rest() {
    let mut program = PROGRAM.to_owned();
    for number in 100..3000 {
        program += &format!("edge(\"n0:1\", {number}).\n");
    }
    let mut network = Network::new(&program, 1, 1);
    network.run_to(1.0);
    let node = node(&mut network);
    let mut answers = Answers::new();
    let mut query =
        message::Query { node: "n0:1".to_owned(), id: 1, text: "edge".to_owned(), first: 0 };
    let mut rows = 0;
    let mut expected = None;
    while expected != Some(query.first) {
        let mut next = query.first;
        answers.receive(node, "asker:1", &query.encode(), 0, &mut |datagram| {
            match message::Reply::decode(datagram) {
                Some(message::Reply::Rows { part, rows: more, .. }) => {
                    assert_eq!(part, next);
                    next += 1;
                    rows += more.len();
                }
                Some(message::Reply::End { parts, error: None, .. }) => expected = Some(parts),
                other => panic!("{other:?}"),
            }
        });
        query.first = next;
    }
    assert_eq!(rows, 2903);
    let counters = answers.counters();
    assert_eq!(counters.evaluated, 1);
    assert!(counters.repeated > 1);
    // Later it is evaluated anew, and what is no query is counted.
    query.first = 0;
    answers.receive(node, "asker:1", &query.encode(), 60_000_000_000, &mut |_| {});
    answers.receive(node, "asker:1", &query.encode()[..20], 60_000_000_000, &mut |_| {});
    assert_eq!((answers.counters().evaluated, answers.counters().malformed), (2, 1));
}
