//! Bytes after those of a vector, written from their end towards their front.
//!
//! ```text
//!   bytes before | free ............ | what is written, up to the end of the room
//!                limit             at ->  <- writing goes this way           end
//! ```
//! When the content of a sub-message is written, its length is known and goes before it. At the end
//! all of it is moved after the bytes before, or stays in an [`EncodeBuffer`].
//!
//! The place is a pointer, so that it stays in a register, and the buffer may move under it. So it
//! is never copied: [`At`] and [`Roomy`] are used up by whatever may write or move, which gives the
//! next one. A place from before a move cannot be used, as it was consumed. `'b` names one buffer:
//! it is another lifetime for each call of [`append()`], so no place of one buffer can be given to
//! another.
//!
//! Errors are noted and reported at the end: until then writing continues in the present room,
//! without a check after each value.

use std::cell::Cell;
use std::marker::PhantomData;

use super::error::{BYTES_MAX, EncodeError};
use super::packed::Varints;
use crate::copy::copy_few;
use crate::schema::{Tag, WireType};
use crate::varint;

/// Bytes that are free before a [`Roomy`]: a tag and a number, and what writing whole words touches
/// before them.
const ROOM: usize = 32;

/// The initial room.
const FIRST_BYTES: usize = 256;

/// The room in which writing continues after an error: enough for a piece of a packed list.
const FAILED_BYTES: usize = 1024;

type Of<'b> = PhantomData<Cell<&'b ()>>;

/// See the module.
pub(super) struct Back<'b> {
    out: Vec<u8>,
    /// The room of `out` after its length.
    limit: *mut u8,
    end: *mut u8,
    error: Option<EncodeError>,
    of: Of<'b>,
}

/// The first byte written.
#[must_use = "without its place writing cannot go on"]
pub(super) struct At<'b>(*mut u8, Of<'b>);

/// The same with [`ROOM`] free bytes before it.
#[must_use = "without its place writing cannot go on"]
pub(super) struct Roomy<'b>(*mut u8, Of<'b>);

/// A tag at the end of a word, which is stored as a whole.
#[derive(Clone, Copy, Debug)]
pub(super) struct TagWord {
    word: u64,
    bytes: u32,
}

impl TagWord {
    pub(super) fn of(tag: &Tag) -> TagWord {
        let bytes = tag.as_bytes().len() as u32;
        let [a, b, c, d, e] = *tag.padded();
        let word = u64::from_le_bytes([a, b, c, d, e, 0, 0, 0]);
        // A tag has a byte at least.
        TagWord { word: word << (64 - 8 * bytes), bytes }
    }

    pub(super) fn new(number: u32, wire_type: WireType) -> TagWord {
        TagWord::of(&Tag::new(number, wire_type))
    }
}

/// Memory in which messages are encoded, one after the other.
#[derive(Default)]
pub struct EncodeBuffer(Vec<u8>);

impl EncodeBuffer {
    /// Without memory yet.
    pub fn new() -> EncodeBuffer {
        EncodeBuffer::default()
    }

    /// Bytes of memory.
    pub fn held_bytes(&self) -> usize {
        self.0.capacity()
    }

    /// The bytes that `work` writes.
    ///
    /// # Errors
    /// As [`append()`].
    pub(super) fn write(
        &mut self,
        work: impl for<'b> FnOnce(Back<'b>, At<'b>) -> (Back<'b>, At<'b>),
    ) -> Result<&[u8], EncodeError> {
        let written = write(&mut self.0, work)?;
        // SAFETY: these are written, in the room of the vector, which does not change meanwhile.
        Ok(unsafe { std::slice::from_raw_parts(written.start, written.bytes) })
    }
}

impl std::fmt::Debug for EncodeBuffer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "EncodeBuffer({} bytes)", self.held_bytes())
    }
}

/// Appends the bytes that `work` writes to `out`; nothing if there is an error.
///
/// # Errors
/// One was noted, or it is too large.
pub(super) fn append(
    out: &mut Vec<u8>,
    work: impl for<'b> FnOnce(Back<'b>, At<'b>) -> (Back<'b>, At<'b>),
) -> Result<(), EncodeError> {
    let Written { room, start, bytes } = write(out, work)?;
    // SAFETY: both are in the room, and from `start` on all is written; the moved bytes are within
    // the room after the old length.
    unsafe {
        room.copy_from(start, bytes);
        out.set_len(out.len() + bytes);
    }
    Ok(())
}

