//! The code generator against the interpreter: the same programs, the same seeds, the same runs.
//!
//! `PROGRAMS=20` makes twenty times as many programs; `PROGRAM=17` runs only the one of that seed.

mod awaits;
pub mod compare;
mod generate;

use compare::{Limits, check_bytes, difference, difference_of_versions, load};
use tidemill_support::mutate::{bombard, seeds};
use tidemill_support::variable;

/// Random programs in an ordinary run.
const PROGRAMS: u64 = 400;

/// The difference that a source shows under some schedules; a panic is one.
fn shows(source: &str, number: u64) -> Option<String> {
    let program = load(source).ok()?;
    let schedule = number.is_multiple_of(4).then_some(number);
    let run = || difference(&program, schedule, Limits::SMALL);
    match std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)) {
        Ok(difference) => difference,
        Err(_) => Some("an engine panicked".into()),
    }
}

/// Leaves lines away as long as the engines still disagree.
fn shrink(source: &str, number: u64) -> String {
    let mut lines: Vec<&str> = source.lines().collect();
    let mut step = lines.len() / 2;
    while step > 0 {
        let mut at = 0;
        while at < lines.len() {
            let mut fewer = lines.clone();
            fewer.drain(at..(at + step).min(lines.len()));
            match shows(&fewer.join("\n"), number) {
                Some(_) => lines = fewer,
                None => at += step,
            }
        }
        step /= 2;
    }
    lines.join("\n")
}

#[test]
fn random_programs_run_the_same() {
    let numbers = match variable("PROGRAM") {
        Some(number) => number..number + 1,
        None => 0..PROGRAMS * variable("PROGRAMS").unwrap_or(1),
    };
    for number in numbers {
        let source = generate::program(number);
        if let Err(wrong) = load(&source) {
            panic!("program {number} is not well-formed:\n{wrong}\n{source}");
        }
        if shows(&source, number).is_some() {
            let source = shrink(&source, number);
            let text = shows(&source, number).unwrap_or_default();
            panic!("program {number}:\n{source}\n{text}");
        }
    }
}

/// Programs that are replaced while they run, by versions that do the same.
#[test]
fn random_programs_run_the_same_through_versions() {
    for number in 0..PROGRAMS / 4 {
        let source = generate::program(number);
        let program = load(&source).unwrap_or_else(|wrong| panic!("{number}: {wrong}"));
        let schedule = number.is_multiple_of(4).then_some(number);
        if let Some(text) = difference_of_versions(&program, schedule, Limits::SMALL) {
            panic!("program {number}:\n{source}\n{text}");
        }
    }
}

/// The programs of the tests and examples, under several schedules.
#[test]
fn known_programs_run_the_same() {
    for folder in ["tests/cl/run", "tests/cl/fault", "examples"] {
        for (path, source) in seeds(folder, &["com"]) {
            let source = String::from_utf8(source).expect("text");
            let program = load(&source).unwrap_or_else(|wrong| panic!("{path:?}: {wrong}"));
            for seed in [None, Some(1), Some(2), Some(77)] {
                if let Some(text) = difference(&program, seed, Limits::SMALL) {
                    panic!("{folder}/{path:?}: {text}");
                }
            }
        }
    }
}

/// Frames of every size up to that of a block of the allocator, in processes that exchange messages
/// without parameters.
#[test]
fn frames_of_every_size_exchange_empty_messages() {
    let mut source = String::from("INTERFACE Ping; { IN Ping OUT Pong } END Ping;\n");
    let (mut variables, mut body) = (String::new(), String::new());
    for count in 1..260 {
        let names: Vec<String> = (0..count).map(|number| format!("v{number}")).collect();
        let names = names.join(", ");
        source += &format!(
            "COMPONENT C{count} OFFERS Ping; IMPLEMENTATION Ping; VARIABLE {names}: INTEGER;\n\
             BEGIN WHILE ?Ping DO ?Ping; INC(v0); !Pong END END Ping; END C{count};\n"
        );
        variables += &format!("c{count}: C{count}; ");
        body += &format!("NEW(c{count}); c{count}!Ping; c{count}?Pong;\n");
    }
    source += &format!("COMPONENT Main; VARIABLE {variables} BEGIN {body} END Main;\n");
    let program = load(&source).unwrap_or_else(|wrong| panic!("{wrong}"));
    if let Some(text) = difference(&program, None, Limits::SMALL) {
        panic!("{text}");
    }
}

/// Programs of random edits: `MUTATIONS=20` makes twenty times as many.
#[test]
fn changed_programs_run_the_same() {
    let mut known = seeds("tests/cl/run", &["com"]);
    known.extend(seeds("tests/cl/fault", &["com"]));
    bombard(&known, 1000, check_bytes);
}
