//! The hash table: chunks of seven slots, with a word that says what is in them.
//!
//! ```text
//! chunk    0 tags: a byte for each slot, 0 if it is free; in the last byte the overflow count
//!          slots of nodes: 1..8 address of the node, 16 bits of its hash above
//!          flat slots:     1, 3 .. 13 key   2, 4 .. 14 value
//! ```
//! As in F14 (Bronson and Shi, 2019): one comparison of a word finds the slots with the 7 bits of a
//! hash, so a search mostly reads one cache line and takes no branch that is hard to foresee. The
//! top bits of the hash are the first chunk to look at; the overflow count says how many elements
//! went past a full chunk to another, and where it is 0 a search ends.
//!
//! A table of more than 11/14 is replaced by one of twice the size. The elements are moved to it a
//! few at a time, with each insertion and removal; until all are there, both are searched.

use super::head::{self, Block, Head, at};
use super::key::{self, Form};
use super::{node, order};
use crate::handle::Words;
use crate::layout::Worker;
use crate::memory::OutOfMemory;
use crate::program::Key;

/// Slots of a chunk.
const SLOTS: usize = 7;
/// Places of a chunk, as a number: the last one is no slot.
const PLACES: u64 = 8;

/// Words of a chunk whose slots name nodes: a cache line.
const NODES: usize = 8;
/// Words of a chunk whose slots are the elements.
const FLAT: usize = 16;

/// Bits of an address.
const ADDRESS_BITS: u32 = 48;

/// Chunks that one change moves out of the old table.
const STEP: u64 = 2;

/// Words that a node with a short text has, or more.
const NODE_END: usize = 5;

/// Larger tables begin at a cache line.
const ALIGNED_MIN: usize = 4096;
const LINE: usize = 64;

const LOW_BITS: u64 = 0x7F7F_7F7F_7F7F_7F7F;
/// The top bit of each tag.
const TAG_TOPS: u64 = 0x0080_8080_8080_8080;
/// The lowest bit of each tag.
const TAG_ONES: u64 = 0x0001_0101_0101_0101;
const OVERFLOW_SHIFT: u32 = 56;
/// A count that is this high stays.
const OVERFLOW_MAX: u64 = 255;

/// The top bits of the tags that are this one.
#[inline(always)]
fn matches(tags: u64, tag: u64) -> u64 {
    let difference = tags ^ (tag * TAG_ONES);
    // Of each byte, whether one of its lower bits is set, without a carry into the next.
    let some = (difference & LOW_BITS) + LOW_BITS;
    !(some | difference) & TAG_TOPS
}

#[inline(always)]
fn slot_of(matches: u64) -> usize {
    matches.trailing_zeros() as usize / 8
}

/// Never 0, which free slots have.
#[inline(always)]
fn tag(hash: u64) -> u64 {
    hash & 0x7F | 0x80
}

/// The bits of a hash that a slot of a node has.
#[inline(always)]
fn check(hash: u64) -> u64 {
    hash >> 7 & 0xFFFF
}

#[inline(always)]
fn node_of(slot: u64) -> Words {
    at(slot & ((1 << ADDRESS_BITS) - 1))
}

/// A table whose chunks have this many words.
#[derive(Copy, Clone)]
struct Chunks<const WORDS: usize> {
    first: Words,
    bits: u32,
}

/// A slot, by its chunk.
#[derive(Copy, Clone)]
struct Place {
    chunk: Words,
    slot: usize,
}

fn size(words: usize, bits: u32) -> usize {
    let size = (8 * words) << bits;
    if size < ALIGNED_MIN { size } else { size + LINE }
}

impl<const WORDS: usize> Chunks<WORDS> {
    #[inline(always)]
    fn of(block: Block) -> Self {
        let large = (8 * WORDS) << block.bits >= ALIGNED_MIN;
        let start = block.words.0;
        let first = if large {
            let behind = start.addr() & (LINE - 1);
            start.wrapping_byte_add((LINE - behind) & (LINE - 1))
        } else {
            start
        };
        Chunks { first: Words(first), bits: block.bits }
    }

    #[inline(always)]
    fn chunk(self, number: usize) -> Words {
        self.first.at(number * WORDS)
    }

    #[inline(always)]
    fn mask(self) -> usize {
        (1 << self.bits) - 1
    }

    #[inline(always)]
    fn home(self, hash: u64) -> usize {
        (hash >> 1 >> (63 - self.bits)) as usize
    }

    /// From one chunk of a search to the next: odd, so that all chunks come.
    #[inline(always)]
    fn stride(hash: u64) -> usize {
        2 * tag(hash) as usize + 1
    }

