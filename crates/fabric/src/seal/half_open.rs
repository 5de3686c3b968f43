//! Handshakes that others began and have not finished.
//!
//! Each costs two Diffie-Hellman operations and some 3 KiB, so they are few and end soon. A first
//! message that comes again, as its sender repeats it until it is answered, gets the same answer.

use std::collections::VecDeque;

use tidemill_stdx::ordered::OrderedMap;

use super::handshake::Handshake;
use super::keys::FleetKey;
use super::mac::Tag;

/// The maximal number at a time.
pub const HALF_OPEN_MAX: usize = 1024;

/// The number of half-open handshakes from which a cookie is required.
pub const COOKIE_FROM: usize = 64;

/// The time limit of one.
pub const HALF_OPEN_NS: u64 = 5_000_000_000;

/// One of them.
pub(super) struct HalfOpen {
    pub(super) handshake: Handshake,
    /// The key that it began with.
    pub(super) key: FleetKey,
    /// The claimed name of the initiator.
    pub(super) name: Box<str>,
    /// The index that the other side has given it.
    pub(super) remote: u32,
    /// The hash of the first message.
    pub(super) first: Tag,
    /// The answer to it.
    pub(super) response: Vec<u8>,
}

/// All of them, by the index that this side has given.
#[derive(Default)]
pub(super) struct HalfOpens {
    by_index: OrderedMap<u32, HalfOpen>,
    by_first: OrderedMap<Tag, u32>,
    /// When each began, oldest first; some may be gone.
    ends: VecDeque<(u64, u32)>,
}

impl HalfOpens {
    pub(super) fn len(&self) -> usize {
        self.by_index.len()
    }

    pub(super) fn has(&self, index: u32) -> bool {
        self.by_index.contains_key(&index)
    }

    /// The one that a first message with that hash has begun.
    pub(super) fn find(&self, first: &Tag) -> Option<&HalfOpen> {
        self.by_index.get(self.by_first.get(first)?)
    }

    pub(super) fn get(&mut self, index: u32) -> Option<&mut HalfOpen> {
        self.by_index.get_mut(&index)
    }

    /// Adds one; the caller has seen that there are not too many.
    pub(super) fn insert(&mut self, index: u32, half_open: HalfOpen, now_ns: u64) {
        self.by_first.insert(half_open.first, index);
        self.by_index.insert(index, half_open);
        self.ends.push_back((now_ns.saturating_add(HALF_OPEN_NS), index));
    }

    pub(super) fn remove(&mut self, index: u32) -> Option<HalfOpen> {
        let half_open = self.by_index.remove(&index)?;
        self.by_first.remove(&half_open.first);
        if self.by_index.is_empty() {
            self.ends.clear();
        }
        Some(half_open)
    }

    /// Ends handshakes that have timed out; returns their number.
    pub(super) fn expire(&mut self, now_ns: u64) -> u64 {
        let mut count = 0;
        while let Some(&(at, index)) = self.ends.front().filter(|(at, _)| *at <= now_ns) {
            self.ends.pop_front();
            debug_assert!(at <= now_ns);
            count += u64::from(self.remove(index).is_some());
        }
        count
    }

    /// When [`HalfOpens::expire`] has something to do.
    pub(super) fn next_end(&self) -> Option<u64> {
        self.ends.front().map(|&(at, _)| at)
    }
}
