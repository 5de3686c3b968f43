//! The hash table: open addressing over slots that name nodes, which stay where they are.
//!
//! ```text
//! slot   0 free   1 removed   else address of the node, 16 bits of its hash above
//! ```
//! The first slot to look at is the top bits of the hash, and the next ones follow; the 16 bits
//! are the lowest of the hash, so hardly any node of other keys is read. A table of three quarters
//! is replaced by one in which the elements take at most three eighths. They are moved to it a few
//! at a time, with each insertion and removal; until all are there, both tables are searched.

use super::head::{Head, Table, at};
use super::key::{self, Form};
use super::{node, order};
use crate::handle::Words;
use crate::layout::Worker;
use crate::memory::OutOfMemory;
use crate::program::Key;

const FREE: u64 = 0;
const REMOVED: u64 = 1;
/// Bits of an address.
const ADDRESS_BITS: u32 = 48;
const BITS_MIN: u32 = 3;

/// Slots that one change moves out of the old table.
const STEP: u64 = 8;

impl Table {
    fn make(worker: &mut Worker, bits: u32) -> Result<Table, OutOfMemory> {
        let slots = Words(worker.memory.take(8 << bits)?.cast());
        Ok(Table { slots, bits })
    }

    fn free(self, worker: &mut Worker) {
        worker.memory.give(self.slots.0.cast(), 8 << self.bits);
    }

    #[inline]
    fn mask(self) -> usize {
        (1 << self.bits) - 1
    }

    #[inline]
    fn home(self, hash: u64) -> usize {
        (hash >> (64 - self.bits)) as usize
    }

    /// The slot of the node with this hash for which `is` holds.
    #[inline(always)]
    fn search(self, hash: u64, is: impl Fn(Words) -> bool) -> Option<usize> {
        let (tag, mask) = (tag(hash), self.mask());
        let mut place = self.home(hash);
        loop {
            let slot = self.slots.get(place);
            if slot >> ADDRESS_BITS == tag && is(node_of(slot)) {
                return Some(place);
            }
            if slot == FREE {
                return None;
            }
            place = (place + 1) & mask;
        }
    }

    /// Puts a node into the first slot that can take it; whether that was free.
    fn put(self, hash: u64, node: Words) -> bool {
        let mask = self.mask();
        let mut place = self.home(hash);
        while self.slots.get(place) > REMOVED {
            place = (place + 1) & mask;
        }
        let was_free = self.slots.get(place) == FREE;
        self.slots.set(place, tag(hash) << ADDRESS_BITS | node::word(node));
        was_free
    }

    /// Empties a slot; how many slots are free now that were not. One behind which no search goes
    /// on need not say that it was removed.
    fn erase(self, place: usize) -> u64 {
        let mask = self.mask();
        if self.slots.get((place + 1) & mask) != FREE {
            self.slots.set(place, REMOVED);
            return 0;
        }
        let (mut place, mut freed) = (place, 1);
        self.slots.set(place, FREE);
        loop {
            place = place.wrapping_sub(1) & mask;
            if self.slots.get(place) != REMOVED {
                return freed;
            }
            self.slots.set(place, FREE);
            freed += 1;
        }
    }
}

/// Never 0, which removed slots have.
#[inline]
fn tag(hash: u64) -> u64 {
    hash & 0xFFFF | 0x8000
}

#[inline]
fn node_of(slot: u64) -> Words {
    at(slot & ((1 << ADDRESS_BITS) - 1))
}

fn hash_of(head: Head, keys: &[Key], of: Words) -> u64 {
    match head.form() {
        Form::Integer => key::hash_integer(head.seed(), of.get(0)),
        Form::Text => key::hash_text(head.seed(), of.get(0)),
        Form::Tuple => key::hash_tuple(head.seed(), keys, of),
    }
}

/// The node with these keys, or their hash.
#[inline]
pub(super) fn find(head: Head, keys: &[Key], of: Words) -> Result<Words, u64> {
    let seed = head.seed();
    match head.form() {
        Form::Integer => {
            let wanted = of.get(0);
            let hash = || key::hash_integer(seed, wanted);
            find_by(head, hash, |node| node::keys_of(node).get(0) == wanted)
        }
        Form::Text => {
            let wanted = of.get(0);
            let hash = || key::hash_text(seed, wanted);
            find_by(head, hash, |node| key::is_text(node::keys_of(node).get(0), wanted))
        }
        Form::Tuple => {
            let hash = || key::hash_tuple(seed, keys, of);
            find_by(head, hash, |node| key::is_tuple(keys, node::keys_of(node), of))
        }
    }
}

