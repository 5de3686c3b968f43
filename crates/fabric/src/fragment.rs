//! Messages over the size of a datagram: split into fragments and put together again.
//!
//! A message of `total` bytes goes in `count` fragments, all of `total / count` rounded up but
//! the last. So a fragment's place follows from its index, its size can be checked, and fragments
//! cannot overlap: two with one index are the same part twice.
//!
//! Memory for a message is reserved as a whole when its first fragment comes, out of what the
//! peer and the node ([`Budget`]) may use: a message once begun can always be finished.

use tidemill_stdx::sorted::SortedMap;

use crate::counters::{Count, Counters};
use crate::head::Fragment;

/// Bytes that a message may have over datagrams.
pub const MESSAGE_BYTES_MAX: usize = 1 << 20;

/// The least limit of a fragment's data. Since a message is split evenly, all of two or more carry
/// at least half of it, which bounds how many a message can have.
pub const FRAGMENT_BYTES_MIN: usize = 256;

/// Messages of one peer that may be incomplete at a time.
pub const INCOMPLETE_MAX: usize = 8;

/// The time limit for the fragments of a message, from the first on.
pub const TIMEOUT_NS: u64 = 10_000_000_000;

/// The memory that all peers of a node together may use.
#[derive(Clone, Debug)]
pub struct Budget {
    left: usize,
}

impl Budget {
    /// A budget of `bytes` bytes.
    pub fn new(bytes: usize) -> Budget {
        Budget { left: bytes }
    }

    /// Bytes that are not reserved.
    pub fn left(&self) -> usize {
        self.left
    }

    /// Reserves bytes; false if fewer are left.
    #[must_use]
    pub fn take(&mut self, bytes: usize) -> bool {
        let left = self.left.checked_sub(bytes);
        self.left = left.unwrap_or(self.left);
        left.is_some()
    }

    /// Gives reserved bytes back.
    pub fn give(&mut self, bytes: usize) {
        self.left += bytes;
    }
}

/// Splits `bytes` into fragments whose data have at most `data_max` bytes, which is at least
/// [`FRAGMENT_BYTES_MIN`]; none if it is empty or over [`MESSAGE_BYTES_MAX`].
pub fn split(message: u64, bytes: &[u8], data_max: usize) -> impl Iterator<Item = Fragment<'_>> {
    let bytes = if bytes.len() > MESSAGE_BYTES_MAX { &[] } else { bytes };
    let count = bytes.len().div_ceil(data_max.max(FRAGMENT_BYTES_MIN));
    let stride = bytes.len().div_ceil(count.max(1)).max(1);
    let (count, total) = (count as u32, bytes.len() as u32);
    (0..).zip(bytes.chunks(stride)).map(move |(index, data)| Fragment {
        message,
        index,
        count,
        total,
        data,
    })
}

/// A message of which some fragments are missing.
#[derive(Clone, Debug)]
pub struct Partial {
    count: u32,
    missing: u32,
    bytes: Vec<u8>,
    /// The fragments that have arrived.
    present: Vec<bool>,
}

/// The result of adding a fragment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Added {
    /// Others are missing.
    More,
    /// It was the last one.
    Complete,
    /// It had already come.
    Duplicate,
    /// It does not belong to this message.
    Invalid,
}

impl Partial {
    /// Memory that the message of that fragment takes, for the budget; `None` if the fragment
    /// contradicts itself or the limits.
    pub fn size_for(fragment: &Fragment<'_>) -> Option<usize> {
        let (count, total) = (fragment.count as usize, fragment.total as usize);
        if count == 0 || total == 0 || total > MESSAGE_BYTES_MAX {
            return None;
        }
        let stride = total.div_ceil(count);
        let is_even = total.div_ceil(stride) == count;
        let is_coarse = count == 1 || 2 * stride >= FRAGMENT_BYTES_MIN;
        (is_even && is_coarse).then_some(total + count)
    }

    /// Prepares for the message of that fragment; `None` as [`Partial::size_for`] says.
    pub fn new(fragment: &Fragment<'_>) -> Option<Partial> {
        Partial::size_for(fragment)?;
        let bytes = vec![0; fragment.total as usize];
        let present = vec![false; fragment.count as usize];
        Some(Partial { count: fragment.count, missing: fragment.count, bytes, present })
    }

    /// Memory that it takes.
    pub fn size(&self) -> usize {
        self.bytes.len() + self.present.len()
    }

