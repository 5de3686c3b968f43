//! Mutated inputs for the parsers of this crate.

use tidemill_support::mutate;
mod script;

#[test]
fn mutated_scripts_do_no_harm() {
    let mut seeds = mutate::seeds("tests/corpora/script", &["sim"]);
    seeds.extend(mutate::seeds("examples", &["sim"]));
    mutate::bombard(&seeds, 10_000, script::check);
}

#[test]
fn seeds_are_understood() {
    for (path, bytes) in mutate::seeds("tests/corpora/script", &["sim"]) {
        assert!(script::is_understood(&bytes), "{path:?}");
    }
}
