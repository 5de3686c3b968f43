//! Packed lists: numbers under one length.
//!
//! Available elements are stored into a message in bulk, and passed to a sink in a loop for each
//! type. Elements that stop such a loop, such as numbers that a closed enum does not have, are
//! handled one by one.

use std::mem::MaybeUninit;

use super::load::{SLACK, u32_at, u64_at, varint};
use super::nodes::{Action, Entry};
use crate::packed::{Numbers, are_varints};
use crate::schema::{FieldId, NamedNumbers};
use crate::sink::{Sink, SinkResult};
use crate::varint::{self as varints, unzigzag};

/// The bytes of a list that need no further check if the sink does not need them.
#[inline]
pub(super) fn checked(entry: &Entry, bytes: &[u8]) -> usize {
    match entry.single_tag() & 7 {
        1 => bytes.len() & !7,
        5 => bytes.len() & !3,
        _ if are_varints(bytes) => bytes.len(),
        _ => 0,
    }
}

/// Passes the numbers of a list to a sink, up to the first that is malformed, incomplete or not in
/// its closed enum, or at which the sink stops; returns the bytes consumed.
pub(super) fn emit<'a, S: Sink<'a>>(
    sink: &mut S,
    action: Action,
    closed: Option<&NamedNumbers>,
    field: FieldId,
    bytes: &[u8],
) -> (usize, SinkResult) {
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

/// Calls `emit` with each number of eight bytes.
#[inline(always)]
fn eights(bytes: &[u8], emit: impl FnMut(u64) -> SinkResult) -> (usize, SinkResult) {
    let (numbers, _) = bytes.as_chunks::<8>();
    let (count, flow) = each(numbers.iter().map(|number| u64::from_le_bytes(*number)), emit);
    (8 * count, flow)
}

/// The same of four.
#[inline(always)]
fn fours(bytes: &[u8], emit: impl FnMut(u32) -> SinkResult) -> (usize, SinkResult) {
    let (numbers, _) = bytes.as_chunks::<4>();
    let (count, flow) = each(numbers.iter().map(|number| u32::from_le_bytes(*number)), emit);
    (4 * count, flow)
}

#[inline(always)]
fn each<T>(
    numbers: impl Iterator<Item = T>,
    mut emit: impl FnMut(T) -> SinkResult,
) -> (usize, SinkResult) {
    let mut count = 0;
    for number in numbers {
        if let Err(stop) = emit(number) {
            return (count, Err(stop));
        }
        count += 1;
    }
    (count, Ok(()))
}

/// Bytes that are unpacked at a time.
const CHUNK: usize = 256;

/// The length from which unpacking pays.
const LONG: usize = 96;

/// Calls `emit` with each varint up to one that is not `good`.
#[inline(always)]
fn each_varint(
    bytes: &[u8],
    good: impl Fn(u64) -> bool,
    mut emit: impl FnMut(u64) -> SinkResult,
) -> (usize, SinkResult) {
    let mut pos = 0;
    let mut numbers = [const { MaybeUninit::uninit() }; CHUNK];
    while bytes.len() - pos >= LONG {
        let chunk = &bytes[pos..bytes.len().min(pos + CHUNK)];
        let (read, numbers) = unpacked(chunk, &mut numbers);
        for (index, number) in numbers.iter().enumerate() {
            if !good(*number) {
                return (pos + bytes_of(chunk, index), Ok(()));
            }
            if let Err(stop) = emit(*number) {
                return (pos + bytes_of(chunk, index), Err(stop));
            }
        }
        pos += read;
        // A number of ten bytes fits a chunk, so this one is malformed.
        if read == 0 {
            return (pos, Ok(()));
        }
    }
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
        if let Err(stop) = emit(value) {
            return (pos, Err(stop));
        }
        pos += length;
    }
    (pos, Ok(()))
}

/// The complete varints of a chunk up to a malformed one, and their bytes.
fn unpacked<'n>(chunk: &[u8], numbers: &'n mut [MaybeUninit<u64>; CHUNK]) -> (usize, &'n [u64]) {
    assert!(chunk.len() <= CHUNK);
    // SAFETY: each number has a byte at least, and each byte of a chunk a cell.
    let (read, count) = unsafe { Numbers::Whole64.read(chunk, numbers.as_mut_ptr().cast()) };
    // SAFETY: these are written.
    (read, unsafe { numbers[..count].assume_init_ref() })
}

/// The bytes of the first `count` varints.
#[cold]
fn bytes_of(bytes: &[u8], count: usize) -> usize {
    let mut ends = bytes.iter().enumerate().filter(|(_, byte)| **byte < 0x80);
    if count == 0 { 0 } else { ends.nth(count - 1).map_or(bytes.len(), |(end, _)| end + 1) }
}

/// The raw value of an element, and its length.
///
/// # Safety
/// Sixteen bytes can be read.
#[inline]
pub(super) unsafe fn element(entry: &Entry, at: *const u8) -> (u64, usize) {
    match entry.action {
        Action::Double | Action::Fixed64 | Action::Sfixed64 => {
            // SAFETY: the caller guarantees that sixteen bytes can be read.
            (unsafe { u64_at(at) }, 8)
        }
        Action::Float | Action::Fixed32 | Action::Sfixed32 => {
            // SAFETY: the caller guarantees that sixteen bytes can be read.
            (u64::from(unsafe { u32_at(at) }), 4)
        }
        // SAFETY: the caller guarantees that sixteen bytes can be read.
        _ => unsafe { varint(at) },
    }
}
