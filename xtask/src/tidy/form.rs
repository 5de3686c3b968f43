//! The form of sources: sizes, widths, trailing blanks, markers of unfinished work, and a manual at
//! the top of each crate.

use super::findings::Findings;
use crate::tree::Tree;

/// The maximum number of lines of a Rust file.
const LINES_MAX: usize = 1000;
/// The maximum number of characters of a line of Rust.
const COLUMNS_MAX: usize = 100;

/// Hand-written files; expected output of tests may have any form.
const WRITTEN: [&str; 8] = [".rs", ".toml", ".md", ".olg", ".sim", ".yml", ".proto", ".ci/run"];

/// Markers of unfinished work. Split, so that this file is not found.
const UNFINISHED: [&str; 3] = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("X", "XX")];

pub(super) fn check(tree: &Tree, findings: &mut Findings) {
    for (path, text) in tree.files() {
        let data = path.starts_with("tests/") || path.contains("/tests/data/");
        if data || !WRITTEN.iter().any(|ending| path.ends_with(ending)) {
            continue;
        }
        lines(path, text, findings);
        if path.ends_with(".rs") {
            rust(path, text, findings);
        }
    }
}

fn lines(path: &str, text: &str, findings: &mut Findings) {
    for (i, line) in text.lines().enumerate() {
        if line.ends_with([' ', '\t', '\r']) {
            findings.add(path, i + 1, "blanks at the end of the line");
        }
        let word = |word: &str| UNFINISHED.contains(&word);
        if line.split(|c: char| !c.is_ascii_alphanumeric()).any(word) {
            findings.add(
                path,
                i + 1,
                "a mark of unfinished work: finish it, or write down why not",
            );
        }
    }
    if !text.is_empty() && !text.ends_with('\n') {
        findings.add(path, text.lines().count(), "the last line does not end");
    }
}

fn rust(path: &str, text: &str, findings: &mut Findings) {
    for (i, line) in text.lines().enumerate() {
        let columns = line.chars().count();
        if columns > COLUMNS_MAX {
            findings.add(path, i + 1, format!("{columns} columns; the limit is {COLUMNS_MAX}"));
        }
    }
    let count = text.lines().count();
    if count > LINES_MAX {
        findings.add(path, count, format!("{count} lines; the limit is {LINES_MAX}"));
    }
    let root = path.ends_with("src/lib.rs") || path.ends_with("src/main.rs");
    let manual = ["//!", "#![doc = include_str!"];
    if root && !manual.iter().any(|start| text.starts_with(start)) {
        findings.add(path, 1, "a crate begins with its manual: `//! ...`");
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::found;
    use super::{UNFINISHED, check};

    #[test]
    fn lines_have_their_form() {
        let wide = "x".repeat(101);
        let text =
            format!("//! A.\nlet a; \n{wide}\n// {}: more\n// {}S", UNFINISHED[0], UNFINISHED[0]);
        assert_eq!(
            found(check, &[("crates/cl/src/lib.rs", &text)]),
            "crates/cl/src/lib.rs:2: blanks at the end of the line\n\
             crates/cl/src/lib.rs:3: 101 columns; the limit is 100\n\
             crates/cl/src/lib.rs:4: a mark of unfinished work: finish it, or write down why not\n\
             crates/cl/src/lib.rs:5: the last line does not end\n"
        );
    }

    #[test]
    fn what_programs_print_is_left_alone() {
        assert_eq!(found(check, &[("tests/a.olg", "p. "), ("a.out", "x "), ("b.txt", "x ")]), "");
        assert_ne!(found(check, &[("docs/a.md", "x \n")]), "");
    }

    #[test]
    fn files_are_of_one_idea() {
        let long = "//! A.\n".repeat(1001);
        let found = found(check, &[("crates/cl/src/a.rs", &long)]);
        assert_eq!(found, "crates/cl/src/a.rs:1001: 1001 lines; the limit is 1000\n");
    }

    #[test]
    fn crates_begin_with_a_manual() {
        let files = [
            ("crates/cl/src/lib.rs", "pub mod a;\n"),
            ("crates/cl/src/a.rs", "fn f() {}\n"),
            ("crates/jit/src/lib.rs", "#![doc = include_str!(\"../README.md\")]\n"),
        ];
        assert_eq!(
            found(check, &files),
            "crates/cl/src/lib.rs:1: a crate begins with its manual: `//! ...`\n"
        );
    }
}