    /// The slot of the element with this hash for which `is` holds.
    #[inline(always)]
    fn search(self, hash: u64, is: impl Fn(Words) -> bool) -> Option<Place> {
        let (tag, mask) = (tag(hash), self.mask());
        let mut number = self.home(hash);
        for _ in 0..=mask {
            let chunk = self.chunk(number);
            if WORDS == FLAT {
                // The other half of it, at the same time.
                head::prefetch(chunk.at(NODES));
            }
            let tags = chunk.get(0);
            let mut found = matches(tags, tag);
            while found != 0 {
                let place = Place { chunk, slot: slot_of(found) };
                if is(Self::slot(place)) {
                    return Some(place);
                }
                found &= found - 1;
            }
            if tags >> OVERFLOW_SHIFT == 0 {
                return None;
            }
            number = (number + Self::stride(hash)) & mask;
        }
        None
    }

    /// The words of a slot.
    #[inline(always)]
    fn slot(place: Place) -> Words {
        place.chunk.at(1 + place.slot * (WORDS / NODES))
    }

    /// Takes a free slot for an element with this hash.
    fn put(self, hash: u64) -> Words {
        let mut number = self.home(hash);
        loop {
            let chunk = self.chunk(number);
            let tags = chunk.get(0);
            let free = matches(tags, 0);
            if free != 0 {
                let slot = slot_of(free);
                chunk.set(0, tags | tag(hash) << (8 * slot));
                return Self::slot(Place { chunk, slot });
            }
            if tags >> OVERFLOW_SHIFT < OVERFLOW_MAX {
                chunk.set(0, tags + (1 << OVERFLOW_SHIFT));
            }
            number = (number + Self::stride(hash)) & self.mask();
        }
    }

    /// Frees a slot; the chunks that its element went past count it no more.
    fn erase(self, hash: u64, place: Place) {
        Self::clear(place);
        let mut number = self.home(hash);
        while self.chunk(number) != place.chunk {
            let tags = self.chunk(number).get(0);
            if tags >> OVERFLOW_SHIFT < OVERFLOW_MAX {
                self.chunk(number).set(0, tags - (1 << OVERFLOW_SHIFT));
            }
            number = (number + Self::stride(hash)) & self.mask();
        }
    }

    /// Frees a slot of a table that nothing is put into any more.
    fn clear(place: Place) {
        let tags = place.chunk.get(0);
        place.chunk.set(0, tags & !(0xFF << (8 * place.slot)));
    }

    /// The slot at a place, if it has an element.
    #[inline]
    fn at_place(self, place: u64) -> Option<Place> {
        let (number, slot) = ((place / PLACES) as usize, (place % PLACES) as usize);
        let chunk = self.chunk(number);
        let is = slot < SLOTS && chunk.get(0) >> (8 * slot) & 0xFF != 0;
        is.then_some(Place { chunk, slot })
    }
}

/// An element: where its keys are, and its value.
#[derive(Copy, Clone)]
pub(super) struct Element {
    pub(super) keys: Words,
    pub(super) value: Words,
}

fn element<const WORDS: usize>(slot: Words) -> Element {
    if WORDS == FLAT {
        Element { keys: slot, value: slot.at(1) }
    } else {
        let node = node_of(slot.get(0));
        Element { keys: node::keys_of(node), value: node::value_of(node) }
    }
}

fn hash_of(head: Head, keys: &[Key], of: Words) -> u64 {
    match head.form() {
        Form::Integer | Form::Flat => key::hash_integer(head.seed(), of.get(0)),
        Form::Text => key::hash_text(head.seed(), of.get(0)),
        Form::Tuple => key::hash_tuple(head.seed(), keys, of),
    }
}

/// The value of the element with this key in a flat table, or its hash.
#[inline(always)]
pub(super) fn find_flat(head: Head, wanted: u64) -> Result<Words, u64> {
    let hash = key::hash_integer(head.seed(), wanted);
    find_by::<FLAT>(head, hash, |slot| slot.get(0) == wanted)
}

/// The value of the element with this text, or its hash.
#[inline(always)]
pub(super) fn find_text(head: Head, wanted: u64) -> Result<Words, u64> {
    let hash = key::hash_text(head.seed(), wanted);
    find_by::<NODES>(head, hash, |slot| {
        is_node(slot, hash, |node| key::is_text(node::keys_of(node).get(0), wanted))
    })
}

