//! What lies in records, and the few operations on it that everything else is made of.
//!
//! The types are `repr(C)`: generated code reads and writes them by the offsets given here. The
//! operations go by addresses. What makes them sound is kept by this folder:
//!
//! * A [`Record`] is made by [`Record::new`], or read from a slot that holds one; it is used with
//!   the layout of its own message only, and while its [`Arena`] is neither reset nor dropped.
//! * The memory is written through one [`MessageMut`](super::MessageMut) or [`Builder`] at a time,
//!   which borrow the arena's owner, and read through [`MessageRef`](super::MessageRef)s, which
//!   borrow it too.
//! * A slot is read only if its bit is set; then it holds what its layout says. A
//!   [`Batch`](super::Batch) reads it before, and asks the bit whether it was something: its memory
//!   was zeroed when it was new.
//!
//! [`Builder`]: super::Builder

use std::ptr::NonNull;

use super::arena::Arena;
use super::layout::{FieldLayout, RecordLayout, Shape};
use crate::packed::Numbers;
use crate::schema::NamedNumbers;

pub use super::map::Map;

/// Where something is.
pub type Address = *mut u8;

/// Bytes that live elsewhere: in the input, or in the arena.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct View {
    /// The first byte; anything where there are none.
    pub start: *const u8,
    /// How many.
    pub len: u32,
    /// Nothing; generated code need not write it.
    pub spare: u32,
}

impl View {
    /// A view of no bytes.
    pub const EMPTY: View = View { start: NonNull::<u8>::dangling().as_ptr(), len: 0, spare: 0 };

    /// A view of `bytes`; `None` if there are 4 GiB or more.
    #[inline]
    pub fn of(bytes: &[u8]) -> Option<View> {
        let len = u32::try_from(bytes.len()).ok()?;
        Some(View { start: bytes.as_ptr(), len, spare: 0 })
    }

    /// The bytes.
    ///
    /// # Safety
    /// They live, and do not change, for `'m`.
    #[inline]
    pub unsafe fn bytes<'m>(self) -> &'m [u8] {
        if self.len == 0 {
            return &[];
        }
        // SAFETY: the caller vouches for them.
        unsafe { std::slice::from_raw_parts(self.start, self.len as usize) }
    }
}

/// Values one after the other.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct List {
    /// The first value; anything where there are none.
    pub start: Address,
    /// How many there are.
    pub len: u32,
    /// How many there is room for.
    pub capacity: u32,
}

/// Values of a list when it first gets room.
const FIRST_CAPACITY: u32 = 4;

impl List {
    /// A list without values or room for them.
    pub const EMPTY: List =
        List { start: NonNull::<u64>::dangling().as_ptr().cast(), len: 0, capacity: 0 };

    /// Room for at least one more value of `cell_bytes`; `None` at the arena's limit.
    #[cold]
    #[inline(never)]
    pub fn grow(&mut self, arena: &mut Arena, cell_bytes: u32) -> Option<()> {
        let more = self.capacity.checked_mul(2)?.max(FIRST_CAPACITY);
        self.reserve_exact(arena, cell_bytes, more)
    }

    /// Room for `capacity` values in all.
    pub fn reserve_exact(
        &mut self,
        arena: &mut Arena,
        cell_bytes: u32,
        capacity: u32,
    ) -> Option<()> {
        if capacity <= self.capacity {
            return Some(());
        }
        let bytes = |count: u32| count as usize * cell_bytes as usize;
        if !arena.extend(self.start, bytes(self.capacity), bytes(capacity)) {
            let place = arena.alloc(bytes(capacity))?;
            // SAFETY: the old values are that many; the new place is larger and nobody's.
            unsafe { self.start.copy_to_nonoverlapping(place.as_ptr(), bytes(self.len)) };
            self.start = place.as_ptr();
        }
        self.capacity = capacity;
        Some(())
    }

    /// Appends the numbers of a packed list, whose bytes are given: up to the first that is wrong
    /// or not complete. Gives how many bytes that was; 0 also where there is no memory for all.
    ///
    /// # Safety
    /// The list holds cells of such numbers.
    #[inline]
    pub(crate) unsafe fn append_packed(
        &mut self,
        arena: &mut Arena,
        numbers: Numbers,
        bytes: &[u8],
    ) -> usize {
        let count = numbers.count(bytes);
        let (old, cell_bytes) = (self.len as usize, numbers.cell_bytes());
        if count > (self.capacity - self.len) as usize {
            // A list that grows again and again does so by half at least.
            let least = old + old / 2 * usize::from(old > 0);
            let Ok(capacity) = u32::try_from((old + count).max(least)) else { return 0 };
            if self.reserve_exact(arena, cell_bytes, capacity).is_none() {
                return 0;
            }
        }
        let to = self.start.wrapping_add(old * cell_bytes as usize);
        // SAFETY: there is room for `count` more cells behind the last.
        let (read, written) = unsafe { numbers.read(bytes, to) };
        self.len += written as u32;
        read
    }

