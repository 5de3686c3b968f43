//! Messages from events: the sink that stores what a decoder or parser tells.
//!
//! It merges as the wire format asks: of a single field the last value counts, messages that come
//! twice are merged, the last member of a oneof counts, lists are appended; an entry of a map
//! replaces an earlier one with its key, and gets a zero key or value where it has none. A number
//! that a closed enum does not have becomes an unknown field, and an entry with such a value too.

use std::marker::PhantomData;

use super::arena::Arena;
use super::layout::{FieldLayout, Kind, Layouts, RecordLayout, Shape};
use super::record::{List, Record, View};
use super::storage::Storage;
use super::value::{AccessError, field, wrong_kind};
use super::write::complete_entry;
use crate::encode::walk;
use crate::schema::{FieldId, FieldType, MessageId, Schema, Tag, WireType};
use crate::sink::{Flow, Sink, Stop};
use crate::varint;

/// Whether a builder copies strings.
pub trait Keeping {
    /// It does.
    const COPIES: bool;
}

/// What a builder does with the strings it is told.
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

/// A string that comes in pieces.
#[derive(Clone, Copy, Debug)]
struct Text {
    view: View,
    /// Bytes that it has room for in the arena; 0 while it is one piece.
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

    /// For records that lie as these layouts of the schema say.
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
    fn field(&mut self, id: FieldId, kind: Kind) -> Result<&'m FieldLayout, Stop> {
        match self.layouts.find(id) {
            Some(field) if field.kind == kind && field.message == self.layout.message => Ok(field),
            _ => Err(self.misfit(id, kind.name())),
        }
    }

    #[inline]
    fn put<T: Copy>(&mut self, id: FieldId, kind: Kind, value: T) -> Flow {
        let field = self.field(id, kind)?;
        self.store(id, field, value)
    }

    #[inline]
    fn store<T: Copy>(&mut self, id: FieldId, field: &FieldLayout, value: T) -> Flow {
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
        // SAFETY: nobody else uses the list meanwhile.
        let list: &mut List = unsafe { list.as_mut() };
        list.push(self.arena, value).ok_or_else(|| self.full())
    }

    fn put_enum(&mut self, id: FieldId, number: i32) -> Flow {
        let field = self.field(id, Kind::Enum)?;
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
    pub(super) fn push_unknown_number(&mut self, number: u32, value: u64) -> Flow {
        let mut raw = Tag::new(number, WireType::Varint).as_bytes().to_vec();
        varint::write(&mut raw, value);
        self.push_unknown_copy(self.record, &raw)
    }

    fn push_unknown_copy(&mut self, record: Record, raw: &[u8]) -> Flow {
        let view = Copies::keep(self.arena, raw);
        let pushed = view.and_then(|view| record.push_unknown(self.arena, view));
        pushed.ok_or_else(|| self.full())
    }

    /// Another piece of a string whose earlier ones are kept.
    #[cold]
    fn append(&mut self, piece: &[u8]) -> Flow {
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
                // SAFETY: the pieces so far live; the new place is larger and nobody's.
                unsafe { view.start.copy_to_nonoverlapping(place.as_ptr(), view.len as usize) };
                self.text.view.start = place.as_ptr();
            }
            self.text.capacity = capacity;
        }
        let end = self.text.view.start.cast_mut().wrapping_add(view.len as usize);
        // SAFETY: behind the pieces so far there is room for this one.
        unsafe { end.copy_from_nonoverlapping(piece.as_ptr(), piece.len()) };
        self.text.view.len = new_len;
        Ok(())
    }

    /// True for a varint where an entry's value is of a closed enum: a number it does not have.
    #[cold]
    fn is_odd_value(&self, raw: &[u8]) -> bool {
        let closed = self.layout.fields.get(1).map(|&id| self.layouts.field(id).closed);
        closed == Some(true) && raw.first().is_some_and(|tag| tag & 7 == WireType::Varint as u8)
    }

    /// The end of an entry: into its map, or to the unknown fields.
    pub(super) fn end_entry(&mut self, map_id: FieldId, entry: Record, odd: bool) -> Flow {
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
            // SAFETY: nobody else uses the map meanwhile.
            unsafe { &mut *map.as_ptr() }.insert(self.arena, entry, key)
        };
        let done: Option<()> = { put }();
        done.ok_or_else(|| self.full())
    }
}

impl<'a, K: Keep<'a>> Builder<'_, K> {
    #[inline]
    fn piece(&mut self, piece: &'a [u8]) -> Flow {
        if self.text.view.len > 0 {
            return self.append(piece);
        }
        match K::keep(self.arena, piece) {
            Some(view) => {
                self.text.view = view;
                Ok(())
            }
            None => Err(self.full()),
        }
    }
}

impl<'a, K: Keep<'a>> Sink<'a> for Builder<'_, K> {
    fn storage(&mut self) -> Option<&mut dyn Storage> {
        Some(self)
    }

    fn start_message(&mut self, message: MessageId) -> Flow {
        if message == self.layout.message && self.frames.is_empty() {
            return Ok(());
        }
        let name = |of: MessageId| match of.index() < self.schema.messages().len() {
            true => self.schema.full_name(of).to_owned(),
            false => "of another schema".to_owned(),
        };
        let (wanted, given) = (name(self.layout.message), name(message));
        Err(self.fail(AccessError::WrongMessage { wanted, given }))
    }

