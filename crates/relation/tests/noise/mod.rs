//! Mutated inputs for everything in this crate that reads text or bytes.

use tidemill_support::mutate;
mod plan;
pub mod strands;
mod values;

#[test]
fn mutated_plans_do_no_harm() {
    mutate::bombard(&mutate::seeds("tests/corpora/plan", &[]), 3000, plan::check);
}

#[test]
fn mutated_values_do_no_harm() {
    mutate::bombard(&mutate::seeds("tests/corpora/values", &[]), 20_000, values::check);
}

#[test]
fn drawn_strands_are_compiled_as_they_are_interpreted() {
    let mut draw = tidemill_stdx::rng::Rng::new(7);
    for _ in 0..3000 {
        let length = 20 + draw.below(280) as usize;
        let input: Vec<u8> = (0..length).map(|_| draw.below(256) as u8).collect();
        strands::check(&input);
    }
}

/// With invalid seeds the tests above would read only the first bytes.
#[test]
fn seeds_are_understood() {
    for (path, bytes) in mutate::seeds("tests/corpora/values", &[]) {
        assert!(values::is_understood(&bytes), "{path:?}");
    }
    for (path, bytes) in mutate::seeds("tests/corpora/plan", &["plan"]) {
        assert!(plan::is_understood(&bytes), "{path:?}");
    }
}
