//! Mutated inputs for everything here that reads sources or datagrams.

mod datagram;
#[path = "../../../../tests/support/mutate.rs"]
mod mutate;
mod program;

#[test]
fn mutated_datagrams_do_no_harm() {
    mutate::bombard(&mutate::seeds("tests/corpora/datagram", &[]), 5000, datagram::check);
}

#[test]
fn mutated_programs_do_no_harm() {
    let mut seeds = mutate::seeds("tests/corpora/program", &["olg"]);
    mutate::bombard(&seeds, 3000, program::check);
    seeds.extend(mutate::seeds("tests/overlog", &["olg"]));
    seeds.extend(mutate::seeds("examples", &["olg"]));
    mutate::bombard(&seeds, 1000, program::check);
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