/// Bytes at the end of the room of a vector, which begins after its length.
struct Written {
    room: *mut u8,
    start: *const u8,
    bytes: usize,
}

fn write(
    out: &mut Vec<u8>,
    work: impl for<'b> FnOnce(Back<'b>, At<'b>) -> (Back<'b>, At<'b>),
) -> Result<Written, EncodeError> {
    let (back, at) = Back::appending(std::mem::take(out));
    let (back, at) = work(back, at);
    let bytes = back.written(&at);
    *out = back.out;
    match back.error {
        Some(error) => Err(error),
        None if bytes > BYTES_MAX => Err(EncodeError::TooLarge),
        None => Ok(Written { room: back.limit, start: at.0, bytes }),
    }
}

impl<'b> Back<'b> {
    fn appending(mut out: Vec<u8>) -> (Back<'b>, At<'b>) {
        let room = out.spare_capacity_mut().as_mut_ptr_range();
        let (limit, end) = (room.start.cast(), room.end.cast());
        let back = Back { out, limit, end, error: None, of: PhantomData };
        (back, At(end, PhantomData))
    }

    /// Bytes written. After an error there may be fewer than there were.
    #[inline(always)]
    pub(super) fn written(&self, at: &At<'b>) -> usize {
        self.end.addr() - at.0.addr()
    }

    /// Notes an error; the first one counts.
    #[cold]
    #[inline(never)]
    pub(super) fn fail(&mut self, error: EncodeError) {
        self.error.get_or_insert(error);
    }

    #[inline(always)]
    fn has(&self, at: &At<'b>, bytes: usize) -> bool {
        at.0.addr() - self.limit.addr() >= bytes
    }

    /// Room for `bytes` bytes; after an error at least [`FAILED_BYTES`].
    #[cold]
    #[inline(never)]
    fn grow(&mut self, at: At<'b>, bytes: usize) -> At<'b> {
        let (before, used) = (self.out.len(), self.written(&at));
        if self.error.is_some() || used + bytes > BYTES_MAX + FAILED_BYTES {
            self.fail(EncodeError::TooLarge);
            let at = At(self.end, PhantomData);
            if self.has(&at, FAILED_BYTES) {
                return at;
            }
        }
        let (used, bytes) = match self.error {
            Some(_) => (0, FAILED_BYTES),
            None => (used, bytes),
        };
        let room = (2 * used).max(used + bytes).max(FIRST_BYTES);
        let mut next = Vec::with_capacity(before + room);
        next.extend_from_slice(&self.out);
        let range = next.spare_capacity_mut().as_mut_ptr_range();
        (self.limit, self.end) = (range.start.cast(), range.end.cast());
        let new = self.end.wrapping_sub(used);
        // SAFETY: the new room is larger than what is written, and another.
        unsafe { new.copy_from_nonoverlapping(at.0, used) };
        self.out = next;
        At(new, PhantomData)
    }

    /// Room for a tag and a number.
    #[inline(always)]
    pub(super) fn room(&mut self, at: At<'b>) -> Roomy<'b> {
        let at = if self.has(&at, ROOM) { at } else { self.grow(at, ROOM) };
        Roomy(at.0, PhantomData)
    }

    /// Some bytes, and room before them.
    #[inline(always)]
    pub(super) fn bytes(&mut self, at: At<'b>, bytes: &[u8]) -> Roomy<'b> {
        let need = bytes.len() + ROOM;
        let mut at = at;
        if !self.has(&at, need) {
            at = self.grow(at, need);
            if self.error.is_some() {
                return Roomy(at.0, PhantomData);
            }
        }
        let at = at.0.wrapping_sub(bytes.len());
        // SAFETY: there is room for them, which is not used yet.
        unsafe { copy_few(at, bytes) };
        Roomy(at, PhantomData)
    }

    /// A packed list.
    ///
    /// # Safety
    /// From `cells` on there are `count` such numbers.
    #[inline]
    pub(super) unsafe fn varints(
        &mut self,
        at: At<'b>,
        kind: Varints,
        cells: *const u8,
        count: usize,
    ) -> At<'b> {
        let room = |at: *mut u8, need: usize| {
            let at = At(at, PhantomData);
            if self.has(&at, need) { at.0 } else { self.grow(at, need).0 }
        };
        // SAFETY: the caller guarantees `count` numbers from `cells` on; their room was reserved.
        At(unsafe { kind.write(cells, count, at.0, room) }, PhantomData)
    }
}

impl<'b> Roomy<'b> {
    /// The place without its guaranteed room.
    #[inline(always)]
    pub(super) fn at(self) -> At<'b> {
        At(self.0, PhantomData)
    }

    /// The last `bytes` of a word.
    #[inline(always)]
    fn word(self, word: u64, bytes: u32) -> At<'b> {
        // SAFETY: there is room for eight bytes; those further on are free.
        unsafe { self.0.wrapping_sub(8).cast::<[u8; 8]>().write(word.to_le_bytes()) };
        At(self.0.wrapping_sub(bytes as usize), PhantomData)
    }

