//! Bytes behind those of a vector, written from their end towards their front.
//!
//! ```text
//!   bytes before | free ............ | what is written, up to the end of the room
//!                limit             at ->  <- writing goes this way           end
//! ```
//! When the content of a sub-message is written, its length is known and goes before it. At the
//! end all of it moves to behind the bytes before.

use super::table::{BYTES_MAX, EncodeError};
use crate::schema::Tag;
use crate::varint;

/// A tag or a length, and what writing whole words touches before them.
const SPARE_BYTES: usize = 16;

/// Room that is taken first.
const FIRST_BYTES: usize = 256;

/// See the module.
pub(super) struct Back<'o> {
    out: &'o mut Vec<u8>,
    /// The room of `out` behind its length, and the first byte written.
    limit: *mut u8,
    at: *mut u8,
    end: *mut u8,
}

impl<'o> Back<'o> {
    /// Behind what is there.
    pub(super) fn behind(out: &'o mut Vec<u8>) -> Back<'o> {
        let room = out.spare_capacity_mut().as_mut_ptr_range();
        let (limit, end) = (room.start.cast(), room.end.cast());
        Back { out, limit, at: end, end }
    }

    /// Bytes written.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.end.addr() - self.at.addr()
    }

    /// Makes what is written part of the vector.
    ///
    /// # Errors
    /// It is too large: the vector stays as it was.
    pub(super) fn finish(self) -> Result<(), EncodeError> {
        let bytes = self.len();
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
    fn need(&mut self, bytes: usize) -> Result<(), EncodeError> {
        match self.at.addr() - self.limit.addr() < bytes + SPARE_BYTES {
            true => self.grow(bytes + SPARE_BYTES),
            false => Ok(()),
        }
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, bytes: usize) -> Result<(), EncodeError> {
        let (before, used) = (self.out.len(), self.len());
        if used + bytes > BYTES_MAX + SPARE_BYTES {
            return Err(EncodeError::TooLarge);
        }
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
        Ok(())
    }

    /// Up to eight bytes, given as they lie at the end of a word; there is room.
    #[inline(always)]
    fn word(&mut self, word: u64, bytes: usize) {
        // SAFETY: `need` has seen to eight bytes before `at`; those further on are free.
        unsafe { self.at.wrapping_sub(8).cast::<[u8; 8]>().write(word.to_le_bytes()) };
        self.at = self.at.wrapping_sub(bytes);
    }

    #[inline]
    pub(super) fn tag(&mut self, tag: &Tag) -> Result<(), EncodeError> {
        self.need(0)?;
        let bytes = tag.as_bytes().len();
        let [a, b, c, d, e] = *tag.padded();
        let word = u64::from_le_bytes([a, b, c, d, e, 0, 0, 0]);
        // A tag has a byte at least.
        self.word(word << (64 - 8 * bytes), bytes);
        Ok(())
    }

    #[inline]
    pub(super) fn varint(&mut self, value: u64) -> Result<(), EncodeError> {
        self.need(0)?;
        if value < 0x80 {
            self.word(value << 56, 1);
            return Ok(());
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
        Ok(())
    }

    #[inline]
    pub(super) fn fixed32(&mut self, value: u32) -> Result<(), EncodeError> {
        self.need(0)?;
        self.word(u64::from(value) << 32, 4);
        Ok(())
    }

    #[inline]
    pub(super) fn fixed64(&mut self, value: u64) -> Result<(), EncodeError> {
        self.need(0)?;
        self.word(value, 8);
        Ok(())
    }

    #[inline]
    pub(super) fn bytes(&mut self, bytes: &[u8]) -> Result<(), EncodeError> {
        self.need(bytes.len())?;
        self.at = self.at.wrapping_sub(bytes.len());
        // SAFETY: there is room for them, which is nobody's.
        unsafe { self.at.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        Ok(())
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
            back.bytes(b"text").unwrap();
            back.fixed32(value as u32).unwrap();
            back.fixed64(value).unwrap();
            back.varint(value).unwrap();
            back.tag(&Tag::new(1 + value as u32 % 0x1fff_ffff, WireType::Varint)).unwrap();
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
