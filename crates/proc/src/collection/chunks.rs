//! The chunks of a table: seven slots, with a word of tags.
//!
//! ```text
//! chunk    0 tags: a byte for each slot, 0 if it is free; in the last byte the overflow count
//!          slots of nodes: 1..8
//!          flat slots:     1, 3 .. 13, of two words
//!          slots of texts: 4, 8 .. 28, of four
//! ```
//! As in F14 (Bronson and Shi, 2019): one comparison of a word finds the slots with the 7 bits of a
//! hash, so a search mostly reads one cache line and takes no branch that is hard to foresee. The
//! top bits of the hash are the first chunk to probe; the overflow count is the number of elements
//! that passed this full chunk and were put into a later one, and where it is 0 a search ends. No
//! slot of a text lies across two cache lines.

use std::ptr::NonNull;

use super::head::{self, Table};
use crate::handle::Words;
use crate::layout::quick::{CHUNK_SHIFT, TAG_BITS, TAG_ONES, TAG_TOP, TAG_TOPS};

/// Slots of a chunk.
pub(super) const SLOTS: usize = 7;
/// Places of a chunk, as a number: the last one is no slot.
pub(super) const PLACES: u64 = 8;

/// Words of a chunk whose slots name nodes: a cache line.
pub(super) const NODES: usize = 8;
/// Words of a chunk whose slots are the elements.
pub(super) const FLAT: usize = (1 << CHUNK_SHIFT) / 8;
/// Words of a chunk whose slots are the elements with their texts.
pub(super) const TEXTS: usize = 32;

/// Larger tables begin at a cache line.
const ALIGNED_MIN: usize = 4096;
const LINE: usize = 64;

/// A count that has reached this is never changed again.
const OVERFLOW_MAX: u64 = 255;

/// The top bits of the bytes equal to this tag, the lowest first. Above a match there may be one
/// false positive, whose tag differs in its lowest bit.
#[inline(always)]
fn matches(tags: u64, tag: u64) -> u64 {
    let difference = tags ^ (tag * TAG_ONES);
    difference.wrapping_sub(TAG_ONES) & !difference & TAG_TOPS
}

#[inline(always)]
fn slot_of(matches: u64) -> usize {
    matches.trailing_zeros() as usize / 8
}

/// Never 0, which free slots have.
#[inline(always)]
fn tag(hash: u64) -> u64 {
    hash & (TAG_TOP - 1) | TAG_TOP
}

/// A table whose chunks have this many words.
#[derive(Copy, Clone)]
pub(super) struct Chunks<const WORDS: usize> {
    first: Words,
    bits: u32,
}

/// A slot, by its chunk.
#[derive(Copy, Clone)]
pub(super) struct Slot {
    chunk: NonNull<u64>,
    slot: usize,
}

impl Slot {
    /// None of a table that does not exist.
    #[inline(always)]
    fn of(chunk: Words, slot: usize) -> Option<Slot> {
        NonNull::new(chunk.0).map(|chunk| Slot { chunk, slot })
    }

    #[inline(always)]
    fn chunk(self) -> Words {
        Words(self.chunk.as_ptr())
    }
}

/// Bytes of the block of a table.
pub(super) fn size(words: usize, bits: u32) -> usize {
    let size = (8 * words) << bits;
    if size < ALIGNED_MIN { size } else { size + LINE }
}

/// Bytes that a table with this block leaves out at its start.
pub(super) fn left_out(block: Words, words: usize, bits: u32) -> usize {
    let offset = block.0.addr() & (LINE - 1);
    if (8 * words) << bits < ALIGNED_MIN { 0 } else { (LINE - offset) & (LINE - 1) }
}

impl<const WORDS: usize> Chunks<WORDS> {
    #[inline(always)]
    pub(super) fn of(table: Table) -> Self {
        Chunks { first: table.first, bits: table.bits }
    }

    #[inline(always)]
    pub(super) fn chunk(self, number: usize) -> Words {
        self.first.at(number * WORDS)
    }

    #[inline(always)]
    fn mask(self) -> usize {
        (1 << self.bits) - 1
    }

    #[inline(always)]
    pub(super) fn home(self, hash: u64) -> usize {
        // In two steps, as a table of one chunk would need a shift by 64.
        (hash >> 1 >> (63 - self.bits)) as usize
    }

