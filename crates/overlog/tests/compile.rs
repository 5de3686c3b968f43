//! The compiler against its corpus.
//!
//! `tests/overlog/check`: cases of programs with findings, expected in the section `err`.
//! `tests/overlog/plan/NAME.olg`: programs without errors; their plan is in `NAME.plan`, their
//! warnings in `NAME.err` (absent: none). `BLESS=1` rewrites the expectations.

use std::fmt::Write as _;

use tidemill_diag::{Diagnostic, Sources, has_errors};
use tidemill_overlog::parse::parse_text;
use tidemill_overlog::pre::{Disk, Options};
use tidemill_overlog::program::Compiled;
use tidemill_relation::plan::{parse, print, verify};
use tidemill_support::golden::{self, Golden};
use tidemill_support::{files, name, text};

#[test]
fn wrong_programs_are_found_out() {
    golden::check_cases("tests/overlog/check", 26, |case, place, _| {
        let (sources, compiled, diagnostics) = compile(&case.name, &case.source);
        assert_eq!(compiled.is_none(), has_errors(&diagnostics), "{place}");
        assert!(!diagnostics.is_empty(), "{place}: nothing was found");
        let helpful = |diagnostic: &Diagnostic| diagnostic.help.is_some();
        assert!(diagnostics.iter().all(helpful), "{place}: a finding without help");
        case.set_section("err", render(&sources, &diagnostics));
    });
}

#[test]
fn programs_become_the_expected_plans() {
    let mut golden = Golden::default();
    for path in files("tests/overlog/plan", "olg", 1) {
        let (sources, compiled, diagnostics) = compile(name(&path), &text(&path));
        let found = render(&sources, &diagnostics);
        let Some(compiled) = compiled else { panic!("{}: {found}", path.display()) };
        assert_eq!(verify(&compiled.plan), Ok(()), "{}", path.display());
        let text = print(&compiled.plan);
        assert_eq!(parse(&text).as_ref(), Ok(&compiled.plan), "{}", path.display());
        golden.check(&path.with_extension("err"), found);
        golden.check(&path.with_extension("plan"), describe(&compiled));
    }
}

fn compile(name: &str, text: &str) -> (Sources, Option<Compiled>, Vec<Diagnostic>) {
    let mut sources = Sources::new();
    let (program, mut found) = parse_text(name, text, &Options::default(), &Disk, &mut sources);
    assert!(!has_errors(&found), "{name} does not parse: {}", render(&sources, &found));
    let (compiled, checked) =
        tidemill_overlog::compile(&program, &sources, &tidemill_overlog::Options::default());
    found.extend(checked);
    (sources, compiled, found)
}

fn render(sources: &Sources, diagnostics: &[Diagnostic]) -> String {
    diagnostics.iter().map(|diagnostic| sources.render(diagnostic)).collect()
}

/// The plan and the other parts of a program, as text.
fn describe(compiled: &Compiled) -> String {
    let name = |id| &compiled.plan.relation(id).name;
    let mut text = print(&compiled.plan);
    for fact in &compiled.facts {
        let columns: Vec<String> = fact.columns.iter().map(ToString::to_string).collect();
        let _ = writeln!(text, "fact {}({})", name(fact.relation), columns.join(", "));
    }
    for watch in &compiled.watches {
        let _ = writeln!(text, "watch {}", name(watch.relation));
    }
    for query in &compiled.queries {
        let columns: Vec<String> = query.columns.iter().map(ToString::to_string).collect();
        let _ = writeln!(text, "query {}({})", name(query.relation), columns.join(", "));
    }
    for stage in &compiled.stages {
        let (input, output) = (name(stage.input), name(stage.output));
        let _ = writeln!(text, "stage {:?} {input} {output}", stage.operator);
    }
    for export in &compiled.exports {
        let _ = writeln!(text, "export {} into {}", name(export.out), name(export.into));
    }
    let wire: Vec<&str> = compiled.wire.iter().map(|id| name(*id).as_str()).collect();
    let _ = writeln!(text, "wire {}: {}", compiled.package, wire.join(", "));
    text
}
