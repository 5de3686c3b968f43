//! Packed lists: numbers under one length.

use super::error::ErrorKind;
use super::load::{u32_at, u64_at, varint};
use super::state::Within;
use super::tables::{Action, Entry};
use super::walk::{Step, Walk, Zone, told};
use crate::schema::EnumId;
use crate::sink::Sink;
use crate::varint::{self as varints, unzigzag};

impl<'a, S: Sink<'a>> Walk<'_, 'a, S> {
    /// Reads elements up to the end of the list, where it gives true, or of what is there.
    pub(super) fn packed(&mut self, zone: Zone, place: u32, outer_end: usize) -> Step<bool> {
        let entry = *self.tables.entry(place);
        let end = self.state.end;
        let bound = end.min(self.have());
        let mut pos = self.state.pos;
        while pos < bound.min(zone.to) {
            // SAFETY: SLACK bytes can be read from here.
            let (value, bytes) = unsafe { element(&entry, zone.at(pos)) };
            self.state.pos = pos;
            if bytes == 0 && pos + varints::BYTES_MAX <= bound {
                return Err(ErrorKind::VarintTooLong);
            }
            if bytes == 0 || pos + bytes > bound {
                // An element that runs over the end of the list is the list's fault.
                return if end > self.have() { Ok(false) } else { Err(ErrorKind::PackedLength) };
            }
            self.tell_element(&entry, value)?;
            pos += bytes;
        }
        self.state.pos = pos;
        if pos < end {
            return Ok(false);
        }
        (self.state.end, self.state.within) = (outer_end, Within::Fields);
        Ok(true)
    }

    #[inline]
    fn tell_element(&mut self, entry: &Entry, raw: u64) -> Step {
        let (field, sink) = (entry.field, &mut *self.sink);
        told(match entry.action {
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
            // Only numbers have packed lists, and those that are skipped are no lists.
            _ => Ok(()),
        })
    }
}

/// An element as it lies in bytes, and how many.
///
/// # Safety
/// Sixteen bytes can be read.
#[inline]
unsafe fn element(entry: &Entry, at: *const u8) -> (u64, usize) {
    match entry.action {
        Action::Double | Action::Fixed64 | Action::Sfixed64 => {
            // SAFETY: as the caller says.
            (unsafe { u64_at(at) }, 8)
        }
        Action::Float | Action::Fixed32 | Action::Sfixed32 => {
            // SAFETY: as the caller says.
            (u64::from(unsafe { u32_at(at) }), 4)
        }
        // SAFETY: as the caller says.
        _ => unsafe { varint(at) },
    }
}
