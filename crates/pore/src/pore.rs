//! The operations of a pore: one set for every kind.
//!
//! | shape | readable, writable | read, write |
//! |---|---|---|
//! | bytes | bytes | any part |
//! | messages | bytes of the next message; of the longest that would be taken | one, whole |
//! | memory | | `load`, `store`, `get`, `put` at offsets |
//!
//! A kind may have more than one shape: io_uring has messages (requests and completions) and
//! memory (the buffers that requests name).

use std::os::fd::RawFd;

use crate::Error;

/// What there is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Avail {
    /// What could be read now.
    pub readable: usize,
    /// What would be accepted now.
    pub writable: usize,
}

/// The kinds, as they are named where pores are opened and listed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PoreKind {
    /// Two rings to another process.
    Memfd,
    /// A Xenstore page.
    Xenstore,
    /// A stream socket.
    Socket,
    /// Submission and completion rings.
    Uring,
    /// Frames of an interface.
    Packet,
    /// Frames of a TAP device.
    Tap,
    /// Frames of an interface's queue through AF_XDP.
    Xdp,
}

impl PoreKind {
    /// The name.
    pub fn name(self) -> &'static str {
        match self {
            PoreKind::Memfd => "memfd",
            PoreKind::Xenstore => "xenstore",
            PoreKind::Socket => "socket",
            PoreKind::Uring => "io_uring",
            PoreKind::Packet => "packet",
            PoreKind::Tap => "tap",
            PoreKind::Xdp => "xdp",
        }
    }
}

/// Bytes of a typed load or store; little endian, aligned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Width {
    /// One byte.
    One,
    /// Two bytes.
    Two,
    /// Four bytes.
    Four,
    /// Eight bytes.
    Eight,
}

impl Width {
    /// The width of this number of bytes.
    pub fn of(bytes: i64) -> Option<Width> {
        match bytes {
            1 => Some(Width::One),
            2 => Some(Width::Two),
            4 => Some(Width::Four),
            8 => Some(Width::Eight),
            _ => None,
        }
    }

    /// The number of bytes.
    pub fn bytes(self) -> usize {
        match self {
            Width::One => 1,
            Width::Two => 2,
            Width::Four => 4,
            Width::Eight => 8,
        }
    }
}

/// What an event is armed for: as soon as one of the two is reached. 0 is never reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Wants {
    /// At least this much can be read.
    pub readable: usize,
    /// At least this much would be accepted.
    pub writable: usize,
}

impl Wants {
    /// Whether this is enough.
    pub fn are_met_by(self, avail: Avail) -> bool {
        self.readable > 0 && avail.readable >= self.readable
            || self.writable > 0 && avail.writable >= self.writable
    }
}

/// A descriptor that signals when to check the pore again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Signal {
    /// Readable when the other side has rung; [`Pore::drain_doorbell`] resets that.
    Bell(RawFd),
    /// Readable when something can be read, writable when something can be written.
    Ready(RawFd),
    /// Readable, or hung up, when the other side is gone or misbehaves.
    Lifeline(RawFd),
}

/// A passive object around shared memory.
///
/// An error that is the other side's fault stays: the pore's owner sees it at each use.
pub trait Pore {
    /// Which kind.
    fn kind(&self) -> PoreKind;

    /// Bytes of memory that `load`, `store`, `get` and `put` reach; 0 for kinds without.
    fn size(&self) -> usize {
        0
    }

    /// What could be read and would be accepted, in this order.
    fn avail(&mut self) -> Result<Avail, Error>;

    /// Whether this much is available. It is called in polling loops, so kinds with rings read only
    /// the index that the condition needs.
    fn meets(&mut self, wants: Wants) -> Result<bool, Error> {
        Ok(wants.are_met_by(self.avail()?))
    }

    /// Takes up to `n` bytes (or one message of at most `n`) and appends them; returns how many.
    fn read(&mut self, n: usize, into: &mut Vec<u8>) -> Result<usize, Error>;

    /// As [`read`](Pore::read), without taking them.
    fn peek(&mut self, n: usize, into: &mut Vec<u8>) -> Result<usize, Error>;

    /// Adds what fits (of messages all or nothing); returns how many bytes were accepted.
    fn write(&mut self, bytes: &[u8]) -> Result<usize, Error>;

    /// A number from memory.
    fn load(&mut self, offset: u64, width: Width) -> Result<u64, Error> {
        let length = width.bytes() as u64;
        Err(Error::OutOfBounds { offset, length, size: self.size() as u64 })
    }

    /// A number into memory.
    fn store(&mut self, offset: u64, width: Width, value: u64) -> Result<(), Error> {
        let _ = value;
        let length = width.bytes() as u64;
        Err(Error::OutOfBounds { offset, length, size: self.size() as u64 })
    }

    /// Appends `length` bytes of memory.
    fn get(&mut self, offset: u64, length: u64, into: &mut Vec<u8>) -> Result<(), Error> {
        let _ = into;
        Err(Error::OutOfBounds { offset, length, size: self.size() as u64 })
    }

    /// Copies bytes into memory.
    fn put(&mut self, offset: u64, bytes: &[u8]) -> Result<(), Error> {
        let length = bytes.len() as u64;
        Err(Error::OutOfBounds { offset, length, size: self.size() as u64 })
    }

    /// The number of messages that the system has dropped for want of room since the last call.
    fn take_drops(&mut self) -> u64 {
        0
    }

    /// Signals the other side.
    fn ring(&mut self) -> Result<(), Error>;

    /// Whether the other side may have missed something since it was last signalled: it has not
    /// yet taken all that was written, or waits for room that has been made; and it does not poll.
    fn is_ring_due(&mut self) -> bool {
        true
    }

    /// Whether [`meets`](Pore::meets) only reads shared memory, so that it can be polled.
    fn is_pollable(&self) -> bool {
        false
    }

    /// Whether the other side declares that it polls: a hint, for rings that can wait a little.
    fn is_peer_polling(&self) -> bool {
        false
    }

    /// From now on the owner polls [`meets`](Pore::meets): the other side need not signal, where
    /// the layout has a word to declare that.
    fn begin_polling(&mut self) {}

    /// The owner polls no longer. If this returns that the other side has not signalled until now,
    /// the owner checks once more.
    fn end_polling(&mut self) -> bool {
        false
    }

    /// The descriptors that signal when to check again.
    fn signals(&self) -> Vec<Signal>;

    /// Resets the doorbell.
    fn drain_doorbell(&mut self) {}

    /// A lifeline has signalled. The error is what it means for the pore.
    fn look_at_peer(&mut self) -> Result<(), Error> {
        Ok(())
    }
}
