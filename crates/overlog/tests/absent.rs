//! Explanations of absent tuples, compared with programs that run: of twenty rules each term is
//! broken once. The answer must name that term, and the tuple exists without it exactly if the
//! answer says that all others hold.

use std::sync::Arc;

use tidemill_diag::{Sources, has_errors};
use tidemill_overlog::absent::{Known, KnownTable, Rules, Wanted};
use tidemill_overlog::fleet::{NodeId, World};
use tidemill_overlog::parse::parse_text;
use tidemill_overlog::pre::{MemoryFiles, Options};
use tidemill_overlog::program::Compiled;
use tidemill_overlog::query::evaluate;
use tidemill_relation::text::parse_tuple;
use tidemill_relation::{OwnedValue, Value};

use crate::harness::Network;

const TABLES: &str = r#"
    materialize(a, infinity, infinity, keys(1, 2)).
    materialize(b, infinity, infinity, keys(1, 2, 3)).
    materialize(c, infinity, infinity, keys(1, 2, 3)).
    materialize(d, infinity, infinity, keys(1, 2)).
    materialize(list, infinity, infinity, keys(1, 2)).
    materialize(gone, infinity, infinity, keys(1, 2, 3)).
    materialize(head, infinity, infinity, keys(1, 2, 3)).
    a("n0:1", 1). a("n0:1", 2). a("n0:1", 9).
    b("n0:1", 1, 10). b("n0:1", 1, 11). b("n0:1", 2, 20). b("n0:1", 9, 90).
    c("n0:1", 10, 5). c("n0:1", 20, 6). c("n0:1", 90, 1).
    d("n0:1", 4). d("n0:1", 9).
    list("n0:1", [1, 2, 3]).
"#;

const TABLE_NAMES: [&str; 7] = ["a", "b", "c", "d", "list", "gone", "head"];

/// Bodies with which `head(@N, X, Z)` is derived for X = 1 and Z = 5.
const BODIES: [&[&str]; 20] = [
    &["a(@N, X)", "Z := X + 4"],
    &["a(@N, X)", "b(@N, X, Y)", "c(@N, Y, Z)"],
    &["c(@N, Y, Z)", "b(@N, X, Y)", "a(@N, X)"],
    &["a(@N, X)", "notin d(@N, X)", "Z := 5"],
    &["a(@N, X)", "X < 2", "Z := X * 5"],
    &["b(@N, X, Y)", "c(@N, Y, Z)", "Z > 4", "Y < 12"],
    &["b(@N, X, Y)", "c(@N, Y, Z)", "Y - X == 9"],
    &["Z := X + W", "d(@N, W)", "a(@N, X)", "W != 9"],
    &["b(@N, X, Y)", "c(@N, Y, Z)", "notin d(@N, Y)", "notin d(@N, X)"],
    &["a(@N, X)", "a(@N, X2)", "X2 > X", "Z := X2 + 3"],
    &["list(@N, [X | T])", "Z := f_size(T) + 3"],
    &["list(@N, L)", "a(@N, X)", "f_member(L, X) == 1", "Z := 5"],
    &["a(@N, X)", "X in (0, 2)", "Z := 5", "b(@N, X, _)"],
    &["b(@N, X, 10)", "c(@N, 10, Z)"],
    &["b(@N, X, Y)", "c(@N, Y, Z)", "(Z < 6 && Y > 5) || Z == 100"],
    &["a(@N, X)", "b(@N, X, Y)", "Y2 := Y - 0", "c(@N, Y2, Z)"],
    &["a(@N, X)", "d(@N, W)", "W > 3", "W < 5", "Z := W + X"],
    &["c(@N, Y, Z)", "b(@N, X, Y)", "notin c(@N, X, _)"],
    &["a_COUNT((N, X), (K), b(@N, X, Y))", "Z := K + 3", "K == 2"],
    &["a(@N, X)", "c(@N, _, Z)", "d(@N, W)", "W + X == Z"],
];

fn program(terms: &[String]) -> String {
    format!("{TABLES} r1 head(@N, X, Z) :- start(@N, _), {}.", terms.join(", "))
}

