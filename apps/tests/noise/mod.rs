//! Mutated captures.

mod captures;

use tidemill_support::mutate;

#[test]
fn mutated_captures_do_no_harm() {
    mutate::bombard(&mutate::seeds("tests/corpora/captures", &[]), 2000, captures::check);
}

/// Seeds that are not understood would make the test above read only the first bytes.
#[test]
fn seeds_are_understood() {
    for (path, bytes) in mutate::seeds("tests/corpora/captures", &["pcap", "pcapng"]) {
        assert!(captures::packets(&bytes) > 0, "{path:?}");
    }
}
