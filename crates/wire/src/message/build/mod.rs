//! Messages from events: the builder stores what a decoder or parser finds. `sink` implements the
//! events, and `storage` the interface of native decoders.
//!
//! It merges as the wire format asks: of a single field the last value counts, messages that come
//! twice are merged, the last member of a oneof counts, lists are appended; an entry of a map
//! replaces an earlier one with its key, and gets a zero key or value where it has none. A number
//! that a closed enum does not have becomes an unknown field, and an entry with such a value too.

mod sink;
mod storage;

use std::marker::PhantomData;

use super::access::{AccessError, field, wrong_kind};
use super::arena::Arena;
use super::entry::complete_entry;
use super::layout::{FieldLayout, Layouts, RecordLayout, Shape, ValueType};
use super::record::Record;
use super::slots::{List, View};
use crate::encode::walk;
use crate::schema::{FieldId, FieldType, MessageId, Schema, Tag, WireType};
use crate::stop::{SinkResult, Stop};
use crate::varint;

/// Whether a builder copies strings.
pub trait Keeping {
    /// Whether it copies.
    const COPIES: bool;
}

/// The storage of strings by a builder.
pub trait Keep<'a>: Keeping {
    /// A view of them that lives as long as the message; `None` where there is no room.
    fn keep(arena: &mut Arena, bytes: &'a [u8]) -> Option<View>;
}

/// Strings stay where they are: the input outlives the message.
#[derive(Clone, Copy, Debug, Default)]
pub struct Views<'i>(PhantomData<&'i [u8]>);

impl Keeping for Views<'_> {
    const COPIES: bool = false;
}

impl<'i> Keep<'i> for Views<'i> {
    #[inline]
    fn keep(_: &mut Arena, bytes: &'i [u8]) -> Option<View> {
        View::of(bytes)
    }
}

/// Strings are copied into the message.
#[derive(Clone, Copy, Debug, Default)]
pub struct Copies;

impl Keeping for Copies {
    const COPIES: bool = true;
}

impl Keep<'_> for Copies {
    #[inline]
    fn keep(arena: &mut Arena, bytes: &[u8]) -> Option<View> {
        let view = View::of(bytes)?;
        Some(View { start: arena.copy(bytes)?.as_ptr(), ..view })
    }
}

/// A message around the one that is being filled.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    pub(super) record: Record,
    pub(super) message: MessageId,
    /// The field that the inner message is a value of.
    pub(super) field: FieldId,
    /// The entry being filled has a value that its closed enum does not have.
    pub(super) odd_entry: bool,
}

/// A string in pieces.
#[derive(Clone, Copy, Debug)]
struct Text {
    view: View,
    /// Its capacity in the arena; 0 while it is one piece.
    capacity: usize,
    /// All pieces were strings.
    utf8: bool,
}

impl Text {
    const NONE: Text = Text { view: View::EMPTY, capacity: 0, utf8: true };
}

/// Fills one message; see the module. Events that no such message can give end in an error.
#[derive(Debug)]
pub struct Builder<'m, K> {
    pub(super) schema: &'m Schema,
    pub(super) layouts: &'m Layouts,
    pub(super) arena: &'m mut Arena,
    /// The message being filled.
    pub(super) record: Record,
    pub(super) layout: &'m RecordLayout,
    pub(super) odd_entry: bool,
    pub(super) frames: &'m mut Vec<Frame>,
    text: Text,
    error: Option<AccessError>,
    keep: PhantomData<K>,
}

