//! The front end against its corpus: the cases of `tests/overlog/parse` with the expected tree in
//! the section `ast` and the expected diagnostics in `err` (absent: none). `BLESS=1` rewrites both.

use tidemill_diag::{MORE_FINDINGS, Sources};
use tidemill_overlog::parse::parse_text;
use tidemill_overlog::pre::{Disk, Files, Options};
use tidemill_support::{files, golden, text};

use crate::corpus::{Corpus, PARSED, parse};
use crate::noise::front::check_printed;

#[test]
fn every_file_parses_as_expected() {
    let corpus = Corpus::open();
    golden::check_cases(PARSED.0, PARSED.1, |case, place, _| {
        let parsed = parse(&corpus, &case.name, &case.source);
        let is_error = case.name.starts_with("err_");
        assert_eq!(parsed.has_errors, is_error, "{place}: {}", parsed.diagnostics);
        case.set_section("ast", parsed.tree);
        case.set_section("err", parsed.diagnostics);
    });
}

/// The printed source of a program has the same tree, for all programs of the corpus.
#[test]
fn what_is_printed_parses_to_the_same_tree() {
    let corpus = Corpus::open();
    let compare = |name: &str, text: &str, files: &dyn Files| {
        let mut sources = Sources::new();
        let (program, _) = parse_text(name, text, &Options::default(), files, &mut sources);
        check_printed(&program)
    };
    let mut compared = 0;
    for (name, text) in corpus.programs() {
        compared += compare(name, text, &corpus);
    }
    let examples = std::fs::read_dir(tidemill_support::root().join("examples"));
    let examples = examples.expect("examples").map(|it| it.expect("readable").path());
    let examples = examples.filter(|it| it.is_dir());
    let folders = std::iter::once("tests/overlog/plan".into()).chain(examples);
    for path in folders.flat_map(|folder| files(&folder.to_string_lossy(), "olg", 0)) {
        compared += compare(&path.display().to_string(), &text(&path), &Disk);
    }
    assert!(compared > 800, "{compared} statements");
}

/// Errors of the text as a whole, and errors of its tokens.
#[test]
fn a_text_that_is_given_up_says_so() {
    for (line, last) in [("r1 a(@N) :- .\n", 101), ("#nothing\n", 101)] {
        for count in [100, 101, 300] {
            let mut sources = Sources::new();
            let (options, text) = (Options::default(), line.repeat(count));
            let (_, found) = parse_text("a.olg", &text, &options, &Disk, &mut sources);
            let more: Vec<u32> = (found.iter().filter(|one| one.code == MORE_FINDINGS))
                .map(|one| sources.place(one.span).line)
                .collect();
            let expected = if count == 100 { vec![] } else { vec![last] };
            assert_eq!((found.len(), more), (100 + expected.len(), expected), "{line}");
        }
    }
}