/// The value of the element with these keys, or their hash.
#[inline(never)]
pub(super) fn find(head: Head, keys: &[Key], of: Words) -> Result<Words, u64> {
    let seed = head.seed();
    match head.form() {
        Form::Flat => find_flat(head, of.get(0)),
        Form::Text => find_text(head, of.get(0)),
        Form::Integer => {
            let wanted = of.get(0);
            let hash = key::hash_integer(seed, wanted);
            find_by::<NODES>(head, hash, |slot| {
                is_node(slot, hash, |node| node::keys_of(node).get(0) == wanted)
            })
        }
        Form::Tuple => {
            let hash = key::hash_tuple(seed, keys, of);
            find_by::<NODES>(head, hash, |slot| {
                is_node(slot, hash, |node| key::is_tuple(keys, node::keys_of(node), of))
            })
        }
    }
}

#[inline(always)]
fn is_node(slot: Words, hash: u64, is: impl Fn(Words) -> bool) -> bool {
    let slot = slot.get(0);
    let node = node_of(slot);
    // It may lie across two cache lines.
    head::prefetch(node.at(NODE_END));
    slot >> ADDRESS_BITS == check(hash) && is(node)
}

#[inline(always)]
fn find_by<const WORDS: usize>(
    head: Head,
    hash: u64,
    is: impl Fn(Words) -> bool + Copy,
) -> Result<Words, u64> {
    let found = match head.table().filter(|_| head.old_table().is_none()) {
        Some(table) => Chunks::<WORDS>::of(table).search(hash, is),
        None => search_both::<WORDS>(head, hash, is),
    };
    found.map(|place| element::<WORDS>(Chunks::<WORDS>::slot(place)).value).ok_or(hash)
}

/// Searches the table and the one that is moved to it.
#[cold]
#[inline(never)]
fn search_both<const WORDS: usize>(
    head: Head,
    hash: u64,
    is: impl Fn(Words) -> bool,
) -> Option<Place> {
    let tables = [head.table(), head.old_table()].into_iter().flatten();
    tables.filter_map(|table| Chunks::<WORDS>::of(table).search(hash, &is)).next()
}

/// Has the processor read what a search for an integer key will.
#[inline]
pub(super) fn prefetch(head: Head, integer: u64) {
    let Some(table) = head.table() else { return };
    let hash = key::hash_integer(head.seed(), integer);
    if head.form() == Form::Flat {
        let table = Chunks::<FLAT>::of(table);
        let chunk = table.chunk(table.home(hash));
        head::prefetch(chunk);
        head::prefetch(chunk.at(NODES));
    } else {
        let table = Chunks::<NODES>::of(table);
        head::prefetch(table.chunk(table.home(hash)));
    }
}

/// Adds an element with keys that no element has; texts among them are copied. Its value is 0.
pub(super) fn insert(
    worker: &mut Worker,
    head: Head,
    keys: &[Key],
    of: Words,
    hash: u64,
) -> Result<Words, OutOfMemory> {
    let table = reserve(worker, head, keys)?;
    let value = if head.form() == Form::Flat {
        let slot = Chunks::<FLAT>::of(table).put(hash);
        slot.set(0, of.get(0));
        slot.set(1, 0);
        slot.at(1)
    } else {
        let node = node::make(worker, keys, of)?;
        name(Chunks::<NODES>::of(table), hash, node);
        node::value_of(node)
    };
    head.set_hashed(head.hashed() + 1);
    order::inserted(worker, head, keys, Element { keys: of, value });
    Ok(value)
}

/// Puts a node into a slot.
fn name(table: Chunks<NODES>, hash: u64, node: Words) {
    table.put(hash).set(0, check(hash) << ADDRESS_BITS | node::word(node));
}

/// Removes the element of a value that [`find`] gave; what it owned is the caller's.
pub(super) fn remove(worker: &mut Worker, head: Head, keys: &[Key], of: Words, value: Words) {
    let hash = hash_of(head, keys, of);
    if head.form() == Form::Flat {
        take_out::<FLAT>(head, hash, |slot| slot.at(1) == value);
    } else {
        let is = |slot: Words| node::value_of(node_of(slot.get(0))) == value;
        take_out::<NODES>(head, hash, is);
    }
    head.set_hashed(head.hashed() - 1);
    if head.hashed() == 0 {
        free_tables(worker, head);
    } else {
        move_some(worker, head, keys);
    }
    if head.form() == Form::Flat {
        order::removed_flat(worker, head, of);
    } else if !order::removed(worker, head, keys, node::of_value(value)) {
        node::free(worker, keys, node::of_value(value));
    }
}