    /// The step from one chunk of a search to the next: odd, so that it visits all chunks.
    #[inline(always)]
    fn stride(hash: u64) -> usize {
        2 * tag(hash) as usize + 1
    }

    /// The slot of the element with this hash for which `is` holds.
    #[inline(always)]
    pub(super) fn search(self, hash: u64, is: impl Fn(Words) -> bool) -> Option<Slot> {
        let chunk = self.chunk(self.home(hash));
        let tags = Self::tags(chunk);
        match Self::in_chunk(chunk, tags, hash, &is) {
            None if tags >> TAG_BITS != 0 => self.search_on(hash, is),
            found => found,
        }
    }

    /// Probes further chunks where the first is full.
    #[cold]
    #[inline(never)]
    fn search_on(self, hash: u64, is: impl Fn(Words) -> bool) -> Option<Slot> {
        let mut number = self.home(hash);
        for _ in 0..self.mask() {
            number = (number + Self::stride(hash)) & self.mask();
            let chunk = self.chunk(number);
            let tags = Self::tags(chunk);
            let found = Self::in_chunk(chunk, tags, hash, &is);
            if found.is_some() || tags >> TAG_BITS == 0 {
                return found;
            }
        }
        None
    }

    #[inline(always)]
    fn tags(chunk: Words) -> u64 {
        // Prefetches the next line of the chunk. More lines at once were slower.
        if WORDS > NODES {
            head::prefetch(chunk.at(NODES));
        }
        chunk.get(0)
    }

    #[inline(always)]
    fn in_chunk(chunk: Words, tags: u64, hash: u64, is: &impl Fn(Words) -> bool) -> Option<Slot> {
        let mut found = matches(tags, tag(hash));
        while found != 0 {
            let slot = slot_of(found);
            if is(Self::slot_in(chunk, slot)) {
                return Slot::of(chunk, slot);
            }
            found &= found - 1;
        }
        None
    }

    /// The words of a slot.
    #[inline(always)]
    pub(super) fn slot(place: Slot) -> Words {
        Self::slot_in(place.chunk(), place.slot)
    }

    #[inline(always)]
    fn slot_in(chunk: Words, slot: usize) -> Words {
        chunk.at(match WORDS {
            TEXTS => 4 + 4 * slot,
            FLAT => 1 + 2 * slot,
            _ => 1 + slot,
        })
    }

    /// Takes a free slot for an element with this hash.
    pub(super) fn put(self, hash: u64) -> Words {
        let mut number = self.home(hash);
        loop {
            let chunk = self.chunk(number);
            let tags = chunk.get(0);
            // The overflow count is no tag: `TAG_TOPS` leaves it out. Some chunk has a free slot,
            // as tables are replaced before they are full.
            let free = matches(tags, 0);
            if free != 0 {
                let slot = slot_of(free);
                chunk.set(0, tags | tag(hash) << (8 * slot));
                return Self::slot_in(chunk, slot);
            }
            if tags >> TAG_BITS < OVERFLOW_MAX {
                chunk.set(0, tags + (1 << TAG_BITS));
            }
            number = (number + Self::stride(hash)) & self.mask();
        }
    }

    /// Frees a slot, and lowers the overflow counts of the chunks that its element passed.
    pub(super) fn erase(self, hash: u64, place: Slot) {
        Self::clear(place);
        let mut number = self.home(hash);
        while self.chunk(number) != place.chunk() {
            let tags = self.chunk(number).get(0);
            if tags >> TAG_BITS < OVERFLOW_MAX {
                self.chunk(number).set(0, tags - (1 << TAG_BITS));
            }
            number = (number + Self::stride(hash)) & self.mask();
        }
    }

    /// Frees a slot of a table that takes no more insertions.
    pub(super) fn clear(place: Slot) {
        let chunk = place.chunk();
        let tags = chunk.get(0);
        chunk.set(0, tags & !(0xFF << (8 * place.slot)));
    }

    /// The slot at a place, if it has an element.
    #[inline]
    pub(super) fn at_place(self, place: u64) -> Option<Slot> {
        let (number, slot) = ((place / PLACES) as usize, (place % PLACES) as usize);
        let chunk = self.chunk(number);
        let is = slot < SLOTS && chunk.get(0) >> (8 * slot) & 0xFF != 0;
        if is { Slot::of(chunk, slot) } else { None }
    }
}
