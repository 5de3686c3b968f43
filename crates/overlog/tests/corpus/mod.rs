//! The programs that the tests of the front end share.
#![allow(dead_code, reason = "not every test that shares this module uses all of it")]

use std::path::{Path, PathBuf};
use tidemill_diag::{Sources, has_errors};
use tidemill_overlog::parse::parse_text;
use tidemill_overlog::pre::{Files, Options};
use tidemill_support::files;

/// The folder of programs; files in it are named relative to it.
pub struct Corpus {
    root: PathBuf,
}

impl Files for Corpus {
    fn read(&self, path: &Path) -> std::io::Result<String> {
        std::fs::read_to_string(self.root.join(path))
    }
}

impl Corpus {
    pub fn open() -> Corpus {
        Corpus { root: tidemill_support::root().join("tests/overlog/parse") }
    }

    /// The names of all programs, sorted.
    pub fn programs(&self) -> Vec<String> {
        let programs = files("tests/overlog/parse", "olg", 20);
        programs.iter().map(|path| tidemill_support::name(path).to_owned()).collect()
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    pub fn text(&self, name: &str) -> String {
        self.read(Path::new(name)).expect("a program of the corpus")
    }
}

/// The output of the parser, as text.
pub struct Output {
    pub tree: String,
    pub diagnostics: String,
    pub has_errors: bool,
}

pub fn parse(corpus: &Corpus, name: &str) -> Output {
    parse_as(corpus, name, &corpus.text(name))
}

pub fn parse_as(corpus: &Corpus, name: &str, text: &str) -> Output {
    let mut sources = Sources::new();
    let options = Options::default();
    let (program, diagnostics) = parse_text(name, text, &options, corpus, &mut sources);
    Output {
        tree: program.to_string(),
        diagnostics: diagnostics.iter().map(|it| sources.render(it)).collect(),
        has_errors: has_errors(&diagnostics),
    }
}