fn take_out<const WORDS: usize>(head: Head, hash: u64, is: impl Fn(Words) -> bool) {
    if let Some(table) = head.table().map(Chunks::<WORDS>::of)
        && let Some(place) = table.search(hash, &is)
    {
        table.erase(hash, place);
    } else if let Some(old) = head.old_table().map(Chunks::<WORDS>::of)
        && let Some(place) = old.search(hash, &is)
    {
        Chunks::<WORDS>::clear(place);
    }
}

fn words_of(head: Head) -> usize {
    if head.form() == Form::Flat { FLAT } else { NODES }
}

fn make(worker: &mut Worker, head: Head, bits: u32) -> Result<Block, OutOfMemory> {
    let words = Words(worker.memory.take(size(words_of(head), bits))?.cast());
    Ok(Block { words, bits })
}

fn give_back(worker: &mut Worker, head: Head, table: Block) {
    worker.memory.give(table.words.0.cast(), size(words_of(head), table.bits));
}

/// Elements up to which a table is not replaced.
fn capacity(bits: u32) -> u64 {
    if bits == 0 { SLOTS as u64 } else { 11 << bits >> 1 }
}

/// The table with room for one more.
fn reserve(worker: &mut Worker, head: Head, keys: &[Key]) -> Result<Block, OutOfMemory> {
    let Some(table) = head.table() else {
        let table = make(worker, head, 0)?;
        head.set_table(Some(table));
        return Ok(table);
    };
    move_some(worker, head, keys);
    if head.hashed() < capacity(table.bits) {
        return Ok(table);
    }
    // All have been moved long before, for a table of this size takes more insertions than that.
    while head.old_table().is_some() {
        move_some(worker, head, keys);
    }
    let larger = make(worker, head, table.bits + 1)?;
    head.set_old_table(Some(table));
    head.set_table(Some(larger));
    move_some(worker, head, keys);
    Ok(larger)
}

/// Moves the elements of the next chunks of the old table.
fn move_some(worker: &mut Worker, head: Head, keys: &[Key]) {
    let (Some(old), Some(table)) = (head.old_table(), head.table()) else { return };
    let end = (head.moved() + STEP).min(1 << old.bits);
    let places = head.moved() * PLACES..end * PLACES;
    if head.form() == Form::Flat {
        let (old, table) = (Chunks::<FLAT>::of(old), Chunks::<FLAT>::of(table));
        for place in places.filter_map(|place| old.at_place(place)) {
            let from = Chunks::<FLAT>::slot(place);
            let to = table.put(hash_of(head, keys, from));
            to.set(0, from.get(0));
            to.set(1, from.get(1));
            Chunks::<FLAT>::clear(place);
        }
    } else {
        let (old, table) = (Chunks::<NODES>::of(old), Chunks::<NODES>::of(table));
        for place in places.filter_map(|place| old.at_place(place)) {
            let node = node_of(Chunks::<NODES>::slot(place).get(0));
            name(table, hash_of(head, keys, node::keys_of(node)), node);
            Chunks::<NODES>::clear(place);
        }
        // The next change needs their keys.
        let next = end * PLACES..(end + STEP).min(1 << old.bits) * PLACES;
        for place in next.filter_map(|place| old.at_place(place)) {
            head::prefetch(node_of(Chunks::<NODES>::slot(place).get(0)));
        }
    }
    head.set_moved(end);
    if end == 1 << old.bits {
        head.set_old_table(None);
        give_back(worker, head, old);
    }
}

/// Gives back the tables.
pub(super) fn free_tables(worker: &mut Worker, head: Head) {
    for table in [head.table(), head.old_table()].into_iter().flatten() {
        give_back(worker, head, table);
    }
    head.set_table(None);
    head.set_old_table(None);
}

/// How many places there are to look for elements at: those of both tables.
pub(super) fn places(head: Head) -> u64 {
    let places = |table: Option<Block>| table.map_or(0, |table| PLACES << table.bits);
    places(head.old_table()) + places(head.table())
}

/// The element at a place, if there is one.
#[inline]
pub(super) fn element_at(head: Head, place: u64) -> Option<Element> {
    let old = head.old_table().map_or(0, |table| PLACES << table.bits);
    let (table, place) = match place.checked_sub(old) {
        None => (head.old_table()?, place),
        Some(place) => (head.table()?, place),
    };
    if head.form() == Form::Flat {
        let place = Chunks::<FLAT>::of(table).at_place(place)?;
        Some(element::<FLAT>(Chunks::<FLAT>::slot(place)))
    } else {
        let place = Chunks::<NODES>::of(table).at_place(place)?;
        Some(element::<NODES>(Chunks::<NODES>::slot(place)))
    }
}
