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
use super::nodes::Action;
use super::state::{Why, Within};
use super::walk::{Step, Walk, Zone, proceed};
use crate::schema::{EnumId, FIELD_NUMBER_MAX, WireType};
use crate::sink::Sink;
use crate::utf8;
use crate::varint::unzigzag;

impl<'a, S: Sink<'a>> Walk<'_, 'a, S> {
    /// Reads fields until one is incomplete, or one begins that has a loop of its own.
    ///
    /// # Safety
    /// From every place before `zone.to`, [`super::load::SLACK`] bytes can be read.
    // Long, as the loop keeps place, bounds and expected entry in registers across all kinds of
    // fields; a call would spill them for each field.
    pub(super) unsafe fn fields(&mut self, zone: Zone) -> Step {
        let tables = self.tables;
        let have = self.have();
        let mut pos = self.state.pos;
        let mut limit = zone.to.min(self.state.end);
        let mut bound = have.min(self.state.end);
        let mut expected = self.state.next;
        loop {
            if pos >= limit {
                self.state.pos = pos;
                self.state.next = expected;
                if pos != self.state.end {
                    return Ok(());
                }
                self.end_of_length()?;
                (limit, bound) = (zone.to.min(self.state.end), have.min(self.state.end));
                expected = self.state.next;
                continue;
            }
            // SAFETY: a field may begin at `pos`.
            let (tag, tag_bytes) = unsafe { varint(zone.at(pos)) };
            let value = pos + tag_bytes;
            let mut place = expected;
            let entry = match tables.entries().get(expected as usize) {
                Some(entry) if u64::from(entry.tag) == tag && value <= bound => entry,
                _ => {
                    // Unlikely.
                    if tag_bytes == 0 {
                        return self.cut_long(pos, pos, 0);
                    }
                    if value > bound {
                        return self.cut(pos, 0);
                    }
                    let (number, wire_type) = (tag >> 3, WireType::from_tag(tag));
                    (self.state.tag_start, self.state.number) = (pos, 0);
                    if number == 0 || number > u64::from(FIELD_NUMBER_MAX) {
                        return Err(ErrorKind::BadFieldNumber);
                    }
                    let wire_type = wire_type.ok_or(ErrorKind::BadWireType)?;
                    let node = tables.node(self.state.node);
                    place = tables.find(node, number as u32);
                    match tables.entries().get(place as usize) {
                        Some(entry) if entry.tag == tag as u32 => entry,
                        Some(entry) if entry.other == tag as u32 => entry,
                        _ => {
                            self.state.next = expected;
                            if wire_type == WireType::EndGroup {
                                self.state.pos = pos;
                                self.end_of_group(tag as u32, pos)?;
                                (pos, expected) = (value, self.state.next);
                                continue;
                            }
                            let why = match number {
                                1 if node.message_set && wire_type == WireType::StartGroup => {
                                    Why::Item
                                }
                                _ => Self::why_unknown(),
                            };
                            self.begin_skip(why, wire_type, number as u32, pos, value);
                            return Ok(());
                        }
                    }
                }
            };
            if entry.required.is_some() {
                self.note(entry);
            }
            let number = tag as u32 >> 3;
            let mut action = entry.action;
            if tag as u32 == entry.packed_tag() && action != Action::Skip {
                // SAFETY: a tag and a varint are within the slack.
                let (length, bytes) = unsafe { varint(zone.at(value)) };
                let list = value + bytes;
                if bytes == 0 {
                    return self.cut_long(pos, value, number);
                }
                if list > bound {
                    return self.cut(pos, number);
                }
                if length > (self.state.end - list) as u64 {
                    return self.too_long(pos, number);
                }
                let outer_end = self.state.end;
                (self.state.tag_start, self.state.number) = (pos, number);
                (self.state.pos, self.state.end) = (list, list + length as usize);
                self.state.within = Within::Packed { entry: place, outer_end };
                self.state.next = entry.next;
                if !self.packed(zone, place, outer_end)? {
                    return Ok(());
                }
                (pos, expected) = (self.state.pos, entry.next);
                continue;
            }
            macro_rules! varint {
                ($event:ident, $value:ident => $made:expr) => {{
                    // SAFETY: a tag and a varint are within the slack.
                    let ($value, bytes) = unsafe { varint(zone.at(value)) };
                    let after = value + bytes;
                    if bytes == 0 {
                        return self.cut_long(pos, value, number);
                    }
                    if after > bound {
                        return self.cut(pos, number);
                    }
                    if self.sink.$event(entry.field, $made).is_err() {
                        return self.stopped(pos, number);
                    }
                    pos = after;
                }};
            }
            macro_rules! fixed {
                ($event:ident, $read:ident, $bytes:literal, $value:ident => $made:expr) => {{
                    let after = value + $bytes;
                    if after > bound {
                        return self.cut(pos, number);
                    }
                    // SAFETY: a tag and a fixed number are within the slack.
                    let $value = unsafe { $read(zone.at(value)) };
                    if self.sink.$event(entry.field, $made).is_err() {
                        return self.stopped(pos, number);
                    }
                    pos = after;
                }};
            }
            // Fields of a list of numbers that come one by one have the type of their elements.
            if action == Action::ClosedEnum {
                // SAFETY: a tag and a varint are within the slack.
                let (raw, bytes) = unsafe { varint(zone.at(value)) };
                if bytes == 0 {
                    return self.cut_long(pos, value, number);
                }
                if value + bytes > bound {
                    return self.cut(pos, number);
                }
                let known = self.schema.enum_def(EnumId(entry.sub)).value_by_number(raw as i32);
                action = if known.is_some() { Action::Int32 } else { Action::ClosedEnum };
            }
            match action {
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
                Action::Group => {
                    self.begin_sub(place, *entry, pos)?;
                    (pos, expected) = (value, self.state.next);
                    continue;
                }
                Action::RawString | Action::String | Action::Bytes | Action::Message => {
                    // SAFETY: a tag and a varint are within the slack.
                    let (length, bytes) = unsafe { varint(zone.at(value)) };
                    let body = value + bytes;
                    if bytes == 0 {
                        return self.cut_long(pos, value, number);
                    }
                    if body > bound {
                        return self.cut(pos, number);
                    }
                    if length > (self.state.end - body) as u64 {
                        return self.too_long(pos, number);
                    }
                    let end = body + length as usize;
                    if entry.action == Action::Message {
                        self.begin_sub(place, *entry, pos)?;
                        self.state.end = end;
                        (limit, bound) = (zone.to.min(end), have.min(end));
                        (pos, expected) = (body, self.state.next);
                        continue;
                    }
                    if end > have {
                        if self.last {
                            return self.cut_text(entry, pos, body);
                        }
                        self.state.next = entry.next;
                        return self.begin_text(place, pos, body, end);
                    }
                    (self.state.tag_start, self.state.number) = (pos, number);
                    self.whole_text(entry, body, end)?;
                    pos = end;
                }
                Action::ClosedEnum | Action::Skip => {
                    // Of these two, only the enum is unknown.
                    let unwanted = entry.action == Action::Skip;
                    let why = if unwanted { Why::Unwanted } else { Self::why_unknown() };
                    self.state.next = entry.next;
                    let wire_type = WireType::from_tag(tag).ok_or(ErrorKind::BadWireType)?;
                    self.begin_skip(why, wire_type, number, pos, value);
                    return Ok(());
                }
            }
            expected = entry.next;
        }
    }

    /// A string or bytes that are all there.
    #[inline]
    fn whole_text(&mut self, entry: &super::nodes::Entry, body: usize, end: usize) -> Step {
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
