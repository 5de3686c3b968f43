//! Expressions and what becomes of them: `tests/filter/graph/NAME.filter` with the expected graph,
//! as written and optimised, in `NAME.graph`, or the expected diagnostics in `NAME.err`. `BLESS=1`
//! rewrites both.

use crate::common;

use std::path::Path;

use crate::common::corpus;
use tidemill_diag::{FileId, Sources};
use tidemill_filter::optimise::optimise;
use tidemill_filter::parse::parse;
use tidemill_filter::{Filter, Graph, Settings, compile};

fn check(path: &Path, actual: &str, wrong: &mut Vec<String>) {
    let expected = std::fs::read_to_string(path).unwrap_or_default();
    if expected == actual {
        return;
    }
    match (std::env::var_os("BLESS").is_some(), actual.is_empty()) {
        (false, _) => wrong.push(format!("{}:\n{actual}", path.display())),
        (true, true) => std::fs::remove_file(path).expect("can be removed"),
        (true, false) => std::fs::write(path, actual).expect("can be written"),
    }
}

#[test]
fn every_expression_becomes_what_is_expected() {
    let entries = std::fs::read_dir(corpus("graph")).expect("the corpus is there");
    let mut files: Vec<_> = entries.map(|entry| entry.expect("readable").path()).collect();
    files.retain(|path| path.extension().is_some_and(|ending| ending == "filter"));
    files.sort();
    assert!(files.len() >= 15, "the corpus has shrunk: {files:?}");
    let mut wrong = Vec::new();
    for path in files {
        let text = std::fs::read_to_string(&path).expect("readable");
        let name = path.file_name().and_then(|name| name.to_str()).expect("a name");
        let mut sources = Sources::new();
        let file = sources.add(name, text.as_str());
        let (graph, diagnostics) = compile(file, &sources, &Settings::default());
        let found: String = diagnostics.iter().map(|one| sources.render(one)).collect();
        let printed = graph.map_or_else(String::new, |graph| {
            let better = optimise(&graph);
            for graph in [&graph, &better] {
                assert_eq!(graph.verify(), Ok(()), "{name}");
                let text = graph.to_string();
                let read = Graph::read(&text).expect("a graph reads as it prints");
                assert_eq!(read.to_string(), text, "{name}");
            }
            let (expr, _) = parse(file, &text);
            format!("{expr}\n\nas written\n{graph}\noptimised\n{better}")
        });
        check(&path.with_extension("graph"), &printed, &mut wrong);
        check(&path.with_extension("err"), &found, &mut wrong);
    }
    assert!(wrong.is_empty(), "differ (BLESS=1 accepts them):\n{}", wrong.join("\n"));
}

#[test]
fn the_code_of_a_filter_can_be_looked_at() {
    let graph = common::graph("ip").expect("an expression");
    let filter = Filter::listed(optimise(&graph)).expect("code");
    let listing = filter.listing().expect("was asked for");
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
