//! Mutated inputs for everything here that reads text.

mod expression;
use tidemill_support::mutate;

#[test]
fn mutated_expressions_do_no_harm() {
    mutate::bombard(&mutate::seeds("tests/corpora/filter", &[]), 1500, expression::check);
}

/// Seeds that are not understood would make the test above read only the first bytes.
#[test]
fn seeds_are_understood() {
    for (path, bytes) in mutate::seeds("tests/corpora/filter", &["filter"]) {
        assert!(expression::is_understood(&bytes), "{path:?}");
    }
}
