//! The programs that the tests of the front end share.
#![allow(dead_code, reason = "not every test that shares this module uses all of it")]

use std::path::{Path, PathBuf};
use tidemill_cl::parse::parse_text;
use tidemill_diag::{Sources, has_errors};

/// The folder of a part of the corpus.
pub fn folder(part: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cl").join(part)
}

/// The names of all programs, sorted.
pub fn programs() -> Vec<String> {
    let entries = std::fs::read_dir(folder("parse")).expect("the corpus is there");
    let mut names: Vec<String> = entries
        .map(|entry| entry.expect("readable").file_name().into_string().expect("UTF-8"))
        .filter(|name| name.ends_with(".com"))
        .collect();
    names.sort();
    assert!(names.len() > 20, "the corpus has shrunk: {names:?}");
    names
}

/// The text of a program.
pub fn text(name: &str) -> String {
    std::fs::read_to_string(folder("parse").join(name)).expect("a program of the corpus")
}

/// What comes out of the parser, as text.
pub struct Output {
    pub tree: String,
    pub diagnostics: String,
    pub has_errors: bool,
}

pub fn parse(name: &str, text: &str) -> Output {
    let mut sources = Sources::new();
    let (program, diagnostics) = parse_text(name, text, &mut sources);
    Output {
        tree: program.to_string(),
        diagnostics: diagnostics.iter().map(|it| sources.render(it)).collect(),
        has_errors: has_errors(&diagnostics),
    }
}

/// Notes in `wrong` if the file at `path` is not `actual`; under `BLESS=1` makes it so.
pub fn compare(path: &Path, actual: &str, wrong: &mut Vec<String>) {
    let expected = std::fs::read_to_string(path).unwrap_or_default();
    if expected == actual {
        return;
    }
    if std::env::var_os("BLESS").is_none() {
        let at = expected.lines().zip(actual.lines()).position(|(a, b)| a != b).unwrap_or(0);
        let line = actual.lines().nth(at).unwrap_or("");
        wrong.push(format!("{}:{}: {line}", path.display(), at + 1));
    } else if actual.is_empty() {
        std::fs::remove_file(path).expect("can be removed");
    } else {
        std::fs::write(path, actual).expect("can be written");
    }
}
