//! Longest prefixes of keys of one column of up to 32 bits: a trie that is read by steps of 16, 8
//! and 8 bits (controlled prefix expansion, Srinivasan and Varghese 1999).
//!
//! ```text
//! slots = | root: one for each value of the first bits | node of 256 | node of 256 | ...
//! slot  = | 0: none | number of an entry | CHILD + where a node begins |
//! ```
//! Each slot has the entry of the longest prefix that covers it, so a look-up ends at the first
//! slot without a child. A node exists as long as there are prefixes within it that are longer than
//! those of the slot above it. Generated code reads the slots: see `compiled::table`. Tables that
//! have no such trie are searched mask by mask, as the interpreter does it. Kernels may draft any
//! mask; here it counts up to its first 0.

use std::cell::Cell;

use tidemill_stdx::cache::prefetch_item;

use super::spec::{TableKind, TableSpec, low_bits};
use super::zeros::zeros;

/// The slot has a child: the rest of it is where that begins.
pub(crate) const CHILD: u32 = 1 << 31;

/// Bits that a node decides, and slots that it has.
pub(crate) const NODE_BITS: u32 = 8;
const NODE: usize = 1 << NODE_BITS;

/// Bits that the root decides at most.
const ROOT_BITS_MAX: u32 = 16;

/// Bits of the key that each step decides.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Steps {
    /// All bits of the key.
    pub bits: u32,
    /// Those of the root.
    pub root_bits: u32,
}

impl Steps {
    /// The steps of a table that has a trie.
    pub fn of(spec: &TableSpec) -> Option<Steps> {
        let [column] = spec.key.as_slice() else { return None };
        let fits = spec.kind == TableKind::Prefix && column.bits <= 32;
        let nodes = column.bits.saturating_sub(ROOT_BITS_MAX).div_ceil(NODE_BITS);
        fits.then_some(Steps { bits: column.bits, root_bits: column.bits - nodes * NODE_BITS })
    }

    /// The number of nodes on the way of a whole key.
    pub fn nodes(self) -> u32 {
        (self.bits - self.root_bits) / NODE_BITS
    }

    /// Slots for `size` prefixes: each has a node of its own in each step at most, and a step has
    /// no more nodes than there are slots above it. With 2^20 prefixes that is a gigabyte, of which
    /// memory is only what prefixes longer than 24 bits touch, and 64 MB.
    fn slots(self, size: u32) -> usize {
        let above = (0..self.nodes()).map(|node| self.root_bits + node * NODE_BITS);
        let nodes: usize = above.map(|bits| (size as usize).min(1 << bits)).sum();
        (1 << self.root_bits) + nodes * NODE
    }
}

/// A prefix of a key: its upper bits, the others are 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Prefix {
    pub key: u32,
    pub bits: u32,
}

/// A trie.
pub(super) struct Lpm {
    steps: Steps,
    slots: Box<[Cell<u32>]>,
    /// By number of the entry: the bits of its prefix.
    bits: Vec<u8>,
    /// By number of the node: the prefixes that end in it or below.
    prefixes: Vec<u32>,
    free: Vec<u32>,
}

/// The slots that a prefix covers in the node in which it ends.
struct Covered {
    first: usize,
    count: usize,
    /// The slots on the way, each with the number of its child.
    way: Vec<(usize, u32)>,
}

impl Lpm {
    /// An empty trie, if a table has one.
    pub fn of(spec: &TableSpec) -> Option<Lpm> {
        let steps = Steps::of(spec)?;
        let (bits, prefixes, free) = (Vec::new(), Vec::new(), Vec::new());
        Some(Lpm { steps, slots: zeros(steps.slots(spec.size)), bits, prefixes, free })
    }

    pub fn address(&self) -> usize {
        self.slots.as_ptr().expose_provenance()
    }

