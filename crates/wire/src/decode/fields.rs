//! The loop over fields: the hot part of the table decoder.
//!
//! ```text
//!            +---------------- next tag <----------------+
//!            v                                           |
//!  at end? --> pop a frame, end_sub --------------------->
//!     | no                                               |
//!     +--> the tag that was expected, or found: value --->
//!     |                              sub: push a frame -->
//!     +--> else: skip, unknown -------------------------->
//! ```
//! A frame is what must be restored at the end of a sub-message. The walk does not recurse: input
//! cannot exhaust the stack.

use super::error::ErrorKind;
use super::load::{u32_at, u64_at, varint};
use super::nodes::{Action, Entry};
use super::state::{Why, Within};
use super::walk::{Field, Step, Walk, Zone, proceed};
use crate::schema::{EnumId, FIELD_NUMBER_MAX, WireType};
use crate::sink::Sink;
use crate::utf8;
use crate::varint::unzigzag;

/// What a tag is that was not the expected one.
enum Tag {
    /// The tag of the entry at this place.
    Entry(u32),
    /// The end of the innermost group.
    EndGroup,
    /// Of an unknown field, which is skipped, or not all there.
    Left,
}

/// Where the loop is. The functions that take it are inlined, so that its parts stay in registers
/// across all kinds of fields; a call would spill them for each field.
struct Cursor {
    zone: Zone,
    /// The end of the available bytes.
    have: usize,
    pos: usize,
    /// The place from which on no field may begin.
    limit: usize,
    /// The end of the bytes that a field may use.
    bound: usize,
    /// The entry that probably comes next.
    expected: u32,
}

impl Cursor {
    /// Sets the end of the message.
    #[inline(always)]
    fn set_end(&mut self, end: usize) {
        (self.limit, self.bound) = (self.zone.to.min(end), self.have.min(end));
    }
}

/// Of a value; if its field waits for more input, returns with `$waiting`.
macro_rules! wait_or {
    ($waiting:expr, $value:expr) => {
        match $value? {
            Some(value) => value,
            None => return Ok($waiting),
        }
    };
}

