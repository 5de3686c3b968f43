//! The hash table: [`chunks`](super::chunks) whose slots are elements or name them.
//!
//! ```text
//! slot of a node   address of the node, 16 bits of its hash above
//! flat slot        0 key              1 value
//! slot of a text   0, 1, 2 the text   3 value
//! ```
//! A table of more than 11/14 is replaced by one of twice the size. The elements are moved to it a
//! few at a time, with each insertion and removal; until all are there, both are searched.

use std::ops::Range;
use std::ptr::NonNull;

use super::address::at;
use super::chunks::{Chunks, FLAT, NODES, PLACES, SLOTS, Slot, TEXTS, left_out, size};
use super::head::{self, Head, Table};
use super::key::{self, Form};
use super::node;
use super::short::{self, Room};
use crate::handle::Words;
use crate::machine::Worker;
use crate::memory::OutOfMemory;
use crate::program::Key;

/// Bits of an address.
const ADDRESS_BITS: u32 = 48;

/// Chunks that each change moves out of the old table.
const STEP: u64 = 2;

/// Words that a node with a short text has, or more.
const NODE_END: usize = 5;

/// The bits of a hash that a slot of a node has.
#[inline(always)]
fn check(hash: u64) -> u64 {
    hash >> 7 & 0xFFFF
}

#[inline(always)]
fn node_of(slot: u64) -> Words {
    at(slot & ((1 << ADDRESS_BITS) - 1))
}

/// An element: where its keys are, or the slot of a text, and its value.
#[derive(Copy, Clone)]
pub(super) struct Element {
    keys: Words,
    pub(super) value: Words,
}

impl Element {
    /// Its keys; those of a slot of a text are made in the room.
    pub(super) fn keys(self, head: Head, room: &mut Room) -> Words {
        if head.form() == Form::FlatText { room.show(self.keys) } else { self.keys }
    }

    /// Its only key, of one word.
    pub(super) fn integer(self) -> i64 {
        self.keys.get(0) as i64
    }

    /// Frees what a table has of it besides its value.
    pub(super) fn free_keys(self, worker: &mut Worker, head: Head, keys: &[Key]) {
        match head.form() {
            Form::Flat => {}
            Form::FlatText => short::free(worker, self.keys),
            _ => node::free(worker, keys, node::of_value(self.value)),
        }
    }
}

fn element<const WORDS: usize>(slot: Words) -> Element {
    match WORDS {
        FLAT => Element { keys: slot, value: slot.at(1) },
        TEXTS => Element { keys: slot, value: slot.at(3) },
        _ => {
            let node = node_of(slot.get(0));
            Element { keys: node::keys_of(node), value: node::value_of(node) }
        }
    }
}

fn hash_of(head: Head, keys: &[Key], of: Words) -> u64 {
    match head.form() {
        Form::Integer | Form::Flat => key::hash_integer(head.seed(), of.get(0)),
        Form::Text => key::hash_text(head.seed(), of.get(0)),
        Form::FlatText => short::hash(head.seed(), of.get(0)),
        Form::Tuple => key::hash_tuple(head.seed(), keys, of),
    }
}

/// The address of a value, if the element is there.
pub(super) type Found = Option<NonNull<u64>>;

/// The value of the element with this key in a flat table.
#[inline(always)]
pub(super) fn find_flat(head: Head, wanted: u64) -> Found {
    let hash = key::hash_integer(head.seed(), wanted);
    find_by::<FLAT>(head, hash, |slot| slot.get(0) == wanted)
}

/// The value of the element with this text.
#[inline(never)]
pub(super) fn find_text(head: Head, wanted: u64) -> Found {
    let hash = key::hash_text(head.seed(), wanted);
    find_by::<NODES>(head, hash, |slot| {
        is_node(slot, hash, |node| key::is_text(node::keys_of(node).get(0), wanted))
    })
}

/// The value of the element with this text in a table of texts.
#[inline(never)]
pub(super) fn find_flat_text(head: Head, wanted: u64) -> Found {
    // There is no call below, so the words of the text stay in registers.
    match short::plain(wanted) {
        Some(text) => find_short(head, text),
        None => find_other(head, wanted),
    }
}

#[inline(always)]
fn find_short(head: Head, text: [u64; 3]) -> Found {
    let hash = short::hash_of(head.seed(), text);
    find_by::<TEXTS>(head, hash, |slot| short::is(slot, text))
}

