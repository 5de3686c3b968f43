//! The functions that generated code calls.

use std::alloc::{alloc, handle_alloc_error};

use tidemill_stdx::copy::copy;

use super::super::error::{BYTES_MAX, DEPTH_MAX, EncodeError};
use super::super::packed::Varints;
use super::super::walk::Whole;
use super::context::{Context, buffer_layout, free};
use crate::message::map::{MapOrder, sorted_entries};
use crate::message::record::Record;
use crate::schema::{FieldId, MessageId};

/// Size of the first buffer.
const FIRST_BYTES: usize = 4096;

/// A larger buffer with room for `need` bytes before `p`; returns the new `p`, 0 if the message is
/// too large.
pub(super) extern "C" fn grow(context: &mut Context, p: *mut u8, need: u64) -> *mut u8 {
    let (old, used) = (context.end.addr() - context.limit.addr(), context.end.addr() - p.addr());
    if used > BYTES_MAX {
        context.error = Some(EncodeError::TooLarge);
        return std::ptr::null_mut();
    }
    let bytes = used.saturating_add(need as usize).max(2 * old).max(FIRST_BYTES);
    let Some(bytes) = isize::try_from(bytes).ok().map(|bytes| bytes as usize) else {
        context.error = Some(EncodeError::TooLarge);
        return std::ptr::null_mut();
    };
    let layout = buffer_layout(bytes);
    // SAFETY: the layout is not of size zero.
    let start = unsafe { alloc(layout) };
    if start.is_null() {
        handle_alloc_error(layout);
    }
    let new_p = start.wrapping_add(bytes - used);
    // SAFETY: the new buffer is larger than what is used of the old one, and another.
    unsafe { p.copy_to_nonoverlapping(new_p, used) };
    free(context.limit, old);
    (context.limit, context.end) = (start, start.wrapping_add(bytes));
    new_p
}

/// Writes bytes before `p`.
fn put(context: &mut Context, p: *mut u8, bytes: &[u8]) -> *mut u8 {
    let mut p = p;
    if p.addr() - context.limit.addr() < bytes.len() {
        p = grow(context, p, bytes.len() as u64);
        if p.is_null() {
            return p;
        }
    }
    let p = p.wrapping_sub(bytes.len());
    // SAFETY: there is room for them before `p`, and they are not in the buffer.
    unsafe { copy(p, bytes.as_ptr(), bytes.len()) };
    p
}

/// The unknown fields of a record.
pub(super) extern "C" fn unknown(context: &mut Context, record: Record, p: *mut u8) -> *mut u8 {
    let mut p = p;
    for view in record.unknown().iter().rev() {
        // SAFETY: views live as long as the message.
        p = put(context, p, unsafe { view.bytes() });
        if p.is_null() {
            return p;
        }
    }
    p
}

/// A whole record, by the table encoder.
pub(super) extern "C" fn whole(
    context: &mut Context,
    record: Record,
    p: *mut u8,
    message: u64,
    depth_left: u64,
) -> *mut u8 {
    let schema = context.code.schema();
    let order = if context.by_key == 1 { MapOrder::ByKey } else { MapOrder::Stored };
    let message = MessageId(message as u32);
    let depth = (DEPTH_MAX + 1).saturating_sub(depth_left as usize);
    let whole = Whole { schema, order, message, record, depth };
    let mut buffer = std::mem::take(&mut context.table);
    let p = match buffer.write(|back, at| whole.write(back, at)) {
        Ok(bytes) => put(context, p, bytes),
        Err(error) => {
            context.error = Some(error);
            std::ptr::null_mut()
        }
    };
    context.table = buffer;
    p
}

/// The entries of a map by key; `key` is the index of the field.
pub(super) extern "C" fn sorted(
    context: &mut Context,
    entries: *const Record,
    len: u64,
    key: u64,
) -> *const Record {
    // SAFETY: the code reads both from one list of records.
    let entries = unsafe { std::slice::from_raw_parts(entries, len as usize) };
    let key = context.code.schema().layouts().field(FieldId(key as u32));
    let sorted = sorted_entries(entries, key);
    let start = sorted.as_ptr();
    context.sorted.push(sorted);
    start
}

/// A packed list of varints before `p`, of a kind by its place in [`Varints::ALL`].
pub(super) extern "C" fn packed(
    context: &mut Context,
    p: *mut u8,
    cells: *const u8,
    count: u64,
    kind: u64,
) -> *mut u8 {
    let Some(kind) = Varints::ALL.get(kind as usize) else { return std::ptr::null_mut() };
    let room = |p: *mut u8, need: usize| {
        let has_room = p.addr() - context.limit.addr() >= need;
        if has_room { p } else { grow(context, p, need as u64) }
    };
    // SAFETY: the code reads both from a list of such numbers; a buffer that grows has the room.
    unsafe { kind.write(cells, count as usize, p, room) }
}

/// A varint of any length before `p`, where there is room.
pub(super) extern "C" fn varint(p: *mut u8, value: u64) -> *mut u8 {
    let start = p.wrapping_sub(crate::varint::len(value));
    let (mut at, mut value) = (start, value);
    while value >= 0x80 {
        // SAFETY: within the bytes that the varint takes.
        unsafe { at.write(value as u8 | 0x80) };
        at = at.wrapping_add(1);
        value >>= 7;
    }
    // SAFETY: the last of them.
    unsafe { at.write(value as u8) };
    start
}
