//! Broken programs: whatever is done to a source, the front end ends soon, with diagnostics that
//! point into it, and what the formatter makes of it means the same.

mod corpus;

use corpus::Corpus;
use std::time::{Duration, Instant};
use tidemill_overlog::fmt::format;
use tidemill_overlog::lex::{TokenKind, lex};
use tidemill_overlog::parse::{parse_text, parse_tuple};
use tidemill_overlog::pre::{MemoryFiles, Options};
use tidemill_stdx::diag::{FileId, Sources, has_errors};

/// Mutations of each program.
const ROUNDS: usize = 150;
/// Far above what any of these needs, so that only a loop or an explosion hits it.
const TIME_MAX: Duration = Duration::from_secs(5);

/// The SplitMix64 generator.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) % limit.max(1) as u64) as usize
    }
}

/// Reads `text` in every way there is, and returns its tree if it is right.
fn survive(text: &str) -> Option<String> {
    let start = Instant::now();
    let mut sources = Sources::new();
    let none = MemoryFiles::default();
    let (program, diagnostics) =
        parse_text("m.olg", text, &Options::default(), &none, &mut sources);
    for diagnostic in &diagnostics {
        let spans = diagnostic.labels.iter().map(|(span, _)| *span).chain([diagnostic.span]);
        for span in spans {
            assert!(span.start <= span.end, "{diagnostic:?}");
            let text = sources.text(span.file);
            assert!(text.get(span.start as usize..span.end as usize).is_some(), "{diagnostic:?}");
        }
        assert!(!sources.render(diagnostic).is_empty());
    }
    assert!(diagnostics.len() <= 201, "{}", diagnostics.len());
    let tree = program.to_string();
    drop(program);
    let _ = format(FileId(0), text);
    assert!(start.elapsed() < TIME_MAX, "{:?}: {:.200}", start.elapsed(), text);
    (!has_errors(&diagnostics)).then_some(tree)
}

fn mutate(text: &str, random: &mut Random) -> String {
    let tokens = lex(FileId(0), text, 0);
    let slice = |at: usize| {
        let span = tokens[at].span;
        span.start as usize..span.end as usize
    };
    let (one, two) = (random.below(tokens.len()), random.below(tokens.len()));
    let (one, two) = (slice(one.min(two)), slice(one.max(two)));
    match random.below(6) {
        0 => format!("{}{}", &text[..one.start], &text[one.end..]),
        1 => format!("{} {}", &text[..one.end], &text[one.start..]),
        2 if one.end <= two.start => {
            let (a, b) = (&text[one.clone()], &text[two.clone()]);
            format!("{}{b}{}{a}{}", &text[..one.start], &text[one.end..two.start], &text[two.end..])
        }
        3 => text[..one.start].to_string(),
        4 => {
            let insert = ["(", ")", "[", "{", "}", ".", ",", ":-", "@", "<", "|", "\"", "#", "/*"];
            let insert = insert[random.below(insert.len())];
            format!("{}{insert}{}", &text[..one.start], &text[one.start..])
        }
        _ => {
            let mut bytes = format!("{text}\n").into_bytes();
            let at = random.below(bytes.len());
            bytes[at] ^= 1 << random.below(8);
            String::from_utf8_lossy(&bytes).into_owned()
        }
    }
}

#[test]
fn mutated_programs_end_in_diagnostics() {
    let corpus = Corpus::open();
    let mut random = Random(1);
    let (mut right, mut wrong) = (0, 0);
    for name in corpus.programs() {
        let original = corpus.text(&name);
        for round in 0..ROUNDS {
            let mut text = mutate(&original, &mut random);
            for _ in 0..round % 4 {
                text = mutate(&text, &mut random);
            }
            let tree = survive(&text);
            *(if tree.is_some() { &mut right } else { &mut wrong }) += 1;
            let Ok(formatted) = format(FileId(0), &text) else { continue };
            let again = format(FileId(0), &formatted).expect("the same tokens");
            assert_eq!(formatted, again, "{name}: {text}");
            if tree.is_some() {
                assert_eq!(survive(&formatted), tree, "{name}: {text}");
            }
        }
    }
    assert!(right > 100 && wrong > 1000, "{right} right, {wrong} wrong");
}

#[test]
fn hostile_texts_end() {
    let bytes = 40_000;
    let parts = [
        "(",
        "[",
        "{",
        "{[",
        "!",
        "-",
        "~",
        "1+",
        "A||",
        "f_a(",
        "(A?",
        "namespace a {",
        "/*",
        "\"",
        "X[",
        "M{",
        "a(",
        "a_MIN<",
        "watch(\n",
        "p(@X",
        "#ifdef A\n",
        "#define A A\n",
        "a :- ",
        "..",
        "r1 p(@X) :- q(@X)\n",
        "a::",
        "::",
        "notin ",
        "delete ",
        "\\\n",
        "0x",
        "é",
        "\0",
    ];
    for part in parts {
        for head in ["", "r1 p(@X) :- q(@X), Y := ", "r1 p(@X) :- q(@X, ", "p(@NODE, "] {
            survive(&format!("{head}{}", part.repeat(bytes / part.len())));
        }
    }
    let long = format!("p(@NODE, [{}]).", "1, ".repeat(100_000) + "1");
    assert!(survive(&long).is_some());
    assert!(survive("").is_some_and(|tree| tree.is_empty()));
}

#[test]
fn printed_tuples_are_read_back() {
    let read = |text: &str| {
        let mut sources = Sources::new();
        let (tuple, diagnostics) = parse_tuple("--fact", text, &Options::default(), &mut sources);
        let wrong: String = diagnostics.iter().map(|it| sources.render(it)).collect();
        tuple.map(|it| it.to_string()).ok_or(wrong)
    };
    let printed = r#"a::p("n1:1", -5, 1.5, "a\"b", 0x00000000000000000000000000000000000000ffI,
        1.500000000t, -0.000000001s, [1, [2]], {[1, 2], [3, 4]}, b"\xff", null, true)"#;
    let expected = concat!(
        r#"(a::p @"n1:1" -5 1.5 "a\"b" 0x00000000000000000000000000000000000000ffI "#,
        r#"1.500000000t -0.000000001s (list 1 (list 2)) (matrix (row 1 2) (row 3 4)) "#,
        r#"b"\xff" null true)"#
    );
    assert_eq!(read(printed).as_deref(), Ok(expected));
    assert_eq!(read("p(@NODE, 1).").as_deref(), Ok("(p @NODE 1)"));
    let wrong = read("p(1) q(2)").expect_err("two tuples");
    assert!(wrong.starts_with("--fact:1:6: error[unexpected-token]"), "{wrong}");
    assert_eq!(lex(FileId(0), "", 0)[0].kind, TokenKind::End);
}