#[inline(always)]
fn find_by(
    head: Head,
    hash: impl Fn() -> u64,
    is: impl Fn(Words) -> bool + Copy,
) -> Result<Words, u64> {
    let last = head.last();
    if last != 0 && is(at(last)) {
        return Ok(at(last));
    }
    let hash = hash();
    let found = match head.table().filter(|_| head.old_table().is_none()) {
        Some(table) => table.search(hash, is).map(|place| node_of(table.slots.get(place))),
        None => search_both(head, hash, is),
    };
    let Some(found) = found else { return Err(hash) };
    head.set_last(node::word(found));
    Ok(found)
}

/// Searches the table and the one that is moved to it.
#[cold]
#[inline(never)]
fn search_both(head: Head, hash: u64, is: impl Fn(Words) -> bool) -> Option<Words> {
    let tables = [head.table(), head.old_table()].into_iter().flatten();
    let mut found = tables.filter_map(|table| Some((table, table.search(hash, &is)?)));
    found.next().map(|(table, place)| node_of(table.slots.get(place)))
}

/// Adds a node with keys that no element has; texts among them are copied.
pub(super) fn insert(
    worker: &mut Worker,
    head: Head,
    keys: &[Key],
    of: Words,
    hash: u64,
) -> Result<Words, OutOfMemory> {
    let table = reserve(worker, head, keys)?;
    let node = node::make(worker, keys, of)?;
    if table.put(hash, node) {
        head.set_used(head.used() + 1);
    }
    head.set_hashed(head.hashed() + 1);
    head.set_last(node::word(node));
    order::inserted(worker, head, keys, node);
    Ok(node)
}

/// Removes a node; what its value owned is the caller's.
pub(super) fn remove(worker: &mut Worker, head: Head, keys: &[Key], node: Words) {
    let hash = hash_of(head, keys, node::keys_of(node));
    let is = |other| other == node;
    if let Some(table) = head.table()
        && let Some(place) = table.search(hash, is)
    {
        head.set_used(head.used() - table.erase(place));
    } else if let Some(old) = head.old_table()
        && let Some(place) = old.search(hash, is)
    {
        old.slots.set(place, REMOVED);
    }
    head.set_hashed(head.hashed() - 1);
    if head.last() == node::word(node) {
        head.set_last(0);
    }
    if head.hashed() == 0 {
        free_tables(worker, head);
    } else {
        move_some(worker, head, keys);
    }
    if !order::removed(worker, head, keys, node) {
        node::free(worker, keys, node);
    }
}

/// The table with room for one more.
fn reserve(worker: &mut Worker, head: Head, keys: &[Key]) -> Result<Table, OutOfMemory> {
    let Some(table) = head.table() else {
        let table = Table::make(worker, BITS_MIN)?;
        head.set_table(Some(table));
        return Ok(table);
    };
    move_some(worker, head, keys);
    if head.used() < 3 << table.bits >> 2 {
        return Ok(table);
    }
    // All have been moved long before, for a table of this size takes more insertions than that.
    while head.old_table().is_some() {
        move_some(worker, head, keys);
    }
    let slots = (head.hashed() * 8).div_ceil(3).next_power_of_two();
    let larger = Table::make(worker, slots.trailing_zeros().max(BITS_MIN))?;
    head.set_old_table(Some(table));
    head.set_table(Some(larger));
    head.set_used(0);
    move_some(worker, head, keys);
    Ok(larger)
}

/// Moves the nodes of the next slots of the old table.
fn move_some(worker: &mut Worker, head: Head, keys: &[Key]) {
    let (Some(old), Some(table)) = (head.old_table(), head.table()) else { return };
    let end = (head.moved() + STEP).min(1 << old.bits);
    for place in head.moved()..end {
        let slot = old.slots.get(place as usize);
        if slot > REMOVED {
            let node = node_of(slot);
            if table.put(hash_of(head, keys, node::keys_of(node)), node) {
                head.set_used(head.used() + 1);
            }
            // Not free: searches for others go on behind it.
            old.slots.set(place as usize, REMOVED);
        }
    }
    head.set_moved(end);
    if end == 1 << old.bits {
        head.set_old_table(None);
        old.free(worker);
    }
}

/// Gives back the tables.
pub(super) fn free_tables(worker: &mut Worker, head: Head) {
    for table in [head.table(), head.old_table()].into_iter().flatten() {
        table.free(worker);
    }
    head.set_table(None);
    head.set_old_table(None);
    head.set_used(0);
}

/// How many places there are to look for nodes at: the slots of both tables.
pub(super) fn places(head: Head) -> u64 {
    let slots = |table: Option<Table>| table.map_or(0, |table| 1 << table.bits);
    slots(head.old_table()) + slots(head.table())
}

/// The node at a place, if there is one.
pub(super) fn node_at(head: Head, place: u64) -> Option<Words> {
    let old = head.old_table().map_or(0, |table| 1 << table.bits);
    let slot = match place.checked_sub(old) {
        None => head.old_table()?.slots.get(place as usize),
        Some(place) => head.table()?.slots.get(place as usize),
    };
    (slot > REMOVED).then(|| node_of(slot))
}
