//! A text that is written through its end, with one check for room before each value.
//!
//! The end is a pointer, so that it stays in a register, and the buffer may move under it. So it
//! is never copied: [`End`] and [`Roomy`] are used up by whatever may write or move, which gives
//! the next one. An end from before a move cannot be used, as it was consumed.
//!
//! ```text
//!   End ---key, room---> Roomy ---number, put---> End        what needs no more than ROOM
//!   End ---string, copy, close, with---> End                 what asks for room itself
//! ```
//! `'t` names one text: it is another lifetime for each call of [`write()`], so no end of one text
//! can be given to another.

use std::cell::Cell;
use std::marker::PhantomData;
use std::ptr::NonNull;

use super::{print, scan};
use crate::copy::copy_few;

/// Bytes that are free after a [`Roomy`]: no number, bracket or name of a truth takes more, with
/// the bytes around it.
const ROOM: usize = print::ROOM + PUT_MAX;

/// The most bytes before or after a value.
const PUT_MAX: usize = 32;

type Of<'t> = PhantomData<Cell<&'t ()>>;

/// A text, with the buffer that it is in.
#[derive(Debug)]
pub(super) struct Text<'t> {
    bytes: Vec<u8>,
    /// One past the capacity of `bytes`.
    limit: *mut u8,
    of: Of<'t>,
}

/// The end of a text: all before it in the buffer is written.
#[must_use = "a text without its end cannot go on"]
#[derive(Debug)]
pub(super) struct End<'t>(NonNull<u8>, Of<'t>);

/// An end with [`ROOM`] free bytes after it.
#[must_use = "a text without its end cannot go on"]
#[derive(Debug)]
pub(super) struct Roomy<'t>(NonNull<u8>, Of<'t>);

/// Appends to `bytes` what `work` writes, up to the end that it returns. Without one nothing is
/// appended.
pub(super) fn write(
    bytes: &mut Vec<u8>,
    work: impl for<'t> FnOnce(&mut Text<'t>, End<'t>) -> Option<End<'t>>,
) -> Option<()> {
    let start = bytes.len();
    let mut text =
        Text { bytes: std::mem::take(bytes), limit: NonNull::dangling().as_ptr(), of: PhantomData };
    let first = text.enter();
    let last = work(&mut text, first);
    let done = match last {
        Some(end) => {
            text.leave(end);
            Some(())
        }
        None => {
            text.bytes.truncate(start);
            None
        }
    };
    *bytes = text.bytes;
    done
}

