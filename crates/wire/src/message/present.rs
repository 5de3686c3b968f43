//! The present fields of a record.

use std::ptr::NonNull;

use super::layout::{Cell, FieldLayout, Layouts, RecordLayout, Shape};
use super::map::map_of;
use super::record::{Extension, List, Record, Slot, View};
use crate::schema::{FieldId, Label};

/// True if a stored value counts as present.
#[inline]
pub(crate) fn counts(field: &FieldLayout, slot: Slot) -> bool {
    // SAFETY: a slot that is stored holds what the layout says.
    unsafe {
        match field.shape {
            Shape::List => slot.cast::<List>().read().len > 0,
            Shape::Map => !map_of(slot).records().is_empty(),
            Shape::Single => field.label != Label::Implicit || !is_zero(field.cell, slot),
        }
    }
}

/// True for the value that means absence in fields without explicit presence.
///
/// # Safety
/// The slot is stored and holds such a cell.
#[inline(always)]
pub(crate) unsafe fn is_zero(cell: Cell, slot: Slot) -> bool {
    // SAFETY: the caller guarantees that the slot is stored and holds such a cell.
    unsafe {
        match cell {
            Cell::Bool => slot.read() == 0,
            Cell::Word32 => slot.cast::<u32>().read() == 0,
            // Minus zero counts: its bits are not zero.
            Cell::Word64 => slot.cast::<u64>().read() == 0,
            Cell::View => slot.cast::<View>().read().len == 0,
            Cell::Record => false,
        }
    }
}

/// An extension that is stored, if it counts.
#[inline]
fn counted<'m>(
    layouts: &'m Layouts,
    extension: &Extension,
) -> Option<(FieldId, &'m FieldLayout, Slot)> {
    let id = FieldId(extension.field);
    let (field, slot) = (layouts.field(id), NonNull::from(&extension.slot).cast());
    counts(field, slot).then_some((id, field, slot))
}

/// Iterates over present fields, ascending by number, extensions included.
pub(crate) struct Present<'m> {
    layouts: &'m Layouts,
    layout: &'m RecordLayout,
    record: Option<Record>,
    /// The current presence word, and the bits left of it.
    word: u32,
    left: u64,
    extensions: &'m [Extension],
}

impl<'m> Present<'m> {
    #[inline]
    pub(crate) fn of(
        layouts: &'m Layouts,
        layout: &'m RecordLayout,
        record: Option<Record>,
    ) -> Present<'m> {
        let extensions = record.map_or(&[][..], |record| record.extensions());
        let words = layout.presence_words();
        let left = record.filter(|_| words > 0).map_or(0, |record| record.presence_word(0));
        Present { layouts, layout, record, word: 0, left, extensions }
    }

    /// The index of the next bit that is set.
    #[inline]
    fn next_bit(&mut self) -> Option<usize> {
        let record = self.record?;
        while self.left == 0 {
            if self.word + 1 >= self.layout.presence_words() {
                return None;
            }
            self.word += 1;
            self.left = record.presence_word(self.word);
        }
        Some(self.word as usize * 64 + self.left.trailing_zeros() as usize)
    }
}

impl<'m> Iterator for Present<'m> {
    type Item = (FieldId, &'m FieldLayout, Slot);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if !self.extensions.is_empty() {
            return self.next_among_extensions();
        }
        let record = self.record?;
        loop {
            let id = self.layout.fields[self.next_bit()?];
            let field = self.layouts.field(id);
            self.left &= self.left - 1;
            let slot = record.place(field);
            if self.layout.map_entry || counts(field, slot) {
                return Some((id, field, slot));
            }
        }
    }
}

impl<'m> Present<'m> {
    /// The next one, while there are extensions left.
    #[inline(never)]
    fn next_among_extensions(&mut self) -> Option<(FieldId, &'m FieldLayout, Slot)> {
        let record = self.record?;
        loop {
            let own = self.next_bit().map(|bit| self.layout.fields[bit]);
            let own = own.map(|id| (id, self.layouts.field(id)));
            if let [first, rest @ ..] = self.extensions
                && own.is_none_or(|(_, field)| first.number < field.number)
            {
                self.extensions = rest;
                match counted(self.layouts, first) {
                    None => continue,
                    there => return there,
                }
            }
            let (id, field) = own?;
            self.left &= self.left - 1;
            let slot = record.place(field);
            if self.layout.map_entry || counts(field, slot) {
                return Some((id, field, slot));
            }
        }
    }
}

/// The same, descending.
pub(crate) struct Backwards<'m> {
    layouts: &'m Layouts,
    layout: &'m RecordLayout,
    record: Record,
    /// The current presence word, and the bits left of it.
    word: u32,
    left: u64,
    extensions: &'m [Extension],
}

impl<'m> Backwards<'m> {
    #[inline]
    pub(crate) fn of(
        layouts: &'m Layouts,
        layout: &'m RecordLayout,
        record: Record,
    ) -> Backwards<'m> {
        let (word, extensions) = (layout.presence_words(), record.extensions());
        Backwards { layouts, layout, record, word, left: 0, extensions }
    }

    /// The index of the last bit that is set.
    #[inline]
    fn last_bit(&mut self) -> Option<usize> {
        while self.left == 0 {
            self.word = self.word.checked_sub(1)?;
            self.left = self.record.presence_word(self.word);
        }
        Some(self.word as usize * 64 + self.left.ilog2() as usize)
    }
}

impl<'m> Iterator for Backwards<'m> {
    type Item = (FieldId, &'m FieldLayout, Slot);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let own = self.last_bit().map(|bit| self.layout.fields[bit]);
            let own = own.map(|id| (id, self.layouts.field(id)));
            if let [rest @ .., last] = self.extensions
                && own.is_none_or(|(_, field)| last.number > field.number)
            {
                self.extensions = rest;
                match counted(self.layouts, last) {
                    None => continue,
                    there => return there,
                }
            }
            let (id, field) = own?;
            self.left ^= 1 << self.left.ilog2();
            let slot = self.record.place(field);
            if self.layout.map_entry || counts(field, slot) {
                return Some((id, field, slot));
            }
        }
    }
}
