//! The formatter over the corpus of programs.

use crate::corpus::{folder, parse, programs};
use tidemill_cl::fmt::{WIDTH, format};
use tidemill_cl::lex::lex;
use tidemill_diag::FileId;
use tidemill_stdx::rng::Rng;
use tidemill_support::golden::Golden;

const FILE: FileId = FileId(0);

#[test]
fn formatting_keeps_the_meaning_and_is_final() {
    let mut formatted = 0;
    for (name, text) in programs() {
        let old = parse(&name, &text);
        let once = match format(FILE, &text) {
            Ok(once) => once,
            Err(_) => {
                assert!(old.has_errors, "{name}");
                continue;
            }
        };
        assert_eq!(format(FILE, &once).as_ref(), Ok(&once), "{name} changes when formatted again");
        let new = parse(&name, &once);
        assert_eq!((new.tree, new.diagnostics), (old.tree, old.diagnostics), "{name}");
        formatted += 1;
    }
    assert!(formatted > 10, "{formatted}");
}

#[test]
fn white_space_does_not_matter() {
    let mut compared = 0;
    for (name, text) in programs() {
        let lexed = lex(FILE, &text);
        let Ok(expected) = format(FILE, &text) else { continue };
        if !lexed.comments.is_empty() {
            continue;
        }
        let slice =
            |token: &tidemill_cl::lex::Token| &text[token.start as usize..token.end as usize];
        let words: Vec<&str> = lexed.tokens.iter().map(slice).collect();
        let expected: Vec<&str> = expected.lines().filter(|line| !line.is_empty()).collect();
        for blank in [" ", "\n", "\r\n"] {
            let other = format(FILE, &words.join(blank)).expect("the same tokens");
            assert_eq!(other.lines().collect::<Vec<_>>(), expected, "{name}");
        }
        let long: Vec<&&str> =
            expected.iter().filter(|it| it.len() > WIDTH && it.contains(", ")).collect();
        assert!(long.is_empty(), "{name}: {long:?}");
        compared += 1;
    }
    assert!(compared > 5, "{compared}");
}

/// `tests/cl/fmt/NAME.com`, each beside its formatted form.
#[test]
fn the_style() {
    let mut golden = Golden::default();
    for name in ["style", "comments", "long_comments"] {
        let path = folder("fmt").join(format!("{name}.com"));
        let source = tidemill_support::text(&path);
        let formatted = format(FILE, &source).expect("no errors");
        assert_eq!(format(FILE, &formatted).as_ref(), Ok(&formatted), "{name} is not final");
        golden.check(&path.with_extension("formatted"), formatted);
    }
}

/// A comment of some length and some lines, with some white space around it.
fn comment(random: &mut Rng) -> String {
    let mut below = |limit: u64| random.below(limit) as usize;
    let blank = |kind| ["", " ", "\n", "\n\n\n"][kind];
    let lines: Vec<String> = (0..1 + below(4) / 3)
        .map(|_| "c".repeat([1, 8, 30, 60, 85, 95, 120][below(7)] + below(12)))
        .collect();
    format!("{}(* {} *){}", blank(below(4)), lines.join("\n  "), blank(below(4)))
}

/// The text with comments between some of its tokens.
fn commented(text: &str, random: &mut Rng) -> String {
    let (mut out, mut before) = (String::new(), 0);
    let rarely = 1 + random.below(40);
    for token in &lex(FILE, text).tokens {
        out += &text[before..token.start as usize];
        while random.below(rarely + 1) == 0 {
            out += &comment(random);
        }
        out += &text[token.start as usize..token.end as usize];
        before = token.end as usize;
    }
    out + &text[before..]
}

/// `ROUNDS=1000` tries more.
#[test]
fn comments_anywhere_are_formatted_once_and_for_all() {
    let rounds = tidemill_support::variable("ROUNDS").unwrap_or(10);
    let mut random = Rng::new(3);
    let mut formatted = 0;
    for (name, original) in programs() {
        for _ in 0..rounds {
            let text = commented(&original, &mut random);
            let Ok(once) = format(FILE, &text) else { continue };
            assert_eq!(format(FILE, &once).as_ref(), Ok(&once), "{name}: {text}");
            // It was formatted, and not left as it was.
            assert!(!once.contains("\n\n\n"), "{name}: {text}");
            formatted += 1;
        }
    }
    assert!(formatted > 10 * rounds, "{formatted}");
}

#[test]
fn an_error_stops_it() {
    let wrong = format(FILE, "COMPONENT A; BEGIN WRITE(\"open) END A;\n").expect_err("no end");
    assert_eq!(wrong[0].code, "unterminated-text");
    let wrong = format(FILE, "COMPONENT A; BEGIN x = 1 END A;\n").expect_err("no assignment");
    assert_eq!(wrong[0].code, "equal-for-assign");
}
