//! Packets: bytes that have one owner.
//!
//! ```text
//! Buffer  | header | headroom 256 | room for 1664 or 10240 |
//!                        ^ start         ^ start + length
//! ```
//! A [`Packet`] is the one handle of its buffer. It can be sent (its owner gives it to a link),
//! kept or dropped; dropping puts the buffer back on the freelist of its [`Pool`].
//! There is no way to have two handles of one buffer, or to send what was dropped: the compiler
//! refuses.
//!
//! ```compile_fail
//! use tidemill_packet::Pool;
//! let pool = Pool::new(8);
//! let packet = pool.packet().unwrap();
//! drop(packet);
//! packet.len(); // it has been given away
//! ```
//!
//! Prepending and stripping move `start`; the bytes already there are not copied, unless the packet
//! outgrows its buffer and moves to a larger one.

mod buffer;
mod pool;

use std::fmt;
use std::ptr::NonNull;

use buffer::SPARE;
pub use buffer::{BYTES_MAX, HEADROOM, MEMORY_MAX, SMALL_BYTES_MAX, offsets};
pub(crate) use buffer::{Buffer, Freelist, OUTGOING};
pub use pool::{Pool, PoolStats};

/// Maps the earliest representable time to the number that means no time.
const TIME_BIAS: u64 = 1 << 63;

/// The shortest packets are the most frequent: these are moved without a call, as two halves that
/// may overlap.
const HALF: usize = 32;

#[inline]
fn clear(bytes: &mut [u8]) {
    if !(HALF..=2 * HALF).contains(&bytes.len()) {
        return bytes.fill(0);
    }
    if let Some(first) = bytes.first_chunk_mut::<HALF>() {
        *first = [0; HALF];
    }
    if let Some(last) = bytes.last_chunk_mut::<HALF>() {
        *last = [0; HALF];
    }
}

/// Both are of one length.
#[inline]
fn copy(to: &mut [u8], from: &[u8]) {
    if !(HALF..=2 * HALF).contains(&from.len()) {
        return to.copy_from_slice(from);
    }
    if let (Some(to), Some(from)) = (to.first_chunk_mut::<HALF>(), from.first_chunk()) {
        *to = *from;
    }
    if let (Some(to), Some(from)) = (to.last_chunk_mut::<HALF>(), from.last_chunk()) {
        *to = *from;
    }
}

/// A packet is too large or too small for the operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoRoom;

impl fmt::Display for NoRoom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the packet has no room for that")
    }
}

impl std::error::Error for NoRoom {}

/// Up to 10 KiB of bytes, owned.
#[must_use = "a packet that is not sent or kept is freed"]
pub struct Packet {
    buffer: NonNull<Buffer>,
}

impl Packet {
    /// A packet in `buffer`, whose only handle it becomes.
    ///
    /// # Safety
    /// `buffer` is a live buffer of a live pool, and has no other handle.
    pub(crate) unsafe fn from_raw(buffer: NonNull<Buffer>) -> Packet {
        Packet { buffer }
    }

    /// A fresh packet, empty; nothing if the freelist is at its limit.
    #[inline]
    fn of(freelist: &Freelist) -> Option<Packet> {
        // SAFETY: `take` gives a buffer of a live freelist that has no other handle.
        freelist.take().map(|buffer| unsafe { Packet::from_raw(buffer) })
    }

    /// The buffer, which is the caller's to take care of from now on.
    pub(crate) fn into_raw(self) -> NonNull<Buffer> {
        let buffer = self.buffer;
        std::mem::forget(self);
        buffer
    }

    fn head(&self) -> &Buffer {
        // SAFETY: the buffer lives as long as its only handle, which is borrowed.
        unsafe { self.buffer.as_ref() }
    }

    fn head_mut(&mut self) -> &mut Buffer {
        // SAFETY: the buffer lives as long as its only handle, which is borrowed for change.
        unsafe { self.buffer.as_mut() }
    }

    /// The number of bytes.
    #[inline]
    pub fn len(&self) -> usize {
        self.head().length as usize
    }

    /// The bytes of memory that it takes: those of its buffer, however long it is.
    pub fn memory(&self) -> usize {
        self.home().stride()
    }

    /// The number of bytes that it had on the wire, with those that were cut off. Headers that are
    /// put on or taken off count.
    #[inline]
    pub fn wire_len(&self) -> usize {
        self.len() + self.missing()
    }

