//! From the hash of a key to the number of its entry: open addressing with linear probing.
//!
//! ```text
//! slot of the index = | low 32 bits of the hash | number of the entry, 0: none |
//! ```
//! The home of a key is given by the low bits of its hash, so the slot alone says where an entry
//! may move when another before it is removed (backward shift, no tombstones). Half of the index is
//! always empty. Generated code probes it: see `compiled::table`. Apps with tables of their own use
//! it too.

use std::cell::Cell;

use tidemill_stdx::cache::prefetch_item;

use super::zeros::zeros;

/// An index; see the module.
pub struct Index {
    slots: Box<[Cell<u64>]>,
}

/// The part of a hash in a slot.
fn tag(hash: u64) -> u64 {
    hash << 32
}

impl Index {
    /// Room for `size` entries.
    pub fn new(size: u32) -> Index {
        Index { slots: zeros((size as usize * 2).next_power_of_two()) }
    }

    pub(super) fn address(&self) -> usize {
        self.slots.as_ptr() as usize
    }

    /// One less than the number of slots, a power of two.
    pub(super) fn mask(&self) -> usize {
        self.slots.len() - 1
    }

    fn home(&self, hash: u64) -> usize {
        hash as usize & self.mask()
    }

    /// Fetches where the look-up of a hash begins.
    pub fn prefetch(&self, hash: u64) {
        prefetch_item(&self.slots, self.home(hash));
    }

    /// The entry of a hash for which `is_it` holds; 0: there is none.
    pub fn find(&self, hash: u64, is_it: impl Fn(u32) -> bool) -> u32 {
        let mut at = self.home(hash);
        loop {
            let slot = self.slots[at].get();
            if slot == 0 {
                return 0;
            }
            let entry = slot as u32;
            if slot & !0xFFFF_FFFF == tag(hash) && is_it(entry) {
                return entry;
            }
            at = (at + 1) & self.mask();
        }
    }

    /// Adds an entry; there is room.
    pub fn insert(&self, hash: u64, entry: u32) {
        let mut at = self.home(hash);
        while self.slots[at].get() != 0 {
            at = (at + 1) & self.mask();
        }
        self.slots[at].set(tag(hash) | u64::from(entry));
    }

    /// Removes an entry that exists.
    pub fn remove(&self, hash: u64, entry: u32) {
        let mut hole = self.home(hash);
        while self.slots[hole].get() != tag(hash) | u64::from(entry) {
            hole = (hole + 1) & self.mask();
        }
        let mut at = hole;
        loop {
            at = (at + 1) & self.mask();
            let slot = self.slots[at].get();
            if slot == 0 {
                break;
            }
            // It may fill the hole unless its home lies behind that, cyclically.
            let from_home = at.wrapping_sub(self.home(slot >> 32)) & self.mask();
            let from_hole = at.wrapping_sub(hole) & self.mask();
            if from_home >= from_hole {
                self.slots[hole].set(slot);
                hole = at;
            }
        }
        self.slots[hole].set(0);
    }
}
