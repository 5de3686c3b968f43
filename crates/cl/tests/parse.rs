//! The parser against its corpus: the cases of `tests/cl/parse` with the expected tree in the
//! section `ast` and the expected diagnostics in `err` (absent: none). `BLESS=1` rewrites both.

use crate::corpus::{PARSED, parse, programs};
use tidemill_cl::ast::{Definition, ExprKind, StatementKind};
use tidemill_cl::parse::{parse_files, parse_text};
use tidemill_diag::{Sources, has_errors};
use tidemill_support::golden;

#[test]
fn every_file_parses_as_expected() {
    golden::check_cases(PARSED.0, PARSED.1, |case, place, _| {
        let parsed = parse(&case.name, &case.source);
        let is_error = case.name.starts_with("err_");
        assert_eq!(parsed.has_errors, is_error, "{place}: {}", parsed.diagnostics);
        case.set_section("ast", parsed.tree);
        case.set_section("err", parsed.diagnostics);
    });
}

/// Behind one error the parser finds the next.
#[test]
fn each_code_is_shown_by_a_file() {
    let found: String =
        programs().iter().map(|(name, text)| parse(name, text).diagnostics).collect();
    let codes = [
        "assign-for-equal",
        "bad-number",
        "bad-pattern",
        "chained-comparison",
        "equal-for-assign",
        "foreign-keyword",
        "literal-too-large",
        "lowercase-keyword",
        "misplaced-attributes",
        "misplaced-declaration",
        "misplaced-else",
        "misplaced-section",
        "misplaced-variable",
        "missing-begin",
        "missing-end",
        "missing-end-name",
        "missing-semicolon",
        "missing-until",
        "nesting-too-deep",
        "no-designator",
        "stray-character",
        "unexpected-token",
        "unknown-operator",
        "unknown-statement",
        "unterminated-comment",
        "unterminated-text",
        "wrong-end-name",
    ];
    for code in codes {
        assert!(found.contains(&format!("[{code}]")), "{code} is not in the corpus");
    }
}

#[test]
fn several_files_are_one_program() {
    let mut sources = Sources::new();
    let one = sources.add("one.com", "COMPONENT A; END A; INTERFACE I; END I;");
    let two = sources.add("two.com", "COMPONENT B; BEGIN x := END B;");
    let (program, diagnostics) = parse_files(&[one, two], &sources);
    assert_eq!(program.files.len(), 2);
    assert_eq!(program.definitions().count(), 3);
    assert!(has_errors(&diagnostics));
    assert_eq!(sources.name(diagnostics[0].span.file), "two.com");
}

/// Spans cover what they are of, parentheses included.
#[test]
fn spans_cover_their_text() {
    let text = "COMPONENT A; BEGIN x[1] := (a + b) * f(2); y!M((1)); !N; IF a THEN b END END A;";
    let mut sources = Sources::new();
    let (program, diagnostics) = parse_text("a.com", text, &mut sources);
    assert_eq!(diagnostics, []);
    let Some(Definition::Component(component)) = program.definitions().next() else {
        panic!("a component: {program}")
    };
    let begin = component.begin.as_ref().expect("BEGIN is there");
    let spans: Vec<&str> = begin.statements.iter().map(|it| sources.slice(it.span)).collect();
    let expected = ["x[1] := (a + b) * f(2)", "y!M((1))", "!N", "IF a THEN b END"];
    assert_eq!(spans, expected);
    assert_eq!(sources.slice(component.span), text);
    let StatementKind::Assign { target, value } = &begin.statements[0].kind else { panic!() };
    assert_eq!((sources.slice(target.span), target.root().0), ("x[1]", "x"));
    let ExprKind::Binary(_, left, right) = &value.kind else { panic!() };
    assert_eq!((sources.slice(left.span), sources.slice(right.span)), ("(a + b)", "f(2)"));
    let StatementKind::Send { arguments, .. } = &begin.statements[1].kind else { panic!() };
    assert_eq!(sources.slice(arguments[0].span), "(1)");
}

#[test]
fn a_call_can_be_a_designator() {
    let text = "COMPONENT A; BEGIN x := Service(customer[i]); f(1, 2) END A;";
    let (program, _) = parse_text("a.com", text, &mut Sources::new());
    let Some(Definition::Component(component)) = program.definitions().next() else { panic!() };
    let begin = component.begin.as_ref().expect("BEGIN is there");
    let StatementKind::Assign { value, .. } = &begin.statements[0].kind else { panic!() };
    let designator = value.as_designator().expect("it has one argument");
    assert_eq!(designator.to_string(), "(of Service (index customer i))");
    assert_eq!(designator.span, value.span);
    let StatementKind::Call(call) = &begin.statements[1].kind else { panic!() };
    assert_eq!(call.as_designator(), None);
}
