//! Events into bytes: all that feeds a [`Sink`] can write a message.
//!
//! Lengths are not known when a sub-message begins. Room for one is left, as wide as it was for
//! that field the last time, and filled in at the end; where the guess was wrong the content
//! moves by a few bytes. Lists of numbers that are packed by their feature are collected while
//! their elements are consecutive.
//!
//! ```text
//! tag | room | content of the sub-message ... | next field
//!       ^ start - width     ^ start
//! ```
//! Fields of [`Label::Implicit`] are left out where they are zero or empty, but not in entries of
//! maps, and not where an earlier value of the field may have been written: events of a decoder
//! may bring a field twice, and the last one counts. Fields of the old sets of messages are
//! written in their own form.

use super::{Number, Raw, raw};
use crate::schema::{FieldId, FieldType, Label, MessageId, Schema, Tag, WireType};
use crate::sink::{Sink, SinkResult, Stop};
use crate::varint;

/// Guesses that are kept; fields share them.
const GUESSES: usize = 64;

/// Writes the events of messages as bytes; see the module.
#[derive(Debug)]
pub struct BinarySink<'s> {
    schema: &'s Schema,
    out: Vec<u8>,
    frames: Vec<Frame>,
    /// The message whose fields are being written.
    here: MessageKind,
    /// The packed list whose elements are being written, and where they begin.
    packed: Option<(FieldId, usize)>,
    guesses: [u8; GUESSES],
    /// The number of the current message. Single messages inside have that of the one around them,
    /// as they may be repeated and are merged then.
    serial: u32,
    /// The numbers given so far.
    serials: u32,
    /// By field without presence: the last message in which it was written. Empty before the first.
    written: Vec<u32>,
}

/// The kind of the message whose fields are being written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum MessageKind {
    Plain,
    MapEntry,
    MessageSet,
}

/// An outer message that is not complete.
#[derive(Clone, Copy, Debug)]
struct Frame {
    field: FieldId,
    /// The kind of the outer message, and its number.
    outside: MessageKind,
    serial: u32,
    /// The start of the content.
    start: usize,
    end: End,
}

/// The end of a sub-message.
#[derive(Clone, Copy, Debug)]
enum End {
    /// By its length, for which the given number of bytes is left.
    Length(u8),
    /// With a tag.
    Group,
    /// By its length, then the end of the item of a set.
    Item(u8),
}

