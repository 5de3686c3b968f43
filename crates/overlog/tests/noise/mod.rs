//! Mutated inputs for everything here that reads sources or datagrams.

mod datagram;
pub mod front;
use crate::mutate;
mod program;

use std::cell::Cell;

#[test]
fn mutated_datagrams_do_no_harm() {
    mutate::bombard(&mutate::seeds("tests/corpora/datagram", &[]), 5000, datagram::check);
}

/// Each mutated program is parsed, formatted, compiled and run as far as it comes.
#[test]
fn mutated_programs_do_no_harm() {
    let (right, wrong) = (Cell::new(0), Cell::new(0));
    let check = |input: &[u8]| {
        let count = if program::check(input) { &right } else { &wrong };
        count.set(count.get() + 1);
    };
    let mut seeds = mutate::seeds("tests/corpora/program", &["olg"]);
    mutate::bombard(&seeds, 3000, check);
    seeds.extend(mutate::seeds("tests/overlog", &["olg"]));
    seeds.extend(mutate::seeds("examples", &["olg"]));
    mutate::bombard(&seeds, 1000, check);
    // Both the diagnostics and what lies behind them are met.
    let (right, wrong) = (right.get(), wrong.get());
    assert!(right > 500 && wrong > 1500, "{right} right, {wrong} wrong");
}

/// A seed that does not compile would test the diagnostics alone.
#[test]
fn programs_compile() {
    for (path, bytes) in mutate::seeds("tests/corpora/program", &["olg"]) {
        assert!(program::compiled(&bytes).is_some(), "{path:?}");
    }
}

/// The seeds are what this version sends; `BLESS=1` writes them anew.
#[test]
fn recorded_conversations_are_those_of_today() {
    for (name, bytes) in datagram::conversations() {
        let path = format!("{}/../../tests/corpora/datagram/{name}", env!("CARGO_MANIFEST_DIR"));
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(&path, &bytes).unwrap();
        }
        assert!(std::fs::read(&path).is_ok_and(|found| found == bytes), "{name} has changed");
        assert!(datagram::check_counting(&bytes) > 0, "nothing in {name} is delivered");
    }
}
