//! The front end against its corpus: `tests/overlog/parse/NAME.olg` with the expected tree in
//! `NAME.ast` and the expected diagnostics in `NAME.err` (absent: none). `BLESS=1` rewrites both.

use tidemill_diag::{MORE_FINDINGS, Sources};
use tidemill_overlog::parse::parse_text;
use tidemill_overlog::pre::{Disk, Options};
use tidemill_support::files;
use tidemill_support::golden::Golden;

use crate::corpus::{Corpus, parse};
use crate::noise::front::check_printed;

#[test]
fn every_file_parses_as_expected() {
    let corpus = Corpus::open();
    let mut golden = Golden::default();
    for name in corpus.programs() {
        let parsed = parse(&corpus, &name);
        golden.check(&corpus.path(&name).with_extension("ast"), parsed.tree);
        golden.check(&corpus.path(&name).with_extension("err"), &parsed.diagnostics);
        let is_error = name.starts_with("err_");
        assert_eq!(parsed.has_errors, is_error, "{name}: {}", parsed.diagnostics);
    }
}

/// The printed source of a program has the same tree, for all programs of the corpus.
#[test]
fn what_is_printed_parses_to_the_same_tree() {
    let mut compared = 0;
    let examples = std::fs::read_dir(tidemill_support::root().join("examples"));
    let examples = examples.expect("examples").map(|it| it.expect("readable").path());
    let folders = ["tests/overlog/parse", "tests/overlog/plan"].map(|it| it.into());
    let folders = folders.into_iter().chain(examples.filter(|it| it.is_dir()));
    for path in folders.flat_map(|folder| files(&folder.to_string_lossy(), "olg", 0)) {
        let (name, text) = (path.display().to_string(), std::fs::read_to_string(&path));
        let text = text.expect("a program");
        let mut sources = Sources::new();
        let (options, disk) = (Options::default(), Disk);
        let (program, _) = parse_text(&name, &text, &options, &disk, &mut sources);
        compared += check_printed(&program);
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
