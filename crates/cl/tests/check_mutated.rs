//! Right programs with names and values exchanged: the checker ends with diagnostics that point
//! into the source, and what it lets pass is lowered to code that the verifier has nothing against.

use tidemill_cl::check::check;
use tidemill_cl::ir::verify::verify;
use tidemill_cl::lex::{TokenKind, lex};
use tidemill_cl::lower::lower;
use tidemill_cl::parse::parse_text;
use tidemill_diag::{FileId, Sources, has_errors};
use tidemill_stdx::rng::Rng;
use tidemill_support::mutate::seeds;

/// Mutations of each program.
const ROUNDS: usize = 150;

/// Parses, checks and, if there is no error, lowers.
fn survive(text: &str) -> bool {
    let mut sources = Sources::new();
    let (program, parsed) = parse_text("m.com", text, &mut sources);
    let (tree, found) = check(&program);
    for it in &found {
        assert!(!sources.render(it).is_empty());
        let inside = text.get(it.span.start as usize..it.span.end as usize);
        assert!(inside.is_some(), "{it:?}: {text}");
    }
    let right = !has_errors(&parsed) && !has_errors(&found);
    if right {
        assert_eq!(verify(&lower(&tree)), Ok(()), "{text}");
    }
    right
}

/// Exchanges tokens that are alike to the parser, or leaves one out.
fn mutate(text: &str, random: &mut Rng) -> String {
    let all = lex(FileId(0), text).tokens;
    let is_name = |kind| kind == TokenKind::Ident;
    let is_value = |kind| {
        use TokenKind::{Character, Ident, Integer, Real, Text};
        matches!(kind, Ident | Integer | Real | Text | Character)
    };
    let mut below = |limit: usize| random.below(limit as u64) as usize;
    let mut pick = |wanted: &dyn Fn(TokenKind) -> bool| {
        let some: Vec<_> = all.iter().filter(|it| wanted(it.kind)).collect();
        let one = some.get(below(some.len().max(1)));
        one.map_or(0..0, |it| it.start as usize..it.end as usize)
    };
    let (to, from) = match text.len() % 3 {
        0 => (pick(&is_value), pick(&is_value)),
        _ => (pick(&is_name), pick(&is_name)),
    };
    let replaced = match below(12) {
        0 => "",
        1 => "1",
        2 => "\"a\"",
        3 => "TRUE",
        _ => &text[from],
    };
    format!("{}{replaced}{}", &text[..to.start], &text[to.end..])
}

#[test]
fn mutated_programs_are_checked_and_lowered_without_panic() {
    let mut random = Rng::new(7);
    let (mut right, mut wrong) = (0, 0);
    for (_, original) in seeds("tests/cl/run", &["com"]) {
        let original = String::from_utf8(original).expect("text");
        for round in 0..ROUNDS {
            let mut text = mutate(&original, &mut random);
            for _ in 0..round % 3 {
                text = mutate(&text, &mut random);
            }
            *(if survive(&text) { &mut right } else { &mut wrong }) += 1;
        }
    }
    assert!(right > 500 && wrong > 5000, "{right} right, {wrong} wrong");
}