    /// Puts a fragment in its place.
    pub fn add(&mut self, fragment: &Fragment<'_>) -> Added {
        let (index, total) = (fragment.index as usize, self.bytes.len());
        if fragment.count != self.count || fragment.total as usize != total {
            return Added::Invalid;
        }
        let stride = total.div_ceil(self.present.len());
        let Some(present) = self.present.get_mut(index) else { return Added::Invalid };
        let start = index * stride;
        let place = &mut self.bytes[start..total.min(start + stride)];
        if place.len() != fragment.data.len() {
            return Added::Invalid;
        }
        if std::mem::replace(present, true) {
            return Added::Duplicate;
        }
        place.copy_from_slice(fragment.data);
        self.missing -= 1;
        if self.missing == 0 { Added::Complete } else { Added::More }
    }

    /// The message; whole once the last fragment was added.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

/// Puts together the messages of one peer whose fragments come in any order, or not at all.
#[derive(Clone, Debug, Default)]
pub struct Reassembler {
    /// By message, at most [`INCOMPLETE_MAX`]; each with the time of its first fragment.
    partials: SortedMap<u64, (u64, Partial)>,
}

impl Reassembler {
    /// Without messages.
    pub fn new() -> Reassembler {
        Reassembler::default()
    }

    /// Takes a fragment; the message, if it was the last one missing.
    pub fn add(
        &mut self,
        fragment: &Fragment<'_>,
        now_ns: u64,
        budget: &mut Budget,
        counters: &mut Counters,
    ) -> Option<Vec<u8>> {
        self.expire(now_ns, budget, counters);
        if !self.partials.contains_key(&fragment.message) {
            let Some(size) = Partial::size_for(fragment) else {
                counters.count(Count::FragmentInvalid);
                return None;
            };
            if self.partials.len() >= INCOMPLETE_MAX {
                self.evict_oldest(budget);
                counters.count(Count::FragmentEvicted);
            }
            if !budget.take(size) {
                counters.count(Count::FragmentFull);
                return None;
            }
            self.partials.insert(fragment.message, (now_ns, Partial::new(fragment)?));
        }
        let (_, partial) = self.partials.get_mut(&fragment.message)?;
        match partial.add(fragment) {
            Added::More => None,
            Added::Complete => self.remove(fragment.message, budget).map(Partial::into_bytes),
            Added::Duplicate => {
                counters.count(Count::FragmentDuplicate);
                None
            }
            Added::Invalid => {
                counters.count(Count::FragmentInvalid);
                None
            }
        }
    }

    /// Drops messages that have timed out.
    pub fn expire(&mut self, now_ns: u64, budget: &mut Budget, counters: &mut Counters) {
        while let Some((started_ns, message)) = self.oldest() {
            if now_ns < started_ns.saturating_add(TIMEOUT_NS) {
                return;
            }
            self.remove(message, budget);
            counters.count(Count::FragmentTimeout);
        }
    }

    /// When [`Reassembler::expire`] has something to do next.
    pub fn next_timeout(&self) -> Option<u64> {
        self.oldest().map(|(started_ns, _)| started_ns.saturating_add(TIMEOUT_NS))
    }

    /// Drops all messages.
    pub fn clear(&mut self, budget: &mut Budget) {
        while let Some((_, message)) = self.oldest() {
            self.remove(message, budget);
        }
    }

    fn oldest(&self) -> Option<(u64, u64)> {
        self.partials.iter().map(|(&message, &(started_ns, _))| (started_ns, message)).min()
    }

    fn evict_oldest(&mut self, budget: &mut Budget) {
        if let Some((_, message)) = self.oldest() {
            self.remove(message, budget);
        }
    }

