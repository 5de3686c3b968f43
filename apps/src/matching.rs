//! An oracle for tests.

use std::collections::VecDeque;

use tidemill_packet::Packet;
use tidemill_packet::app::{App, Fault, Io, Start};

/// Packets that wait for their counterpart at most.
const WAITING_MAX: usize = 100_000;

tidemill_packet::declare! {
    /// Compares two streams of packets: the first with the first, and so on.
    ///
    /// It counts `matched` and `differing` pairs, and those `unmatched`, that have no counterpart.
    app Match {
        config MatchConfig {}
        ports {
            /// What came.
            input: Input(Push, One),
            /// What should have come.
            expected: Input(Push, One),
            /// What came and should not have; without a link it is dropped as `differing`.
            different: Output(Push, Optional),
        }
        traits {}
    }
}

/// See [`Match::declaration`](tidemill_packet::app::Declared::declaration).
#[derive(Debug)]
pub struct Match {
    waiting: [VecDeque<Packet>; 2],
    matched: u64,
    differing: u64,
}

impl App for Match {
    const GAUGES: &'static [&'static str] = &["unmatched"];

    fn new(_: MatchConfig, _: &mut Start) -> Result<Match, Fault> {
        Ok(Match { waiting: Default::default(), matched: 0, differing: 0 })
    }

    fn push(&mut self, io: &mut Io) -> Result<(), Fault> {
        for side in 0..2 {
            while let Some(packet) = io.receive(side) {
                if self.waiting[side].len() < WAITING_MAX {
                    self.waiting[side].push_back(packet)
                } else {
                    io.drop(packet, "waiting_too_long")
                }
            }
        }
        while self.waiting.iter().all(|queue| !queue.is_empty()) {
            let [came, expected] = self.waiting.each_mut().map(VecDeque::pop_front);
            let (Some(came), Some(expected)) = (came, expected) else { break };
            if came.bytes() == expected.bytes() {
                self.matched += 1;
                continue;
            }
            self.differing += 1;
            if io.is_linked(0) { io.send(0, came) } else { io.drop(came, "differing") }
        }
        Ok(())
    }

    fn report(&self) -> Vec<(&'static str, u64)> {
        let unmatched = self.waiting.iter().map(VecDeque::len).sum::<usize>() as u64;
        let (matched, differing) = (self.matched, self.differing);
        vec![("matched", matched), ("differing", differing), ("unmatched", unmatched)]
    }
}
