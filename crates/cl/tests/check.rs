//! The checker against programs that are right, programs that are wrong, and its own corpus:
//! `tests/cl/check/NAME.com` with its diagnostics in `NAME.err` (absent: none). `BLESS=1` rewrites.

use std::path::{Path, PathBuf};

use crate::corpus::folder;
use tidemill_cl::check::check;
use tidemill_cl::ir::verify::verify;
use tidemill_cl::lower::lower;
use tidemill_cl::parse::parse_text;
use tidemill_diag::{Sources, has_errors};
use tidemill_support::cases::{self, Case};
use tidemill_support::golden::Golden;

/// Parses and checks; what is right is also lowered and verified.
fn diagnostics(name: &str, text: &str) -> (String, bool) {
    let mut sources = Sources::new();
    let (program, mut found) = parse_text(name, text, &mut sources);
    if !has_errors(&found) {
        let (tree, checked) = check(&program);
        found.extend(checked);
        if !has_errors(&found) {
            let ir = lower(&tree);
            assert_eq!(verify(&ir), Ok(()), "{name}");
        }
    }
    (found.iter().map(|it| sources.render(it)).collect(), has_errors(&found))
}

/// All programs in the folder and those below, sorted.
fn all(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten() {
        let path = entry.expect("readable").path();
        if path.is_dir() {
            found.append(&mut all(&path));
        } else if path.extension().is_some_and(|it| it == "com") {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn read(path: &Path) -> (String, String) {
    let name = path.file_name().expect("a file").to_string_lossy().into_owned();
    (name, std::fs::read_to_string(path).expect("a program of the corpus"))
}

/// The cases in a folder.
fn all_cases(part: &str) -> impl Iterator<Item = Case> {
    cases::folder(&format!("tests/cl/{part}"), 50).into_iter().flat_map(|(_, cases)| cases)
}

#[test]
fn right_programs_pass_without_a_word() {
    let mut wrong = String::new();
    for path in all(&folder("../../examples")) {
        let (name, text) = read(&path);
        wrong += &diagnostics(&name, &text).0;
    }
    for case in all_cases("run") {
        wrong += &diagnostics(&case.name, &case.source).0;
    }
    // Of faults the checker may warn.
    for case in all_cases("fault") {
        let (found, has_errors) = diagnostics(&case.name, &case.source);
        wrong += if has_errors { &found } else { "" };
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// The class and line that the first line of a wrong program announces.
fn announced(text: &str) -> (&str, &str) {
    let first = text.lines().next().unwrap_or("");
    let (class, rest) = first.split_once("] in line ").expect("`(* error[code] in line N: ...`");
    (class.trim_start_matches("(* "), rest.split(':').next().expect("a line"))
}

#[test]
fn wrong_programs_have_the_error_that_they_announce() {
    let mut wrong = String::new();
    for Case { name, source: text, .. } in all_cases("wrong") {
        let (class, line) = announced(&text);
        let (found, _) = diagnostics(&name, &text);
        let place = format!("{name}:{line}:");
        let is_there =
            found.lines().any(|it| it.starts_with(&place) && it.contains(&format!(" {class}]")));
        // Nothing else comes before it.
        let is_first = found.starts_with(&place);
        if !is_there || !is_first {
            wrong += &format!("{name} announces {class}] in line {line}:\n{found}");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn every_file_is_checked_as_expected() {
    let mut golden = Golden::default();
    for path in all(&folder("check")) {
        let (name, text) = read(&path);
        golden.check(&path.with_extension("err"), diagnostics(&name, &text).0);
    }
}

/// A program of `lines` lines, of one of the examples repeated under other names.
fn long_program(lines: usize) -> String {
    let path = folder("../../examples/producers-consumers/producers-consumers.com");
    let one = std::fs::read_to_string(path).expect("an example");
    let names = ["Acceptor", "Source", "Work", "Result", "Buffer", "Producer", "Consumer"];
    let mut text = String::new();
    for round in 0..lines / one.lines().count() + 1 {
        let mut copy = one.replace("ProducersConsumers", &format!("Main{round}"));
        for name in names {
            copy = copy.replace(name, &format!("{name}_{round}_"));
        }
        text += &copy;
    }
    text
}

#[test]
fn ten_thousand_lines_are_checked_in_no_time() {
    let text = long_program(10_000);
    let mut sources = Sources::new();
    let (program, parsed) = parse_text("long.com", &text, &mut sources);
    assert_eq!(parsed, []);
    let start = std::time::Instant::now();
    let (_, found) = check(&program);
    let taken = start.elapsed();
    assert!(!has_errors(&found), "{}", sources.render(&found[0]));
    let limit_ms = if cfg!(debug_assertions) { 2000 } else { 100 };
    assert!(taken.as_millis() < limit_ms, "{taken:?}");
    eprintln!("{} lines checked in {taken:?}", text.lines().count());
}

/// As deep as the parser allows, in expressions, statements, components and texts.
#[test]
fn deep_programs_are_checked() {
    let sum = vec!["f(i)"; 390].join(" + ");
    let and = vec!["(i = 1)"; 390].join(" AND ");
    let parentheses = format!("{}i{}", "(".repeat(100), ")".repeat(100));
    let calls = format!("{}i{}", "f(".repeat(100), ")".repeat(100));
    let elements = format!("{}i{}", "a[".repeat(100), "]".repeat(100));
    let ifs = format!("{}i := 1{}", "IF b THEN ".repeat(100), " END".repeat(100));
    let loops = format!("{}i := 1{}", "WHILE b DO ".repeat(100), " END".repeat(100));
    let text = format!(
        "COMPONENT Main; VARIABLE i: INTEGER; b: BOOLEAN; a[k: INTEGER]: INTEGER;
         PROCEDURE f(n: INTEGER): INTEGER; BEGIN RETURN n END f;
         BEGIN i := {sum}; b := {and}; i := {parentheses}; i := {calls}; i := {elements};
         {ifs}; {loops}
         END Main;"
    );
    assert_eq!(diagnostics("deep.com", &text), (String::new(), false));
    let nested = format!("{}i := 1{}", "BEGIN {EXCLUSIVE} ".repeat(100), " END".repeat(100));
    let text = format!("COMPONENT Main; VARIABLE i: INTEGER; ACTIVITY {nested} END Main;");
    assert!(diagnostics("deep.com", &text).1);
    let nested = format!("{}{}", "COMPONENT C; ".repeat(100), "END C; ".repeat(100));
    assert!(!diagnostics("deep.com", &nested).1);
}