    #[inline(always)]
    pub(super) fn tag(self, tag: TagWord) -> At<'b> {
        self.word(tag.word, tag.bytes)
    }

    /// A varint with its tag.
    #[inline(always)]
    pub(super) fn varint(self, value: u64, tag: TagWord) -> At<'b> {
        // Value and tag are at the end of one word, the value last: one store writes both.
        if value < 0x80 {
            return self.word(value << 56 | tag.word >> 8, tag.bytes + 1);
        }
        if value < 0x4000 {
            let both = value & 0x7f | 0x80 | value << 1 & 0x7f00;
            return self.word(both << 48 | tag.word >> 16, tag.bytes + 2);
        }
        self.long_varint(value).tag(tag)
    }

    /// A varint of any length; the tag still has room before it.
    #[inline(never)]
    fn long_varint(self, value: u64) -> Roomy<'b> {
        let length = varint::len(value);
        let start = self.0.wrapping_sub(length);
        let mut value = value;
        for offset in 0..length - 1 {
            // SAFETY: within the bytes of the varint, for which there is room.
            unsafe { start.wrapping_add(offset).write(value as u8 | 0x80) };
            value >>= 7;
        }
        // SAFETY: the last of them.
        unsafe { start.wrapping_add(length - 1).write(value as u8) };
        Roomy(start, PhantomData)
    }

    #[inline(always)]
    pub(super) fn fixed32(self, value: u32, tag: TagWord) -> At<'b> {
        Roomy(self.word(u64::from(value) << 32, 4).0, PhantomData).tag(tag)
    }

    #[inline(always)]
    pub(super) fn fixed64(self, value: u64, tag: TagWord) -> At<'b> {
        Roomy(self.word(value, 8).0, PhantomData).tag(tag)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_follows_what_was_there() {
        let count = if cfg!(miri) { 100 } else { 2000u64 };
        let mut out = b"before".to_vec();
        let mut expected = Vec::new();
        let number = |value: u64| 1 + value as u32 % 0x1fff_ffff;
        let value = |of: u64| of << (of % 50);
        let tag = |value, wire_type| Tag::new(number(value), wire_type);
        let done = append(&mut out, |mut back, mut at| {
            for of in (0..count).rev() {
                let value = value(of);
                let tag = |wire_type| TagWord::new(number(value), wire_type);
                at = back.bytes(at, &b"text"[..of as usize % 5]).at();
                at = back.room(at).tag(tag(WireType::EndGroup));
                at = back.room(at).fixed32(value as u32, tag(WireType::Fixed32));
                at = back.room(at).fixed64(value, tag(WireType::Fixed64));
                at = back.room(at).varint(value, tag(WireType::Varint));
            }
            (back, at)
        });
        for of in 0..count {
            let value = value(of);
            expected.extend_from_slice(tag(value, WireType::Varint).as_bytes());
            varint::write(&mut expected, value);
            expected.extend_from_slice(tag(value, WireType::Fixed64).as_bytes());
            expected.extend_from_slice(&value.to_le_bytes());
            expected.extend_from_slice(tag(value, WireType::Fixed32).as_bytes());
            expected.extend_from_slice(&(value as u32).to_le_bytes());
            expected.extend_from_slice(tag(value, WireType::EndGroup).as_bytes());
            expected.extend_from_slice(&b"text"[..of as usize % 5]);
        }
        assert_eq!(done, Ok(()));
        assert_eq!(out, [&b"before"[..], &expected].concat());
    }

    #[test]
    fn after_an_error_nothing_is_appended() {
        let mut out = b"before".to_vec();
        let done = append(&mut out, |mut back, mut at| {
            back.fail(EncodeError::TooDeep);
            for _ in 0..100 {
                at = back.bytes(at, &[7; 5000]).tag(TagWord::new(1, WireType::Length));
            }
            (back, at)
        });
        assert_eq!((done, &out[..]), (Err(EncodeError::TooDeep), &b"before"[..]));
    }
}