    /// The same of numbers of a closed enum, whose names are given: nothing is appended, and 0
    /// given, where one of them has no name.
    ///
    /// # Safety
    /// The list holds cells of numbers of enums.
    #[inline]
    pub(crate) unsafe fn append_named(
        &mut self,
        arena: &mut Arena,
        named: &NamedNumbers,
        bytes: &[u8],
    ) -> usize {
        let before = self.len;
        // SAFETY: as the caller says.
        let read = unsafe { self.append_packed(arena, Numbers::Low32, bytes) };
        // SAFETY: likewise.
        let numbers = unsafe { self.values::<i32>() };
        if named.has_all(&numbers[before as usize..]) {
            return read;
        }
        self.len = before;
        0
    }

    /// Appends a value; all values of a list are of one type.
    #[inline]
    pub fn push<T: Copy>(&mut self, arena: &mut Arena, value: T) -> Option<()> {
        if self.len == self.capacity {
            self.grow(arena, size_of::<T>() as u32)?;
        }
        // SAFETY: there is room for one more behind the last.
        unsafe { self.start.cast::<T>().add(self.len as usize).write(value) };
        self.len += 1;
        Some(())
    }

    /// The values; all values of a list are of one type.
    ///
    /// # Safety
    /// The list holds `T`s, and lives unchanged for `'m`.
    #[inline]
    pub unsafe fn values<'m, T: Copy>(self) -> &'m [T] {
        // SAFETY: the caller vouches for it; the start of an empty list is dangling, aligned.
        unsafe { std::slice::from_raw_parts(self.start.cast::<T>(), self.len as usize) }
    }

    /// The values, to be changed.
    ///
    /// # Safety
    /// The list holds `T`s, lives for `'m` and is used through nothing else meanwhile.
    #[inline]
    pub unsafe fn values_mut<'m, T: Copy>(self) -> &'m mut [T] {
        // SAFETY: the caller vouches for it; the start of an empty list is dangling, aligned.
        unsafe { std::slice::from_raw_parts_mut(self.start.cast::<T>(), self.len as usize) }
    }
}

/// What few records have.
#[derive(Debug)]
#[repr(C)]
pub struct Extra {
    /// [`View`]s of unknown fields, tag and value, in the order in which they came.
    pub unknown: List,
    /// [`Extension`]s ascending by number.
    pub extensions: List,
}

/// An extension that is there.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Extension {
    /// The index of its [`FieldId`](crate::FieldId).
    pub field: u32,
    /// Its number.
    pub number: u32,
    /// Its slot: what the slot of such a field would hold, from the first byte on.
    pub slot: [u64; 2],
}

/// A slot: what is there is said by the layout of its field.
pub type Slot = NonNull<u8>;

/// A record; see the module for who may use it how.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(transparent)]
pub struct Record(NonNull<u8>);

impl Record {
    /// An empty record; `None` at the arena's limit.
    #[inline]
    pub fn new(arena: &mut Arena, layout: &RecordLayout) -> Option<Record> {
        let place = arena.alloc(layout.bytes as usize)?;
        let record = Record(place);
        record.clear_header(layout);
        Some(record)
    }

    /// An empty record of so many bytes, of which those of its header are zeroed; `None` at the
    /// arena's limit.
    #[inline]
    pub(crate) fn of_bytes(arena: &mut Arena, bytes: u32, header_bytes: u32) -> Option<Record> {
        let record = Record(arena.alloc(bytes as usize)?);
        record.zero(header_bytes);
        Some(record)
    }

    /// The record at an address that generated code has filled or reads.
    ///
    /// # Safety
    /// A record was made there, of the layout that it will be used with.
    #[inline]
    pub unsafe fn from_address(address: NonNull<u8>) -> Record {
        Record(address)
    }

    /// Where it is.
    #[inline]
    pub fn address(self) -> Address {
        self.0.as_ptr()
    }

    #[inline]
    fn clear_header(self, layout: &RecordLayout) {
        self.zero(layout.header_bytes);
    }

    /// Zeroes its header, which has so many bytes.
    #[inline]
    fn zero(self, header_bytes: u32) {
        let words = self.0.cast::<u64>();
        // SAFETY: a record begins with its header, which has one word at least.
        unsafe {
            words.write(0);
            // Few have more than one other: for them a call would cost more.
            if header_bytes > 8 {
                words.add(1).write(0);
            }
            if header_bytes > 16 {
                words.add(2).cast::<u8>().write_bytes(0, header_bytes as usize - 16);
            }
        }
    }

