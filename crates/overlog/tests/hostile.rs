//! Texts made to break the front end: it ends quickly, with diagnostics that point into the source.

use crate::noise::front;

use std::time::{Duration, Instant};
use tidemill_diag::{FileId, Sources};
use tidemill_overlog::lex::{TokenKind, lex};
use tidemill_overlog::parse::{parse_text, parse_tuple};
use tidemill_overlog::pre::{MemoryFiles, Options};

/// Far above the time of any of these, so that only an endless loop or exponential work exceeds it.
const TIME_MAX: Duration = Duration::from_secs(5);

/// Reads `text` in every way, and returns its tree if it is valid.
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

#[test]
fn warnings_end_nothing() {
    let mut text: String =
        (0..300).map(|at| format!("p{at}(@N, 1 << A + 1) :- e(@N, A).\n")).collect();
    for define in 0..300 {
        text += &format!("#define X {define}\n");
    }
    text += "last(@N, A) :- e(@N, A).\n";
    let read = |text: &str| {
        let mut sources = Sources::new();
        let (program, found) =
            parse_text("p.olg", text, &Options::default(), &MemoryFiles::default(), &mut sources);
        let count = |is_error| found.iter().filter(|it| it.is_error() == is_error).count();
        (program.to_string().contains("last"), count(true), count(false))
    };
    assert_eq!(read(&text), (true, 0, 101));
    text += "wrong(@N, A :- e(@N, A).\n";
    assert_eq!(read(&text), (true, 1, 101));
}

/// The stack that parsing at the limit of depth may use: a quarter of the default of Rust threads,
/// as sanitizers take up to four times as much.
const STACK_BYTES: usize = 512 << 10;

#[test]
fn the_limit_of_depth_leaves_most_of_a_small_stack() {
    // Each form nests one level: its beginning, and its end.
    let forms = [
        ("(", ")"),
        ("(1 + (2 < 3 && ", "))"),
        ("!", ""),
        ("!(", ")"),
        ("-(", ")"),
        ("~", ""),
        ("[", "]"),
        ("{[", "]}"),
        ("f_abs(", ")"),
        ("(X in (1, ", "] ? 1 : 2)"),
        ("(X ? 1 : ", ")"),
        ("V[", "]"),
        ("M{1, ", "}"),
    ];
    for (open, close) in forms {
        let deepest =
            (1..200).rev().map(|depth| nest(open, close, depth)).find(|text| parses(text));
        let deepest = deepest.unwrap_or_else(|| panic!("`{open}` never parses"));
        let beyond = nest(open, close, 5000);
        let parse = move || (parses(&deepest), parses(&beyond));
        let thread = std::thread::Builder::new().stack_size(STACK_BYTES).spawn(parse);
        let parsed = thread.expect("a thread").join().expect("no panic");
        assert_eq!(parsed, (true, false), "{open}");
    }
}

/// What the parser accepts at its limit of depth, it accepts as printed: [`survive`] compares.
#[test]
fn what_is_printed_is_nested_no_deeper() {
    let forms = [
        "!",
        "~",
        "-",
        "-~",
        "!!X == ",
        "X == !",
        "X && !",
        "!X == !",
        "1 + ~",
        "~1 * ~",
        "X < !",
        "!X in (1, 2) || !",
    ];
    for form in forms {
        let text = |depth| format!("r p(@N, Y) :- q(@N, X), {}(X == 1).", form.repeat(depth));
        let deepest = (1..200).rev().map(text).find(|text| survive(text).is_some());
        assert!(deepest.is_some(), "`{form}` never parses");
    }
}

fn nest(open: &str, close: &str, depth: usize) -> String {
    let (open, close) = (open.repeat(depth), close.repeat(depth));
    format!("r p(@N, Y) :- q(@N, X, V, M), Y := {open}1{close}.")
}

fn parses(text: &str) -> bool {
    use tidemill_diag::{Sources, has_errors};
    use tidemill_overlog::parse::parse_text;
    use tidemill_overlog::pre::{MemoryFiles, Options};
    let mut sources = Sources::new();
    let (options, files) = (Options::default(), MemoryFiles::default());
    let (_, found) = parse_text("deep.olg", text, &options, &files, &mut sources);
    !has_errors(&found)
}
