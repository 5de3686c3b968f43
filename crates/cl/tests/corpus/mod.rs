//! The programs that the tests of the front end share.
#![allow(dead_code, reason = "not every test that shares this module uses all of it")]

use std::path::PathBuf;

use tidemill_cl::parse::parse_text;
use tidemill_diag::{Sources, has_errors};
use tidemill_support::cases::{self, Case};
use tidemill_support::root;

/// The programs that the parser is compared on, and their number.
pub const PARSED: (&str, usize) = ("tests/cl/parse", 26);

/// The folder of a part of the corpus.
pub fn folder(part: &str) -> PathBuf {
    root().join("tests/cl").join(part)
}

/// The names of these programs, sorted, and their texts.
pub fn programs() -> Vec<(String, String)> {
    let files = cases::folder(PARSED.0, PARSED.1).into_iter();
    let program = |case: Case| (case.name, case.source);
    let mut programs: Vec<_> = files.flat_map(|(_, cases)| cases).map(program).collect();
    programs.sort();
    programs
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