fn compiles(text: &str) -> Option<Compiled> {
    let mut sources = Sources::new();
    let options = Options::default();
    let (tree, found) =
        parse_text("test.olg", text, &options, &MemoryFiles::default(), &mut sources);
    let (compiled, more) = tidemill_overlog::compile(&tree, &sources, &Default::default());
    compiled.filter(|_| !has_errors(&found) && !has_errors(&more))
}

/// Runs a program at one node.
fn run(text: &str) -> Network {
    let mut network = Network::new(text, 1, 1);
    network.run_to(0.5).inject(0, r#"start("n0:1", 1)"#).run_to(1.0);
    network
}

fn is_derived(text: &str) -> bool {
    run(text).rows(0, "head").contains(&r#"head("n0:1", 1, 5)"#.to_owned())
}

fn known(network: &mut Network) -> Known {
    let node = network.world.fleet().node(NodeId(0)).expect("it is alive");
    let table = |name: &&str| {
        let answer = evaluate(node, name).expect("a table");
        let rows = answer.rows().map(|row| row.iter().map(OwnedValue::new).collect());
        KnownTable { name: (*name).to_owned(), rows: rows.collect() }
    };
    let (_, start) = parse_tuple(r#"start("n0:1", 1)"#).expect("a tuple");
    let start = KnownTable { name: "start".to_owned(), rows: vec![start] };
    Known::new(TABLE_NAMES.iter().map(table).chain([start]).collect(), Arc::default())
}

/// A failing replacement of a term, if there is one that binds the same variables.
fn broken(term: &str) -> Option<(String, &'static str)> {
    let columns = term.find('(').map_or("", |at| &term[at..]);
    match term {
        _ if term.contains(":=") || term.starts_with("a_") => None,
        _ if term.starts_with("notin") => Some(("notin a(@N, 1)".to_owned(), "there is a a(")),
        _ if term.contains("(@N") && term.matches(',').count() > 1 && !term.contains('[') => {
            Some((format!("gone{columns}"), "there is no gone("))
        }
        _ if term.contains("(@N") => {
            // The required number of columns, one of them of a type of its own.
            let columns = columns.trim_end_matches(')');
            Some((format!("gone{columns}, _)"), "there is no gone("))
        }
        _ => Some((format!("X == 1000, {term}"), "not X == 1000")),
    }
}

#[test]
fn the_broken_term_is_named_and_blamed_alone_only_if_it_is() {
    let (mut compared, mut unsafe_without) = (0, 0);
    for (number, body) in BODIES.iter().enumerate() {
        let body: Vec<String> = body.iter().map(|it| (*it).to_owned()).collect();
        assert!(is_derived(&program(&body)), "rule {number} derives nothing");
        for at in 0..body.len() {
            let Some((instead, named)) = broken(&body[at]) else { continue };
            let mut wrong = body.clone();
            wrong[at] = instead;
            let text = program(&wrong);
            let compiled = compiles(&text).unwrap_or_else(|| panic!("{text}"));
            let rules = Rules::read(&compiled.written).expect("its rules");
            let columns = [Value::Str("n0:1"), Value::Int(1), Value::Int(5)];
            let columns = columns.iter().map(|it| Some(OwnedValue::new(*it))).collect();
            let wanted = Wanted { relation: "head".to_owned(), columns };
            let mut network = run(&text);
            let why = rules.why_not(&mut known(&mut network), wanted).to_string();
            assert!(why.contains("is not there\n"), "rule {number}: {text}\n{why}");
            let is_named = why.contains(named);
            let mut less = body.clone();
            less.remove(at);
            let less = program(&less);
            assert!(is_named, "rule {number}, term {at}: {}\n{why}", wrong.join(", "));
            // Without it others may lack a variable, which then only the tuple binds.
            if compiles(&less).is_none() {
                unsafe_without += 1;
                continue;
            }
            assert_eq!(is_derived(&less), why.contains("all other"), "{number} {at}:\n{why}");
            compared += 1;
        }
    }
    assert!(compared > 20 && unsafe_without > 5, "{compared} compared, {unsafe_without} not");
}
