//! The front end against its corpus: `tests/overlog/parse/NAME.olg` with the expected tree in
//! `NAME.ast` and the expected diagnostics in `NAME.err` (absent: none). `BLESS=1` rewrites both.

use tidemill_support::golden::Golden;

use crate::corpus::{Corpus, parse};

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
