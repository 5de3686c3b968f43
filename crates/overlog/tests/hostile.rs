//! Texts made to break the front end: it ends soon, with diagnostics that point into the source.

use crate::noise::front;

use std::time::{Duration, Instant};
use tidemill_overlog::lex::{TokenKind, lex};
use tidemill_overlog::parse::parse_tuple;
use tidemill_overlog::pre::Options;
use tidemill_stdx::diag::{FileId, Sources};

/// Far above what any of these needs, so that only a loop or an explosion hits it.
const TIME_MAX: Duration = Duration::from_secs(5);

/// Reads `text` in every way there is, and returns its tree if it is right.
fn survive(text: &str) -> Option<String> {
    let start = Instant::now();
    let tree = front::check(text);
    assert!(start.elapsed() < TIME_MAX, "{:?}: {:.200}", start.elapsed(), text);
    tree
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
