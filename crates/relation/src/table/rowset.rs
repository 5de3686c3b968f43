//! A hash table of row ids: four bytes a slot, and nothing beside it.
//!
//! ```text
//! slot   tag | row      the row's hash above, its id below; how many bits each, `row_mask` says
//! ```
//! Rows lie at the first free slot from `hash * slots / 2^64` on (linear probing). The tag takes
//! the bits that ids leave free, so that a probe seldom looks at a row that is not the one wanted,
//! and reads one cache line. The number of slots need not be a power of two: it grows by less than
//! half, which keeps the table between [`FILL_MIN`] and [`FILL_MAX`] full.
//!
//! The table stores no hashes: to grow it, the caller enters all rows anew ([`RowSet::restart`]),
//! best in their order, which reads them sequentially.

use tidemill_stdx::cache::prefetch_item;

/// Rows that are hashed and prefetched ahead of the first that is entered: enough to hide the
/// latency of memory.
pub(super) const AHEAD: usize = 32;

/// No row, and none was here.
const EMPTY: u32 = u32::MAX;
/// No row, but probes go on.
const REMOVED: u32 = u32::MAX - 1;

/// Full slots in percent after the table has grown.
pub(super) const FILL_MIN: usize = 55;
/// The same for one that is not likely to grow soon.
pub(super) const FILL_AT_REST: usize = 72;
/// Full slots in percent beyond which it grows.
const FILL_MAX: usize = 80;

#[derive(Clone, Debug, Default)]
pub(super) struct RowSet {
    slots: Vec<u32>,
    /// Slots that are not empty, removed rows included.
    used: usize,
    used_max: usize,
    /// The bits of a slot that hold the row; ids stay below `row_mask - 1`, so that no row looks
    /// like [`EMPTY`] or [`REMOVED`].
    row_mask: u32,
}

impl RowSet {
    /// True if `rows` rows from `next_row` on can be inserted; otherwise the table has to
    /// [`restart`](RowSet::restart).
    #[inline]
    pub(super) fn has_room(&self, next_row: u32, rows: usize) -> bool {
        self.used + rows <= self.used_max
            && u64::from(next_row) + (rows as u64) < u64::from(self.row_mask)
    }

    /// Empties the table and makes room for some more than `rows` rows with ids below `next_row`:
    /// these are `fill` percent of the slots.
    pub(super) fn restart(&mut self, rows: usize, next_row: u32, fill: usize) {
        let slots = rows * 100 / fill + 16;
        if self.slots.len() == slots {
            self.slots.fill(EMPTY);
        } else {
            // The old slots go first: both at once would be the peak of a program's memory.
            self.slots = Vec::new();
            self.slots = vec![EMPTY; slots];
        }
        self.used = 0;
        self.used_max = slots * FILL_MAX / 100;
        let ids = u64::from(next_row) * 3 / 2 + 64;
        self.row_mask = u32::try_from(ids.next_power_of_two() - 1).unwrap_or(u32::MAX);
    }

    /// The first slot to probe: the high word of a product instead of a remainder (D. Lemire, *Fast
    /// Random Integer Generation in an Interval*, 2019). It depends on the upper bits of the hash
    /// most, so the tag takes lower ones.
    #[inline]
    fn home(&self, hash: u64) -> usize {
        ((u128::from(hash) * self.slots.len() as u128) >> 64) as usize
    }

    #[inline]
    fn tag(&self, hash: u64) -> u32 {
        hash as u32 & !self.row_mask
    }

    #[inline]
    fn after(&self, at: usize) -> usize {
        if at + 1 == self.slots.len() { 0 } else { at + 1 }
    }

    /// The first row with `hash` for which `matches` holds.
    #[inline]
    pub(super) fn find(&self, hash: u64, matches: impl FnMut(u32) -> bool) -> Option<u32> {
        if self.slots.is_empty() { None } else { self.find_or_free(hash, matches).ok() }
    }

    /// As [`RowSet::find`], or the empty slot where the search ended, for [`RowSet::fill`]. The
    /// table has slots.
    #[inline]
    pub(super) fn find_or_free(
        &self,
        hash: u64,
        mut matches: impl FnMut(u32) -> bool,
    ) -> Result<u32, usize> {
        let (mut at, tag) = (self.home(hash), self.tag(hash));
        loop {
            let slot = self.slots[at];
            // Equal tags cancel out, and what is left is the row.
            if slot ^ tag <= self.row_mask && slot < REMOVED {
                let row = slot & self.row_mask;
                if matches(row) {
                    return Ok(row);
                }
            }
            if slot == EMPTY {
                return Err(at);
            }
            at = self.after(at);
        }
    }

    /// The row that a search for `hash` most likely looks at first.
    #[inline]
    pub(super) fn guess(&self, hash: u64) -> Option<u32> {
        let slot = *self.slots.get(self.home(hash))?;
        (slot ^ self.tag(hash) <= self.row_mask && slot < REMOVED).then_some(slot & self.row_mask)
    }

