//! The programs that the tests of the front end share.
#![allow(dead_code, reason = "not every test that shares this module uses all of it")]

use std::path::Path;
use tidemill_diag::{Sources, has_errors};
use tidemill_overlog::parse::parse_text;
use tidemill_overlog::pre::{Files, Options};
use tidemill_support::cases::{self, Case, Unpacked};

/// The programs that the parser is compared on, and their number.
pub const PARSED: (&str, usize) = ("tests/overlog/parse", 26);

/// These programs, in a folder with the files that they include, which are named relative to it.
pub struct Corpus {
    programs: Vec<(String, String)>,
    folder: Unpacked,
}

impl Files for Corpus {
    fn read(&self, path: &Path) -> std::io::Result<String> {
        std::fs::read_to_string(self.folder.path().join(path))
    }
}

impl Corpus {
    pub fn open() -> Corpus {
        let files = cases::folder(PARSED.0, PARSED.1).into_iter();
        let cases: Vec<Case> = files.flat_map(|(_, cases)| cases).collect();
        let folder = Unpacked::new("overlog", &cases);
        let mut programs: Vec<_> = cases.into_iter().map(|it| (it.name, it.source)).collect();
        programs.sort();
        Corpus { programs, folder }
    }

    /// The names of all programs, sorted, and their texts.
    pub fn programs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.programs.iter().map(|(name, text)| (name.as_str(), text.as_str()))
    }
}

/// The output of the parser, as text.
pub struct Output {
    pub tree: String,
    pub diagnostics: String,
    pub has_errors: bool,
}

/// Parses a text as the program of this name.
pub fn parse(corpus: &Corpus, name: &str, text: &str) -> Output {
    let mut sources = Sources::new();
    let options = Options::default();
    let (program, diagnostics) = parse_text(name, text, &options, corpus, &mut sources);
    Output {
        tree: program.to_string(),
        diagnostics: diagnostics.iter().map(|it| sources.render(it)).collect(),
        has_errors: has_errors(&diagnostics),
    }
}
