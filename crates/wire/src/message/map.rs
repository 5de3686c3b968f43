//! Maps inside records: entries in the order of their coming, and an index once there are many.
//!
//! ```text
//!   Map.entries  -> [ record | record | record ... ]      key and value are always stored
//!   Map.index    -> [ 0 | 3 | 0 | 1 | gone | 2 ... ]      place + 1, from the hash of the key
//! ```
//! The hash is secret, so no keys can be chosen to make decoding slow; what is walked are the
//! entries, in their order, which does not depend on it.

use std::ptr::NonNull;

use tidemill_stdx::keyed::Secret;

use super::arena::Arena;
use super::layout::{Cell, FieldLayout, RecordLayout, Shape, ValueType};
use super::record::Record;
use super::slots::{List, Slot, View};

/// Entries from which on there is an index.
const INDEXED: u32 = 9;

/// The index entry of a removed entry.
const GONE: u32 = u32::MAX;

/// The entries of a map field.
#[derive(Debug)]
#[repr(C)]
pub struct Map {
    /// [`Record`]s of the entries.
    pub entries: List,
    index: *mut u32,
    /// Places in the index less one; 0 without one.
    index_mask: u32,
    /// Places of the index that are not 0.
    index_used: u32,
}

/// A key for comparison: numbers by their bits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Key<'k> {
    Word(u64),
    Bytes(&'k [u8]),
}

impl<'k> Key<'k> {
    /// The key of an entry that has one.
    #[inline]
    pub(crate) fn of(entry: Record, field: &FieldLayout) -> Key<'k> {
        let place = entry.place(field);
        // SAFETY: entries in maps have a key, which is no record, in a slot of that type.
        unsafe {
            match field.cell {
                Cell::Bool => Key::Word(place.read().into()),
                Cell::Word32 => Key::Word(place.cast::<u32>().read().into()),
                Cell::Word64 | Cell::Record => Key::Word(place.cast::<u64>().read()),
                Cell::View => Key::Bytes(place.cast::<View>().read().bytes()),
            }
        }
    }

    fn hash(self) -> u32 {
        let secret = Secret::of_process();
        let hash = match self {
            // Hashed twice: the low bits of one product depend mostly on the low bits of the word.
            Key::Word(word) => secret.combine(0, secret.word(word)),
            Key::Bytes(bytes) => secret.bytes(bytes),
        };
        (hash >> 32) as u32
    }
}

impl Map {
    /// Without entries.
    pub(crate) const EMPTY: Map =
        Map { entries: List::EMPTY, index: std::ptr::null_mut(), index_mask: 0, index_used: 0 };

    /// The entries.
    #[inline]
    pub(crate) fn records<'m>(&self) -> &'m [Record] {
        // SAFETY: entries are records, which live as long as the map.
        unsafe { self.entries.values() }
    }

    /// The place of the entry with this key; `key_field` is the field 1 of the entry message.
    pub(crate) fn find(&self, key: Key<'_>, key_field: &FieldLayout) -> Option<usize> {
        let entries = self.records();
        let is_it = |&entry: &Record| Key::of(entry, key_field) == key;
        if self.index_mask == 0 {
            return entries.iter().position(is_it);
        }
        let mut at = key.hash() & self.index_mask;
        loop {
            match self.index_at(at) {
                0 => return None,
                GONE => {}
                place if is_it(&entries[place as usize - 1]) => return Some(place as usize - 1),
                _ => {}
            }
            at = (at + 1) & self.index_mask;
        }
    }

    /// Inserts an entry with key and value, replacing one with the same key; `None` at the arena's
    /// limit.
    pub fn insert(
        &mut self,
        arena: &mut Arena,
        entry: Record,
        key_field: &FieldLayout,
    ) -> Option<()> {
        let key = Key::of(entry, key_field);
        if let Some(at) = self.find(key, key_field) {
            // SAFETY: entries are records, and nothing else uses them meanwhile.
            unsafe { self.entries.values_mut::<Record>()[at] = entry };
            return Some(());
        }
        self.entries.push(arena, entry)?;
        let count = self.entries.len;
        // An existing index is kept after removals, and has all entries.
        if count < INDEXED && self.index_mask == 0 {
            return Some(());
        }
        // At most three quarters of the places are used, so that searches end.
        if self.index_mask == 0 || self.index_used >= self.index_mask / 4 * 3 {
            return self.make_index(arena, key_field).or_else(|| {
                // Without it the entry would not be found.
                self.entries.len -= 1;
                None
            });
        }
        self.put_index(key, count);
        Some(())
    }

