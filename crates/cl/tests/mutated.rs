//! Broken programs: whatever is done to a source, the front end ends soon, with diagnostics that
//! point into it, and what the formatter makes of it means the same.

use crate::corpus::programs;
use std::time::{Duration, Instant};
use tidemill_cl::fmt::format;
use tidemill_cl::lex::lex;
use tidemill_cl::parse::parse_text;
use tidemill_diag::{FileId, Sources, has_errors};
use tidemill_stdx::rng::Rng;

/// Mutations of each program.
const ROUNDS: usize = 120;
/// Far above what any of these needs, so that only a loop or an explosion hits it.
const TIME_MAX: Duration = Duration::from_secs(5);
const FILE: FileId = FileId(0);

/// Parses `text` and passes the result through the later stages; returns the tree if it is right.
fn survive(text: &str) -> Option<String> {
    let start = Instant::now();
    let mut sources = Sources::new();
    let (program, diagnostics) = parse_text("m.com", text, &mut sources);
    for diagnostic in &diagnostics {
        let spans = diagnostic.labels.iter().map(|(span, _)| *span).chain([diagnostic.span]);
        for span in spans {
            assert!(span.start <= span.end, "{diagnostic:?}");
            let inside = text.get(span.start as usize..span.end as usize);
            assert!(inside.is_some(), "{diagnostic:?}: {text}");
        }
        assert!(!sources.render(diagnostic).is_empty());
    }
    assert!(diagnostics.len() <= 200, "{}", diagnostics.len());
    let tree = program.to_string();
    assert!(has_errors(&diagnostics) || !tree.contains("<error>"), "{text}");
    drop(program.clone());
    drop(program);
    assert!(start.elapsed() < TIME_MAX, "{:?}: {:.200}", start.elapsed(), text);
    (!has_errors(&diagnostics)).then_some(tree)
}

fn mutate(text: &str, random: &mut Rng) -> String {
    let tokens = lex(FILE, text).tokens;
    let mut below = |limit: usize| random.below(limit as u64) as usize;
    let range = |at: usize| tokens[at].start as usize..tokens[at].end as usize;
    let (one, two) = (below(tokens.len()), below(tokens.len()));
    let (one, two) = (range(one.min(two)), range(one.max(two)));
    match below(7) {
        0 => format!("{}{}", &text[..one.start], &text[one.end..]),
        1 => format!("{} {}", &text[..one.end], &text[one.start..]),
        2 if one.end <= two.start => {
            let (a, b) = (&text[one.clone()], &text[two.clone()]);
            format!("{}{b}{}{a}{}", &text[..one.start], &text[one.end..two.start], &text[two.end..])
        }
        3 => text[..one.start].to_string(),
        4 => {
            let insert = [
                "(",
                ")",
                "[",
                "{",
                "}",
                ".",
                ",",
                ":=",
                "=",
                "!",
                "?",
                "|",
                "\"",
                "(*",
                "END ",
                "BEGIN ",
                "IF ",
                ";",
                "PROCEDURE ",
                "VARIABLE ",
                " 1 ",
                "end ",
                "ANY ",
                "*)",
            ];
            let insert = insert[below(insert.len())];
            format!("{}{insert}{}", &text[..one.start], &text[one.start..])
        }
        5 => {
            let word = text[one.clone()].to_lowercase();
            format!("{}{word}{}", &text[..one.start], &text[one.end..])
        }
        _ => {
            let mut bytes = format!("{text}\n").into_bytes();
            let at = below(bytes.len());
            bytes[at] ^= 1 << below(8);
            String::from_utf8_lossy(&bytes).into_owned()
        }
    }
}