impl<'t> Text<'t> {
    /// The end of the text as the buffer has it.
    fn enter(&mut self) -> End<'t> {
        let start = self.bytes.as_mut_ptr();
        self.limit = start.wrapping_add(self.bytes.capacity());
        // SAFETY: the length is within the buffer, which is somewhere.
        End(unsafe { NonNull::new_unchecked(start.add(self.bytes.len())) }, PhantomData)
    }

    /// Sets the length of the buffer to the end of the text.
    fn leave(&mut self, end: End<'t>) {
        // SAFETY: an end is within the buffer, and all before it is written.
        unsafe { self.bytes.set_len(end.0.as_ptr().offset_from_unsigned(self.bytes.as_ptr())) };
    }

    /// Appends to the text what `work` appends to its buffer.
    pub(super) fn with<R>(
        &mut self,
        end: End<'t>,
        work: impl FnOnce(&mut Vec<u8>) -> R,
    ) -> (End<'t>, R) {
        self.leave(end);
        let given = work(&mut self.bytes);
        (self.enter(), given)
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, end: End<'t>, room: usize) -> End<'t> {
        self.with(end, |bytes| bytes.reserve(room)).0
    }

    /// Makes room for `room` bytes after the end.
    #[inline(always)]
    fn reserve(&mut self, end: End<'t>, room: usize) -> End<'t> {
        if self.limit.addr() - end.0.as_ptr().addr() < room { self.grow(end, room) } else { end }
    }

    /// Room for a value.
    #[inline(always)]
    pub(super) fn room(&mut self, end: End<'t>) -> Roomy<'t> {
        let end = self.reserve(end, ROOM);
        Roomy(end.0, PhantomData)
    }

    /// The first `length` bytes, and room for a value after them. If [`scan::WIDE`] bytes are
    /// there it is a copy of those.
    #[inline(always)]
    pub(super) fn key(&mut self, end: End<'t>, bytes: &[u8], length: usize) -> Roomy<'t> {
        let length = length.min(bytes.len());
        let End(at, of) = self.reserve(end, length.max(scan::WIDE) + ROOM);
        // SAFETY: there is room for them, and for a block, which nothing else uses.
        unsafe {
            match bytes.first_chunk::<{ scan::WIDE }>() {
                Some(block) if length <= scan::WIDE => at.cast().write(*block),
                _ => at.copy_from_nonoverlapping(NonNull::from(bytes).cast(), length),
            }
            Roomy(at.add(length), of)
        }
    }

    /// Some bytes, and one after them.
    #[inline(always)]
    pub(super) fn copy(&mut self, end: End<'t>, bytes: &[u8], after: u8) -> End<'t> {
        let End(at, of) = self.reserve(end, bytes.len() + 1);
        // SAFETY: there is room for them and one more.
        unsafe {
            copy_few(at.as_ptr(), bytes);
            let at = at.add(bytes.len());
            at.write(after);
            End(at.add(1), of)
        }
    }

    /// UTF-8 in quotes, with what must be escaped, and a byte after it.
    #[inline]
    pub(super) fn string(&mut self, end: End<'t>, text: &[u8], after: u8) -> End<'t> {
        let End(at, of) = self.reserve(end, text.len() + 3);
        // SAFETY: there is room for the text, two quotes and the byte; if it is not plain, the
        // text ends where it did.
        unsafe {
            at.write(b'"');
            let inside = at.add(1);
            if scan::copy_if_plain(inside.as_ptr(), text) {
                let at = inside.add(text.len());
                at.cast().write([b'"', after]);
                return End(at.add(2), of);
            }
        }
        self.escaped(End(at, of), text, after)
    }

    #[inline(never)]
    fn escaped(&mut self, end: End<'t>, text: &[u8], after: u8) -> End<'t> {
        let write = |bytes: &mut Vec<u8>| {
            scan::escape(bytes, text, Some(b'"'), Some(b'"'));
            bytes.push(after);
        };
        self.with(end, write).0
    }

    /// A bracket in the place of the comma after the last element, if there is one.
    #[inline(always)]
    pub(super) fn close<const N: usize>(&mut self, end: End<'t>, bytes: &[u8; N]) -> End<'t> {
        let Roomy(at, of) = self.room(end);
        let is_first = at.as_ptr().cast_const() == self.bytes.as_ptr();
        // SAFETY: a byte that is not the first has one before it, which is written.
        let at = unsafe { if !is_first && at.sub(1).read() == b',' { at.sub(1) } else { at } };
        Roomy(at, of).put(bytes)
    }
}

impl<'t> Roomy<'t> {
    /// The end without its guaranteed room.
    #[inline(always)]
    pub(super) fn end(self) -> End<'t> {
        End(self.0, self.1)
    }

    /// Some bytes.
    #[inline(always)]
    pub(super) fn put<const N: usize>(self, bytes: &[u8; N]) -> End<'t> {
        const { assert!(N <= PUT_MAX) };
        // SAFETY: there is room.
        unsafe {
            self.0.cast().write(*bytes);
            End(self.0.add(N), self.1)
        }
    }

    /// What `write` writes, with `before` and `after` around it.
    ///
    /// # Safety
    /// `write` writes all up to the place that it gives, at most [`print::ROOM`] bytes.
    #[inline(always)]
    unsafe fn around<const B: usize, const A: usize>(
        self,
        before: &[u8; B],
        write: impl FnOnce(*mut u8) -> *mut u8,
        after: &[u8; A],
    ) -> End<'t> {
        const { assert!(B + A <= PUT_MAX) };
        // SAFETY: there is room for all three, and what is written ends somewhere.
        unsafe {
            self.0.cast().write(*before);
            let at = NonNull::new_unchecked(write(self.0.add(B).as_ptr()));
            at.cast().write(*after);
            End(at.add(A), self.1)
        }
    }

    /// A decimal.
    #[inline(always)]
    pub(super) fn integer(self, value: impl print::Integer, after: u8) -> End<'t> {
        // SAFETY: it writes all up to its end, at most `ROOM` bytes.
        unsafe { self.around(b"", |at| print::write_integer(at, value), &[after]) }
    }

    /// A decimal in quotes.
    #[inline(always)]
    pub(super) fn quoted(self, value: impl print::Integer, after: u8) -> End<'t> {
        // SAFETY: it writes all up to its end, at most `ROOM` bytes.
        unsafe { self.around(b"", |at| print::write_quoted(at, value), &[after]) }
    }

    /// A double.
    #[inline(always)]
    pub(super) fn double(self, value: f64, after: u8) -> End<'t> {
        // SAFETY: it writes all up to its end, at most `ROOM` bytes.
        unsafe { self.around(b"", |at| print::write_double(at, value), &[after]) }
    }

    /// A single.
    #[inline(always)]
    pub(super) fn float(self, value: f32, after: u8) -> End<'t> {
        // SAFETY: it writes all up to its end, at most `ROOM` bytes.
        unsafe { self.around(b"", |at| print::write_float(at, value), &[after]) }
    }

    /// `true` or `false`.
    #[inline(always)]
    pub(super) fn truth(self, value: bool, after: u8) -> End<'t> {
        // SAFETY: it writes all up to its end, at most `ROOM` bytes.
        unsafe { self.around(b"", |at| write_truth(at, value), &[after]) }
    }

    /// `true` or `false`, in quotes.
    #[inline(always)]
    pub(super) fn quoted_truth(self, value: bool, after: u8) -> End<'t> {
        // SAFETY: it writes all up to its end, at most `ROOM` bytes.
        unsafe { self.around(b"\"", |at| write_truth(at, value), &[b'"', after]) }
    }
}