    fn remove(&mut self, message: u64, budget: &mut Budget) -> Option<Partial> {
        let (_, partial) = self.partials.remove(&message)?;
        budget.give(partial.size());
        Some(partial)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TOTAL: usize = 4 << 20;

    struct Bench {
        reassembler: Reassembler,
        budget: Budget,
        counters: Counters,
    }

    impl Bench {
        fn new() -> Bench {
            let (reassembler, budget) = (Reassembler::new(), Budget::new(TOTAL));
            Bench { reassembler, budget, counters: Counters::new() }
        }

        fn add(&mut self, fragment: &Fragment<'_>, now_ns: u64) -> Option<Vec<u8>> {
            self.reassembler.add(fragment, now_ns, &mut self.budget, &mut self.counters)
        }
    }

    proptest! {
        #[test]
        fn any_order_and_duplicates_give_the_message(
            bytes in prop::collection::vec(any::<u8>(), 1..20_000),
            data_max in 0usize..3000,
            order in any::<prop::sample::Index>(),
            seed in any::<u64>(),
        ) {
            let mut fragments: Vec<Fragment<'_>> = split(7, &bytes, data_max).collect();
            prop_assert_eq!(fragments.len(), fragments[0].count as usize);
            let mut state = seed | 1;
            for i in (1..fragments.len()).rev() {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                fragments.swap(i, (state >> 33) as usize % (i + 1));
            }
            let twice = fragments[order.index(fragments.len())];
            let mut bench = Bench::new();
            let last = fragments.len() - 1;
            for (i, fragment) in fragments.iter().enumerate() {
                let whole = bench.add(fragment, 0);
                prop_assert_eq!(whole.as_deref(), (i == last).then_some(&bytes[..]));
                if i < last && *fragment == twice {
                    prop_assert_eq!(bench.add(&twice, 0), None);
                    prop_assert_eq!(bench.counters.get(Count::FragmentDuplicate), 1);
                }
            }
            prop_assert_eq!(bench.budget.left(), TOTAL);
        }

        /// With any fragments, memory stays within the limits and is released.
        #[test]
        fn hostile_fragments_stay_within_the_limits(
            parts in prop::collection::vec(
                (0u64..20, any::<u32>(), any::<u32>(), any::<u32>(), 0usize..600),
                1..60,
            ),
        ) {
            let mut bench = Bench::new();
            let data = [0; 600];
            for (message, index, count, total, length) in parts {
                for (index, count, total) in [
                    (index, count, total),
                    (index % 8, count % 8, total % 4096),
                ] {
                    let data = &data[..length];
                    bench.add(&Fragment { message, index, count, total, data }, 0);
                    prop_assert!(bench.reassembler.partials.len() <= INCOMPLETE_MAX);
                }
            }
            bench.reassembler.clear(&mut bench.budget);
            prop_assert_eq!(bench.budget.left(), TOTAL);
        }
    }

    #[test]
    fn a_contradicting_fragment_is_refused() {
        let data = &[0; 300][..];
        let good = Fragment { message: 1, index: 0, count: 2, total: 600, data };
        let mut bench = Bench::new();
        let bad = [
            Fragment { count: 0, ..good },
            Fragment { total: 0, ..good },
            Fragment { total: u32::MAX, count: u32::MAX, ..good },
            Fragment { total: MESSAGE_BYTES_MAX as u32 + 1, ..good },
            Fragment { total: 600, count: 100, ..good },
        ];
        for fragment in bad {
            assert_eq!(bench.add(&fragment, 0), None);
        }
        assert_eq!(bench.counters.get(Count::FragmentInvalid), bad.len() as u64);
        assert_eq!(bench.budget.left(), TOTAL);
        bench.add(&good, 0);
        let others = [
            Fragment { index: 2, ..good },
            Fragment { index: 1, total: 601, ..good },
            Fragment { index: 1, count: 3, ..good },
            Fragment { index: 1, data: &data[1..], ..good },
        ];
        for fragment in others {
            assert_eq!(bench.add(&fragment, 0), None);
        }
        assert_eq!(bench.counters.get(Count::FragmentInvalid), (bad.len() + others.len()) as u64);
        assert!(bench.add(&Fragment { index: 1, ..good }, 0).is_some());
    }

    #[test]
    fn what_takes_too_long_is_given_up() {
        let data = &[0; 300][..];
        let mut bench = Bench::new();
        let part = |message| Fragment { message, index: 0, count: 2, total: 600, data };
        bench.add(&part(1), 5);
        bench.add(&part(2), 9);
        assert_eq!(bench.reassembler.next_timeout(), Some(5 + TIMEOUT_NS));
        bench.reassembler.expire(5 + TIMEOUT_NS, &mut bench.budget, &mut bench.counters);
        assert_eq!(bench.reassembler.next_timeout(), Some(9 + TIMEOUT_NS));
        assert_eq!(bench.counters.get(Count::FragmentTimeout), 1);
        for message in 10..10 + INCOMPLETE_MAX as u64 {
            bench.add(&part(message), 20);
        }
        assert_eq!(bench.counters.get(Count::FragmentEvicted), 1);
        bench.reassembler = Reassembler::new();
        bench.budget = Budget::new(10);
        bench.add(&part(100), 20);
        assert_eq!(bench.counters.get(Count::FragmentFull), 1);
    }
}