#[test]
fn mutated_programs_end_in_diagnostics() {
    let mut random = Rng::new(1);
    let (mut right, mut wrong) = (0, 0);
    for (name, original) in programs() {
        for round in 0..ROUNDS {
            let mut text = mutate(&original, &mut random);
            for _ in 0..round % 4 {
                text = mutate(&text, &mut random);
            }
            let tree = survive(&text);
            *(if tree.is_some() { &mut right } else { &mut wrong }) += 1;
            let Ok(formatted) = format(FILE, &text) else {
                assert_eq!(tree, None, "{text}");
                continue;
            };
            assert_eq!(format(FILE, &formatted).as_ref(), Ok(&formatted), "{name}: {text}");
            assert_eq!(survive(&formatted), tree, "{name}: {text}");
        }
    }
    assert!(right > 50 && wrong > 1000, "{right} right, {wrong} wrong");
}

#[test]
fn hostile_texts_end() {
    let bytes = 40_000;
    let parts = [
        "(",
        "[",
        "{",
        "!",
        "?",
        "-",
        "~",
        "+ -",
        "1+",
        "A OR ",
        "f(",
        "x[",
        "x(",
        "IF ",
        "IF a THEN ",
        "WHILE a DO ",
        "REPEAT ",
        "BEGIN ",
        "FOR i := ",
        "FOREACH a OF b DO ",
        "ELSE ",
        "ELSIF ",
        "END ",
        "END A ",
        "UNTIL ",
        "COMPONENT A; ",
        "COMPONENT ",
        "PROCEDURE P; ",
        "INTERFACE I; ",
        "IMPLEMENTATION I; ",
        "VARIABLE ",
        "VARIABLE x: ",
        "x: ANY(",
        "CONSTANT ",
        "a = ",
        "x := ",
        "IN A ",
        "IN A (",
        "| ",
        "(* ",
        "*) ",
        "\"",
        "\"\n",
        "ANY ",
        "INPUT(",
        "EXISTS(",
        "NEW(x, ",
        "{SHARED} ",
        "({SHARED} ",
        "x ",
        "x; ",
        ";",
        ".",
        "..",
        "1.",
        "0FH",
        "$",
        "é",
        "\0",
        "begin ",
        "end ",
        "if x ",
        "return ",
        "ACTIVITY ",
        "FINALLY ",
        ", ",
        "x IS ",
        "x(y)(z)",
        "x[1]",
    ];
    let heads = [
        "",
        "COMPONENT A; BEGIN ",
        "COMPONENT A; BEGIN x := ",
        "COMPONENT A; ",
        "COMPONENT A; VARIABLE ",
        "COMPONENT A; PROCEDURE P(",
        "INTERFACE A; ",
        "COMPONENT A; IMPLEMENTATION B; BEGIN x",
    ];
    for part in parts {
        for head in heads {
            survive(&format!("{head}{}", part.repeat(bytes / part.len())));
        }
    }
}

#[test]
fn long_is_not_deep() {
    let wide = |item: &str, close: &str| {
        format!("COMPONENT A; BEGIN {}{close} END A;", item.repeat(50_000))
    };
    assert!(survive(&wide("x := 1; ", "")).is_some());
    assert!(survive(&wide("IF a THEN b END; ", "")).is_some());
    assert!(survive(&wide("x", "(1)")).is_some());
    let elsif = format!("IF a THEN b {} END", "ELSIF c THEN d ".repeat(20_000));
    assert!(survive(&wide("", &elsif)).is_some());
    let call = format!("f({} 1)", "1, ".repeat(100_000));
    assert!(survive(&wide("", &call)).is_some());
    let sum = |count: usize| format!("x := {} 1", "1 + ".repeat(count));
    assert!(survive(&wide("", &sum(300))).is_some());
    assert!(survive(&wide("", &sum(100_000))).is_none());
    let deep = |count: usize| format!("x := {}1{}", "(".repeat(count), ")".repeat(count));
    assert!(survive(&wide("", &deep(80))).is_some());
    assert!(survive(&wide("", &deep(100_000))).is_none());
    assert_eq!(survive("").as_deref(), Some(""));
}
