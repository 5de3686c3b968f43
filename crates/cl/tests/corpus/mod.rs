//! The programs that the tests of the front end share.
#![allow(dead_code, reason = "not every test that shares this module uses all of it")]

use std::path::PathBuf;

use tidemill_cl::parse::parse_text;
use tidemill_diag::{Sources, has_errors};
use tidemill_support::{files, root};

/// The folder of a part of the corpus.
pub fn folder(part: &str) -> PathBuf {
    root().join("tests/cl").join(part)
}

/// The names of all programs, sorted.
pub fn programs() -> Vec<String> {
    let programs = files("tests/cl/parse", "com", 20);
    programs.iter().map(|path| tidemill_support::name(path).to_owned()).collect()
}

/// The text of a program.
pub fn text(name: &str) -> String {
    tidemill_support::text(&folder("parse").join(name))
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
