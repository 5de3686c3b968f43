//! Records, and the basic operations on them. The contents of their slots are in
//! [`slots`](super::slots).
//!
//! The operations use addresses. This folder maintains the invariants that make them sound:
//!
//! * A [`Record`] is made by [`Record::new`], or read from a slot that holds one. It is used only
//!   with the layout of its own message, and only until its [`Arena`] is reset or dropped.
//! * The memory is written through one [`MessageMut`](super::MessageMut) or [`Builder`] at a time,
//!   which borrow the arena's owner, and read through [`MessageRef`](super::MessageRef)s, which
//!   borrow it too.
//! * A slot is read only if its bit is set; then it holds a value of the type of its layout. A
//!   [`Batch`](super::Batch) reads the slot first and then tests the bit: its memory was zeroed
//!   when allocated.
//!
//! [`Builder`]: super::Builder

use std::ptr::NonNull;

use super::arena::Arena;
use super::layout::{FieldLayout, RecordLayout, Shape};

pub use super::slots::{Address, Extension, Extra, List, Slot, View};

/// The address of a record; the module documents its use.
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

    /// An empty record of `bytes` bytes, with a zeroed header; `None` at the arena's limit.
    #[inline]
    pub(crate) fn of_bytes(arena: &mut Arena, bytes: u32, header_bytes: u32) -> Option<Record> {
        let record = Record(arena.alloc(bytes as usize)?);
        record.zero(header_bytes);
        Some(record)
    }

    /// The record at an address that generated code uses.
    ///
    /// # Safety
    /// A record of the layout that it will be used with was made there.
    #[inline]
    pub unsafe fn from_address(address: NonNull<u8>) -> Record {
        Record(address)
    }

    /// Its address.
    #[inline]
    pub fn address(self) -> Address {
        self.0.as_ptr()
    }

    #[inline]
    fn clear_header(self, layout: &RecordLayout) {
        self.zero(layout.header_bytes);
    }

    /// Zeroes its header of `header_bytes` bytes.
    #[inline]
    fn zero(self, header_bytes: u32) {
        let words = self.0.cast::<u64>();
        // SAFETY: a record begins with its header, which has one word at least.
        unsafe {
            words.write(0);
            // Few records have more than two words of header; a `memset` would cost those more.
            if header_bytes > 8 {
                words.add(1).write(0);
            }
            if header_bytes > 16 {
                words.add(2).cast::<u8>().write_bytes(0, header_bytes as usize - 16);
            }
        }
    }

    /// Clears all fields, unknown ones and extensions too.
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
            // SAFETY: within the header, which is always written.
            unsafe { word.write(word.read() & !mask) };
        }
        // SAFETY: within the header, which is always written; it is it is read again, as the
        // siblings may share the word.
        unsafe { word.write(word.read() | mask) };
        true
    }

    /// The [`Extra`], if it exists.
    #[inline]
    pub(crate) fn extra(self) -> Option<NonNull<Extra>> {
        // SAFETY: a record begins with the address of its extra, or 0.
        NonNull::new(unsafe { self.0.cast::<*mut Extra>().read() })
    }

    /// The [`Extra`], created if absent.
    pub(crate) fn make_extra(self, arena: &mut Arena) -> Option<NonNull<Extra>> {
        if let Some(extra) = self.extra() {
            return Some(extra);
        }
        let place = arena.alloc(size_of::<Extra>())?.cast::<Extra>();
        // SAFETY: just allocated for it; the first word of the record holds its address.
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

    /// The present extensions, ascending by number.
    #[inline]
    pub(crate) fn extensions<'m>(self) -> &'m [Extension] {
        let Some(extra) = self.extra() else { return &[] };
        // SAFETY: the extra lives as long as the record, and holds extensions there.
        unsafe { (*extra.as_ptr()).extensions.values() }
    }

    /// Appends an unknown field, which lives as long as the record.
    pub(crate) fn push_unknown(self, arena: &mut Arena, raw: View) -> Option<()> {
        let extra = self.make_extra(arena)?;
        // SAFETY: the extra is used through nothing else meanwhile.
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

    /// The address of a field's slot, written or not; not for extensions.
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
        Some(extensions.extension_slot(at))
    }

    /// The slot of a field or extension, and true if it was not stored: then the caller must write
    /// it at once. `None` at the arena's limit.
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
        // SAFETY: the extra is used through nothing else meanwhile.
        let list = unsafe { &mut (*extra.as_ptr()).extensions };
        // SAFETY: it holds extensions.
        let all: &[Extension] = unsafe { list.values() };
        match all.binary_search_by_key(&field.number, |one| one.number) {
            Ok(at) => Some((list.extension_slot(at), false)),
            Err(at) => {
                let empty = Extension { field: id, number: field.number, slot: [0; 2] };
                list.push(arena, empty)?;
                // SAFETY: it holds extensions, and this is the only use of them.
                let all: &mut [Extension] = unsafe { list.values_mut() };
                all[at..].rotate_right(1);
                Some((list.extension_slot(at), true))
            }
        }
    }

    /// Clears a field or extension.
    pub(crate) fn unset(self, field: &FieldLayout) {
        if !field.extension {
            let word = self.presence(field.bit >> 6);
            // SAFETY: within the header, which is always written.
            unsafe { word.write(word.read() & !field.presence_mask()) };
            return;
        }
        let Some(extra) = self.extra() else { return };
        // SAFETY: the extra is used through nothing else meanwhile.
        let list = unsafe { &mut (*extra.as_ptr()).extensions };
        // SAFETY: it holds extensions.
        let all: &mut [Extension] = unsafe { list.values_mut() };
        if let Ok(at) = all.binary_search_by_key(&field.number, |one| one.number) {
            all[at..].rotate_left(1);
            list.len -= 1;
        }
    }

    /// Removes all unknown fields.
    pub(crate) fn clear_unknown(self) {
        if let Some(extra) = self.extra() {
            // SAFETY: the extra is used through nothing else meanwhile.
            unsafe { (*extra.as_ptr()).unknown.len = 0 };
        }
    }

    /// The list of a repeated field, created if absent.
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

    /// The record of a field that holds one, created if absent; true if it was created.
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
            // SAFETY: the stored slot of such a field holds the address of a record.
            return Some(unsafe { slot.cast::<Record>().read() });
        }
        let record = Record::new(arena, of)?;
        let (slot, _) = self.make_slot(arena, layout, id, field)?;
        // SAFETY: the slot of such a field holds the address of a record.
        unsafe { slot.cast::<Record>().write(record) };
        Some(record)
    }
}
