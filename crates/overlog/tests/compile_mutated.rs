//! Mutated programs through the compiler: a plan that keeps its promises, or diagnostics that
//! point into the source; never a panic, and soon.

use std::path::Path;
use std::time::{Duration, Instant};

use tidemill_overlog::lex::{Token, TokenKind, lex};
use tidemill_overlog::parse::parse_text;
use tidemill_overlog::pre::{MemoryFiles, Options};
use tidemill_relation::plan::verify;
use tidemill_stdx::diag::{FileId, Sources, has_errors};
use tidemill_stdx::rng::Rng;

/// Mutations of each program.
const ROUNDS: usize = 60;
/// Far above what any of these needs.
const TIME_MAX: Duration = Duration::from_secs(5);

/// Every program of the corpus and of the examples.
fn programs() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut folders = vec![root.join("tests/overlog"), root.join("examples")];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for entry in entries {
            let path = entry.expect("a readable folder").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "olg") {
                let text = std::fs::read_to_string(&path).expect("a readable program");
                found.push((path.display().to_string(), text));
            }
        }
    }
    found.sort();
    assert!(found.len() > 40, "the corpus has shrunk to {}", found.len());
    found
}

/// Puts another word of the same program, or a piece of it, in some place.
fn mutate(text: &str, rng: &mut Rng) -> String {
    let tokens = lex(FileId(0), text, 0);
    let one = &tokens[rng.below(tokens.len() as u64) as usize];
    let similar: Vec<&Token> =
        tokens.iter().filter(|other| same_kind(&other.kind, &one.kind)).collect();
    let other = similar[rng.below(similar.len() as u64) as usize];
    let range = |token: &Token| token.span.start as usize..token.span.end as usize;
    let (at, word) = (range(one), &text[range(other)]);
    let keep = |start: usize, end: usize, middle: &str| {
        format!("{}{middle}{}", &text[..start], &text[end..])
    };
    match rng.below(12) {
        0 => keep(at.start, at.end, ""),
        1 => keep(at.start, at.start, &format!("{word}, ")),
        2 => keep(at.start, at.start, &format!("{word} ")),
        3 => {
            let words: [&str; 15] = [
                "_",
                "NODE",
                "[A | B]",
                "X + 1",
                "f_now()",
                "@X",
                "notin ",
                "delete ",
                "a_MIN<X>",
                "1",
                "\"a:1\"",
                "periodic(@N, E, 1)",
                "Y := X",
                "X == Y",
                "null",
            ];
            keep(at.start, at.end, words[rng.below(words.len() as u64) as usize])
        }
        _ => keep(at.start, at.end, word),
    }
}

fn same_kind(one: &TokenKind, other: &TokenKind) -> bool {
    std::mem::discriminant(one) == std::mem::discriminant(other)
}

/// Compiles `text`; true if it is right.
fn survive(text: &str) -> bool {
    let start = Instant::now();
    let mut sources = Sources::new();
    let files = MemoryFiles::default();
    let (program, found) = parse_text("m.olg", text, &Options::default(), &files, &mut sources);
    let (compiled, mut diagnostics) =
        tidemill_overlog::compile(&program, &sources, &tidemill_overlog::Options::default());
    assert_eq!(compiled.is_none(), has_errors(&diagnostics), "{text}");
    for diagnostic in diagnostics.drain(..) {
        let spans = diagnostic.labels.iter().map(|(span, _)| *span).chain([diagnostic.span]);
        for span in spans {
            let text = sources.text(span.file);
            assert!(text.get(span.start as usize..span.end as usize).is_some(), "{diagnostic:?}");
        }
        assert!(!sources.render(&diagnostic).is_empty());
    }
    if let Some(compiled) = &compiled {
        assert_eq!(verify(&compiled.plan), Ok(()), "{text}");
    }
    assert!(start.elapsed() < TIME_MAX, "{:?}: {text:.2000}", start.elapsed());
    compiled.is_some() && !has_errors(&found)
}

/// Says which program it was, should it panic.
struct Tell<'t>(&'t str, &'t str);

impl Drop for Tell<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}:\n{}", self.0, self.1);
        }
    }
}

#[test]
fn mutated_programs_compile_or_are_refused() {
    let mut rng = Rng::new(1);
    let (mut right, mut wrong) = (0, 0);
    for (name, original) in programs() {
        survive(&original);
        for round in 0..ROUNDS {
            let mut text = mutate(&original, &mut rng);
            for _ in 0..round % 4 {
                text = mutate(&text, &mut rng);
            }
            let tell = Tell(&name, &text);
            *(if survive(&text) { &mut right } else { &mut wrong }) += 1;
            drop(tell);
        }
    }
    assert!(right > 50 && wrong > 1000, "{right} right, {wrong} wrong");
}
