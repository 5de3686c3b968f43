//! Packed lists: numbers under one length.
//!
//! What is there of a list goes to a message at once, and to a sink in a loop of its own for each
//! type. What stops such a loop, and numbers that a closed enum does not have, are for a loop that
//! knows what to do with each.

use super::error::ErrorKind;
use super::load::{SLACK, u32_at, u64_at, varint};
use super::state::Within;
use super::tables::{Action, Entry};
use super::walk::{Step, Walk, Zone, told};
use crate::packed::are_varints;
use crate::schema::{EnumId, FieldId, NamedNumbers};
use crate::sink::{Flow, Sink, Wants};
use crate::varint::{self as varints, unzigzag};

impl<'a, S: Sink<'a>> Walk<'_, 'a, S> {
    /// Reads elements up to the end of the list, where it gives true, or of what is there.
    pub(super) fn packed(&mut self, zone: Zone, place: u32, outer_end: usize) -> Step<bool> {
        let entry = *self.tables.entry(place);
        let end = self.state.end;
        let bound = end.min(self.have());
        // Of a seam the elements come one by one.
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
                // An element that runs over the end of the list is the list's fault.
                return if end > self.have() { Ok(false) } else { Err(ErrorKind::PackedLength) };
            }
            self.tell_element(&entry, value)?;
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

    /// Reads as many elements before `bound` as are right and complete, if it can.
    fn many(&mut self, entry: &Entry, bound: usize) -> Step {
        let pos = self.state.pos;
        let bytes = &self.piece[pos - self.piece_start..bound - self.piece_start];
        let (read, flow) = match self.sink.storage() {
            Some(storage) => (storage.append_packed(entry.field, bytes), Ok(())),
            None if S::wants() == Wants::NONE => (checked(entry, bytes), Ok(())),
            None => {
                let closed = (entry.action == Action::ClosedEnum)
                    .then(|| self.schema.enum_def(EnumId(entry.sub)).named());
                tell(self.sink, entry.action, closed, entry.field, bytes)
            }
        };
        self.state.pos = pos + read;
        told(flow)
    }

    /// Reads elements behind one that its closed enum does not have up to the next such; gives how
    /// many bytes that was. Storages do this by themselves.
    fn named(&mut self, entry: &Entry, pos: usize, bound: usize) -> Step<usize> {
        if S::wants() == Wants::NONE || self.sink.storage().is_some() {
            return Ok(0);
        }
        self.state.pos = pos;
        self.many(entry, bound)?;
        Ok(self.state.pos - pos)
    }

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

/// How many bytes of a list need no other look if nobody hears of them.
fn checked(entry: &Entry, bytes: &[u8]) -> usize {
    match entry.single_tag() & 7 {
        1 => bytes.len() & !7,
        5 => bytes.len() & !3,
        _ if are_varints(bytes) => bytes.len(),
        _ => 0,
    }
}

/// Tells a sink the numbers of a list up to the first that is wrong or not complete, or that its
/// closed enum does not have, or that the sink stops at; gives how many bytes that was.
pub(super) fn tell<'a, S: Sink<'a>>(
    sink: &mut S,
    action: Action,
    closed: Option<&NamedNumbers>,
    field: FieldId,
    bytes: &[u8],
) -> (usize, Flow) {
    let any = |_: u64| true;
    match action {
        Action::Double => eights(bytes, |raw| sink.f64(field, f64::from_bits(raw))),
        Action::Fixed64 => eights(bytes, |raw| sink.u64(field, raw)),
        Action::Sfixed64 => eights(bytes, |raw| sink.i64(field, raw as i64)),
        Action::Float => fours(bytes, |raw| sink.f32(field, f32::from_bits(raw))),
        Action::Fixed32 => fours(bytes, |raw| sink.u32(field, raw)),
        Action::Sfixed32 => fours(bytes, |raw| sink.i32(field, raw as i32)),
        Action::Int64 => each_varint(bytes, any, |raw| sink.i64(field, raw as i64)),
        Action::Uint64 => each_varint(bytes, any, |raw| sink.u64(field, raw)),
        Action::Int32 => each_varint(bytes, any, |raw| sink.i32(field, raw as i32)),
        Action::Uint32 => each_varint(bytes, any, |raw| sink.u32(field, raw as u32)),
        Action::Bool => each_varint(bytes, any, |raw| sink.bool(field, raw != 0)),
        Action::Sint64 => each_varint(bytes, any, |raw| sink.i64(field, unzigzag(raw))),
        Action::Sint32 => {
            let low = |raw| unzigzag(raw & u64::from(u32::MAX)) as i32;
            each_varint(bytes, any, |raw| sink.i32(field, low(raw)))
        }
        Action::ClosedEnum => {
            let Some(named) = closed else { return (0, Ok(())) };
            let has = |raw| named.has(raw as i32);
            each_varint(bytes, has, |raw| sink.i32(field, raw as i32))
        }
        _ => (0, Ok(())),
    }
}

/// Calls `tell` with each number of eight bytes.
#[inline(always)]
fn eights(bytes: &[u8], tell: impl FnMut(u64) -> Flow) -> (usize, Flow) {
    let (numbers, _) = bytes.as_chunks::<8>();
    let (count, flow) = each(numbers.iter().map(|number| u64::from_le_bytes(*number)), tell);
    (8 * count, flow)
}

/// The same of four.
#[inline(always)]
fn fours(bytes: &[u8], tell: impl FnMut(u32) -> Flow) -> (usize, Flow) {
    let (numbers, _) = bytes.as_chunks::<4>();
    let (count, flow) = each(numbers.iter().map(|number| u32::from_le_bytes(*number)), tell);
    (4 * count, flow)
}

#[inline(always)]
fn each<T>(numbers: impl Iterator<Item = T>, mut tell: impl FnMut(T) -> Flow) -> (usize, Flow) {
    let mut count = 0;
    for number in numbers {
        if let Err(stop) = tell(number) {
            return (count, Err(stop));
        }
        count += 1;
    }
    (count, Ok(()))
}

/// Calls `tell` with each varint up to one that is not `good`.
#[inline(always)]
fn each_varint(
    bytes: &[u8],
    good: impl Fn(u64) -> bool,
    mut tell: impl FnMut(u64) -> Flow,
) -> (usize, Flow) {
    let mut pos = 0;
    while pos < bytes.len() {
        let (value, length) = if pos + SLACK <= bytes.len() {
            // SAFETY: there are more than sixteen bytes.
            unsafe { varint(bytes.as_ptr().add(pos)) }
        } else {
            varints::read(&bytes[pos..]).unwrap_or((0, 0))
        };
        if length == 0 || !good(value) {
            break;
        }
        if let Err(stop) = tell(value) {
            return (pos, Err(stop));
        }
        pos += length;
    }
    (pos, Ok(()))
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
