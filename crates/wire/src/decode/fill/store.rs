//! Stores of values into a record: the slot of the field, and its presence bit.

use tidemill_stdx::copy;

use super::plan::{Op, Step};
use crate::message::Arena;
use crate::message::layout::Shape;
use crate::message::record::{List, Record};

/// Bytes that are copied at a time.
pub(super) const COPIED_BYTES: usize = 16;

/// Sets the presence bit, and clears those of the rest of the oneof.
///
/// # Safety
/// The step is of a field in the message of the record.
#[inline(always)]
unsafe fn mark(record: Record, step: &Step) {
    // SAFETY: within the header, which is always written.
    unsafe {
        let word = record.at(step.presence).cast::<u64>();
        word.write(word.read() & !step.siblings | step.mask);
    }
}

/// # Safety
/// As [`mark`].
#[inline(always)]
unsafe fn is_there(record: Record, step: &Step) -> bool {
    // SAFETY: within the header, which is always written.
    unsafe { record.at(step.presence).cast::<u64>().read() & step.mask != 0 }
}

/// The list of a repeated field, made if there is none.
///
/// # Safety
/// As [`mark`]; the field is a list. The record is used through nothing else meanwhile.
#[inline(always)]
unsafe fn list_of<'m>(record: Record, step: &Step) -> &'m mut List {
    // SAFETY: the caller guarantees that the step is of a list in the record's message.
    unsafe {
        let list = record.at(step.offset).cast::<List>();
        if !is_there(record, step) {
            list.write(List::EMPTY);
            mark(record, step);
        }
        &mut *list.as_ptr()
    }
}

/// Stores a value, or appends it to a list; false where there is no memory.
///
/// # Safety
/// As [`mark`]; the field holds values of that type.
#[inline(always)]
pub(super) unsafe fn put<T: Copy>(
    record: Record,
    arena: &mut Arena,
    step: &Step,
    value: T,
) -> bool {
    // SAFETY: the caller guarantees that the step is of a value of type `T` in the record's
    // message.
    unsafe {
        if step.shape == Shape::Single {
            record.at(step.offset).cast::<T>().write(value);
            mark(record, step);
            return true;
        }
        list_of(record, step).push(arena, value).is_some()
    }
}

/// The record for another message of a field: a new one, unless the field is single and has one.
///
/// # Safety
/// As [`mark`]; the field holds records.
#[inline(always)]
pub(super) unsafe fn sub(record: Record, arena: &mut Arena, step: &Step) -> Option<Record> {
    // SAFETY: the caller guarantees that the step is of a record in the record's message.
    unsafe {
        let slot = record.at(step.offset).cast::<Record>();
        if step.shape == Shape::Single && is_there(record, step) {
            return Some(slot.read());
        }
        let inner = Record::of_bytes(arena, step.first, step.span)?;
        match step.shape {
            Shape::Single => {
                slot.write(inner);
                mark(record, step);
            }
            Shape::List => list_of(record, step).push(arena, inner)?,
            Shape::Map => {}
        }
        Some(inner)
    }
}

/// Reads a complete packed list; false, and then nothing of it is kept, if it is malformed or has
/// a number that its closed enum does not have.
///
/// # Safety
/// The step is of a list of numbers in the message of the record.
pub(super) unsafe fn put_packed(
    record: Record,
    arena: &mut Arena,
    step: &Step,
    op: Op,
    bytes: &[u8],
) -> bool {
    if bytes.is_empty() {
        return true;
    }
    // SAFETY: the caller guarantees that the step is of a list in the record's message.
    let list = unsafe { list_of(record, step) };
    let before = list.len;
    let Some(numbers) = step.numbers else { return false };
    // SAFETY: the caller guarantees that it is a list of such numbers.
    let read = unsafe { list.append_packed(arena, numbers, bytes) };
    let mut good = read == bytes.len();
    if good && op == Op::PackedClosed {
        // SAFETY: a list of numbers of an enum.
        let new = unsafe { &list.values::<u32>()[before as usize..] };
        let outside = |number: &u32| number.wrapping_sub(step.first) > step.span;
        good = !new.iter().fold(false, |found, number| found | outside(number));
    }
    if !good {
        list.len = before;
    }
    good
}

/// A copy of the `length` bytes of a text, short ones in pieces.
///
/// # Safety
/// They can be read, and with `room`, [`COPIED_BYTES`] more after them.
#[inline(always)]
pub(super) unsafe fn copied(
    arena: &mut Arena,
    text: *const u8,
    length: usize,
    room: bool,
) -> Option<*const u8> {
    let place = arena.alloc(length)?;
    if room && length <= 4 * COPIED_BYTES {
        let mut at = 0;
        while at < length {
            // SAFETY: the last piece ends at most one piece after the text; the arena has spare
            // bytes behind each chunk, and what lies behind the copy is not given away yet.
            unsafe {
                let piece = text.add(at).cast::<[u8; COPIED_BYTES]>().read_unaligned();
                place.add(at).cast::<[u8; COPIED_BYTES]>().write_unaligned(piece);
            }
            at += COPIED_BYTES;
        }
    } else {
        // SAFETY: just allocated with that length, so it overlaps nothing.
        unsafe { copy::copy(place.as_ptr(), text, length) };
    }
    Some(place.as_ptr())
}
