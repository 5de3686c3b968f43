//! The token ring with hand-written state machines: hops, ends, bytes, what is left.

use crate::support::{assert_empty, recording, ring, run, worker_for};
use tidemill_proc::fault::Ended;

#[test]
fn a_token_goes_round_and_everything_ends() {
    for (size, hops) in [(1, 5), (2, 100), (3, 99), (10, 1000), (1000, 100_000)] {
        let (options, recorded) = recording();
        let mut worker = worker_for(ring::program(size, hops), options);
        assert_eq!(run(&mut worker), Ended::Finished, "{:?}", recorded.borrow().deadlocks);
        assert_empty(&worker);
        let counts = worker.counts();
        assert_eq!(counts.components.created, size + 1);
        assert!(recorded.borrow().faults.is_empty(), "{:?}", recorded.borrow().faults);
    }
}

#[test]
fn a_ring_that_is_broken_off_leaves_nothing() {
    crate::support::break_off_everywhere(|| ring::program(5, 50), 120);
}

#[test]
fn a_ring_without_memory_leaves_nothing() {
    crate::support::starve(|| ring::program(5, 50));
}