#[inline(never)]
fn find_other(head: Head, wanted: u64) -> Found {
    match short::of(wanted) {
        Some(text) => find_short(head, text),
        None => find_long(head, wanted),
    }
}

#[cold]
#[inline(never)]
fn find_long(head: Head, wanted: u64) -> Found {
    let hash = key::hash_text(head.seed(), wanted);
    find_by::<TEXTS>(head, hash, |slot| short::is_long(slot, wanted, hash))
}

/// The value of the element with these keys.
#[inline(never)]
pub(super) fn find(head: Head, keys: &[Key], of: Words) -> Found {
    let seed = head.seed();
    match head.form() {
        Form::Flat => find_flat(head, of.get(0)),
        Form::Text => find_text(head, of.get(0)),
        Form::FlatText => find_flat_text(head, of.get(0)),
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
    // It may cross two cache lines.
    head::prefetch(node.at(NODE_END));
    slot >> ADDRESS_BITS == check(hash) && is(node)
}

#[inline(always)]
fn find_by<const WORDS: usize>(head: Head, hash: u64, is: impl Fn(Words) -> bool + Copy) -> Found {
    let found = match head.table().filter(|_| head.old_table().is_none()) {
        Some(table) => Chunks::<WORDS>::of(table).search(hash, is),
        None => search_both::<WORDS>(head, hash, is),
    };
    NonNull::new(element::<WORDS>(Chunks::<WORDS>::slot(found?)).value.0)
}

/// Searches the table and the one that is moved to it.
#[cold]
#[inline(never)]
fn search_both<const WORDS: usize>(
    head: Head,
    hash: u64,
    is: impl Fn(Words) -> bool,
) -> Option<Slot> {
    let tables = [head.table(), head.old_table()].into_iter().flatten();
    tables.filter_map(|table| Chunks::<WORDS>::of(table).search(hash, &is)).next()
}

/// Prefetches what a search for an integer key will read.
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
) -> Result<Words, OutOfMemory> {
    let hash = hash_of(head, keys, of);
    let table = reserve(worker, head, keys)?;
    let value = match head.form() {
        Form::Flat => {
            let slot = Chunks::<FLAT>::of(table).put(hash);
            slot.set(0, of.get(0));
            slot.set(1, 0);
            slot.at(1)
        }
        Form::FlatText => {
            let text = short::keep(worker, of.get(0), hash)?;
            let slot = Chunks::<TEXTS>::of(table).put(hash);
            write(slot, [text[0], text[1], text[2], 0]);
            slot.at(3)
        }
        _ => {
            let node = node::make(worker, keys, of)?;
            name(Chunks::<NODES>::of(table), hash, node);
            node::value_of(node)
        }
    };
    head.set_hashed(head.hashed() + 1);
    Ok(value)
}

fn write<const N: usize>(slot: Words, words: [u64; N]) {
    for (i, word) in words.into_iter().enumerate() {
        slot.set(i, word);
    }
}

/// Puts a node into a slot.
fn name(table: Chunks<NODES>, hash: u64, node: Words) {
    table.put(hash).set(0, check(hash) << ADDRESS_BITS | node::word(node));
}

/// What was removed from the table; the order must be notified of it.
pub(super) enum Removed {
    /// There was no such element.
    Nothing,
    /// An element that was in its slot.
    Slot,
    /// A node, which is the caller's.
    Node(Words),
}

/// Removes the element with these keys; what its value owned is the caller's.
pub(super) fn remove(worker: &mut Worker, head: Head, keys: &[Key], of: Words) -> Removed {
    if head.form() == Form::Flat {
        let wanted = of.get(0);
        let hash = key::hash_integer(head.seed(), wanted);
        if take_out::<FLAT>(head, hash, |slot| slot.get(0) == wanted).is_none() {
            return Removed::Nothing;
        }
        shrink(worker, head, keys);
        return Removed::Slot;
    }
    let Some(value) = find(head, keys, of) else { return Removed::Nothing };
    let (hash, value) = (hash_of(head, keys, of), Words(value.as_ptr()));
    if head.form() == Form::FlatText {
        if let Some(slot) = take_out::<TEXTS>(head, hash, |slot| slot.at(3) == value) {
            short::free(worker, slot);
        }
        shrink(worker, head, keys);
        return Removed::Slot;
    }
    take_out::<NODES>(head, hash, |slot| node::value_of(node_of(slot.get(0))) == value);
    shrink(worker, head, keys);
    Removed::Node(node::of_value(value))
}

