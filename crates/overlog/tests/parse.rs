//! The front end against its corpus: `tests/overlog/parse/NAME.olg` with the expected tree in
//! `NAME.ast` and the expected diagnostics in `NAME.err` (absent: none). `BLESS=1` rewrites both.

use crate::corpus::{Corpus, compare, parse};

#[test]
fn every_file_parses_as_expected() {
    let corpus = Corpus::open();
    let mut wrong = Vec::new();
    for name in corpus.programs() {
        let parsed = parse(&corpus, &name);
        compare(&corpus.path(&name).with_extension("ast"), &parsed.tree, &mut wrong);
        compare(&corpus.path(&name).with_extension("err"), &parsed.diagnostics, &mut wrong);
        let is_error = name.starts_with("err_");
        assert_eq!(parsed.has_errors, is_error, "{name}: {}", parsed.diagnostics);
    }
    assert!(wrong.is_empty(), "differ (BLESS=1 accepts them):\n{}", wrong.join("\n"));
}
