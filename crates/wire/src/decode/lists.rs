//! Packed lists, read as a whole or number by number.

use super::error::ErrorKind;
use super::nodes::{Action, Entry};
use super::packed::{checked, element, emit};
use super::state::Within;
use super::walk::{Step, Walk, Zone, proceed};
use crate::schema::EnumId;
use crate::sink::{Sink, Wants};
use crate::varint::{self as varints, unzigzag};

impl<'a, S: Sink<'a>> Walk<'_, 'a, S> {
    /// Reads elements up to the end of the list, where it returns true, or of the available bytes.
    pub(super) fn packed(&mut self, zone: Zone, place: u32, outer_end: usize) -> Step<bool> {
        let entry = *self.tables.entry(place);
        let end = self.state.end;
        let bound = end.min(self.have());
        // In a seam the elements are read one by one.
        if self.state.pos >= self.piece_start {
            self.many(&entry, bound)?;
        }
        let mut pos = self.state.pos;
        while pos < bound.min(zone.to) {
            // SAFETY: SLACK bytes can be read from here.
            let (value, bytes) = unsafe { element(&entry, zone.at(pos)) };
            self.state.pos = pos;
            if bytes == 0 && pos + varints::BYTES_MAX <= bound {
                return Err(ErrorKind::VarintTooLong);
            }
            if bytes == 0 || pos + bytes > bound {
                // An element that crosses the end of the list is an error of the list.
                return if end > self.have() { Ok(false) } else { Err(ErrorKind::PackedLength) };
            }
            self.emit_element(&entry, value)?;
            pos += bytes;
            if entry.action == Action::ClosedEnum && pos >= self.piece_start {
                pos += self.named(&entry, pos, bound)?;
            }
        }
        self.state.pos = pos;
        if pos < end {
            return Ok(false);
        }
        (self.state.end, self.state.within) = (outer_end, Within::Fields);
        Ok(true)
    }

    /// Reads the valid and complete elements before `bound` in bulk, if the sink allows it.
    fn many(&mut self, entry: &Entry, bound: usize) -> Step {
        let pos = self.state.pos;
        let bytes = &self.piece[pos - self.piece_start..bound - self.piece_start];
        let (read, flow) = match self.sink.storage() {
            Some(storage) => (storage.append_packed(entry.field, bytes), Ok(())),
            None if S::wants() == Wants::NONE => (checked(entry, bytes), Ok(())),
            None => {
                let closed = (entry.action == Action::ClosedEnum)
                    .then(|| self.schema.enum_def(EnumId(entry.sub)).named());
                emit(self.sink, entry.action, closed, entry.field, bytes)
            }
        };
        self.state.pos = pos + read;
        proceed(flow)
    }

    /// Reads elements after one that its closed enum does not have up to the next such; returns
    /// the bytes consumed. Storages do this by themselves.
    fn named(&mut self, entry: &Entry, pos: usize, bound: usize) -> Step<usize> {
        if S::wants() == Wants::NONE || self.sink.storage().is_some() {
            return Ok(0);
        }
        self.state.pos = pos;
        self.many(entry, bound)?;
        Ok(self.state.pos - pos)
    }

    fn emit_element(&mut self, entry: &Entry, raw: u64) -> Step {
        let (field, sink) = (entry.field, &mut *self.sink);
        proceed(match entry.action {
            Action::Int64 | Action::Sfixed64 => sink.i64(field, raw as i64),
            Action::Uint64 | Action::Fixed64 => sink.u64(field, raw),
            Action::Int32 | Action::Sfixed32 => sink.i32(field, raw as i32),
            Action::Uint32 | Action::Fixed32 => sink.u32(field, raw as u32),
            Action::Bool => sink.bool(field, raw != 0),
            Action::Sint64 => sink.i64(field, unzigzag(raw)),
            Action::Sint32 => sink.i32(field, unzigzag(raw & u64::from(u32::MAX)) as i32),
            Action::Double => sink.f64(field, f64::from_bits(raw)),
            Action::Float => sink.f32(field, f32::from_bits(raw as u32)),
            Action::ClosedEnum => {
                let known = self.schema.enum_def(EnumId(entry.sub)).value_by_number(raw as i32);
                match known {
                    Some(_) => sink.i32(field, raw as i32),
                    None => sink.unknown_element(entry.number(), raw),
                }
            }
            // Only numbers have packed lists; skipped ones do not get here.
            _ => Ok(()),
        })
    }
}
