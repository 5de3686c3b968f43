//! Skipping fields: unselected ones are dropped, unknown ones are passed on as bytes.

use super::error::ErrorKind;
use super::load::varint;
use super::state::{Why, Within};
use super::walk::{Field, Step, Walk, Zone, proceed};
use crate::schema::{FIELD_NUMBER_MAX, WireType};
use crate::sink::Sink;

impl<'a, S: Sink<'a>> Walk<'_, 'a, S> {
    /// Begins to skip a field.
    pub(super) fn begin_skip(&mut self, why: Why, wire_type: WireType, field: Field) {
        let Field { start, value, number, .. } = field;
        let state = &mut *self.state;
        (state.tag_start, state.number) = (start, number);
        (state.pos, state.within) = (value, Within::Skip);
        let skip = &mut state.skip;
        (skip.why, skip.to, skip.collected_to) = (why, 0, start);
        skip.groups.clear();
        skip.collected.clear();
        if wire_type == WireType::StartGroup {
            skip.groups.push(number);
        } else {
            // Its value is read as if in a group that ends after it.
            state.pos = start;
        }
    }

    /// Skips the available bytes; true at the end of the field.
    pub(super) fn skip(&mut self, zone: Zone) -> Step<bool> {
        // Errors inside are reported at the field that is skipped.
        let (start, number) = (self.state.tag_start, self.state.number);
        let result = self.skip_on(zone);
        (self.state.tag_start, self.state.number) = (start, number);
        if result? {
            self.skipped(start, number).map(|()| true)
        } else {
            self.collect();
            Ok(false)
        }
    }

    /// Skips field after field of the groups that are open; true at the end of the outermost.
    fn skip_on(&mut self, zone: Zone) -> Step<bool> {
        let have = self.have();
        if self.depth() > self.depth_max {
            return Err(ErrorKind::TooDeep);
        }
        loop {
            let to = self.state.skip.to;
            if to > self.state.pos {
                self.state.pos = to.min(have);
                if to > have {
                    return Ok(false);
                }
            }
            let pos = self.state.pos;
            if self.state.skip.groups.is_empty() && pos > self.state.tag_start {
                return Ok(true);
            }
            if pos == self.state.end {
                return Err(ErrorKind::PastParent);
            }
            if pos >= zone.to {
                return Ok(false);
            }
            let bound = have.min(self.state.end);
            // SAFETY: a field may begin at `pos`.
            let Some(after) = (unsafe { self.skip_field(zone, pos, bound)? }) else {
                return Ok(false);
            };
            if after > bound {
                return self.cut(pos, 0).map(|()| false);
            }
            self.state.pos = after;
        }
    }

    /// Reads a tag and what follows it, but for the content of a text; returns the place after
    /// that, or nothing, if the field waits for more input.
    ///
    /// # Safety
    /// A field begins at `pos`, before `zone.to`.
    #[inline]
    unsafe fn skip_field(&mut self, zone: Zone, pos: usize, bound: usize) -> Step<Option<usize>> {
        // SAFETY: the caller guarantees the place.
        let (tag, bytes) = unsafe { varint(zone.at(pos)) };
        let value = pos + bytes;
        if bytes == 0 {
            return self.cut_long(pos, pos, 0).map(|()| None);
        }
        if value > bound {
            return self.cut(pos, 0).map(|()| None);
        }
        let number = tag >> 3;
        if number == 0 || number > u64::from(FIELD_NUMBER_MAX) {
            return Err(ErrorKind::BadFieldNumber);
        }
        match WireType::from_tag(tag).ok_or(ErrorKind::BadWireType)? {
            WireType::Fixed64 => Ok(Some(value + 8)),
            WireType::Fixed32 => Ok(Some(value + 4)),
            WireType::StartGroup => {
                self.state.skip.groups.push(number as u32);
                if self.depth() > self.depth_max {
                    return Err(ErrorKind::TooDeep);
                }
                Ok(Some(value))
            }
            WireType::EndGroup => {
                if self.state.skip.groups.pop() != Some(number as u32) {
                    return Err(ErrorKind::EndGroup);
                }
                Ok(Some(value))
            }
            wire_type => {
                // SAFETY: a tag and a varint are within the slack.
                let (length, bytes) = unsafe { varint(zone.at(value)) };
                if bytes == 0 {
                    return self.cut_long(pos, value, 0).map(|()| None);
                }
                let after = value + bytes;
                if wire_type == WireType::Length && after <= bound {
                    if length > (self.state.end - after) as u64 {
                        return self.too_long(pos, 0).map(|()| None);
                    }
                    self.state.skip.to = after + length as usize;
                }
                Ok(Some(after))
            }
        }
    }

    fn depth(&self) -> usize {
        self.state.frames.len() + self.state.skip.groups.len()
    }

    /// Keeps the skipped bytes of a field that are needed, before the piece is dropped.
    fn collect(&mut self) {
        let skip = &self.state.skip;
        let (from, to) = (skip.collected_to, self.state.pos);
        if skip.why == Why::Unwanted || self.last || from >= to {
            return;
        }
        let bytes = self.bytes(from, to);
        self.state.skip.collected.extend_from_slice(bytes);
        self.state.skip.collected_to = to;
    }

    /// Ends a field that was skipped.
    fn skipped(&mut self, start: usize, number: u32) -> Step {
        self.state.within = Within::Fields;
        let why = self.state.skip.why;
        if why == Why::Unwanted {
            return Ok(());
        }
        let raw = if self.state.skip.collected.is_empty() {
            self.bytes(start, self.state.pos)
        } else {
            self.collect();
            let collected = std::mem::take(&mut self.state.skip.collected);
            self.hold(collected)
        };
        match why {
            Why::Item => self.item(raw, start),
            _ => proceed(self.sink.unknown(number, raw)),
        }
    }
}
