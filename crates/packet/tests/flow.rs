//! The language against its corpus: `tests/flow/NAME.flow` with the graph as it is printed, or the
//! errors, in `NAME.out`, and the common layout in `NAME.fmt` (absent: the source has it).
//! `BLESS=1` rewrites both.

use std::path::PathBuf;

use crate::common::{graph_of, kinds};
use tidemill_diag::{FileId, MORE_FINDINGS, Sources};
use tidemill_packet::flow::{self, format, load};
use tidemill_stdx::rng::Rng;
use tidemill_support::golden::Golden;
use tidemill_support::{files, root, text};

fn programs() -> Vec<PathBuf> {
    files("tests/flow", "flow", 10)
}

#[test]
fn every_file_means_what_is_expected() {
    let mut golden = Golden::default();
    for path in programs() {
        let mut sources = Sources::new();
        let defines = vec!["GIVEN=7".to_owned(), "WORD=in.pcap".to_owned()];
        let options = flow::Options { defines, include_dirs: Vec::new() };
        let loaded = load(std::slice::from_ref(&path), &options, &kinds(), &mut sources);
        let mut out: String = loaded.diagnostics.iter().map(|one| sources.render(one)).collect();
        if let Some(graph) = &loaded.graph {
            out += &graph.to_string();
            let again = graph_of(&graph.to_string());
            assert_eq!(&again, graph, "what is printed reads as the same graph");
        }
        let prefix = format!("{}/", root().join("tests/flow").display());
        golden.check(&path.with_extension("out"), out.replace(&prefix, ""));
        let text = text(&path);
        if let Ok(formatted) = format(FileId(0), &text) {
            assert_eq!(format(FileId(0), &formatted).as_ref(), Ok(&formatted), "it is stable");
            let differs = if formatted == text { "" } else { &formatted };
            golden.check(&path.with_extension("fmt"), differs);
        }
    }
}

#[test]
fn each_code_is_shown_by_a_file() {
    let outs: String = programs()
        .iter()
        .map(|path| std::fs::read_to_string(path.with_extension("out")).unwrap_or_default())
        .collect();
    let codes = [
        "bad-config",
        "bad-escape",
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
    let texts: Vec<String> = programs().iter().map(|path| text(path)).collect();
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