impl<'s> BinarySink<'s> {
    /// A sink for messages of this schema.
    pub fn new(schema: &'s Schema) -> BinarySink<'s> {
        BinarySink::onto(schema, Vec::new())
    }

    /// A sink that appends to `out`.
    pub fn onto(schema: &'s Schema, out: Vec<u8>) -> BinarySink<'s> {
        let (frames, here, packed) = (Vec::new(), MessageKind::Plain, None);
        let (guesses, written) = ([1; GUESSES], Vec::new());
        BinarySink { schema, out, frames, here, packed, guesses, serial: 1, serials: 1, written }
    }

    /// The bytes of the messages so far.
    pub fn bytes(&self) -> &[u8] {
        &self.out
    }

    /// Takes the bytes of the messages so far.
    pub fn into_bytes(self) -> Vec<u8> {
        self.out
    }

    /// Drops the messages so far, and keeps the memory.
    pub fn clear(&mut self) {
        self.out.clear();
        self.frames.clear();
        self.packed = None;
    }

    fn kind(&self, message: MessageId) -> MessageKind {
        let def = self.schema.message(message);
        match (def.is_map_entry(), def.is_message_set()) {
            (true, _) => MessageKind::MapEntry,
            (false, true) => MessageKind::MessageSet,
            (false, false) => MessageKind::Plain,
        }
    }

    /// The number of another message.
    #[inline]
    fn next_serial(&mut self) -> u32 {
        self.serials = self.serials.checked_add(1).unwrap_or_else(|| {
            // Everything written counts for all open messages.
            self.written.iter_mut().filter(|one| **one > 0).for_each(|one| *one = u32::MAX);
            1
        });
        self.serials
    }

    /// Whether a field without presence is left out, being zero or empty.
    #[inline]
    fn leaves_out(&mut self, field: FieldId, label: Label, is_zero: bool) -> bool {
        if label != Label::Implicit || self.here == MessageKind::MapEntry {
            return false;
        }
        if is_zero {
            // Later messages may be inside of this one and have overwritten its mark.
            let last = self.written.get(field.index()).copied().unwrap_or(0);
            return last < self.serial;
        }
        if self.written.is_empty() {
            self.written = vec![0; self.schema.field_count()];
        }
        if let Some(mark) = self.written.get_mut(field.index()) {
            *mark = self.serial.max(*mark);
        }
        false
    }

    #[inline]
    fn tag(&mut self, tag: &Tag) {
        // The longest form is copied and cut: its size is known to the compiler.
        let end = self.out.len() + tag.as_bytes().len();
        self.out.extend_from_slice(tag.padded());
        self.out.truncate(end);
    }

    #[inline]
    fn number<T: Number + Copy>(&mut self, field: FieldId, value: T) -> SinkResult {
        let def = self.schema.wire_field(field);
        let raw = raw(self.schema, field, value);
        if def.packed {
            if self.packed.is_none_or(|(open, _)| open != field) {
                self.open_packed(field);
            }
            raw.write(&mut self.out);
            return Ok(());
        }
        self.close_packed();
        if self.leaves_out(field, def.label, raw.is_zero()) {
            return Ok(());
        }
        self.tag(&def.tag);
        match raw {
            Raw::Varint(value) if value < 0x80 => self.out.push(value as u8),
            raw => raw.write(&mut self.out),
        }
        Ok(())
    }

    fn open_packed(&mut self, field: FieldId) {
        self.close_packed();
        let tag = self.schema.wire_field(field).tag;
        self.tag(&tag);
        let start = self.leave_room(field).1;
        self.packed = Some((field, start));
    }

    #[inline]
    fn close_packed(&mut self) {
        if let Some((field, start)) = self.packed.take() {
            let width = self.guesses[field.index() % GUESSES];
            self.fill_room(field, start, width);
        }
    }

    /// Leaves room for a length; returns its width and the start of the content.
    #[inline]
    fn leave_room(&mut self, field: FieldId) -> (u8, usize) {
        let width = self.guesses[field.index() % GUESSES];
        self.out.extend_from_slice(&[0; varint::BYTES_MAX][..usize::from(width)]);
        (width, self.out.len())
    }

    /// Writes the length of what began at `start` into the room before it.
    #[inline]
    fn fill_room(&mut self, field: FieldId, start: usize, width: u8) {
        let length = self.out.len() - start;
        if width == 1 && length < 0x80 {
            self.out[start - 1] = length as u8;
            return;
        }
        self.fill_wide(field, start, usize::from(width), length);
    }

    #[inline(never)]
    fn fill_wide(&mut self, field: FieldId, start: usize, width: usize, length: usize) {
        let needed = varint::len(length as u64);
        let room = start - width;
        if needed > width {
            self.out.resize(self.out.len() + needed - width, 0);
            self.out.copy_within(start..start + length, room + needed);
        } else if needed < width {
            self.out.copy_within(start..start + length, room + needed);
            self.out.truncate(room + needed + length);
        }
        self.guesses[field.index() % GUESSES] = needed as u8;
        let mut rest = length as u64;
        for (at, place) in self.out[room..room + needed].iter_mut().enumerate() {
            *place = rest as u8 & 0x7f | if at + 1 < needed { 0x80 } else { 0 };
            rest >>= 7;
        }
    }

    #[inline]
    fn start_text(&mut self, field: FieldId, length: usize) -> SinkResult {
        self.close_packed();
        let def = self.schema.wire_field(field);
        if self.leaves_out(field, def.label, length == 0) {
            return Ok(());
        }
        self.tag(&def.tag);
        varint::write(&mut self.out, length as u64);
        Ok(())
    }
}

impl<'a> Sink<'a> for BinarySink<'_> {
    fn start_message(&mut self, message: MessageId) -> SinkResult {
        self.here = self.kind(message);
        self.serial = self.next_serial();
        Ok(())
    }

    fn end_message(&mut self, _: MessageId) -> SinkResult {
        self.close_packed();
        if self.frames.is_empty() { Ok(()) } else { Err(Stop) }
    }

    fn start_sub(&mut self, field: FieldId) -> SinkResult {
        self.close_packed();
        let def = self.schema.wire_field(field);
        let message = def.ty.message().ok_or(Stop)?;
        let is_group = matches!(def.ty, FieldType::Group(_));
        let end = if self.here == MessageKind::MessageSet && !is_group {
            let number = self.schema.field(field).number();
            self.out.extend_from_slice(&ITEM_START);
            varint::write(&mut self.out, u64::from(number));
            self.out.push(ITEM_MESSAGE);
            End::Item(self.leave_room(field).0)
        } else {
            self.tag(&def.tag);
            if is_group { End::Group } else { End::Length(self.leave_room(field).0) }
        };
        let (outside, serial, start) = (self.here, self.serial, self.out.len());
        self.frames.push(Frame { field, outside, serial, start, end });
        self.here = self.kind(message);
        if def.label == Label::Repeated {
            self.serial = self.next_serial();
        }
        Ok(())
    }

    fn end_sub(&mut self, field: FieldId) -> SinkResult {
        self.close_packed();
        let frame = self.frames.pop_if(|frame| frame.field == field).ok_or(Stop)?;
        (self.here, self.serial) = (frame.outside, frame.serial);
        match frame.end {
            End::Length(width) => self.fill_room(field, frame.start, width),
            End::Item(width) => {
                self.fill_room(field, frame.start, width);
                self.out.push(ITEM_END);
            }
            End::Group => {
                let number = self.schema.field(field).number();
                self.tag(&Tag::new(number, WireType::EndGroup));
            }
        }
        Ok(())
    }

    fn i64(&mut self, field: FieldId, value: i64) -> SinkResult {
        self.number(field, value)
    }

    fn u64(&mut self, field: FieldId, value: u64) -> SinkResult {
        self.number(field, value)
    }

    fn i32(&mut self, field: FieldId, value: i32) -> SinkResult {
        self.number(field, value)
    }

    fn u32(&mut self, field: FieldId, value: u32) -> SinkResult {
        self.number(field, value)
    }

    fn f64(&mut self, field: FieldId, value: f64) -> SinkResult {
        self.number(field, value)
    }

    fn f32(&mut self, field: FieldId, value: f32) -> SinkResult {
        self.number(field, value)
    }

    fn bool(&mut self, field: FieldId, value: bool) -> SinkResult {
        self.number(field, value)
    }

    fn start_string(&mut self, field: FieldId, length: usize) -> SinkResult {
        self.start_text(field, length)
    }

    fn string(&mut self, _: FieldId, piece: &'a str) -> SinkResult {
        self.out.extend_from_slice(piece.as_bytes());
        Ok(())
    }

    fn raw_string(&mut self, _: FieldId, piece: &'a [u8]) -> SinkResult {
        self.out.extend_from_slice(piece);
        Ok(())
    }

    fn start_bytes(&mut self, field: FieldId, length: usize) -> SinkResult {
        self.start_text(field, length)
    }

    fn bytes(&mut self, _: FieldId, piece: &'a [u8]) -> SinkResult {
        self.out.extend_from_slice(piece);
        Ok(())
    }

    fn unknown(&mut self, _: u32, raw: &'a [u8]) -> SinkResult {
        self.close_packed();
        self.out.extend_from_slice(raw);
        Ok(())
    }

    fn unknown_element(&mut self, number: u32, value: u64) -> SinkResult {
        self.close_packed();
        self.tag(&Tag::new(number, WireType::Varint));
        varint::write(&mut self.out, value);
        Ok(())
    }
}

/// Start of an item: group 1, and the tag of its number, field 2.
const ITEM_START: [u8; 2] = [1 << 3 | WireType::StartGroup as u8, 2 << 3];
/// The tag of its message, field 3.
const ITEM_MESSAGE: u8 = 3 << 3 | WireType::Length as u8;
/// Its end.
const ITEM_END: u8 = 1 << 3 | WireType::EndGroup as u8;