    /// The bits of a mask that are a prefix: up to the first 0, and within the column.
    pub fn mask(&self, mask: u64) -> u64 {
        let bits = self.steps.bits;
        let ones = (mask << (64 - bits)).leading_ones().min(bits);
        let all = low_bits(bits);
        all & !(all >> ones)
    }

    /// The prefix of a key and mask of the table.
    pub fn prefix(&self, key: u64, mask: u64) -> Prefix {
        Prefix { key: key as u32, bits: mask.count_ones().min(self.steps.bits) }
    }

    fn begin(&self, node: u32) -> usize {
        (1 << self.steps.root_bits) + node as usize * NODE
    }

    /// Adds an entry; its prefix is new.
    pub fn add(&mut self, prefix: Prefix, entry: u32) {
        let at = entry as usize;
        if self.bits.len() <= at {
            self.bits.resize(at + 1, 0);
        }
        self.bits[at] = prefix.bits as u8;
        let Covered { first, count, way } = self.covered(prefix);
        way.iter().for_each(|&(_, node)| self.prefixes[node as usize] += 1);
        (first..first + count).for_each(|slot| self.cover(slot, entry));
    }

    /// Removes an entry; `next` is that of the longest prefix of the prefix, or 0.
    pub fn remove(&mut self, prefix: Prefix, entry: u32, next: u32) {
        let Covered { first, count, way } = self.covered(prefix);
        (first..first + count).for_each(|slot| self.replace(slot, entry, next));
        for &(slot, node) in way.iter().rev() {
            self.prefixes[node as usize] -= 1;
            if self.prefixes[node as usize] == 0 {
                // All its slots have the same entry: that of a prefix above it.
                self.slots[slot].set(self.slots[self.begin(node)].get());
                self.free.push(node);
            }
        }
    }

    /// Where a prefix ends. Nodes on the way are made if there are none.
    fn covered(&mut self, prefix: Prefix) -> Covered {
        let (mut begin, mut above, mut width) = (0, 0, self.steps.root_bits);
        let mut way = Vec::new();
        loop {
            let end = above + width;
            let index = prefix.key >> (self.steps.bits - end) & ((1 << width) - 1);
            let slot = begin + index as usize;
            if prefix.bits <= end {
                return Covered { first: slot, count: 1 << (end - prefix.bits), way };
            }
            let node = self.child(slot);
            way.push((slot, node));
            (begin, above, width) = (self.begin(node), end, NODE_BITS);
        }
    }

    /// The child of a slot, if necessary a new one.
    fn child(&mut self, slot: usize) -> u32 {
        let value = self.slots[slot].get();
        if value & CHILD != 0 {
            let begin = (value & !CHILD) as usize;
            return ((begin - (1 << self.steps.root_bits)) / NODE) as u32;
        }
        let node = self.free.pop().unwrap_or_else(|| {
            self.prefixes.push(0);
            self.prefixes.len() as u32 - 1
        });
        let begin = self.begin(node);
        // The entry of the slot has the longest prefix that covers each of them, too.
        self.slots[begin..begin + NODE].iter().for_each(|slot| slot.set(value));
        self.slots[slot].set(CHILD | begin as u32);
        node
    }

    /// The slots of the child of a slot, if it has one.
    fn below(&self, slot: usize) -> Option<std::ops::Range<usize>> {
        let value = self.slots[slot].get();
        let begin = (value & !CHILD) as usize;
        (value & CHILD != 0).then_some(begin..begin + NODE)
    }

    /// Gives a slot, or those below, an entry unless they have that of a longer prefix.
    fn cover(&self, slot: usize, entry: u32) {
        if let Some(below) = self.below(slot) {
            return below.into_iter().for_each(|slot| self.cover(slot, entry));
        }
        let known = self.slots[slot].get();
        if known == 0 || self.bits[known as usize] < self.bits[entry as usize] {
            self.slots[slot].set(entry);
        }
    }