impl<'a, S: Sink<'a>> Walk<'_, 'a, S> {
    /// Reads fields until one is incomplete, or one begins that has a loop of its own.
    ///
    /// # Safety
    /// From every place before `zone.to`, [`super::load::SLACK`] bytes can be read.
    // One piece: an arm for each kind of field. Behind a function, even an inlined one, the
    // compiler spends up to 6% more instructions on the same arms.
    pub(super) unsafe fn fields(&mut self, zone: Zone) -> Step {
        let (tables, have) = (self.tables, self.have());
        let (pos, expected) = (self.state.pos, self.state.next);
        let mut at = Cursor { zone, have, pos, limit: 0, bound: 0, expected };
        at.set_end(self.state.end);
        loop {
            if at.pos >= at.limit {
                (self.state.pos, self.state.next) = (at.pos, at.expected);
                if at.pos != self.state.end {
                    return Ok(());
                }
                self.end_of_length()?;
                at.set_end(self.state.end);
                at.expected = self.state.next;
                continue;
            }
            let Cursor { pos, bound, expected, .. } = at;
            // SAFETY: a field may begin at `pos`.
            let (tag, tag_bytes) = unsafe { varint(zone.at(pos)) };
            let value = pos + tag_bytes;
            let (entry, place) = match tables.entries().get(expected as usize) {
                Some(entry) if u64::from(entry.tag) == tag && value <= bound => (entry, expected),
                _ => {
                    self.state.next = expected;
                    let place = match self.other_tag(tag, pos, value, bound)? {
                        Tag::Entry(place) => place,
                        Tag::EndGroup => {
                            (at.pos, at.expected) = (value, self.state.next);
                            continue;
                        }
                        Tag::Left => return Ok(()),
                    };
                    (tables.entry(place), place)
                }
            };
            if entry.required.is_some() {
                self.note(entry);
            }
            let field = Field { start: pos, value, number: tag as u32 >> 3, bound };
            if tag as u32 == entry.packed_tag() && entry.action != Action::Skip {
                // SAFETY: the place of the value of a field.
                if !unsafe { self.list(zone, place, field)? } {
                    return Ok(());
                }
                (at.pos, at.expected) = (self.state.pos, entry.next);
                continue;
            }
            macro_rules! varint {
                ($event:ident, $value:ident => $made:expr) => {{
                    // SAFETY: the place of the value of a field.
                    let ($value, after) = wait_or!((), unsafe { self.varint(zone, field) });
                    if self.sink.$event(entry.field, $made).is_err() {
                        return self.stopped(pos, field.number);
                    }
                    at.pos = after;
                }};
            }
            macro_rules! fixed {
                ($event:ident, $read:ident, $bytes:literal, $value:ident => $made:expr) => {{
                    let after = value + $bytes;
                    if after > bound {
                        return self.cut(pos, field.number);
                    }
                    // SAFETY: a tag and a fixed number are within the slack.
                    let $value = unsafe { $read(zone.at(value)) };
                    if self.sink.$event(entry.field, $made).is_err() {
                        return self.stopped(pos, field.number);
                    }
                    at.pos = after;
                }};
            }
            // Fields of a list of numbers that come one by one have the type of their elements.
            match entry.action {
                Action::Int64 => varint!(i64, v => v as i64),
                Action::Uint64 => varint!(u64, v => v),
                Action::Int32 => varint!(i32, v => v as i32),
                Action::Uint32 => varint!(u32, v => v as u32),
                Action::Bool => varint!(bool, v => v != 0),
                Action::Sint64 => varint!(i64, v => unzigzag(v)),
                // Bits above the 32nd are dropped, as in any 32-bit varint.
                Action::Sint32 => varint!(i32, v => unzigzag(v & u64::from(u32::MAX)) as i32),
                Action::Double => fixed!(f64, u64_at, 8, v => f64::from_bits(v)),
                Action::Fixed64 => fixed!(u64, u64_at, 8, v => v),
                Action::Sfixed64 => fixed!(i64, u64_at, 8, v => v as i64),
                Action::Float => fixed!(f32, u32_at, 4, v => f32::from_bits(v)),
                Action::Fixed32 => fixed!(u32, u32_at, 4, v => v),
                Action::Sfixed32 => fixed!(i32, u32_at, 4, v => v as i32),
                Action::ClosedEnum => {
                    // SAFETY: the place of the value of a field.
                    at.pos = wait_or!((), unsafe { self.closed_enum(zone, entry, field) });
                }
                Action::Group => {
                    self.begin_sub(place, *entry, pos)?;
                    (at.pos, at.expected) = (value, self.state.next);
                    continue;
                }
                Action::Message => {
                    // SAFETY: the place of the value of a field.
                    wait_or!((), unsafe { self.message(&mut at, place, entry, field) });
                    continue;
                }
                Action::RawString | Action::String | Action::Bytes => {
                    // SAFETY: the place of the value of a field.
                    at.pos = wait_or!((), unsafe { self.text_field(&at, place, entry, field) });
                }
                Action::Skip => {
                    self.state.next = entry.next;
                    let wire_type = WireType::from_tag(tag).ok_or(ErrorKind::BadWireType)?;
                    self.begin_skip(Why::Unwanted, wire_type, field);
                    return Ok(());
                }
            }
            at.expected = entry.next;
        }
    }

    /// Enters the message of a field.
    ///
    /// # Safety
    /// The field begins before `zone.to`.
    #[inline(always)]
    unsafe fn message(
        &mut self,
        at: &mut Cursor,
        place: u32,
        entry: &Entry,
        field: Field,
    ) -> Step<Option<()>> {
        // SAFETY: the caller guarantees the place.
        let (body, end) = wait_or!(None, unsafe { self.length(at.zone, field) });
        self.begin_sub(place, *entry, field.start)?;
        self.state.end = end;
        at.set_end(end);
        (at.pos, at.expected) = (body, self.state.next);
        Ok(Some(()))
    }

    /// A number of a closed enum; one that the enum does not have is an unknown field.
    ///
    /// # Safety
    /// The field begins before `zone.to`.
    #[inline(always)]
    unsafe fn closed_enum(
        &mut self,
        zone: Zone,
        entry: &Entry,
        field: Field,
    ) -> Step<Option<usize>> {
        // SAFETY: the caller guarantees the place.
        let (raw, after) = wait_or!(None, unsafe { self.varint(zone, field) });
        if !self.schema.enum_def(EnumId(entry.sub)).named().has(raw as i32) {
            self.state.next = entry.next;
            self.begin_skip(Self::why_unknown(), WireType::Varint, field);
            return Ok(None);
        }
        if self.sink.i32(entry.field, raw as i32).is_err() {
            return self.stopped(field.start, field.number).map(|()| None);
        }
        Ok(Some(after))
    }

    /// A string or bytes; a loop of its own reads those that are not all there.
    ///
    /// # Safety
    /// The field begins before `zone.to`.
    #[inline(always)]
    unsafe fn text_field(
        &mut self,
        at: &Cursor,
        place: u32,
        entry: &Entry,
        field: Field,
    ) -> Step<Option<usize>> {
        // SAFETY: the caller guarantees the place.
        let (body, end) = wait_or!(None, unsafe { self.length(at.zone, field) });
        if end > at.have {
            if self.last {
                return self.cut_text(entry, field.start, body).map(|()| None);
            }
            self.state.next = entry.next;
            return self.begin_text(place, field.start, body, end).map(|()| None);
        }
        (self.state.tag_start, self.state.number) = (field.start, field.number);
        self.whole_text(entry, body, end)?;
        Ok(Some(end))
    }