    /// Sets the number of bytes that it had on the wire: not less than it has.
    pub fn set_wire_len(&mut self, length: usize) {
        let missing = length.saturating_sub(self.len()) as u64;
        self.head_mut().missing = missing.min(u32::MAX.into());
    }

    /// The number of bytes that it had on the wire and that are missing here.
    #[inline]
    pub fn missing(&self) -> usize {
        self.head().missing as usize
    }

    /// Leaves at most `length` bytes of what was captured: its length on the wire stays.
    #[inline]
    pub fn truncate(&mut self, length: usize) {
        let head = self.head_mut();
        let cut = (head.length as usize).saturating_sub(length);
        head.length -= cut as u32;
        head.missing += cut as u64;
    }

    /// Leaves at most `length` bytes, as if no more had been on the wire.
    pub fn shorten(&mut self, length: usize) {
        let wire_length = self.wire_len().min(length);
        self.truncate(length);
        self.set_wire_len(wire_length);
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The freelist of its buffer.
    #[inline]
    fn home(&self) -> &Freelist {
        // SAFETY: it outlives its buffers.
        unsafe { &*self.head().home }
    }

    /// The address of a byte of the room.
    #[inline]
    fn byte(&self, at: usize) -> NonNull<u8> {
        debug_assert!(at <= self.home().room + SPARE, "{at}");
        // SAFETY: the room follows the header, and the place is in it or at its end.
        unsafe { self.buffer.add(1).cast::<u8>().add(at) }
    }

    /// All bytes of the room, and those that are spare.
    fn room_mut(&mut self) -> &mut [u8] {
        let room = NonNull::slice_from_raw_parts(self.byte(0), self.home().room + SPARE);
        // SAFETY: they are its own, were zeros at first, and it is borrowed for change.
        unsafe { &mut *room.as_ptr() }
    }

    /// The bytes.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        let head = self.head();
        let start = self.byte(head.start as usize);
        // SAFETY: the packet is within the room, whose bytes have been written.
        unsafe { NonNull::slice_from_raw_parts(start, head.length as usize).as_ref() }
    }