    /// Replaces an entry in a slot, or in those below.
    fn replace(&self, slot: usize, entry: u32, next: u32) {
        if let Some(below) = self.below(slot) {
            return below.into_iter().for_each(|slot| self.replace(slot, entry, next));
        }
        if self.slots[slot].get() == entry {
            self.slots[slot].set(next);
        }
    }
}

impl Lpm {
    /// Fetches what look-ups of keys will read, step by step for all of them; `entry` fetches an
    /// entry, or none. A key becomes `slot << 32 | key`. Where a way ends is not predicted, so none
    /// ends early: a slot without a child is read again.
    pub fn prefetch(&self, keys: &[Cell<u64>], entry: impl Fn(u32)) {
        let mut left = self.steps.bits - self.steps.root_bits;
        for key in keys {
            let bits = key.get() & low_bits(self.steps.bits);
            self.prefetch_slot(key, bits >> left, bits);
        }
        for _ in 0..self.steps.nodes() {
            left -= NODE_BITS;
            for key in keys {
                let (at, bits) = (key.get() >> 32, key.get() & u64::from(u32::MAX));
                let slot = self.slots[at as usize].get();
                let child = u64::from(slot & !CHILD) + (bits >> left & (NODE as u64 - 1));
                self.prefetch_slot(key, if slot & CHILD == 0 { at } else { child }, bits);
            }
        }
        keys.iter().for_each(|key| entry(self.slots[(key.get() >> 32) as usize].get()));
    }

