//! The functions that generated code calls: the methods of a sink, and rare operations.
//!
//! One table for each type of sink, which the context brings; the code takes the addresses from
//! there, so it serves every sink. A panic of a sink is resumed when the generated code has been
//! left.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::super::nodes::Action;
use super::super::packed::emit;
use super::context::{Calls, Context};
use crate::schema::{FIELD_NUMBER_MAX, FieldId, NamedNumbers, WireType};
use crate::sink::{Sink, SinkResult};
use crate::{packed, utf8, varint};

/// The sink continues.
pub(super) const GO_ON: u32 = 0;
/// The sink stopped.
pub(super) const STOP: u32 = 1;
/// The string is not UTF-8.
pub(super) const INVALID: u32 = 2;

/// Calls the sink of `context`.
///
/// # Safety
/// The host of `context` is a sink of this type, and is used through nothing else meanwhile.
#[inline(always)]
unsafe fn with<'a, S: Sink<'a>>(
    context: *mut Context,
    call: impl FnOnce(&mut S) -> SinkResult,
) -> u32 {
    // SAFETY: the caller guarantees that the host is an `S` that is not used elsewhere.
    let sink = unsafe { &mut *(*context).host.cast::<S>() };
    match catch_unwind(AssertUnwindSafe(|| call(sink))) {
        Ok(Ok(())) => GO_ON,
        Ok(Err(_)) => STOP,
        Err(panic) => {
            // SAFETY: the code that calls does not touch it.
            keep(unsafe { &mut (*context).panic }, panic);
            STOP
        }
    }
}

/// Separate from [`with`], which is instantiated for each type of sink.
#[cold]
#[inline(never)]
fn keep(place: &mut Option<Box<dyn Any + Send>>, panic: Box<dyn Any + Send>) {
    *place = Some(panic);
}

macro_rules! number {
    ($name:ident, $ty:ty, $value:ident => $made:expr) => {
        unsafe extern "C" fn $name<'a, S: Sink<'a>>(
            context: *mut Context,
            field: u32,
            $value: $ty,
        ) -> u32 {
            // SAFETY: the code was given the sink of this table's type.
            unsafe { with(context, |sink: &mut S| sink.$name(FieldId(field), $made)) }
        }
    };
}

number!(i64, i64, value => value);
number!(u64, u64, value => value);
number!(i32, i32, value => value);
number!(u32, u32, value => value);
number!(f64, u64, value => f64::from_bits(value));
number!(f32, u32, value => f32::from_bits(value));
number!(bool, u64, value => value != 0);

unsafe extern "C" fn string<'a, S: Sink<'a>>(
    context: *mut Context,
    field: u32,
    start: *const u8,
    length: usize,
) -> u32 {
    // SAFETY: the code found these bytes inside the input, which lives for `'a`.
    let bytes: &'a [u8] = unsafe { std::slice::from_raw_parts(start, length) };
    let Ok(text) = utf8::text(bytes) else { return INVALID };
    let field = FieldId(field);
    let call = |sink: &mut S| sink.whole_string(field, text);
    // SAFETY: the code was given the sink of this table's type.
    unsafe { with(context, call) }
}

unsafe extern "C" fn raw_string<'a, S: Sink<'a>>(
    context: *mut Context,
    field: u32,
    start: *const u8,
    length: usize,
) -> u32 {
    // SAFETY: the code found these bytes inside the input, which lives for `'a`.
    let bytes: &'a [u8] = unsafe { std::slice::from_raw_parts(start, length) };
    let field = FieldId(field);
    let call = |sink: &mut S| {
        sink.start_string(field, length)?;
        sink.raw_string(field, bytes)?;
        sink.end_string(field)
    };
    // SAFETY: the code was given the sink of this table's type.
    unsafe { with(context, call) }
}

unsafe extern "C" fn bytes<'a, S: Sink<'a>>(
    context: *mut Context,
    field: u32,
    start: *const u8,
    length: usize,
) -> u32 {
    // SAFETY: the code found these bytes inside the input, which lives for `'a`.
    let bytes: &'a [u8] = unsafe { std::slice::from_raw_parts(start, length) };
    let field = FieldId(field);
    let call = |sink: &mut S| {
        sink.start_bytes(field, length)?;
        sink.bytes(field, bytes)?;
        sink.end_bytes(field)
    };
    // SAFETY: the code was given the sink of this table's type.
    unsafe { with(context, call) }
}

unsafe extern "C" fn start_sub<'a, S: Sink<'a>>(context: *mut Context, field: u32) -> u32 {
    // SAFETY: the code was given the sink of this table's type.
    unsafe { with(context, |sink: &mut S| sink.start_sub(FieldId(field))) }
}

