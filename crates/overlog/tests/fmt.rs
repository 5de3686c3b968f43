//! The formatter over the corpus of programs.

use crate::corpus::{Corpus, parse};
use tidemill_diag::FileId;
use tidemill_overlog::fmt::{WIDTH, format};
use tidemill_overlog::lex::{Sym, TokenKind, lex};
use tidemill_support::golden::Golden;

const FILE: FileId = FileId(0);

#[test]
fn formatting_keeps_the_meaning_and_is_final() {
    let corpus = Corpus::open();
    let mut formatted = 0;
    for (name, text) in corpus.programs() {
        let Ok(once) = format(FILE, text) else { continue };
        assert_eq!(format(FILE, &once).as_ref(), Ok(&once), "{name} changes when formatted again");
        let (old, new) = (parse(&corpus, name, text), parse(&corpus, name, &once));
        assert_eq!(new.has_errors, old.has_errors, "{name}");
        // Error recovery of the parser may depend on line starts.
        if !old.has_errors {
            assert_eq!(new.tree, old.tree, "{name}");
        }
        formatted += 1;
    }
    assert!(formatted > 15, "{formatted}");
}

#[test]
fn white_space_does_not_matter() {
    let corpus = Corpus::open();
    let mut compared = 0;
    for (name, text) in corpus.programs() {
        let tokens = lex(FILE, text, 0);
        let odd = |kind: &TokenKind| matches!(kind, TokenKind::Comment | TokenKind::Sym(Sym::Hash));
        if tokens.iter().any(|token| odd(&token.kind) || token.error.is_some())
            || text.contains("\n\n")
        {
            continue;
        }
        let words: Vec<&str> = tokens
            .iter()
            .map(|token| &text[token.span.start as usize..token.span.end as usize])
            .collect();
        let expected = format(FILE, text).expect("no lexical errors");
        assert_eq!(format(FILE, &words.join(" ")).expect("the same tokens"), expected, "{name}");
        assert_eq!(format(FILE, &words.join("\n")).expect("the same tokens"), expected, "{name}");
        let lines = expected.lines().filter(|line| line.chars().count() > WIDTH);
        let long: Vec<&str> = lines.filter(|line| line.contains(", ")).collect();
        assert!(long.is_empty() || name.starts_with("literals"), "{name}: {long:?}");
        compared += 1;
    }
    assert!(compared > 5, "{compared}");
}

/// One source with everything in it, beside its formatted form.
#[test]
fn the_style() {
    let corpus = Corpus::open();
    let mut golden = Golden::default();
    let folder = tidemill_support::root().join("tests/overlog/fmt");
    let style = tidemill_support::text(&folder.join("style.olg"));
    let others = ["chord.olg", "namespaces.olg", "expressions.olg"];
    let others: Vec<_> = corpus.programs().filter(|(name, _)| others.contains(name)).collect();
    assert_eq!(others.len(), 3);
    for (name, source) in others.into_iter().chain([("style.olg", style.as_str())]) {
        let formatted = format(FILE, source).expect("no lexical errors");
        golden.check(&folder.join(name).with_extension("formatted"), formatted);
    }
}

#[test]
fn a_lexical_error_stops_it() {
    let wrong = format(FILE, "r1 p(@X) :- q(@X, \"open).\n").expect_err("the string has no end");
    assert_eq!(wrong[0].code, "unterminated-string");
}
