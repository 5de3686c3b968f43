//! Mutated inputs for everything here that reads text or bytes.

use tidemill_support::mutate;
mod plan;
mod values;

#[test]
fn mutated_plans_do_no_harm() {
    mutate::bombard(&mutate::seeds("tests/corpora/plan", &[]), 3000, plan::check);
}

#[test]
fn mutated_values_do_no_harm() {
    mutate::bombard(&mutate::seeds("tests/corpora/values", &[]), 20_000, values::check);
}

/// Seeds that are not understood would make the tests above read only the first bytes.
#[test]
fn seeds_are_understood() {
    for (path, bytes) in mutate::seeds("tests/corpora/values", &[]) {
        assert!(values::is_understood(&bytes), "{path:?}");
    }
    for (path, bytes) in mutate::seeds("tests/corpora/plan", &["plan"]) {
        assert!(plan::is_understood(&bytes), "{path:?}");
    }
}
