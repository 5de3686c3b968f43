//! Which life (incarnation) of the other side is believed.
//!
//! ```text
//!           first datagram          echo of ours
//!   none   ----------------> known --------------> believed
//!                              |                      |
//!                              +-- another, with an echo of ours: believed instead
//! ```
//! An incarnation is random, so only a peer that receives what this side sends can echo it. The
//! first life known is replaced only by one that echoes: forging a datagram of another life changes
//! nothing. One that does not echo yet, as it has just begun, is answered, so that it can.

use std::collections::VecDeque;

use crate::seal::mac::{MacKey, derive};

/// Lives that are over and kept, so that their late datagrams are not taken for those of new ones.
const RETIRED_MAX: usize = 8;

/// Lives that wait to be answered.
const UNPROVEN_MAX: usize = 64;

/// The relation of a datagram's life to the known one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum LifeMatch {
    /// It is of the known life, or the first one.
    Same,
    /// It is of another life than the known one, which is not believed, and echoes.
    Instead,
    /// It is of another life than the one that is believed, and echoes.
    Successor,
    /// It is of another life than the one that is known, and does not echo.
    Unproven,
    /// It is of a life that is over.
    Stale,
}

/// Both sides' lives; see the module.
#[derive(Clone, Debug)]
pub(super) struct Lives {
    secret: MacKey,
    /// The number of lives of this side that were drawn from the secret.
    drawn: u64,
    local: u64,
    /// The other side's, 0 if there is none.
    remote: u64,
    is_believed: bool,
    retired: VecDeque<u64>,
    /// Lives to be answered.
    unproven: VecDeque<u64>,
}

impl Lives {
    /// The first life of this side, which follows from `secret`: random bytes.
    pub(super) fn new(secret: MacKey) -> Lives {
        let mut lives = Lives {
            secret,
            drawn: 0,
            local: 0,
            remote: 0,
            is_believed: false,
            retired: VecDeque::new(),
            unproven: VecDeque::new(),
        };
        lives.begin();
        lives
    }

    /// Begins the next life of this side, which knows of no other.
    pub(super) fn begin(&mut self) {
        self.drawn += 1;
        let drawn = derive(&self.secret, &[b"incarnation", &self.drawn.to_le_bytes()]);
        let first = drawn.first_chunk().map_or(1, |bytes| u64::from_le_bytes(*bytes));
        self.local = first.max(1);
        self.remote = 0;
        self.is_believed = false;
        self.unproven.clear();
    }

    pub(super) fn local(&self) -> u64 {
        self.local
    }

    pub(super) fn remote(&self) -> u64 {
        self.remote
    }

    pub(super) fn is_believed(&self) -> bool {
        self.is_believed
    }

    /// Classifies a datagram of life `incarnation` that is addressed to life `echo` of this side.
    pub(super) fn classify(&mut self, incarnation: u64, echo: u64) -> LifeMatch {
        let echoes = echo == self.local;
        if incarnation == self.remote {
            self.is_believed |= echoes;
            return LifeMatch::Same;
        }
        if self.retired.contains(&incarnation) {
            return LifeMatch::Stale;
        }
        let found = match (self.remote, echoes, self.is_believed) {
            (0, ..) => LifeMatch::Same,
            (_, false, _) => return LifeMatch::Unproven,
            (_, true, false) => LifeMatch::Instead,
            (_, true, true) => LifeMatch::Successor,
        };
        if self.remote != 0 {
            self.retired.truncate(RETIRED_MAX - 1);
            self.retired.push_front(self.remote);
        }
        self.remote = incarnation;
        self.is_believed = echoes;
        found
    }

    /// Queues an answer to a life that is not believed.
    pub(super) fn answer(&mut self, incarnation: u64) {
        if self.unproven.len() < UNPROVEN_MAX && self.unproven.back() != Some(&incarnation) {
            self.unproven.push_back(incarnation);
        }
    }

    /// The next life to be answered.
    pub(super) fn take_unproven(&mut self) -> Option<u64> {
        self.unproven.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_life_is_believed_once_it_echoes() {
        let mut lives = Lives::new([1; 32]);
        let local = lives.local();
        assert_eq!(lives.classify(5, 0), LifeMatch::Same);
        assert_eq!(lives.classify(6, 0), LifeMatch::Unproven);
        assert_eq!((lives.remote(), lives.is_believed()), (5, false));
        assert_eq!(lives.classify(6, local), LifeMatch::Instead);
        assert!(lives.is_believed());
        assert_eq!(lives.classify(5, local), LifeMatch::Stale);
        // A datagram without the echo changes nothing, even with the highest number.
        assert_eq!(lives.classify(u64::MAX, 0), LifeMatch::Unproven);
        assert_eq!(lives.classify(u64::MAX, local ^ 1), LifeMatch::Unproven);
        assert_eq!((lives.remote(), lives.is_believed()), (6, true));
        assert_eq!(lives.classify(7, local), LifeMatch::Successor);
        assert_eq!(lives.classify(6, local), LifeMatch::Stale);
        assert_eq!(lives.classify(7, 0), LifeMatch::Same);
        assert!(lives.is_believed());
    }

    #[test]
    fn answers_that_wait_are_few() {
        let mut lives = Lives::new([1; 32]);
        (0..1000).for_each(|life| lives.answer(life / 2));
        let answered: Vec<u64> = std::iter::from_fn(|| lives.take_unproven()).collect();
        assert_eq!(answered, (0..UNPROVEN_MAX as u64).collect::<Vec<_>>());
    }

    #[test]
    fn lives_follow_from_the_secret_and_differ() {
        let mut lives = Lives::new([1; 32]);
        let first = lives.local();
        assert_eq!(first, Lives::new([1; 32]).local());
        assert_ne!(first, Lives::new([2; 32]).local());
        lives.classify(5, first);
        lives.begin();
        assert_ne!(first, lives.local());
        assert_eq!((lives.remote(), lives.is_believed()), (0, false));
        // The other side may live on.
        assert_eq!(lives.classify(5, 0), LifeMatch::Same);
    }
}
