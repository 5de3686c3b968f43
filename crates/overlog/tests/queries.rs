//! Queries to a node: what they mean, and that no text can harm it.

// Each test uses a part of it.

use std::time::Duration;

use crate::harness::Network;
use tidemill_event::Slice;
use tidemill_overlog::fleet::{NodeId, World};
use tidemill_overlog::node::Node;
use tidemill_overlog::query::{Answer, Answers, Worked, evaluate, message};
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
    materialize(pair, infinity, infinity, keys(1, 2)).
    r2 pair(X, @Y) :- both(X, @Y).
    r3 pair(@X, Y) :- either(@X, Y).
    pair("n0:1", "n5:1"). pair("n6:1", @"n0:1").
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
    let cases: [(&str, &[&str]); 19] = [
        ("big(X) :- edge(@N, X), X > 1.", &["big(2)", "big(30)"]),
        ("x(N, X) :- edge(N, X), X == 2", &[r#"x("n0:1", 2)"#]),
        (r#"x(X) :- edge(@"n0:1", X), X < 2."#, &["x(1)"]),
        (r#"x(X) :- edge(@"n1:1", X)."#, &[]),
        ("x(X, C) :- edge(@N, X), cost(@N, X, C), X < 2.", &["x(1, 2.5)"]),
        ("none(X) :- edge(@N, X), notin cost(@N, X, _).", &["none(30)"]),
        ("sum(a_SUM<X>) :- edge(@N, X).", &["sum(33)"]),
        ("edge(Y) :- edge(@N, X), Y := X * 2, X > 2.", &["edge(60)"]),
        (
            "c(X, a_COUNT<*>, a_MAX<Y>) :- edge(@N, X), edge(@N, Y), Y > X.",
            &["c(1, 2, 30)", "c(2, 1, 30)"],
        ),
        ("none(a_COUNT<*>) :- edge(@N, X), X > 100.", &[]),
        ("all(a_MKLIST<X>) :- edge(@N, X).", &["all([1, 2, 30])"]),
        ("m(X) :- a_MAX((), (X), edge(@N, X)).", &["m(30)"]),
        ("same(N) :- edge(@N, X).", &[r#"same("n0:1")"#]),
        // A table whose location is not its first column.
        ("l(X, N) :- late(X, @N).", &[r#"l(7, "n0:1")"#]),
        // One whose location is in either.
        ("p(X) :- pair(X, @N).", &[r#"p("n6:1")"#]),
        ("p(X) :- pair(@N, X).", &[r#"p("n5:1")"#]),
        // Unmarked: in the first column, or in the only one that the program marks.
        ("p(X, Y) :- pair(X, Y).", &[r#"p("n0:1", "n5:1")"#]),
        ("p(X, Z) :- pair(X, Y), pair(Z, @X).", &[r#"p("n0:1", "n6:1")"#]),
        ("l(X, N) :- late(X, N).", &[r#"l(7, "n0:1")"#]),
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

/// Does all the work that a datagram from an asker asks for.
fn ask_for(
    answers: &mut Answers,
    node: &Node,
    query: &[u8],
    now_ns: u64,
    send: &mut impl FnMut(&[u8]),
) {
    let Some(ticket) = answers.receive(node, "asker:1", query, now_ns, send) else { return };
    while answers.copy(ticket, node, 7, now_ns, send) == Worked::More {}
    // Asked again meanwhile, it is not begun again.
    assert_eq!(answers.receive(node, "asker:1", query, now_ns, send), None);
    while answers.go_on(ticket, 5, now_ns, send) == Worked::More {}
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
    let mut answers = Answers::new(None);
    let mut query =
        message::Query { node: "n0:1".to_owned(), id: 1, text: "edge".to_owned(), first: 0 };
    let mut rows = 0;
    let mut expected = None;
    while expected != Some(query.first) {
        let mut next = query.first;
        ask_for(
            &mut answers,
            node,
            &query.encode(),
            0,
            &mut |datagram| match message::Reply::decode(datagram) {
                Some(message::Reply::Rows { part, rows: more, .. }) => {
                    assert_eq!(part, next);
                    next += 1;
                    rows += more.len();
                }
                Some(message::Reply::End { parts, error: None, .. }) => expected = Some(parts),
                other => panic!("{other:?}"),
            },
        );
        query.first = next;
    }
    assert_eq!(rows, 2903);
    let counters = answers.counters();
    assert_eq!(counters.evaluated, 1);
    assert!(counters.repeated > 1);
    // Later it is evaluated anew, and what is no query is counted.
    query.first = 0;
    ask_for(&mut answers, node, &query.encode(), 60_000_000_000, &mut |_| {});
    ask_for(&mut answers, node, &query.encode()[..20], 60_000_000_000, &mut |_| {});
    assert_eq!((answers.counters().evaluated, answers.counters().malformed), (2, 1));
}

/// A query that looks at millions of rows goes on in slices: what is due at another node happens
/// within two of them.
#[test]
fn a_heavy_query_holds_up_nobody() {
    let source = r#"
        materialize(number, infinity, infinity, keys(1, 2)).
        materialize(ticks, infinity, infinity, keys(1)).
        ticks(NODE, 0).
        t1 ticks(@N, C + 1) :- tick(@N), ticks(@N, C).
    "#;
    let facts: String = (0..2000).map(|n| format!("number(\"n0:1\", {n}).\n")).collect();
    let mut network = Network::new(&format!("{source}{facts}"), 2, 1);
    network.run_to(1.0);
    let asker = network.events.host().bind("asker:1").unwrap();
    let text = "sum(a_SUM<X>) :- number(@N, X), number(@N, Y), number(@N, Z), X + Y + Z == 7.";
    let query = message::Query { node: "n0:1".to_owned(), id: 1, text: text.to_owned(), first: 0 };
    network.events.host().send(asker, "n0:1", &query.encode()).unwrap();
    while network.events.stats().suspensions < 10 {
        let end = network.events.now() + Duration::from_millis(1);
        network.events.run_until(&mut network.world, end);
    }
    let slice = match network.events.slice() {
        Slice::Steps(steps) => steps,
        Slice::Span(_) => unreachable!("a simulation counts steps"),
    };
    for count in 1..=20 {
        // Something is due at the other node, and at the node that is asked.
        for node in 0..2 {
            network.inject(node, &format!("tick(\"n{node}:1\")"));
        }
        let before = network.events.stats().steps;
        let ticked = format!("ticks(\"n1:1\", {count})");
        while network.rows(1, "ticks") != [ticked.as_str()] {
            assert!(network.events.step(&mut network.world).unwrap(), "the query is over");
        }
        let waited = network.events.stats().steps - before;
        assert!(waited <= 2 * slice, "{waited} steps, a slice has {slice}");
        assert_eq!(network.rows(0, "ticks"), [format!("ticks(\"n0:1\", {count})")]);
    }
    let fleet = network.world.fleet();
    assert_eq!(fleet.queries(NodeId(0)).unwrap().failed, 0);
}

/// What would never end is refused, and the asker learns why.
#[test]
fn a_query_has_limits() {
    let facts: String = (0..5000).map(|n| format!("edge(\"n0:1\", {n}).\n")).collect();
    let mut network = Network::new(&format!("{PROGRAM}{facts}"), 1, 1);
    network.run_to(1.0);
    let text = "x(1) :- edge(@N, X), edge(@N, Y).";
    let error = evaluate(node(&mut network), text).expect_err(text);
    assert_eq!(error, "the query derives more than 16000000 rows");
}