    /// Looks up a tag that is not the expected one; skips the field if it is unknown.
    #[inline(always)]
    fn other_tag(&mut self, tag: u64, start: usize, value: usize, bound: usize) -> Step<Tag> {
        if value == start {
            return self.cut_long(start, start, 0).map(|()| Tag::Left);
        }
        if value > bound {
            return self.cut(start, 0).map(|()| Tag::Left);
        }
        (self.state.tag_start, self.state.number) = (start, 0);
        let number = tag >> 3;
        if number == 0 || number > u64::from(FIELD_NUMBER_MAX) {
            return Err(ErrorKind::BadFieldNumber);
        }
        let (tag, number) = (tag as u32, number as u32);
        let wire_type = WireType::from_tag(u64::from(tag)).ok_or(ErrorKind::BadWireType)?;
        let node = self.tables.node(self.state.node);
        let place = self.tables.find(node, number);
        match self.tables.entries().get(place as usize) {
            Some(entry) if entry.tag == tag || entry.other == tag => return Ok(Tag::Entry(place)),
            _ => {}
        }
        if wire_type == WireType::EndGroup {
            self.state.pos = start;
            return self.end_of_group(tag, start).map(|()| Tag::EndGroup);
        }
        let item = number == 1 && node.message_set && wire_type == WireType::StartGroup;
        let why = if item { Why::Item } else { Self::why_unknown() };
        self.begin_skip(why, wire_type, Field { start, value, number, bound });
        Ok(Tag::Left)
    }

    /// The varint of a field, and the place after it.
    ///
    /// # Safety
    /// The field begins before `zone.to`.
    #[inline(always)]
    unsafe fn varint(&mut self, zone: Zone, field: Field) -> Step<Option<(u64, usize)>> {
        // SAFETY: a tag and a varint are within the slack.
        let (raw, bytes) = unsafe { varint(zone.at(field.value)) };
        let after = field.value + bytes;
        if bytes == 0 {
            return self.cut_long(field.start, field.value, field.number).map(|()| None);
        }
        if after > field.bound {
            return self.cut(field.start, field.number).map(|()| None);
        }
        Ok(Some((raw, after)))
    }

    /// Where the content of a field with a length begins and ends. Its message is long enough, but
    /// perhaps not all there.
    ///
    /// # Safety
    /// The field begins before `zone.to`.
    #[inline(always)]
    unsafe fn length(&mut self, zone: Zone, field: Field) -> Step<Option<(usize, usize)>> {
        // SAFETY: the caller guarantees the place.
        let Some((length, body)) = (unsafe { self.varint(zone, field)? }) else { return Ok(None) };
        if length > (self.state.end - body) as u64 {
            return self.too_long(field.start, field.number).map(|()| None);
        }
        Ok(Some((body, body + length as usize)))
    }

    /// A packed list; false if it or its length is not all there.
    ///
    /// # Safety
    /// The field begins before `zone.to`.
    #[inline(always)]
    unsafe fn list(&mut self, zone: Zone, place: u32, field: Field) -> Step<bool> {
        // SAFETY: the caller guarantees the place.
        let Some((body, end)) = (unsafe { self.length(zone, field)? }) else { return Ok(false) };
        let outer_end = self.state.end;
        (self.state.tag_start, self.state.number) = (field.start, field.number);
        (self.state.pos, self.state.end) = (body, end);
        self.state.within = Within::Packed { entry: place, outer_end };
        self.state.next = self.tables.entry(place).next;
        self.packed(zone, place, outer_end)
    }

    /// A string or bytes that are all there.
    #[inline]
    fn whole_text(&mut self, entry: &Entry, body: usize, end: usize) -> Step {
        let field = entry.field;
        let text = &self.piece[body - self.piece_start..end - self.piece_start];
        match entry.action {
            Action::Bytes => {
                proceed(self.sink.start_bytes(field, text.len()))?;
                proceed(self.sink.bytes(field, text))?;
                proceed(self.sink.end_bytes(field))
            }
            Action::String => {
                let text = utf8::text(text).map_err(|_| ErrorKind::InvalidUtf8)?;
                proceed(self.sink.whole_string(field, text))
            }
            _ => {
                proceed(self.sink.start_string(field, text.len()))?;
                proceed(self.sink.raw_string(field, text))?;
                proceed(self.sink.end_string(field))
            }
        }
    }
}
