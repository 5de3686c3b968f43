//! Bytes behind those of a vector, written from their end towards their front.
//!
//! ```text
//!   bytes before | free ............ | what is written, up to the end of the room
//!                limit             at ->  <- writing goes this way           end
//! ```
//! When the content of a sub-message is written, its length is known and goes before it. At the
//! end all of it moves to behind the bytes before.
//!
//! What fails is noted and told at the end: until then writing goes on in the room that there is,
//! and no value asks whether the one before went well.

use super::packed::Varints;
use super::table::{BYTES_MAX, EncodeError};
use crate::schema::Tag;
use crate::varint;

/// A tag or a length, and what writing whole words touches before them.
const SPARE_BYTES: usize = 16;

/// Room that is taken first.
const FIRST_BYTES: usize = 256;

/// Room that there is when writing goes on for nothing: for a piece of a packed list and more.
const FAILED_BYTES: usize = 1024;

/// See the module.
pub(super) struct Back<'o> {
    out: &'o mut Vec<u8>,
    /// The room of `out` behind its length, and the first byte written.
    limit: *mut u8,
    at: *mut u8,
    end: *mut u8,
    error: Option<EncodeError>,
}

impl<'o> Back<'o> {
    /// Behind what is there.
    pub(super) fn behind(out: &'o mut Vec<u8>) -> Back<'o> {
        let room = out.spare_capacity_mut().as_mut_ptr_range();
        let (limit, end) = (room.start.cast(), room.end.cast());
        Back { out, limit, at: end, end, error: None }
    }

    /// Bytes written.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.end.addr() - self.at.addr()
    }

    /// Bytes written since there were `before`.
    #[inline]
    pub(super) fn since(&self, before: usize) -> u64 {
        // After an error there may be fewer.
        self.len().wrapping_sub(before) as u64
    }

    /// Notes an error; the first one counts.
    #[cold]
    #[inline(never)]
    pub(super) fn fail(&mut self, error: EncodeError) {
        self.error.get_or_insert(error);
    }

    /// Makes what is written part of the vector.
    ///
    /// # Errors
    /// One was noted, or it is too large: the vector stays as it was.
    pub(super) fn finish(self) -> Result<(), EncodeError> {
        let bytes = self.len();
        if let Some(error) = self.error {
            return Err(error);
        }
        if bytes > BYTES_MAX {
            return Err(EncodeError::TooLarge);
        }
        // SAFETY: both are in the room, from `at` on all is written; behind the bytes before there
        // is then as much as was written.
        unsafe {
            self.limit.copy_from(self.at, bytes);
            self.out.set_len(self.out.len() + bytes);
        }
        Ok(())
    }

    /// Room for so many bytes and the spare ones.
    #[inline(always)]
    fn need(&mut self, bytes: usize) {
        if self.at.addr() - self.limit.addr() < bytes + SPARE_BYTES {
            self.grow(bytes + SPARE_BYTES);
        }
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, bytes: usize) {
        let (before, used) = (self.out.len(), self.len());
        if self.error.is_some() || used + bytes > BYTES_MAX + FAILED_BYTES {
            self.fail(EncodeError::TooLarge);
            self.at = self.end;
            if self.len() + FAILED_BYTES <= self.end.addr() - self.limit.addr() {
                return;
            }
        }
        let (used, bytes) = match self.error {
            Some(_) => (0, FAILED_BYTES),
            None => (used, bytes),
        };
        let room = (2 * used).max(used + bytes).max(FIRST_BYTES);
        let mut next = Vec::with_capacity(before + room);
        next.extend_from_slice(self.out);
        let range = next.spare_capacity_mut().as_mut_ptr_range();
        let (limit, end): (*mut u8, *mut u8) = (range.start.cast(), range.end.cast());
        let at = end.wrapping_sub(used);
        // SAFETY: the new room is larger than what is written, and another.
        unsafe { at.copy_from_nonoverlapping(self.at, used) };
        *self.out = next;
        (self.limit, self.at, self.end) = (limit, at, end);
    }

    /// Up to eight bytes, given as they lie at the end of a word; there is room.
    #[inline(always)]
    fn word(&mut self, word: u64, bytes: usize) {
        // SAFETY: `need` has seen to eight bytes before `at`; those further on are free.
        unsafe { self.at.wrapping_sub(8).cast::<[u8; 8]>().write(word.to_le_bytes()) };
        self.at = self.at.wrapping_sub(bytes);
    }

    #[inline]
    pub(super) fn tag(&mut self, tag: &Tag) {
        self.need(0);
        let bytes = tag.as_bytes().len();
        let [a, b, c, d, e] = *tag.padded();
        let word = u64::from_le_bytes([a, b, c, d, e, 0, 0, 0]);
        // A tag has a byte at least.
        self.word(word << (64 - 8 * bytes), bytes);
    }

    #[inline]
    pub(super) fn varint(&mut self, value: u64) {
        self.need(0);
        if value < 0x80 {
            self.word(value << 56, 1);
            return;
        }
        let length = varint::len(value);
        let start = self.at.wrapping_sub(length);
        let mut value = value;
        for offset in 0..length - 1 {
            // SAFETY: within the bytes of the varint, for which there is room.
            unsafe { start.wrapping_add(offset).write(value as u8 | 0x80) };
            value >>= 7;
        }
        // SAFETY: the last of them.
        unsafe { start.wrapping_add(length - 1).write(value as u8) };
        self.at = start;
    }

    /// A packed list.
    ///
    /// # Safety
    /// From `cells` on there are `count` such numbers.
    #[inline]
    pub(super) unsafe fn varints(&mut self, kind: Varints, cells: *const u8, count: usize) {
        let start = self.at;
        let room = |at: *mut u8, need: usize| {
            self.at = at;
            self.need(need);
            self.at
        };
        // SAFETY: as the caller says; `need` has seen to the room.
        self.at = unsafe { kind.write(cells, count, start, room) };
    }

    #[inline]
    pub(super) fn fixed32(&mut self, value: u32) {
        self.need(0);
        self.word(u64::from(value) << 32, 4);
    }

    #[inline]
    pub(super) fn fixed64(&mut self, value: u64) {
        self.need(0);
        self.word(value, 8);
    }

    #[inline]
    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.need(bytes.len());
        if self.error.is_some() {
            return;
        }
        self.at = self.at.wrapping_sub(bytes.len());
        // SAFETY: there is room for them, which is nobody's.
        unsafe { self.at.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::WireType;

    #[test]
    fn what_is_written_stands_behind_what_was_there() {
        let mut out = b"before".to_vec();
        let mut expected = Vec::new();
        let mut back = Back::behind(&mut out);
        for value in (0..2000u64).rev() {
            let value = value << (value % 50);
            back.bytes(b"text");
            back.fixed32(value as u32);
            back.fixed64(value);
            back.varint(value);
            back.tag(&Tag::new(1 + value as u32 % 0x1fff_ffff, WireType::Varint));
        }
        for value in 0..2000u64 {
            let value = value << (value % 50);
            let tag = Tag::new(1 + value as u32 % 0x1fff_ffff, WireType::Varint);
            expected.extend_from_slice(tag.as_bytes());
            varint::write(&mut expected, value);
            expected.extend_from_slice(&value.to_le_bytes());
            expected.extend_from_slice(&(value as u32).to_le_bytes());
            expected.extend_from_slice(b"text");
        }
        assert_eq!(back.len(), expected.len());
        back.finish().unwrap();
        assert_eq!(out, [&b"before"[..], &expected].concat());
    }
}