unsafe extern "C" fn end_sub<'a, S: Sink<'a>>(context: *mut Context, field: u32) -> u32 {
    // SAFETY: the code was given the sink of this table's type.
    unsafe { with(context, |sink: &mut S| sink.end_sub(FieldId(field))) }
}

/// Numbers of a packed list. Returns the bytes consumed, or, where the sink stopped, their
/// complement.
unsafe extern "C" fn list<'a, S: Sink<'a>>(
    context: *mut Context,
    field: u32,
    action: u32,
    start: *const u8,
    length: usize,
    closed: *const NamedNumbers,
) -> isize {
    // SAFETY: the code found these bytes inside the input, which lives for `'a`.
    let bytes: &'a [u8] = unsafe { std::slice::from_raw_parts(start, length) };
    // SAFETY: null, or those of an enum of the schema that the unit of the code keeps.
    let closed = unsafe { closed.as_ref() };
    let mut read = 0;
    let call = |sink: &mut S| {
        let flow;
        (read, flow) = emit(sink, Action::from_number(action), closed, FieldId(field), bytes);
        flow
    };
    // SAFETY: the code was given the sink of this table's type.
    let answer = unsafe { with(context, call) };
    // Lists have less than 4 GiB.
    if answer == GO_ON { read as isize } else { !(read as isize) }
}

impl Calls {
    /// The table for a type of sink.
    pub(super) const fn of<'a, S: Sink<'a>>() -> Calls {
        Calls {
            i64: i64::<S>,
            u64: u64::<S>,
            i32: i32::<S>,
            u32: u32::<S>,
            f64: f64::<S>,
            f32: f32::<S>,
            bool: bool::<S>,
            string: string::<S>,
            raw_string: raw_string::<S>,
            bytes: bytes::<S>,
            start_sub: start_sub::<S>,
            end_sub: end_sub::<S>,
            list: list::<S>,
        }
    }
}

/// Whether a string is UTF-8.
pub(super) unsafe extern "C" fn is_utf8(start: *const u8, length: usize) -> u32 {
    // SAFETY: the code found these bytes inside the input.
    let bytes = unsafe { std::slice::from_raw_parts(start, length) };
    if utf8::is_utf8(bytes) { GO_ON } else { INVALID }
}

/// Whether the bytes of a packed list are whole varints.
pub(super) unsafe extern "C" fn are_varints(start: *const u8, length: usize) -> u32 {
    // SAFETY: the code found these bytes inside the input.
    let bytes = unsafe { std::slice::from_raw_parts(start, length) };
    if packed::are_varints(bytes) { GO_ON } else { INVALID }
}

/// The length of the rest of a group, its end tag included; 0 if it does not end within `length`
/// bytes, is malformed, or nests more than `depth` deep.
pub(super) unsafe extern "C" fn group_bytes(
    start: *const u8,
    length: usize,
    number: u32,
    depth: usize,
) -> usize {
    // SAFETY: the code found these bytes inside the input.
    let bytes = unsafe { std::slice::from_raw_parts(start, length) };
    rest_of_group(bytes, number, depth).unwrap_or(0)
}

fn rest_of_group(bytes: &[u8], number: u32, depth: usize) -> Option<usize> {
    let mut open = Vec::new();
    let mut innermost = u64::from(number);
    let mut pos = 0;
    if depth == 0 {
        return None;
    }
    loop {
        let (tag, tag_bytes) = varint::read(&bytes[pos..]).ok()?;
        pos += tag_bytes;
        let number = tag >> 3;
        if number == 0 || number > u64::from(FIELD_NUMBER_MAX) {
            return None;
        }
        let skipped = match WireType::from_tag(tag)? {
            WireType::Varint => varint::read(&bytes[pos..]).ok()?.1,
            WireType::Fixed64 => 8,
            WireType::Fixed32 => 4,
            WireType::Length => {
                let (length, length_bytes) = varint::read(&bytes[pos..]).ok()?;
                length_bytes.checked_add(usize::try_from(length).ok()?)?
            }
            WireType::StartGroup => {
                open.push(innermost);
                innermost = number;
                if open.len() >= depth {
                    return None;
                }
                0
            }
            WireType::EndGroup if number != innermost => return None,
            WireType::EndGroup => match open.pop() {
                Some(outer) => {
                    innermost = outer;
                    0
                }
                None => return Some(pos),
            },
        };
        if skipped > bytes.len() - pos {
            return None;
        }
        pos += skipped;
    }
}
