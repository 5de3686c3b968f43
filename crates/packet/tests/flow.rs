//! The language against its corpus: `tests/flow/NAME.flow` with the graph as it is printed, or what
//! is wrong, in `NAME.out`, and the common layout in `NAME.fmt` (absent: the source has it).
//! `BLESS=1` rewrites both.

use std::path::{Path, PathBuf};

use crate::common::{graph_of, kinds};
use tidemill_diag::{FileId, Sources};
use tidemill_packet::flow::{self, format, load};
use tidemill_stdx::rng::Rng;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/flow")
}

fn programs() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder()).expect("the corpus is there");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("readable").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "flow"));
    paths.sort();
    assert!(paths.len() >= 10, "the corpus has shrunk: {paths:?}");
    paths
}

/// Compares with the file, or rewrites it; an empty text is an absent file.
fn compare(path: &Path, text: &str, wrong: &mut Vec<String>) {
    let expected = std::fs::read_to_string(path).unwrap_or_default();
    if expected == text {
        return;
    }
    if std::env::var_os("BLESS").is_none() {
        return wrong.push(format!("{}:\n{text}", path.display()));
    }
    match text.is_empty() {
        true => std::fs::remove_file(path).expect("removable"),
        false => std::fs::write(path, text).expect("writable"),
    }
}

#[test]
fn every_file_means_what_is_expected() {
    let mut wrong = Vec::new();
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
        let prefix = format!("{}/", folder().display());
        compare(&path.with_extension("out"), &out.replace(&prefix, ""), &mut wrong);
        let text = std::fs::read_to_string(&path).expect("readable");
        if let Ok(formatted) = format(FileId(0), &text) {
            assert_eq!(format(FileId(0), &formatted).as_ref(), Ok(&formatted), "it is stable");
            let differs = if formatted == text { "" } else { &formatted };
            compare(&path.with_extension("fmt"), differs, &mut wrong);
        }
    }
    assert!(wrong.is_empty(), "differ (BLESS=1 accepts them):\n{}", wrong.join("\n"));
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
        "bad-number",
        "bad-value",
        "duplicate-app",
        "duplicate-key",
        "duplicate-parameter",
        "empty-graph",
        "file-unreadable",
        "include-cycle",
        "lonely-name",
        "no-such-key",
        "no-such-port",
        "port-in-chain",
        "port-without-link",
        "stray-character",
        "two-links",
        "unexpected-token",
        "unknown-app",
        "unknown-directive",
        "unknown-parameter",
        "unknown-type",
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
    let texts: Vec<String> =
        programs().iter().map(|path| std::fs::read_to_string(path).expect("readable")).collect();
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
