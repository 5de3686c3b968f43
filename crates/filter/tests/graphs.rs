//! Expressions and what becomes of them: the cases of `tests/filter/graph` with the expected graph,
//! as written and optimised, in the section `graph`, or the expected diagnostics in `err`.
//! `BLESS=1` rewrites both.

use crate::common;

use crate::common::corpus;
use tidemill_diag::{FileId, Sources};
use tidemill_filter::optimise::optimise;
use tidemill_filter::parse::parse;
use tidemill_filter::{Filter, Graph, Settings, compile};
use tidemill_support::golden;

#[test]
fn every_expression_becomes_what_is_expected() {
    golden::check_cases("tests/filter/graph", 26, |case, place, _| {
        let mut sources = Sources::new();
        let file = sources.add(&case.name, case.source.as_str());
        let (graph, diagnostics) = compile(file, &sources, &Settings::default());
        let found: String = diagnostics.iter().map(|one| sources.render(one)).collect();
        let printed = graph.map_or_else(String::new, |graph| {
            let better = optimise(&graph);
            for graph in [&graph, &better] {
                assert_eq!(graph.verify(), Ok(()), "{place}");
                let text = graph.to_string();
                let read = Graph::read(&text).expect("a graph reads as it prints");
                assert_eq!(read.to_string(), text, "{place}");
            }
            let (expr, _) = parse(file, &case.source);
            format!("{expr}\n\nas written\n{graph}\noptimised\n{better}")
        });
        case.set_section("graph", printed);
        case.set_section("err", found);
    });
}

/// The inputs that a filter reports as needed are those that it needs.
#[test]
fn a_graph_knows_what_it_asks_for_beside_the_bytes() {
    let asks = |text: &str| {
        let mut sources = Sources::new();
        let file = sources.add("filter", text);
        let settings = Settings { netmask: None, has_directions: true };
        let graph = compile(file, &sources, &settings).0.expect("an expression");
        (graph.needs_wire_length(), graph.needs_direction())
    };
    assert_eq!(asks("ip and tcp[13] & 2 != 0"), (false, false));
    assert_eq!(asks("ip and len > 100"), (true, false));
    assert_eq!(asks("ip and outbound"), (false, true));
    assert_eq!(asks("greater 100 and inbound"), (true, true));
}

#[test]
fn the_code_of_a_filter_can_be_looked_at() {
    let graph = common::graph("ip").expect("an expression");
    let filter = Filter::listed(optimise(&graph)).expect("code");
    let listing = filter.listing().expect("the listing was requested");
    assert!(listing.contains("matches") && filter.report().contains("matches"), "{listing}");
}

#[test]
fn an_expression_prints_as_it_is_read() {
    let text = std::fs::read_to_string(corpus("expressions.txt")).expect("the corpus is there");
    let mut read = 0;
    for line in text.lines() {
        let (expr, diagnostics) = parse(FileId(0), line);
        if !diagnostics.is_empty() {
            continue;
        }
        let printed = expr.to_string();
        let (again, diagnostics) = parse(FileId(0), &printed);
        assert_eq!(diagnostics, [], "{line}: {printed}");
        assert_eq!(again.to_string(), printed, "{line}");
        let (one, other) = (common::graph(line), common::graph(&printed));
        if let Ok(one) = one {
            assert_eq!(Ok(one.to_string()), other.map(|it| it.to_string()), "{line}: {printed}");
        }
        read += 1;
    }
    assert!(read > 300, "{read}");
}