    fn start_sub(&mut self, id: FieldId) -> Flow {
        let field = self.field(id, Kind::Message)?;
        let Some(of) = field.record else { return Err(Stop) };
        let of = self.layouts.record(of);
        let record = match field.shape {
            Shape::Single => self.record.make_record(self.arena, self.layout, id.0, field, of),
            Shape::Map => Record::new(self.arena, of),
            Shape::List => match Record::new(self.arena, of) {
                Some(record) => {
                    self.store(id, field, record)?;
                    Some(record)
                }
                None => None,
            },
        };
        let Some(record) = record else { return Err(self.full()) };
        let outer = Frame {
            record: self.record,
            message: self.layout.message,
            field: id,
            odd_entry: self.odd_entry,
        };
        self.frames.push(outer);
        (self.record, self.layout, self.odd_entry) = (record, of, false);
        Ok(())
    }

    fn end_sub(&mut self, id: FieldId) -> Flow {
        let Some(outer) = self.frames.pop_if(|frame| frame.field == id) else {
            return Err(self.misfit(id, "end of a message"));
        };
        let (inner, odd) = (self.record, self.odd_entry);
        let is_entry = self.layout.map_entry;
        self.record = outer.record;
        self.layout = self.layouts.record(outer.message);
        self.odd_entry = outer.odd_entry;
        if is_entry && self.layouts.field(id).shape == Shape::Map {
            return self.end_entry(id, inner, odd);
        }
        Ok(())
    }

    #[inline]
    fn i64(&mut self, field: FieldId, value: i64) -> Flow {
        self.put(field, Kind::I64, value)
    }

    #[inline]
    fn u64(&mut self, field: FieldId, value: u64) -> Flow {
        self.put(field, Kind::U64, value)
    }

    #[inline]
    fn i32(&mut self, field: FieldId, value: i32) -> Flow {
        match self.layouts.find(field) {
            Some(layout) if layout.kind == Kind::Enum => self.put_enum(field, value),
            _ => self.put(field, Kind::I32, value),
        }
    }

    #[inline]
    fn u32(&mut self, field: FieldId, value: u32) -> Flow {
        self.put(field, Kind::U32, value)
    }

    #[inline]
    fn f64(&mut self, field: FieldId, value: f64) -> Flow {
        self.put(field, Kind::F64, value)
    }

    #[inline]
    fn f32(&mut self, field: FieldId, value: f32) -> Flow {
        self.put(field, Kind::F32, value)
    }

    #[inline]
    fn bool(&mut self, field: FieldId, value: bool) -> Flow {
        self.put(field, Kind::Bool, u8::from(value))
    }

    #[inline]
    fn start_string(&mut self, _: FieldId, _: usize) -> Flow {
        self.text = Text::NONE;
        Ok(())
    }

    #[inline]
    fn string(&mut self, _: FieldId, piece: &'a str) -> Flow {
        self.piece(piece.as_bytes())
    }

    #[inline]
    fn raw_string(&mut self, _: FieldId, piece: &'a [u8]) -> Flow {
        self.text.utf8 = false;
        self.piece(piece)
    }

    #[inline]
    fn end_string(&mut self, field: FieldId) -> Flow {
        let text = std::mem::replace(&mut self.text, Text::NONE);
        let field_layout = self.field(field, Kind::String)?;
        // SAFETY: the view is of what was told just before.
        let valid = || std::str::from_utf8(unsafe { text.view.bytes() }).is_ok();
        if !text.utf8 && field_layout.utf8 && !valid() {
            return Err(self.misfit(field, Kind::Bytes.name()));
        }
        self.store(field, field_layout, text.view)
    }

    #[inline]
    fn whole_string(&mut self, id: FieldId, text: &'a str) -> Flow {
        let field = self.field(id, Kind::String)?;
        let Some(view) = K::keep(self.arena, text.as_bytes()) else { return Err(self.full()) };
        self.store(id, field, view)
    }

    #[inline]
    fn start_bytes(&mut self, _: FieldId, _: usize) -> Flow {
        self.text = Text::NONE;
        Ok(())
    }

    #[inline]
    fn bytes(&mut self, _: FieldId, piece: &'a [u8]) -> Flow {
        self.text.utf8 = false;
        self.piece(piece)
    }

    #[inline]
    fn end_bytes(&mut self, field: FieldId) -> Flow {
        let text = std::mem::replace(&mut self.text, Text::NONE);
        match self.layouts.find(field) {
            // Strings that need not be UTF-8 are told as bytes where they are not.
            Some(layout) if layout.kind == Kind::String && !layout.utf8 => {
                self.put(field, Kind::String, text.view)
            }
            _ => self.put(field, Kind::Bytes, text.view),
        }
    }

    fn unknown(&mut self, number: u32, raw: &'a [u8]) -> Flow {
        if self.layout.map_entry && number == 2 {
            self.odd_entry |= self.is_odd_value(raw);
        }
        let view = K::keep(self.arena, raw);
        let pushed = view.and_then(|view| self.record.push_unknown(self.arena, view));
        pushed.ok_or_else(|| self.full())
    }

    fn unknown_element(&mut self, number: u32, value: u64) -> Flow {
        self.push_unknown_number(number, value)
    }
}