    /// The bytes, to change them.
    #[inline]
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        let head = self.head();
        let start = self.byte(head.start as usize);
        // SAFETY: as for `bytes`, and the packet is borrowed for change.
        unsafe { NonNull::slice_from_raw_parts(start, head.length as usize).as_mut() }
    }

    /// Makes the packet begin at a place, from which on it has room.
    #[cold]
    fn move_to(&mut self, place: usize) {
        let (start, length) = (self.head().start as usize, self.len());
        self.room_mut().copy_within(start..start + length, place);
        self.head_mut().start = place as u32;
    }

    /// Moves the packet to a large buffer, where it begins at the headroom.
    ///
    /// # Errors
    /// It is in one, or there is none; nothing has changed then.
    #[cold]
    fn move_to_large(&mut self) -> Result<(), NoRoom> {
        let large = &self.home().store().large;
        if std::ptr::eq(self.home(), large) {
            return Err(NoRoom);
        }
        let mut moved = Packet::of(large).ok_or(NoRoom)?;
        moved.head_mut().length = self.head().length;
        moved.describe_as(self);
        copy(moved.bytes_mut(), self.bytes());
        *self = moved;
        // It is still the same packet.
        self.home().store().uncount();
        Ok(())
    }

    /// Takes over times, mark and flags of another packet.
    #[inline]
    fn describe_as(&mut self, other: &Packet) {
        let (to, from) = (self.head_mut(), other.head());
        (to.born_ns, to.time, to.mark) = (from.born_ns, from.time, from.mark);
        (to.missing, to.flags) = (from.missing, from.flags);
    }

    /// Puts `header` before the first byte.
    ///
    /// # Errors
    /// Neither the headroom nor the room after is enough; nothing has changed then.
    pub fn prepend(&mut self, header: &[u8]) -> Result<(), NoRoom> {
        let length = self.len() + header.len();
        if length > BYTES_MAX {
            return Err(NoRoom);
        }
        if (self.head().start as usize) < header.len() {
            // The headroom is used up: moves to where there is some.
            if length > self.home().room {
                self.move_to_large()?;
            }
            self.move_to((self.home().room - length).min(HEADROOM) + header.len());
        }
        let head = self.head_mut();
        head.start -= header.len() as u32;
        head.length = length as u32;
        self.bytes_mut()[..header.len()].copy_from_slice(header);
        Ok(())
    }

    /// Takes `count` bytes off the front; all, if there are fewer.
    pub fn strip(&mut self, count: usize) {
        let head = self.head_mut();
        let count = count.min(head.length as usize) as u32;
        head.start += count;
        head.length -= count;
    }

    /// Puts `bytes` after the last byte.
    ///
    /// # Errors
    /// There is no room; nothing has changed then.
    #[inline]
    pub fn append(&mut self, bytes: &[u8]) -> Result<(), NoRoom> {
        let old = self.len();
        self.set_length(old + bytes.len())?;
        copy(&mut self.bytes_mut()[old..], bytes);
        Ok(())
    }

    /// The bytes after a header of at most 64 bytes, which does not become part of the packet: for
    /// devices that want one in front.
    ///
    /// # Panics
    /// The header is longer.
    #[inline]
    pub fn bytes_after(&mut self, header: &[u8]) -> &[u8] {
        if (self.head().start as usize) < header.len() {
            self.move_to(SPARE);
        }
        let (start, length) = (self.head().start as usize, self.len());
        let room = self.room_mut();
        room[start - header.len()..start].copy_from_slice(header);
        &room[start - header.len()..start + length]
    }

    /// Makes the packet another one of this length: cuts the end off, or puts zeros after it. What
    /// is here then is all of it.
    ///
    /// # Errors
    /// There is no room; nothing has changed then.
    #[inline]
    pub fn resize(&mut self, length: usize) -> Result<(), NoRoom> {
        let old = self.len();
        self.set_length(length)?;
        self.head_mut().missing = 0;
        if length > old {
            clear(&mut self.bytes_mut()[old..]);
        }
        Ok(())
    }

    /// Makes room for `length` bytes; new ones hold what the last owner of the buffer left there.
    #[inline]
    fn set_length(&mut self, length: usize) -> Result<(), NoRoom> {
        if length > BYTES_MAX {
            return Err(NoRoom);
        }
        let is_longer = length > self.len();
        if is_longer && self.head().start as usize + length > self.home().room {
            self.make_room(length)?;
        }
        self.head_mut().length = length as u32;
        Ok(())
    }

    /// Moves the packet to where `length` bytes have room.
    #[cold]
    fn make_room(&mut self, length: usize) -> Result<(), NoRoom> {
        if HEADROOM + length <= self.home().room {
            self.move_to(HEADROOM);
            Ok(())
        } else {
            self.move_to_large()
        }
    }

    /// Another packet with the same bytes, times and mark; nothing if the pool is at its limit.
    #[inline]
    pub fn duplicate(&self) -> Option<Packet> {
        let mut copy = Packet::of(self.home())?;
        let (to, head) = (copy.head_mut(), self.head());
        (to.start, to.length) = (head.start, head.length);
        copy.describe_as(self);
        self::copy(copy.bytes_mut(), self.bytes());
        Some(copy)
    }

    /// When it was captured, in nanoseconds since the epoch, if that is known.
    pub fn time_ns(&self) -> Option<i64> {
        let time = self.head().time;
        (time != 0).then(|| (time ^ TIME_BIAS).cast_signed())
    }

    /// Sets when it was captured, if that is known.
    pub fn set_time_ns(&mut self, time_ns: Option<i64>) {
        self.head_mut().time = time_ns.map_or(0, |time_ns| time_ns.cast_unsigned() ^ TIME_BIAS);
    }

    /// Whether this machine sent it, as a device has seen; packets that are made here or read from
    /// a capture have no such mark, and count as received.
    pub fn is_outgoing(&self) -> bool {
        self.head().flags & OUTGOING != 0
    }

    /// Sets whether this machine sent it.
    pub fn set_outgoing(&mut self, is_outgoing: bool) {
        self.head_mut().flags = if is_outgoing { OUTGOING } else { 0 };
    }

    /// When it was taken from its pool, in the time of the event loop.
    pub fn born_ns(&self) -> u64 {
        self.head().born_ns
    }

    /// The mark: 0 at first, then whatever apps agree on. It travels with the packet.
    #[inline]
    pub fn mark(&self) -> u64 {
        self.head().mark
    }

    /// Changes the mark.
    #[inline]
    pub fn set_mark(&mut self, mark: u64) {
        self.head_mut().mark = mark;
    }
}

impl Drop for Packet {
    #[inline]
    fn drop(&mut self) {
        let home = self.head().home;
        // SAFETY: the freelist outlives its buffers, and the only handle of this one ends here.
        unsafe { Freelist::give_back(home, self.buffer) };
    }
}

impl fmt::Debug for Packet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Packet({} bytes)", self.len())
    }
}

#[cfg(test)]
mod tests;
