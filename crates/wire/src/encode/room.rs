//! Room for exactly as many bytes as were measured.
//!
//! ```text
//!   ....bytes before | at ...... to be filled ...... end | spare
//! ```
//! Behind the room there are spare bytes, so that tags and numbers are written without a look at
//! how long they are: it is enough that they begin inside.

use std::marker::PhantomData;

use crate::schema::Tag;
use crate::varint;

/// As many as the longest varint, and what writing whole words adds.
const SPARE_BYTES: usize = 16;

/// See the module.
pub(super) struct Room<'o> {
    out: *mut Vec<u8>,
    at: *mut u8,
    end: *mut u8,
    vec: PhantomData<&'o mut Vec<u8>>,
}

impl<'o> Room<'o> {
    /// Room for so many bytes behind what is there.
    pub(super) fn behind(out: &'o mut Vec<u8>, bytes: usize) -> Room<'o> {
        out.reserve_exact(bytes + SPARE_BYTES);
        let at = out.as_mut_ptr().wrapping_add(out.len());
        Room { out, at, end: at.wrapping_add(bytes), vec: PhantomData }
    }

    /// Everything is written.
    ///
    /// # Panics
    /// It is not: what was measured and what is written differ.
    pub(super) fn filled(self) {
        assert!(self.at == self.end, "as many bytes as were measured");
        // SAFETY: borrowed for as long as the room lives.
        let out = unsafe { &mut *self.out };
        let bytes = self.end.addr() - out.as_ptr().addr();
        // SAFETY: they are reserved, and all written: those before, and the room.
        unsafe { out.set_len(bytes) };
    }

    /// So many bytes, which are free, begin here.
    #[inline]
    fn left(&self) -> usize {
        // Behind the end by less than the spare, if at all.
        self.end.addr().saturating_sub(self.at.addr())
    }

    #[inline]
    pub(super) fn tag(&mut self, tag: &Tag) {
        assert!(self.at < self.end, "as many bytes as were measured");
        // SAFETY: it begins inside, and is shorter than the spare.
        unsafe { self.at.cast::<[u8; 5]>().write_unaligned(*tag.padded()) };
        self.at = self.at.wrapping_add(tag.as_bytes().len());
    }

    #[inline]
    pub(super) fn varint(&mut self, value: u64) {
        assert!(self.at < self.end, "as many bytes as were measured");
        if value < 0x80 {
            // SAFETY: it begins inside.
            unsafe { self.at.write(value as u8) };
            self.at = self.at.wrapping_add(1);
            return;
        }
        let (mut value, length) = (value, varint::len(value));
        for offset in 0..length - 1 {
            // SAFETY: it begins inside, and is shorter than the spare.
            unsafe { self.at.add(offset).write(value as u8 | 0x80) };
            value >>= 7;
        }
        // SAFETY: as above.
        unsafe { self.at.add(length - 1).write(value as u8) };
        self.at = self.at.wrapping_add(length);
    }

    #[inline]
    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        assert!(bytes.len() <= self.left(), "as many bytes as were measured");
        // SAFETY: there is room for them, which is nobody's.
        unsafe { self.at.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        self.at = self.at.wrapping_add(bytes.len());
    }
}