/// # Safety
/// [`print::ROOM`] bytes at `at` may be written.
#[inline(always)]
unsafe fn write_truth(at: *mut u8, value: bool) -> *mut u8 {
    let (text, length) = if value { (b"true ", 4) } else { (b"false", 5) };
    // SAFETY: the caller guarantees room for `print::ROOM` bytes at `at`.
    unsafe {
        at.cast::<[u8; 5]>().write(*text);
        at.add(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every operation, with each number of free bytes in the buffer.
    #[test]
    fn what_is_written_is_there_wherever_the_buffer_ends() {
        let long = "x".repeat(70);
        for free in (0..200).step_by(if cfg!(miri) { 9 } else { 1 }) {
            let mut bytes = Vec::with_capacity(4 + free);
            bytes.extend_from_slice(b"head");
            let done = write(&mut bytes, |text, end| {
                let end = text.room(end).put(b"{");
                let end = text.key(end, b"\"a\":", 4).integer(-7, b',');
                let end = text.key(end, long.as_bytes(), 33).quoted(u64::MAX, b',');
                let end = text.string(end, b"plain", b':');
                let end = text.string(end, b"a\"b", b',');
                let end = text.copy(end, long.as_bytes(), b',');
                let end = text.room(end).truth(true, b',');
                let end = text.room(end).quoted_truth(false, b':');
                let end = text.room(end).double(-0.5, b',');
                let (end, ()) = text.with(end, |bytes| bytes.extend_from_slice(b"within,"));
                let end = text.room(end).end();
                let end = text.room(end).float(1.5, b',');
                Some(text.close(end, b"}"))
            });
            let expected = format!(
                "head{{\"a\":-7,{}\"{}\",\"plain\":\"a\\\"b\",{long},true,\"false\":-0.5,\
                 within,1.5}}",
                &long[..33],
                u64::MAX,
            );
            assert_eq!(done, Some(()));
            assert_eq!(String::from_utf8(bytes).as_deref(), Ok(&*expected));
        }
    }

    #[test]
    fn without_an_end_nothing_is_appended() {
        let mut bytes = b"head".to_vec();
        let done = write(&mut bytes, |text, end| {
            let end = text.room(end).put(b"lost");
            let (_, ()) = text.with(end, |bytes| bytes.push(b'!'));
            None
        });
        assert_eq!((done, &*bytes), (None, &b"head"[..]));
    }

    #[test]
    fn the_first_byte_has_none_before_it() {
        let mut bytes = Vec::new();
        write(&mut bytes, |text, end| Some(text.close(end, b"]"))).unwrap();
        assert_eq!(bytes, b"]");
    }
}
