//! Mutated inputs for everything here that reads text.

mod graph;
mod kernel;
use tidemill_support::mutate;

#[test]
fn mutated_kernels_do_no_harm() {
    mutate::bombard(&mutate::seeds("tests/corpora/kernel", &[]), 1500, kernel::check);
}

#[test]
fn mutated_graphs_do_no_harm() {
    mutate::bombard(&mutate::seeds("tests/corpora/graph", &[]), 400, graph::check);
}

/// Seeds that are not understood would make the test above read only the first bytes.
#[test]
fn seeds_are_understood() {
    for (path, bytes) in mutate::seeds("tests/corpora/kernel", &["kernel"]) {
        assert!(kernel::is_understood(&bytes), "{path:?}");
    }
    for (path, bytes) in mutate::seeds("tests/corpora/graph", &["flow"]) {
        assert!(graph::is_understood(&bytes), "{path:?}");
    }
}
