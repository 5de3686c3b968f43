//! Mutated inputs for everything here that reads what others wrote.

use tidemill_support::mutate;
mod ring;
mod xenstore;

#[test]
fn another_side_that_writes_anything_does_no_harm() {
    mutate::bombard(&mutate::seeds("tests/corpora/ring", &[]), 20_000, ring::check);
}

#[test]
fn every_request_to_the_store_has_an_answer() {
    mutate::bombard(&mutate::seeds("tests/corpora/xenstore", &[]), 1000, xenstore::check);
}

/// Seeds that are not understood would make the tests above read only the first bytes.
#[test]
fn seeds_are_understood() {
    for (path, bytes) in mutate::seeds("tests/corpora/ring", &["ring"]) {
        assert!(ring::carried(&bytes) > 0, "{path:?}");
    }
    for (path, bytes) in mutate::seeds("tests/corpora/xenstore", &["xenstore"]) {
        assert!(xenstore::succeeded(&bytes) > 0, "{path:?}");
    }
}