/// One element less is in the tables.
fn shrink(worker: &mut Worker, head: Head, keys: &[Key]) {
    head.set_hashed(head.hashed() - 1);
    if head.hashed() == 0 {
        free_tables(worker, head);
    } else {
        move_some(worker, head, keys);
    }
}

/// Frees the slot for which `is` holds; what was in it may still be read.
fn take_out<const WORDS: usize>(
    head: Head,
    hash: u64,
    is: impl Fn(Words) -> bool,
) -> Option<Words> {
    if let Some(table) = head.table().map(Chunks::<WORDS>::of)
        && let Some(place) = table.search(hash, &is)
    {
        table.erase(hash, place);
        return Some(Chunks::<WORDS>::slot(place));
    }
    let old = head.old_table().map(Chunks::<WORDS>::of)?;
    let place = old.search(hash, &is)?;
    Chunks::<WORDS>::clear(place);
    Some(Chunks::<WORDS>::slot(place))
}

fn words_of(head: Head) -> usize {
    match head.form() {
        Form::Flat => FLAT,
        Form::FlatText => TEXTS,
        _ => NODES,
    }
}

fn make(worker: &mut Worker, head: Head, bits: u32) -> Result<Table, OutOfMemory> {
    let block = Words(worker.memory.take(size(words_of(head), bits))?.cast());
    let left_out = left_out(block, words_of(head), bits);
    let first = Words(block.0.wrapping_byte_add(left_out));
    Ok(Table { first, bits, left_out: left_out as u32 })
}

fn give_back(worker: &mut Worker, head: Head, table: Table) {
    let block = table.first.0.wrapping_byte_sub(table.left_out as usize);
    worker.memory.give(block.cast(), size(words_of(head), table.bits));
}

/// Elements up to which a table is not replaced.
fn capacity(bits: u32) -> u64 {
    if bits == 0 { SLOTS as u64 } else { 11 << bits >> 1 }
}

/// The table with room for one more.
fn reserve(worker: &mut Worker, head: Head, keys: &[Key]) -> Result<Table, OutOfMemory> {
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
    match head.form() {
        Form::Flat => {
            let seed = head.seed();
            move_slots::<FLAT, 2>(old, table, places, |slot| key::hash_integer(seed, slot.get(0)));
        }
        Form::FlatText => {
            let seed = head.seed();
            move_slots::<TEXTS, 4>(old, table, places, |slot| short::hash_in(seed, slot));
        }
        _ => {
            let bits = old.bits;
            let (old, table) = (Chunks::<NODES>::of(old), Chunks::<NODES>::of(table));
            for place in places.filter_map(|place| old.at_place(place)) {
                let node = node_of(Chunks::<NODES>::slot(place).get(0));
                name(table, hash_of(head, keys, node::keys_of(node)), node);
                Chunks::<NODES>::clear(place);
            }
            // The next change needs their keys.
            let next = end * PLACES..(end + STEP).min(1 << bits) * PLACES;
            for place in next.filter_map(|place| old.at_place(place)) {
                head::prefetch(node_of(Chunks::<NODES>::slot(place).get(0)));
            }
        }
    }
    head.set_moved(end);
    if end == 1 << old.bits {
        head.set_old_table(None);
        give_back(worker, head, old);
    }
}

/// Moves the elements at some places, each in a slot of `N` words.
fn move_slots<const WORDS: usize, const N: usize>(
    old: Table,
    table: Table,
    places: Range<u64>,
    hash_of: impl Fn(Words) -> u64,
) {
    let (old, table) = (Chunks::<WORDS>::of(old), Chunks::<WORDS>::of(table));
    for place in places.filter_map(|place| old.at_place(place)) {
        let from = Chunks::<WORDS>::slot(place);
        write(table.put(hash_of(from)), std::array::from_fn::<_, N, _>(|i| from.get(i)));
        Chunks::<WORDS>::clear(place);
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

/// The number of places where elements may be, in both tables.
pub(super) fn places(head: Head) -> u64 {
    let places = |table: Option<Table>| table.map_or(0, |table| PLACES << table.bits);
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
    match head.form() {
        Form::Flat => element_in::<FLAT>(table, place),
        Form::FlatText => element_in::<TEXTS>(table, place),
        _ => element_in::<NODES>(table, place),
    }
}

#[inline]
fn element_in<const WORDS: usize>(table: Table, place: u64) -> Option<Element> {
    let place = Chunks::<WORDS>::of(table).at_place(place)?;
    Some(element::<WORDS>(Chunks::<WORDS>::slot(place)))
}