    /// Removes the entry with that key, and puts the last one in its place.
    pub(crate) fn remove(&mut self, key: Key<'_>, key_field: &FieldLayout) -> bool {
        let Some(at) = self.find(key, key_field) else { return false };
        let last = self.entries.len as usize - 1;
        if self.index_mask != 0 {
            let place = self.index_place(key, at as u32 + 1);
            self.set_index(place, GONE);
            if at != last {
                let moved = Key::of(self.records()[last], key_field);
                let place = self.index_place(moved, last as u32 + 1);
                self.set_index(place, at as u32 + 1);
            }
        }
        // SAFETY: entries are records, and nothing else uses them meanwhile.
        unsafe { self.entries.values_mut::<Record>().swap(at, last) };
        self.entries.len -= 1;
        true
    }

    /// Removes all entries.
    pub(crate) fn clear(&mut self) {
        self.entries.len = 0;
        self.index_mask = 0;
        self.index_used = 0;
    }

    fn make_index(&mut self, arena: &mut Arena, key_field: &FieldLayout) -> Option<()> {
        let places = self.entries.len.checked_mul(4)?.checked_next_power_of_two()?;
        if self.index_mask != places - 1 {
            self.index = arena.alloc(places as usize * size_of::<u32>())?.cast().as_ptr();
            self.index_mask = places - 1;
        }
        // SAFETY: the index has `places` places.
        unsafe { self.index.write_bytes(0, places as usize) };
        self.index_used = 0;
        for (at, &entry) in self.records().iter().enumerate() {
            self.put_index(Key::of(entry, key_field), at as u32 + 1);
        }
        Some(())
    }

    fn put_index(&mut self, key: Key<'_>, value: u32) {
        let mut at = key.hash() & self.index_mask;
        while self.index_at(at) != 0 {
            at = (at + 1) & self.index_mask;
        }
        self.set_index(at, value);
        self.index_used += 1;
    }

    /// The position in the index of `value`, the entry of `key`.
    fn index_place(&self, key: Key<'_>, value: u32) -> u32 {
        let mut at = key.hash() & self.index_mask;
        while self.index_at(at) != value {
            at = (at + 1) & self.index_mask;
        }
        at
    }

    #[inline]
    fn index_at(&self, at: u32) -> u32 {
        // SAFETY: masked, so within the index.
        unsafe { self.index.add(at as usize).read() }
    }

    #[inline]
    fn set_index(&mut self, at: u32, value: u32) {
        // SAFETY: masked, so within the index.
        unsafe { self.index.add(at as usize).write(value) }
    }
}

/// The map at an address that a slot holds.
///
/// # Safety
/// The slot is that of a map field and is stored; the map does not change for `'m`.
pub(crate) unsafe fn map_of<'m>(slot: Slot) -> &'m Map {
    // SAFETY: the caller guarantees that the slot is that of a map field and is stored.
    unsafe { slot.cast::<NonNull<Map>>().read().as_ref() }
}

impl Record {
    /// The map of a map field, made if there is none.
    pub(crate) fn make_map(
        self,
        arena: &mut Arena,
        layout: &RecordLayout,
        id: u32,
        field: &FieldLayout,
    ) -> Option<NonNull<Map>> {
        debug_assert_eq!(field.shape, Shape::Map);
        if let Some(slot) = self.slot(field) {
            // SAFETY: the slot of a map field that is stored holds the address of a map.
            return Some(unsafe { slot.cast::<NonNull<Map>>().read() });
        }
        let map = arena.alloc(size_of::<Map>())?.cast::<Map>();
        // SAFETY: it was just allocated for a `Map`.
        unsafe { map.write(Map::EMPTY) };
        let (slot, _) = self.make_slot(arena, layout, id, field)?;
        // SAFETY: the slot of a map field holds the address of a map.
        unsafe { slot.cast::<NonNull<Map>>().write(map) };
        Some(map)
    }
}

/// The order in which entries of maps are walked and written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum MapOrder {
    /// As they are stored: cheap, and different for equal messages.
    #[default]
    Stored,
    /// Ascending by key.
    ByKey,
}

/// Entries ascending by key: numbers by value, false before true, strings by their bytes.
pub(crate) fn sorted_entries(entries: &[Record], key: &FieldLayout) -> Vec<Record> {
    let mut sorted = entries.to_vec();
    let order = |entry: &Record| match (Key::of(*entry, key), key.kind) {
        // Signed numbers in the order of their values.
        (Key::Word(word), ValueType::I32) => Key::Word((word as i32 as i64 ^ i64::MIN) as u64),
        (Key::Word(word), ValueType::I64) => Key::Word((word as i64 ^ i64::MIN) as u64),
        (key, _) => key,
    };
    sorted.sort_by(|a, b| order(a).cmp(&order(b)));
    sorted
}