    fn prefetch_slot(&self, key: &Cell<u64>, slot: u64, bits: u64) {
        prefetch_item(&self.slots, slot as usize);
        key.set(slot << 32 | bits);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use tidemill_stdx::rng::Rng;

    use super::super::spec::{Column, Meaning, TableWriter, WhenFull};
    use super::*;

    fn spec(bits: u32, size: u32) -> TableSpec {
        let column =
            |name: &str, bits| Column { name: name.to_owned(), bits, meaning: Meaning::Number };
        TableSpec {
            name: "t".to_owned(),
            kind: TableKind::Prefix,
            key: vec![column("net", bits)],
            values: Vec::new(),
            writer: TableWriter::Kernel,
            size,
            when_full: WhenFull::Refuse,
            expire_ns: 0,
            expire_by: None,
            report_ns: 0,
        }
    }

    /// What generated code does.
    fn find(trie: &Lpm, key: u32) -> u32 {
        let Steps { bits, root_bits } = trie.steps;
        let mut slot = trie.slots[(key >> (bits - root_bits)) as usize].get();
        let mut left = bits - root_bits;
        while slot & CHILD != 0 {
            left -= NODE_BITS;
            let byte = (key >> left) as usize & (NODE - 1);
            slot = trie.slots[(slot & !CHILD) as usize + byte].get();
        }
        slot
    }

    fn is_in(prefix: Prefix, key: u32, bits: u32) -> bool {
        prefix.bits == 0 || (key ^ prefix.key) >> (bits - prefix.bits) == 0
    }

    #[test]
    fn the_longest_prefix_is_found_whatever_was_removed() {
        for (seed, bits) in [3, 8, 16, 17, 24, 29, 32].into_iter().enumerate() {
            let mut rng = Rng::new(seed as u64);
            let mut trie = Lpm::of(&spec(bits, 50)).expect("it has one");
            let mut known: Vec<Option<Prefix>> = vec![None; 51];
            for _ in 0..3000 {
                // Few prefixes, near each other, so that they cover each other.
                let length = rng.below(u64::from(bits) + 1) as u32;
                let key = (rng.below(8) << 29 | rng.below(3) << 15 | rng.below(4)) as u32;
                let all = u32::MAX >> (32 - bits);
                let key = key >> (32 - bits) & !all.checked_shr(length).unwrap_or(0);
                let prefix = Prefix { key, bits: length };
                let longest = |known: &[Option<Prefix>], key, below| {
                    let of = |at: &usize| known[*at].filter(|it| is_in(*it, key, bits));
                    let fitting = (1..known.len()).filter_map(|at| Some((of(&at)?.bits, at)));
                    fitting.filter(|(length, _)| *length < below).max().map_or(0, |(_, at)| at)
                };
                match known.iter().position(|it| *it == Some(prefix)) {
                    Some(at) => {
                        known[at] = None;
                        let next = longest(&known, key, length);
                        trie.remove(prefix, at as u32, next as u32);
                    }
                    None => {
                        let Some(at) = (1..51).find(|&at| known[at].is_none()) else { continue };
                        known[at] = Some(prefix);
                        trie.add(prefix, at as u32);
                    }
                }
                for key in [key, key ^ 1, key | 0xFF & all, rng.next_u64() as u32 & all] {
                    assert_eq!(find(&trie, key) as usize, longest(&known, key, 99), "{bits}");
                }
            }
            for (at, prefix) in known.into_iter().enumerate() {
                prefix.into_iter().for_each(|prefix| trie.remove(prefix, at as u32, 0));
            }
            // Entries are removed in any order, so some are not replaced by what covers them.
            assert_eq!(trie.free.len(), trie.prefixes.len(), "{bits}: no node is left");
        }
    }

    #[test]
    fn what_is_fetched_is_what_look_ups_find() {
        let mut rng = Rng::new(9);
        for bits in [8, 16, 17, 25, 32] {
            let mut trie = Lpm::of(&spec(bits, 100)).expect("it has one");
            let all = low_bits(bits) as u32;
            for entry in 1..100 {
                let length = rng.below(u64::from(bits) + 1) as u32;
                let key = rng.next_u64() as u32 & all & !(u64::from(all) >> length) as u32;
                trie.add(Prefix { key, bits: length }, entry);
            }
            let keys: Vec<u64> = (0..1000).map(|_| rng.next_u64()).collect();
            let cells: Vec<Cell<u64>> = keys.iter().copied().map(Cell::new).collect();
            let mut found: Vec<u32> =
                keys.iter().map(|&key| find(&trie, key as u32 & all)).collect();
            let fetched = RefCell::new(Vec::new());
            trie.prefetch(&cells, |entry| fetched.borrow_mut().push(entry));
            let mut fetched = fetched.into_inner();
            found.sort_unstable();
            fetched.sort_unstable();
            assert_eq!(fetched, found, "{bits}");
        }
    }

    #[test]
    fn a_step_has_no_more_nodes_than_slots_above_it() {
        let slots = |bits, size| Steps::of(&spec(bits, size)).expect("it has one").slots(size);
        assert_eq!(slots(32, 50), (1 << 16) + 2 * 50 * NODE);
        assert_eq!(slots(32, 1 << 20), (1 << 16) + (1 << 16) * NODE + (1 << 20) * NODE);
        assert_eq!(slots(17, 1 << 20), (1 << 9) + (1 << 9) * NODE);
        // Every 17-bit key: each node of the only step is in use.
        let mut trie = Lpm::of(&spec(17, 1 << 17)).expect("it has one");
        (0..1 << 17).for_each(|key| trie.add(Prefix { key, bits: 17 }, key + 1));
        assert!((0..1 << 17).all(|key| find(&trie, key) == key + 1));
    }

    #[test]
    fn only_short_keys_of_one_column_have_a_trie() {
        let steps = |bits, size| Steps::of(&spec(bits, size)).map(|it| (it.root_bits, it.nodes()));
        assert_eq!(steps(32, 10), Some((16, 2)));
        assert_eq!(steps(17, 10), Some((9, 1)));
        assert_eq!(steps(16, 10), Some((16, 0)));
        assert_eq!(steps(33, 10), None);
        assert_eq!(steps(32, 1 << 20), Some((16, 2)));
        let mut two = spec(8, 10);
        two.key.push(two.key[0].clone());
        assert_eq!(Steps::of(&two), None);
        let exact = TableSpec { kind: TableKind::Exact, ..spec(32, 10) };
        assert_eq!(Steps::of(&exact), None);
    }
}
