//! The language against its corpus: the cases of `tests/flow` with the graph as it is printed, or
//! the errors, in the section `out`, and the common layout in `fmt` (absent: the source has it).
//! `BLESS=1` rewrites both.

use crate::common::{graph_of, kinds};
use tidemill_diag::{FileId, MORE_FINDINGS, Sources};
use tidemill_packet::flow::{self, format, load};
use tidemill_stdx::rng::Rng;
use tidemill_support::cases::{self, Case, Unpacked};
use tidemill_support::golden;

/// The corpus, and the number of its cases.
const CORPUS: (&str, usize) = ("tests/flow", 48);

fn programs() -> Vec<Case> {
    let files = cases::folder(CORPUS.0, CORPUS.1).into_iter();
    files.flat_map(|(_, cases)| cases).collect()
}

#[test]
fn every_file_means_what_is_expected() {
    let folder = Unpacked::new("flow", &programs());
    let prefix = format!("{}/", folder.path().display());
    golden::check_cases(CORPUS.0, CORPUS.1, |case, place, _| {
        let path = folder.path().join(&case.name);
        let mut sources = Sources::new();
        let defines = vec!["GIVEN=7".to_owned(), "WORD=in.pcap".to_owned()];
        let options = flow::Options { defines, include_dirs: Vec::new() };
        let loaded = load(&[path], &options, &kinds(), &mut sources);
        let mut out: String = loaded.diagnostics.iter().map(|one| sources.render(one)).collect();
        if let Some(graph) = &loaded.graph {
            out += &graph.to_string();
            let again = graph_of(&graph.to_string());
            assert_eq!(&again, graph, "{place}: what is printed reads as the same graph");
        }
        case.set_section("out", out.replace(&prefix, ""));
        if let Ok(formatted) = format(FileId(0), &case.source) {
            assert_eq!(format(FileId(0), &formatted).as_ref(), Ok(&formatted), "{place}: stable");
            let differs = if formatted == case.source { "" } else { &formatted };
            case.set_section("fmt", differs);
        }
    });
}

#[test]
fn each_code_is_shown_by_a_file() {
    let outs: String = programs().iter().map(|case| case.section("out").to_owned()).collect();
    let codes = [
        "bad-config",
        "bad-escape",
        "bad-function",
        "bad-header",
        "bad-meter",
        "bad-number",
        "bad-ports",
        "bad-value",
        "absent-entry",
        "absent-header",
        "bad-columns",
        "bad-table",
        "bad-type",
        "duplicate-app",
        "duplicate-key",
        "duplicate-name",
        "duplicate-parameter",
        "duplicate-type",
        "empty-graph",
        "expiring-table",
        "file-unreadable",
        "include-cycle",
        "lonely-name",
        "no-counter",
        "no-handler",
        "no-packet",
        "no-such-key",
        "no-such-port",
        "no-verdict",
        "not-settable",
        "port-in-chain",
        "port-without-link",
        "stray-character",
        "table-writer",
        "too-many-steps",
        "two-links",
        "unexpected-token",
        "unknown-app",
        "unknown-directive",
        "unknown-column",
        "unknown-column-type",
        "unknown-field",
        "unknown-header",
        "unknown-key-type",
        "unknown-name",
        "unknown-parameter",
        "unknown-table",
        "unknown-type",
        "unreachable",
        "unterminated-comment",
        "unterminated-text",
        "which-port",
    ];
    for code in codes {
        assert!(outs.contains(&format!("[{code}]")), "{code} is not in the corpus");
    }
}

#[test]
fn broken_sources_end_in_diagnostics() {
    let texts: Vec<String> = programs().into_iter().map(|case| case.source).collect();
    let inserts = [
        "{",
        "}",
        "[",
        "]",
        "->",
        "::",
        ":",
        ",",
        ".",
        "\"",
        "$",
        "#",
        "/*",
        "*/",
        "//",
        "\\",
        "-",
        "0x",
        "1e",
        "é",
        "#include \"",
        "\u{0}",
    ];
    let mut random = Rng::new(3);
    for round in 0..8000u32 {
        let mut text = random.pick(&texts).cloned().unwrap_or_default();
        for _ in 0..=random.below(3) {
            let is_place = |at: &usize| text.is_char_boundary(*at);
            let places: Vec<usize> = (0..=text.len()).filter(is_place).collect();
            let at = *random.pick(&places).unwrap_or(&0);
            match random.below(3) {
                0 => text.insert_str(at, random.pick(&inserts).copied().unwrap_or("")),
                1 => text.truncate(at),
                _ => {
                    let to = places.iter().find(|&&to| to > at + 2).copied();
                    text.replace_range(at..to.unwrap_or(text.len()), "");
                }
            }
        }
        let mut sources = Sources::new();
        let options = flow::Options::default();
        let loaded = flow::load_text("m.flow", &text, &options, &kinds(), &mut sources);
        for one in &loaded.diagnostics {
            assert!(one.span.start <= one.span.end, "{round}: {one:?}");
            assert!(!sources.render(one).is_empty());
        }
        if let Some(graph) = loaded.graph {
            assert_eq!(graph.verify(), []);
        }
        if let Ok(formatted) = format(FileId(0), &text) {
            assert_eq!(format(FileId(0), &formatted), Ok(formatted), "{round}: {text}");
        }
    }
}

/// The codes of the findings of a text, and the place of the last.
fn codes(text: &str) -> (Vec<&'static str>, u32) {
    let (mut sources, options) = (Sources::new(), flow::Options::default());
    let loaded = flow::load_text("m.flow", text, &options, &kinds(), &mut sources);
    let last = loaded.diagnostics.iter().map(|one| sources.place(one.span).line).max();
    (loaded.diagnostics.iter().map(|one| one.code).collect(), last.unwrap_or(0))
}

#[test]
fn a_text_that_is_given_up_says_so() {
    let wrong = |count: usize| "a b c\n".repeat(count);
    let (few, _) = codes(&wrong(100));
    assert_eq!((few.len(), few.contains(&MORE_FINDINGS)), (100, false));
    for text in [wrong(101), format!("{}end :: Sink\n", wrong(100)), "\"\n".repeat(150)] {
        let (many, line) = codes(&text);
        assert_eq!((many.len(), many.last(), line), (101, Some(&MORE_FINDINGS), 101), "{many:?}");
    }
}