    /// All rows with `hash` for which `matches` holds, in no order.
    pub(super) fn find_all(&self, hash: u64, mut matches: impl FnMut(u32) -> bool) -> Vec<u32> {
        let mut found = Vec::new();
        self.find(hash, |row| {
            if matches(row) {
                found.push(row);
            }
            false
        });
        found
    }

    /// Enters a row, for which there is [room](RowSet::has_room). The slot of one that was taken
    /// out is used again: else where a row is replaced in each commit probes would get longer and
    /// longer.
    #[inline]
    pub(super) fn insert(&mut self, hash: u64, row: u32) {
        let mut at = self.home(hash);
        while self.slots[at] < REMOVED {
            at = self.after(at);
        }
        match self.slots[at] {
            EMPTY => self.fill(at, hash, row),
            _ => self.slots[at] = self.tag(hash) | row,
        }
    }

    /// Enters a row, for which there is room, into an empty slot that a search for it has found.
    #[inline]
    pub(super) fn fill(&mut self, at: usize, hash: u64, row: u32) {
        debug_assert!(self.has_room(row, 1) && self.slots[at] == EMPTY);
        self.slots[at] = self.tag(hash) | row;
        self.used += 1;
    }

    /// Enters rows with their hashes, for which there is room.
    pub(super) fn fill_from(&mut self, mut rows: impl Iterator<Item = (u64, u32)>) {
        let mut block = [(0, 0); AHEAD];
        loop {
            let mut len = 0;
            for (entry, row) in block.iter_mut().zip(rows.by_ref()) {
                *entry = row;
                self.prefetch(row.0);
                len += 1;
            }
            block[..len].iter().for_each(|&(hash, row)| self.insert(hash, row));
            if len < AHEAD {
                return;
            }
        }
    }

    /// Takes out a row that was entered with `hash`.
    pub(super) fn remove(&mut self, hash: u64, row: u32) {
        if self.slots.is_empty() {
            return;
        }
        let wanted = self.tag(hash) | row;
        let mut at = self.home(hash);
        while self.slots[at] != wanted {
            if self.slots[at] == EMPTY {
                return;
            }
            at = self.after(at);
        }
        self.slots[at] = REMOVED;
    }

    /// Begins to load what a probe for `hash` reads first.
    #[inline]
    pub(super) fn prefetch(&self, hash: u64) {
        prefetch_item(&self.slots, self.home(hash));
    }

    /// The most slots that a probe may pass: those between two empty ones.
    pub(super) fn longest_run(&self) -> usize {
        self.slots.split(|&slot| slot == EMPTY).map(<[u32]>::len).max().unwrap_or(0)
    }

    /// Bytes that the table occupies.
    pub(super) fn bytes(&self) -> usize {
        self.slots.capacity() * size_of::<u32>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use tidemill_stdx::hash::hash_u64;

    /// Rows share hashes by three; a third is removed on the way.
    #[test]
    fn rows_are_found_as_in_a_plain_set() {
        let rows = if cfg!(miri) { 200 } else { 5000 };
        let hash = |row: u32| hash_u64(u64::from(row / 3));
        let (mut set, mut plain) = (RowSet::default(), BTreeSet::new());
        assert_eq!(set.find(hash(0), |_| true), None);
        for row in 0..rows {
            if !set.has_room(row, 1) {
                set.restart(plain.len(), row, FILL_MIN);
                plain.iter().for_each(|&old| set.insert(hash(old), old));
            }
            set.insert(hash(row), row);
            plain.insert(row);
            if row % 3 == 1 {
                set.remove(hash(row / 2), row / 2);
                plain.remove(&(row / 2));
            }
            for probe in [row, row / 2, row / 3, row + 1] {
                let found = set.find(hash(probe), |other| other == probe);
                assert_eq!(found.is_some(), plain.contains(&probe), "{row} {probe}");
            }
        }
        let first = |row: u32| set.find_all(hash(row), |_| true).into_iter().collect();
        for row in (0..rows).step_by(3) {
            let want: BTreeSet<u32> = (row..row + 3).filter(|row| plain.contains(row)).collect();
            let found: BTreeSet<u32> = first(row);
            assert_eq!(found.intersection(&want).count(), want.len());
        }
    }

    #[test]
    fn a_row_that_is_replaced_again_and_again_stays_near() {
        let mut set = RowSet::default();
        let rows = if cfg!(miri) { 100 } else { 4000 };
        set.restart(8, rows, FILL_MIN);
        for row in 0..rows {
            assert!(set.has_room(row, 1), "{row}");
            set.insert(7, row);
            if row > 0 {
                set.remove(7, row - 1);
            }
            assert_eq!(set.find(7, |_| true), Some(row));
            assert!(set.longest_run() <= 2, "{row}");
        }
    }

    #[test]
    fn ids_near_the_last_are_rows_like_others() {
        let mut set = RowSet::default();
        for row in [u32::MAX - 2, u32::MAX - 3, u32::MAX / 2] {
            set.restart(1, row, FILL_MIN);
            assert!(set.has_room(row, 1));
            set.insert(u64::MAX, row);
            assert_eq!(set.find(u64::MAX, |found| found == row), Some(row));
            set.remove(u64::MAX, row);
            assert_eq!(set.find(u64::MAX, |_| true), None);
        }
    }
}
