//! Histograms: the distribution of values.

use crate::layout::{BUCKET_COUNT, BUCKETS_WORD, bucket_bounds, bucket_of};
use crate::slots::Slot;
use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering, fence};

/// Words of a histogram's data.
pub(crate) const SEQUENCE: usize = 0;
pub(crate) const SUM: usize = 1;
pub(crate) const MAX: usize = 2;

/// A histogram with one owner, in a mapped file: exact below 8, then within 1/8.
///
/// May move to another thread, but is never used by two.
pub struct Histogram {
    slot: Slot,
    _one_writer: PhantomData<Cell<u64>>,
}

impl Histogram {
    pub(crate) fn new(slot: Slot) -> Histogram {
        Histogram { slot, _one_writer: PhantomData }
    }

    /// Adds a value.
    #[inline]
    pub fn record(&self, value: u64) {
        let data = self.slot.data();
        let sequence = data[SEQUENCE].load(Ordering::Relaxed);
        data[SEQUENCE].store(sequence.wrapping_add(1), Ordering::Relaxed);
        // Release: a reader that sees a change below sees the odd number.
        fence(Ordering::Release);
        add(&data[BUCKETS_WORD + bucket_of(value)], 1);
        add(&data[SUM], value);
        if value > data[MAX].load(Ordering::Relaxed) {
            data[MAX].store(value, Ordering::Relaxed);
        }
        // Release: a reader that sees the even number sees all changes above.
        data[SEQUENCE].store(sequence.wrapping_add(2), Ordering::Release);
    }
}

/// Relaxed, and not one atomic operation: there is one writer.
#[inline]
fn add(word: &AtomicU64, count: u64) {
    word.store(word.load(Ordering::Relaxed).wrapping_add(count), Ordering::Relaxed);
}

impl fmt::Debug for Histogram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sum = self.slot.data()[SUM].load(Ordering::Relaxed);
        f.debug_struct("Histogram").field("sum", &sum).finish_non_exhaustive()
    }
}

/// The values of a histogram as a reader saw them.
///
/// Even if the file was inconsistent, the parts agree with each other: the count is that of the
/// buckets, and sum and maximum are possible for these buckets.
#[derive(Clone, PartialEq, Eq)]
pub struct Distribution {
    counts: Vec<u64>,
    count: u64,
    sum: u128,
    max: u64,
}

impl Distribution {
    /// Without values.
    pub fn new() -> Distribution {
        Distribution { counts: vec![0; BUCKET_COUNT], count: 0, sum: 0, max: 0 }
    }

    /// Of a histogram's data.
    pub(crate) fn from_words(words: &[u64]) -> Distribution {
        let mut counts = words[BUCKETS_WORD..].to_vec();
        counts.resize(BUCKET_COUNT, 0);
        let mut distribution = Distribution { counts, ..Distribution::new() };
        let (sum, max) = (u128::from(words[SUM]), words[MAX]);
        distribution.settle(sum, max);
        distribution
    }

    /// Adds the values of another one.
    pub fn merge(&mut self, other: &Distribution) {
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            *mine = mine.saturating_add(*theirs);
        }
        self.settle(self.sum.saturating_add(other.sum), self.max.max(other.max));
    }

    /// Counts the buckets, and brings sum and maximum to what is possible for them.
    fn settle(&mut self, sum: u128, max: u64) {
        let (mut least, mut most, mut top) = (0u128, 0u128, (0, 0));
        self.count = 0;
        for (bucket, &count) in self.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            top = bucket_bounds(bucket);
            self.count = self.count.saturating_add(count);
            least = least.saturating_add(u128::from(top.0) * u128::from(count));
            most = most.saturating_add(u128::from(top.1) * u128::from(count));
        }
        self.sum = sum.clamp(least, most);
        self.max = max.clamp(top.0, top.1);
    }

    /// The number of values.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// All values together; wraps in the file after 2^64.
    pub fn sum(&self) -> u128 {
        self.sum
    }

    /// The greatest value; 0 without values.
    pub fn max(&self) -> u64 {
        self.max
    }

    /// The mean; 0 without values.
    pub fn mean(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum as f64 / self.count as f64 }
    }

    /// The value that a share `q` of all values does not exceed: the upper end of its bucket, but
    /// no more than the maximum; 0 without values. `q` is brought to `0.0 ..= 1.0`.
    pub fn quantile(&self, q: f64) -> u64 {
        let rank = (q.clamp(0.0, 1.0) * self.count as f64).ceil().max(1.0) as u64;
        let mut below = 0u64;
        for (bucket, count) in self.counts.iter().enumerate() {
            below = below.saturating_add(*count);
            if below >= rank {
                return bucket_bounds(bucket).1.min(self.max);
            }
        }
        self.max
    }

    /// The buckets that hold values: lowest value, highest value, count; ascending.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
        let used = self.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        used.map(|(bucket, &count)| {
            let (low, high) = bucket_bounds(bucket);
            (low, high, count)
        })
    }
}

impl Default for Distribution {
    fn default() -> Distribution {
        Distribution::new()
    }
}

impl fmt::Debug for Distribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Distribution")
            .field("count", &self.count)
            .field("mean", &self.mean())
            .field("p50", &self.quantile(0.5))
            .field("p99", &self.quantile(0.99))
            .field("max", &self.max)
            .finish()
    }
}
