//! Queries to a node: their semantics, and that no text can harm it.

// Each test uses a part of it.

use std::time::Duration;

use crate::harness::Network;
use tidemill_event::Slice;
use tidemill_fabric::counters::Count;
use tidemill_overlog::control::{End, Message, Status};
use tidemill_overlog::fleet::{self, NodeId, World};
use tidemill_overlog::net::envelope::{Content, append_tuple};
use tidemill_overlog::node::Node;
use tidemill_overlog::query::{Answer, AskerId, Failure, Limits, WAITING_MAX, evaluate};
use tidemill_relation::Value;
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

fn ask(text: &str) -> Result<Vec<String>, Failure> {
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
fn a_pattern_gives_the_rows_that_match() {
    let cases: [(&str, &[&str]); 8] = [
        ("edge(_, 2)", &[r#"edge("n0:1", 2)"#]),
        ("edge(@N, 2.0).", &[r#"edge("n0:1", 2)"#]),
        ("edge(NODE, _)", &[r#"edge("n0:1", 1)"#, r#"edge("n0:1", 2)"#, r#"edge("n0:1", 30)"#]),
        ("edge(\"n1:1\", _)", &[]),
        ("edge(X, X)", &[]),
        ("::cost(N, X, \"much\")", &[r#"cost("n0:1", 2, "much")"#]),
        ("pair(X, Y)", &[r#"pair("n0:1", "n5:1")"#, r#"pair("n6:1", "n0:1")"#]),
        ("late(X, @N)", &[r#"late(7, "n0:1")"#]),
    ];
    for (text, expected) in cases {
        assert_eq!(ask(text).expect(text), expected, "{text}");
    }
    let mut network = network();
    network.inject(0, r#"pair("n0:1", "n0:1")"#).run_for(1.0);
    let answer = evaluate(node(&mut network), "pair(X, X)").map(|answer| lines(&answer));
    assert_eq!(answer, Ok(vec![r#"pair("n0:1", "n0:1")"#.to_owned()]));
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
        // A table whose location may be in either column.
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

/// Tables of the record have the names that P2 gave them, too.
#[test]
fn old_names_of_the_record_are_aliases() {
    let mut network = Network::new("trace(b). r1 b(@N, X) :- a(@N, X).", 1, 1);
    network.run_to(1.0);
    for (old, new) in [("ruleExecTable", "sys::ruleExec"), ("tupleTable", "sys::tuple")] {
        let ask = |network: &mut Network, text: &str| {
            let answer = evaluate(node(network), text).expect(text);
            (answer.name.clone(), lines(&answer))
        };
        assert_eq!(ask(&mut network, old), (new.to_owned(), Vec::new()));
    }
    let text = "x(R) :- ruleExecTable(@N, R, I, O, F, S, E, K).";
    assert_eq!(evaluate(node(&mut network), text).map(|answer| lines(&answer)), Ok(Vec::new()));
}

#[test]
fn tables_that_rules_fill_for_the_system_are_asked_for() {
    let program = "flow::config(@NODE, \"cut\", \"length\", 64).
        program::rules(@NODE, \"more\", \"r1 a(@N) :- b(@N).\").";
    let mut network = Network::new(program, 1, 1);
    network.run_to(1.0);
    for (text, row) in [
        ("flow::config", "flow::config(\"n0:1\", \"cut\", \"length\", 64)"),
        ("x(V) :- flow::config(@N, A, K, V).", "x(64)"),
        ("x(N) :- program::rules(@L, N, T).", "x(\"more\")"),
    ] {
        let answer = evaluate(node(&mut network), text);
        assert_eq!(answer.map(|answer| lines(&answer)), Ok(vec![row.to_owned()]), "{text}");
    }
}

#[test]
fn what_is_wrong_is_said() {
    let terms: Vec<String> = (0..65).map(|number| format!("edge(@N, X{number})")).collect();
    let long = format!("x(X0) :- {}.", terms.join(", "));
    let cases: [(&str, &str); 16] = [
        ("edg", "there is no table `edg`; is `edge` meant?"),
        ("far(@N, X)", "there is no table `far`"),
        ("edg(@N, X)", "there is no table `edg`; is `edge` meant?"),
        ("edge(@N)", "`edge` has 2 columns, location included, not 1"),
        ("edge(@N, X), X > 1", "query:1:12: `,` is left over; a query is the name of a table, a"),
        ("edge(@N, x)", "query:1:10: `x` is no value; a text stands in double quotes; a query"),
        ("hint", "`hint` is an event"),
        ("", "there is no table ``"),
        ("x(X) :- edge(@N).", "query:1:9: error[query-table]: `edge` has 2 columns"),
        ("x(Y) :- edge(@N, X).", "query:1:3: error[unbound-variable]"),
        ("x(X) :- edge(@N, X), Y := f_rand().", "a query cannot call"),
        ("x(X) :- edge(@N, X), X / 0 > 1.", "division by zero"),
        ("x(X) :- edge(@N, X). y(X) :- edge(@N, X).", "query:1:1: error[query-form]"),
        ("// :- nothing", "query:1:1: error[query-form]"),
        (&long, "query:1:1: error[query-size]: a query has at most 64 terms"),
        ("delete edge(@N, X) :- edge(@N, X).", "query:1:1: error[query-form]"),
    ];
    for (text, expected) in cases {
        let error = ask(text).expect_err(text).to_string();
        assert!(error.starts_with(expected), "{text}: {error}");
    }
}

/// Every query is answered or refused, and the node is unchanged.
#[test]
fn mutated_queries_never_panic() {
    let seeds = [
        "x(X, C) :- edge(@N, X), cost(@N, X, C), X < 2.",
        "none(a_COUNT<X>) :- edge(@N, X), notin cost(@N, X, _), Y := [X | 1].",
        "x(X) :- a_MAX((N), (X), edge(@N, X)), late(7, @N), X in (1, 5].",
        "cost(@N, X, \"much\")",
    ];
    let tokens =
        ["@", "(", ")", ",", "_", "X", "\"", ":-", "a_MIN<*>", "f_now()", "edge", "1", "."];
    let mut network = network();
    let mut random = Rng::new(11);
    for _ in 0..3000 {
        let mut text = seeds[random.below(4) as usize].to_owned();
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

/// Sends a query to node 0.
fn put(network: &mut Network, asker: u64, id: u64, text: &str) -> Result<(), End> {
    let question = (AskerId(asker), id);
    fleet::ask(&mut network.world, &mut network.events, NodeId(0), question, text)
}

/// The statuses of an asker's answers so far, and the number of rows.
fn ends(network: &Network, asker: u64) -> (Vec<(u64, Status)>, usize) {
    let (mut ends, mut rows) = (Vec::new(), 0);
    for (_, control) in network.world.answers.iter().filter(|answer| answer.0.0 == asker) {
        match &control.message {
            Some(Message::End(end)) => ends.push((control.id, end.status)),
            Some(Message::Rows(more)) => rows += more.len(),
            other => panic!("{other:?}"),
        }
    }
    (ends, rows)
}

fn edges(count: u64) -> Network {
    let facts: String = (100..100 + count).map(|n| format!("edge(\"n0:1\", {n}).\n")).collect();
    let mut network = Network::new(&format!("{PROGRAM}{facts}"), 1, 1);
    network.run_to(1.0);
    network
}

/// A rule that derives millions of equal rows.
const SLOW: &str = "x(1) :- edge(@N, X), edge(@N, Y).";

#[test]
fn an_answer_of_many_parts_comes_whole_and_in_order() {
    let mut network = edges(3000);
    put(&mut network, 1, 7, "edge").unwrap();
    put(&mut network, 1, 8, "none").unwrap();
    put(&mut network, 1, 9, "x(X) :- edge(@N, X), X < 3.").unwrap();
    network.run_for(1.0);
    let parts = network.world.answers.iter().take_while(|answer| answer.1.id == 7);
    let mut numbers = Vec::new();
    for (_, control) in parts {
        match &control.message {
            Some(Message::Rows(rows)) => {
                numbers.extend(rows.iter().map(|row| row[1].get().as_int().unwrap()));
            }
            Some(Message::End(end)) => assert_eq!(end.name, "edge"),
            other => panic!("{other:?}"),
        }
    }
    assert!(network.world.answers.len() > 4, "there are several parts");
    assert_eq!(numbers.len(), 3003);
    assert!(numbers.is_sorted());
    let expected = vec![(7, Status::Done), (8, Status::Wrong), (9, Status::Done)];
    assert_eq!(ends(&network, 1), (expected, 3005));
    let counters = network.world.fleet().queries();
    assert_eq!((counters.evaluated, counters.failed), (2, 1));
}

#[test]
fn an_asker_that_does_not_read_is_waited_for() {
    let mut network = edges(5000);
    network.world.slow.push(AskerId(1));
    put(&mut network, 1, 1, "edge").unwrap();
    network.run_for(10.0);
    assert_eq!(network.world.answers.len(), 1, "one part is made, and the next when it is taken");
    put(&mut network, 2, 1, "edge").unwrap();
    network.run_for(1.0);
    assert_eq!(ends(&network, 2), (vec![(1, Status::Done)], 5003), "others do not wait");
    for _ in 0..50 {
        fleet::resume(&mut network.world, &mut network.events, AskerId(1));
        network.run_for(0.1);
    }
    assert_eq!(ends(&network, 1), (vec![(1, Status::Done)], 5003));
}

/// Many slow queries of many askers, and a quick one that arrives later: it is answered first.
#[test]
fn slow_questions_never_close_the_door() {
    let mut network = edges(2000);
    for asker in 1..=16 {
        for id in 0..4 {
            put(&mut network, asker, id, SLOW).unwrap();
        }
    }
    while network.events.stats().steps < 100_000 {
        assert!(network.events.step(&mut network.world).unwrap());
    }
    assert!(network.world.answers.is_empty(), "they are slow");
    let before = network.events.stats().steps;
    put(&mut network, 99, 1, "x(X) :- edge(@N, X), X < 3.").unwrap();
    while network.world.answers.is_empty() {
        assert!(network.events.step(&mut network.world).unwrap());
    }
    let steps = network.events.stats().steps - before;
    assert_eq!(network.world.answers[0].0, AskerId(99));
    // Copying, deriving, gathering, sorting: a slice of each for every asker.
    assert!(steps < 17 * 1100 * 10, "{steps} steps");
    // Answers to disconnected askers cost nothing.
    for asker in 1..=16 {
        fleet::forget(&mut network.world, &mut network.events, AskerId(asker));
    }
    network.run_for(1.0);
    assert_eq!(ends(&network, 99), (vec![(1, Status::Done)], 2));
    let counters = network.world.fleet().queries();
    assert_eq!((counters.abandoned, counters.failed, counters.limited), (64, 0, 0));
}

#[test]
fn askers_have_limits() {
    let mut network = edges(1000);
    let status = |network: &mut Network, limits: Limits, bytes_max: usize, text: &str| {
        network.world.fleet().limit_queries(limits, bytes_max);
        network.world.answers.clear();
        put(network, 1, 1, text).unwrap();
        network.run_for(1.0);
        match &network.world.answers.last().unwrap().1.message {
            Some(Message::End(end)) => (end.status, end.reason.clone()),
            other => panic!("{other:?}"),
        }
    };
    let usual = Limits::default();
    let limited = [
        (
            Limits { rows: 2000, ..usual },
            "x(X, Y) :- edge(@N, X), edge(@N, Y), X < 110.",
            "the answer has over 2000 rows",
        ),
        (
            Limits { rows: 900, ..usual },
            "x(X) :- edge(@N, X), X < 3.",
            "the tables that it reads have over 900 rows",
        ),
        (Limits { bytes: 5000, ..usual }, "edge", "the query takes over 5000 bytes"),
        (Limits { derived: 500, ..usual }, SLOW, "the query derives more than 500 rows"),
        (Limits { steps: 5000, ..usual }, SLOW, "the query takes more than 5000 steps"),
    ];
    for (limits, text, reason) in limited {
        let ended = status(&mut network, limits, usize::MAX, text);
        assert_eq!(ended, (Status::Limit, reason.to_owned()), "{text}");
    }
    let reason = "the queries of all askers take over 10000 bytes, and this one most";
    let ended = status(&mut network, usual, 10_000, "edge");
    assert_eq!(ended, (Status::Limit, reason.to_owned()));
    assert_eq!(network.world.fleet().queries().limited, 6);
    assert_eq!(status(&mut network, usual, 1 << 20, "edge").0, Status::Done);
    // One more than may wait.
    network.world.answers.clear();
    for id in 0..=WAITING_MAX as u64 {
        put(&mut network, 1, id, "edge").unwrap();
    }
    assert_eq!(put(&mut network, 1, 100, "edge").unwrap_err().status, Status::Limit);
    put(&mut network, 2, 1, "edge").expect("another asker may");
    let long = put(&mut network, 3, 1, &"x".repeat(40_000)).unwrap_err();
    assert_eq!(
        (long.status, long.reason.as_str()),
        (Status::Wrong, "a query has at most 32000 bytes")
    );
    network.run_for(5.0);
    assert_eq!(ends(&network, 1).0.len(), WAITING_MAX + 1);
    assert_eq!(network.world.fleet().queries().refused, 1);
}

/// When all queries together take too much memory, the largest is dropped, not the latest.
#[test]
fn memory_is_taken_from_the_largest_question() {
    let mut network = edges(3000);
    network.world.fleet().limit_queries(Limits::default(), 250_000);
    network.world.slow.push(AskerId(1));
    // Its answer waits to be read.
    put(&mut network, 1, 1, "edge").unwrap();
    network.run_for(1.0);
    put(&mut network, 2, 1, "x(X) :- edge(@N, X), X > 200.").unwrap();
    put(&mut network, 3, 1, "cost").unwrap();
    network.run_for(1.0);
    assert_eq!(ends(&network, 3).0, [(1, Status::Done)], "the small one is answered");
    let limited = [1, 2].map(|asker| ends(&network, asker).0 == [(1, Status::Limit)]);
    assert!(limited.contains(&true), "{:?} {:?}", ends(&network, 1), ends(&network, 2));
}

#[test]
fn a_question_to_a_node_that_ends_is_ended() {
    let mut network = edges(3000);
    put(&mut network, 1, 1, "edge").unwrap();
    put(&mut network, 2, 1, SLOW).unwrap();
    network.crash(0);
    network.run_for(1.0);
    for asker in [1, 2] {
        assert_eq!(ends(&network, asker), (vec![(1, Status::Unavailable)], 0), "{asker}");
    }
    assert_eq!(put(&mut network, 1, 2, "edge").unwrap_err().status, Status::Unavailable);
    network.restart(0).run_for(1.0);
    put(&mut network, 1, 3, "cost").unwrap();
    network.run_for(1.0);
    assert_eq!(ends(&network, 1).0.last(), Some(&(3, Status::Done)));
}

/// A query in the old form of a datagram to a node's port gets no answer and is counted.
#[test]
fn a_question_by_datagram_gets_nothing() {
    let mut network = edges(3);
    let asker = network.events.host().bind("asker:1").unwrap();
    let columns = [Value::Str("n0:1"), Value::Int(1), Value::Str("edge"), Value::Int(0)];
    for name in ["sys::query", "sys::counter", "violation", "sim::node"] {
        let mut datagram = Vec::new();
        append_tuple(&mut datagram, Content::Columns { name, columns: &columns }, false);
        network.events.host().send(asker, "n0:1", &datagram).unwrap();
    }
    network.run_for(10.0);
    let mut buffer = [0; 2000];
    assert_eq!(network.events.host().recv(asker, &mut buffer).unwrap(), None);
    let counters = network.world.fleet().mail(NodeId(0)).unwrap().counters();
    assert_eq!(counters.get(Count::NotExported), 4);
    assert_eq!(network.world.fleet().queries().evaluated, 0);
}

/// A query that reads millions of rows runs in slices: events due at another node run within two of
/// them.
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
    let text = "sum(a_SUM<X>) :- number(@N, X), number(@N, Y), number(@N, Z), X + Y + Z == 7.";
    put(&mut network, 1, 1, text).unwrap();
    let begun = network.events.stats().steps;
    while network.events.stats().steps < begun + 50_000 {
        assert!(network.events.step(&mut network.world).unwrap(), "the query is over");
    }
    let slice = match network.events.slice() {
        Slice::Steps(steps) => steps,
        Slice::Span(_) => unreachable!("a simulation counts steps"),
    };
    for count in 1..=20 {
        // An event is due at the other node, and at the queried node.
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
    assert!(network.world.answers.is_empty());
}

/// A query that would never end is refused, and the asker gets the reason.
#[test]
fn a_query_has_limits() {
    let facts: String = (0..5000).map(|n| format!("edge(\"n0:1\", {n}).\n")).collect();
    let mut network = Network::new(&format!("{PROGRAM}{facts}"), 1, 1);
    network.run_to(1.0);
    let text = "x(1) :- edge(@N, X), edge(@N, Y).";
    let error = evaluate(node(&mut network), text).expect_err(text);
    let reason = "the query derives more than 16000000 rows";
    assert_eq!(error, Failure::Limit(reason.to_owned()));
}

/// A query makes the rows of the record that it reads, also of many turns.
#[test]
fn a_query_sees_the_record_up_to_the_last_turn() {
    let mut network = Network::new("trace(b). r1 b(@N, X) :- a(@N, X).", 1, 1);
    let run = |network: &mut Network| {
        // Not by the harness, which makes the rows itself.
        let end = network.events.now() + Duration::from_millis(500);
        network.events.run_until(&mut network.world, end);
    };
    for (asker, count) in [(1, 10), (2, 3000)] {
        for x in 0..count {
            network.inject(0, &format!(r#"a("n0:1", {x})"#));
        }
        run(&mut network);
        put(&mut network, asker, 1, r#"sys::ruleExec(_, "r1", _, _, _, _, _, _)"#).expect("taken");
        run(&mut network);
        let rows = [10, 3010][asker as usize - 1];
        assert_eq!(ends(&network, asker), (vec![(1, Status::Done)], rows));
    }
}