impl<'m, K> Builder<'m, K> {
    pub(super) fn new(
        schema: &'m Schema,
        arena: &'m mut Arena,
        message: MessageId,
        record: Record,
        frames: &'m mut Vec<Frame>,
        keep: K,
    ) -> Builder<'m, K> {
        Builder::over(schema, schema.layouts(), arena, message, record, frames, keep)
    }

    /// A builder for records of these layouts of the schema.
    pub(super) fn over(
        schema: &'m Schema,
        layouts: &'m Layouts,
        arena: &'m mut Arena,
        message: MessageId,
        record: Record,
        frames: &'m mut Vec<Frame>,
        _: K,
    ) -> Builder<'m, K> {
        frames.clear();
        Builder {
            schema,
            layouts,
            arena,
            record,
            layout: layouts.record(message),
            odd_entry: false,
            frames,
            text: Text::NONE,
            error: None,
            keep: PhantomData,
        }
    }

    /// Why it stopped the walk.
    pub fn error(&self) -> Option<&AccessError> {
        self.error.as_ref()
    }

    pub(super) fn take_error(&mut self) -> Option<AccessError> {
        self.error.take()
    }

    #[cold]
    fn fail(&mut self, error: AccessError) -> Stop {
        self.error.get_or_insert(error);
        Stop
    }

    #[cold]
    pub(super) fn full(&mut self) -> Stop {
        self.fail(AccessError::Full)
    }

    #[cold]
    fn misfit(&mut self, id: FieldId, used_as: &'static str) -> Stop {
        let error = match field(self.schema, self.layout.message, id) {
            Err(error) => error,
            Ok((id, layout)) => wrong_kind(self.schema, id, layout, used_as),
        };
        self.fail(error)
    }

    /// The layout of a field of the message being filled, if it is of that kind.
    #[inline]
    fn field(&mut self, id: FieldId, kind: ValueType) -> Result<&'m FieldLayout, Stop> {
        match self.layouts.find(id) {
            Some(field) if field.kind == kind && field.message == self.layout.message => Ok(field),
            _ => Err(self.misfit(id, kind.name())),
        }
    }

    #[inline]
    fn put<T: Copy>(&mut self, id: FieldId, kind: ValueType, value: T) -> SinkResult {
        let field = self.field(id, kind)?;
        self.store(id, field, value)
    }

    #[inline]
    fn store<T: Copy>(&mut self, id: FieldId, field: &FieldLayout, value: T) -> SinkResult {
        debug_assert_eq!(size_of::<T>(), field.cell.bytes() as usize);
        if field.shape == Shape::Single {
            let slot = self.record.make_slot(self.arena, self.layout, id.0, field);
            let Some((slot, _)) = slot else { return Err(self.full()) };
            // SAFETY: the slot is for values of that kind.
            unsafe { slot.cast::<T>().write(value) };
            return Ok(());
        }
        let list = self.record.make_list(self.arena, self.layout, id.0, field);
        let Some(mut list) = list else { return Err(self.full()) };
        // SAFETY: nothing else uses the list meanwhile.
        let list: &mut List = unsafe { list.as_mut() };
        list.push(self.arena, value).ok_or_else(|| self.full())
    }

    fn put_enum(&mut self, id: FieldId, number: i32) -> SinkResult {
        let field = self.field(id, ValueType::Enum)?;
        if let FieldType::Enum(of) = field.ty
            && field.closed
            && self.schema.enum_def(of).value_by_number(number).is_none()
        {
            self.odd_entry |= self.layout.map_entry;
            return self.push_unknown_number(field.number, i64::from(number) as u64);
        }
        self.store(id, field, number)
    }

    /// A number that a closed enum does not have, as an unknown field.
    pub(super) fn push_unknown_number(&mut self, number: u32, value: u64) -> SinkResult {
        let mut raw = Tag::new(number, WireType::Varint).as_bytes().to_vec();
        varint::write(&mut raw, value);
        self.push_unknown_copy(self.record, &raw)
    }

    fn push_unknown_copy(&mut self, record: Record, raw: &[u8]) -> SinkResult {
        let view = Copies::keep(self.arena, raw);
        let pushed = view.and_then(|view| record.push_unknown(self.arena, view));
        pushed.ok_or_else(|| self.full())
    }

    /// Appends another piece of a string.
    #[cold]
    fn append(&mut self, piece: &[u8]) -> SinkResult {
        let Text { view, capacity, .. } = self.text;
        let len = view.len as usize + piece.len();
        let Ok(new_len) = u32::try_from(len) else {
            return Err(self.fail(AccessError::TooLarge));
        };
        if len > capacity {
            let capacity = len.max(2 * capacity);
            let start = view.start.cast_mut();
            if self.text.capacity == 0 || !self.arena.extend(start, self.text.capacity, capacity) {
                let Some(place) = self.arena.alloc(capacity) else { return Err(self.full()) };
                // SAFETY: the pieces so far live; the new place is larger and not used yet.
                unsafe { view.start.copy_to_nonoverlapping(place.as_ptr(), view.len as usize) };
                self.text.view.start = place.as_ptr();
            }
            self.text.capacity = capacity;
        }
        let end = self.text.view.start.cast_mut().wrapping_add(view.len as usize);
        // SAFETY: after the pieces so far there is room for this one.
        unsafe { end.copy_from_nonoverlapping(piece.as_ptr(), piece.len()) };
        self.text.view.len = new_len;
        Ok(())
    }

    /// True for a varint that is a value of an entry that its closed enum does not have.
    #[cold]
    fn is_odd_value(&self, raw: &[u8]) -> bool {
        let closed = self.layout.fields.get(1).map(|&id| self.layouts.field(id).closed);
        closed == Some(true) && raw.first().is_some_and(|tag| tag & 7 == WireType::Varint as u8)
    }

    /// Ends an entry: inserts it into its map, or adds it to the unknown fields.
    pub(super) fn end_entry(&mut self, map_id: FieldId, entry: Record, odd: bool) -> SinkResult {
        let field = self.layouts.field(map_id);
        let Some(of) = field.record.map(|of| self.layouts.record(of)) else { return Err(Stop) };
        if odd {
            let Ok(raw) = walk::odd_entry(self.schema, map_id, entry) else {
                return Err(self.fail(AccessError::TooLarge));
            };
            return self.push_unknown_copy(self.record, &raw);
        }
        let put = || {
            complete_entry(self.schema, self.arena, of, entry)?;
            let map = self.record.make_map(self.arena, self.layout, map_id.0, field)?;
            let key = self.layouts.field(of.fields[0]);
            // SAFETY: nothing else uses the map meanwhile.
            unsafe { &mut *map.as_ptr() }.insert(self.arena, entry, key)
        };
        let done: Option<()> = { put }();
        done.ok_or_else(|| self.full())
    }
}
