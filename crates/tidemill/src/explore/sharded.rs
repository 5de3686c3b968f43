//! The set of visited states for several threads.
//!
//! A level of the search is divided into *rounds*: the states from which all threads take steps.
//! Several of these steps may lead to one state. It counts as reached by the least of them in the
//! order of a search by one thread, whichever thread comes first.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tidemill_stdx::hash::Map;

use super::seen::Seen;

/// A place in the order of a search by one thread: the state of the round from which a step is
/// taken, and the code of the step.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct Place {
    pub(super) at: u32,
    pub(super) step: u32,
}

/// What a state is when a step reaches it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Reached {
    /// Known from an earlier round, or from an earlier step of this one.
    Before,
    New,
    /// Known from this later step of the round.
    After(Place),
}

/// Hashes of states, by a part of the hash.
pub(super) struct Sharded {
    shards: Vec<Mutex<Shard>>,
}

struct Shard {
    seen: Seen,
    /// States of this round.
    fresh: Map<u128, Place>,
}

/// The number of shards, a power of two.
const SHARDS: usize = 256;

impl Sharded {
    /// With the states that one thread has seen.
    pub(super) fn new(seen: Seen) -> Sharded {
        let shard = || Mutex::new(Shard { seen: Seen::new(), fresh: Map::default() });
        let mut sharded = Sharded { shards: (0..SHARDS).map(|_| shard()).collect() };
        for hash in seen.into_hashes() {
            let shard = &mut sharded.shards[place(hash)];
            shard.get_mut().unwrap_or_else(PoisonError::into_inner).seen.insert(hash);
        }
        sharded
    }

    fn shard(&self, hash: u128) -> MutexGuard<'_, Shard> {
        self.shards[place(hash)].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that a step of the round leads to a state.
    pub(super) fn reach(&self, hash: u128, by: Place) -> Reached {
        let mut shard = self.shard(hash);
        if shard.seen.contains(hash) {
            return Reached::Before;
        }
        match shard.fresh.get_mut(&hash) {
            None => {
                shard.fresh.insert(hash, by);
                Reached::New
            }
            Some(known) if by < *known => Reached::After(std::mem::replace(known, by)),
            Some(_) => Reached::Before,
        }
    }

    /// Ends the round.
    pub(super) fn end_round(&mut self) {
        for shard in &mut self.shards {
            let Shard { seen, fresh } = shard.get_mut().unwrap_or_else(PoisonError::into_inner);
            fresh.drain().for_each(|(hash, _)| {
                seen.insert(hash);
            });
        }
    }

    pub(super) fn bytes(&mut self) -> usize {
        let all = self.shards.iter_mut();
        let all = all.map(|shard| shard.get_mut().unwrap_or_else(PoisonError::into_inner));
        all.map(|shard| shard.seen.bytes() + shard.fresh.capacity() * 33).sum()
    }
}

/// The shard of a hash. Its upper half places it in the table of the shard.
fn place(hash: u128) -> usize {
    hash as usize & (SHARDS - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_step_of_a_round_reaches_a_state() {
        let place = |at| Place { at, step: 0 };
        let mut seen = Seen::new();
        seen.insert(7);
        let mut sharded = Sharded::new(seen);
        assert_eq!(sharded.reach(7, place(0)), Reached::Before);
        assert_eq!(sharded.reach(9, place(5)), Reached::New);
        assert_eq!(sharded.reach(9, place(6)), Reached::Before);
        assert_eq!(sharded.reach(9, place(2)), Reached::After(place(5)));
        sharded.end_round();
        assert_eq!(sharded.reach(9, place(0)), Reached::Before);
    }
}