    /// All fields away, unknown ones and extensions too.
    pub(crate) fn clear(self, layout: &RecordLayout) {
        self.clear_header(layout);
    }

    #[inline]
    fn presence(self, word: u32) -> NonNull<u64> {
        // SAFETY: presence words follow the address of the extra.
        unsafe { self.0.cast::<u64>().add(1 + word as usize) }
    }

    /// A presence word.
    #[inline]
    pub(crate) fn presence_word(self, word: u32) -> u64 {
        // SAFETY: within the header, which is always written.
        unsafe { self.presence(word).read() }
    }

    /// True if the field's bit is set; not for extensions.
    #[inline]
    pub(crate) fn bit(self, field: &FieldLayout) -> bool {
        self.presence_word(field.bit >> 6) & field.presence_mask() != 0
    }

    /// Sets the field's bit, clears those of the rest of its oneof; true if it was clear.
    #[inline]
    fn mark(self, layout: &RecordLayout, field: &FieldLayout) -> bool {
        let word = self.presence(field.bit >> 6);
        let mask = field.presence_mask();
        // SAFETY: within the header, which is always written.
        let before = unsafe { word.read() };
        if before & mask != 0 {
            return false;
        }
        for &(word, mask) in layout.siblings(field) {
            let word = self.presence(word);
            // SAFETY: within the header, as above.
            unsafe { word.write(word.read() & !mask) };
        }
        // SAFETY: as above; read again, as siblings may have been in it.
        unsafe { word.write(word.read() | mask) };
        true
    }

    /// The extra, if there is one.
    #[inline]
    pub(crate) fn extra(self) -> Option<NonNull<Extra>> {
        // SAFETY: a record begins with the address of its extra, or 0.
        NonNull::new(unsafe { self.0.cast::<*mut Extra>().read() })
    }

    /// The extra, made if there is none.
    pub(crate) fn make_extra(self, arena: &mut Arena) -> Option<NonNull<Extra>> {
        if let Some(extra) = self.extra() {
            return Some(extra);
        }
        let place = arena.alloc(size_of::<Extra>())?.cast::<Extra>();
        // SAFETY: just allocated for it, and the first word of the record is for its address.
        unsafe {
            place.write(Extra { unknown: List::EMPTY, extensions: List::EMPTY });
            self.0.cast::<*mut Extra>().write(place.as_ptr());
        }
        Some(place)
    }

    /// Views of unknown fields.
    #[inline]
    pub(crate) fn unknown<'m>(self) -> &'m [View] {
        let Some(extra) = self.extra() else { return &[] };
        // SAFETY: the extra lives as long as the record, and holds views there.
        unsafe { (*extra.as_ptr()).unknown.values() }
    }

    /// The extensions that are there, ascending by number.
    #[inline]
    pub(crate) fn extensions<'m>(self) -> &'m [Extension] {
        let Some(extra) = self.extra() else { return &[] };
        // SAFETY: the extra lives as long as the record, and holds extensions there.
        unsafe { (*extra.as_ptr()).extensions.values() }
    }

    /// Appends an unknown field that lives long enough.
    pub(crate) fn push_unknown(self, arena: &mut Arena, raw: View) -> Option<()> {
        let extra = self.make_extra(arena)?;
        // SAFETY: the extra is used by nobody else meanwhile.
        unsafe { (*extra.as_ptr()).unknown.push(arena, raw) }
    }

    /// The slot of a field or extension that is stored.
    #[inline]
    pub(crate) fn slot(self, field: &FieldLayout) -> Option<Slot> {
        if field.extension {
            return self.extension_slot(field);
        }
        self.bit(field).then(|| self.place(field))
    }

    /// Where a field's slot is, written or not; not for extensions.
    #[inline]
    pub(crate) fn place(self, field: &FieldLayout) -> Slot {
        // SAFETY: slots are within the record.
        unsafe { self.at(field.offset) }
    }

    /// The slot at an offset.
    ///
    /// # Safety
    /// It is that of a field of this message.
    #[inline]
    pub(crate) unsafe fn at(self, offset: u32) -> Slot {
        // SAFETY: slots are within the record.
        unsafe { self.0.add(offset as usize) }
    }

    fn extension_slot(self, field: &FieldLayout) -> Option<Slot> {
        let extra = self.extra()?;
        // SAFETY: the extra is used through this record only; the slot is handed out by address.
        let extensions = unsafe { (*extra.as_ptr()).extensions };
        // SAFETY: it holds extensions.
        let all: &[Extension] = unsafe { extensions.values() };
        let at = all.binary_search_by_key(&field.number, |one| one.number).ok()?;
        Some(extension_place(extensions, at))
    }

    /// The slot of a field or extension and true if it was not stored: then the caller writes it
    /// at once. `None` at the arena's limit.
    #[inline]
    pub(crate) fn make_slot(
        self,
        arena: &mut Arena,
        layout: &RecordLayout,
        id: u32,
        field: &FieldLayout,
    ) -> Option<(Slot, bool)> {
        if field.extension {
            return self.make_extension(arena, id, field);
        }
        let fresh = self.mark(layout, field);
        Some((self.place(field), fresh))
    }

    #[cold]
    fn make_extension(
        self,
        arena: &mut Arena,
        id: u32,
        field: &FieldLayout,
    ) -> Option<(Slot, bool)> {
        let extra = self.make_extra(arena)?;
        // SAFETY: the extra is used by nobody else meanwhile.
        let list = unsafe { &mut (*extra.as_ptr()).extensions };
        // SAFETY: it holds extensions.
        let all: &[Extension] = unsafe { list.values() };
        match all.binary_search_by_key(&field.number, |one| one.number) {
            Ok(at) => Some((extension_place(*list, at), false)),
            Err(at) => {
                let empty = Extension { field: id, number: field.number, slot: [0; 2] };
                list.push(arena, empty)?;
                // SAFETY: it holds extensions, and this is the only use of them.
                let all: &mut [Extension] = unsafe { list.values_mut() };
                all[at..].rotate_right(1);
                Some((extension_place(*list, at), true))
            }
        }
    }

    /// Takes a field or extension away.
    pub(crate) fn unset(self, field: &FieldLayout) {
        if !field.extension {
            let word = self.presence(field.bit >> 6);
            // SAFETY: within the header, which is always written.
            unsafe { word.write(word.read() & !field.presence_mask()) };
            return;
        }
        let Some(extra) = self.extra() else { return };
        // SAFETY: the extra is used by nobody else meanwhile.
        let list = unsafe { &mut (*extra.as_ptr()).extensions };
        // SAFETY: it holds extensions.
        let all: &mut [Extension] = unsafe { list.values_mut() };
        if let Ok(at) = all.binary_search_by_key(&field.number, |one| one.number) {
            all[at..].rotate_left(1);
            list.len -= 1;
        }
    }

    /// Takes all unknown fields away.
    pub(crate) fn clear_unknown(self) {
        if let Some(extra) = self.extra() {
            // SAFETY: the extra is used by nobody else meanwhile.
            unsafe { (*extra.as_ptr()).unknown.len = 0 };
        }
    }

    /// The list of a repeated field, made if there is none.
    #[inline]
    pub(crate) fn make_list(
        self,
        arena: &mut Arena,
        layout: &RecordLayout,
        id: u32,
        field: &FieldLayout,
    ) -> Option<NonNull<List>> {
        debug_assert_eq!(field.shape, Shape::List);
        let (slot, fresh) = self.make_slot(arena, layout, id, field)?;
        let list = slot.cast::<List>();
        if fresh {
            // SAFETY: the slot of a repeated field holds a list.
            unsafe { list.write(List::EMPTY) };
        }
        Some(list)
    }

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
        // SAFETY: just allocated for it.
        unsafe { map.write(Map::EMPTY) };
        let (slot, _) = self.make_slot(arena, layout, id, field)?;
        // SAFETY: the slot of a map field holds the address of a map.
        unsafe { slot.cast::<NonNull<Map>>().write(map) };
        Some(map)
    }

    /// The record of a field that holds one, made if there is none; true if it was.
    #[inline]
    pub(crate) fn make_record(
        self,
        arena: &mut Arena,
        layout: &RecordLayout,
        id: u32,
        field: &FieldLayout,
        of: &RecordLayout,
    ) -> Option<Record> {
        debug_assert_eq!(field.record, Some(of.message));
        if let Some(slot) = self.slot(field) {
            // SAFETY: the slot of such a field that is stored holds the address of a record.
            return Some(unsafe { slot.cast::<Record>().read() });
        }
        let record = Record::new(arena, of)?;
        let (slot, _) = self.make_slot(arena, layout, id, field)?;
        // SAFETY: the slot of such a field holds the address of a record.
        unsafe { slot.cast::<Record>().write(record) };
        Some(record)
    }
}

fn extension_place(list: List, at: usize) -> Slot {
    debug_assert!(at < list.len as usize);
    let start = list.start.wrapping_add(at * size_of::<Extension>());
    let slot = start.wrapping_add(std::mem::offset_of!(Extension, slot));
    NonNull::new(slot).expect("a list that is not empty is somewhere")
}
