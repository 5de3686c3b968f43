//! One connection: who is at the other end, what has come of a frame, what is sealed to be written.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::stream::{FrameReader, write_frame};

/// Bytes written that may stay in memory until the rest is moved to their place.
const SLACK_BYTES: usize = 64 << 10;

/// Who has made a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Origin {
    /// This node.
    Made,
    /// Someone else.
    Taken,
}

/// Who is at the other end.
pub(super) enum Sender {
    /// Not known yet; where the connection comes from.
    Unknown(String),
    /// The node of this address.
    Node(String),
    /// Someone who cannot be answered; where the connection comes from.
    Nameless(String),
}

impl Sender {
    pub(super) fn name(&self) -> &str {
        match self {
            Sender::Unknown(name) | Sender::Node(name) | Sender::Nameless(name) => name,
        }
    }
}

/// One connection; see the module.
pub(super) struct Connection {
    pub(super) origin: Origin,
    pub(super) from: Sender,
    /// Whose it is: for one that this node made, and one that has shown it by a key.
    pub(super) peer: Option<Arc<str>>,
    /// With a key: it has begun a handshake that is under way.
    pub(super) has_begun: bool,
    pub(super) reader: FrameReader,
    /// Bytes that the reader held when that was last summed up.
    pub(super) held: usize,
    /// When it was made or something last came.
    pub(super) received_ns: u64,
    /// With a key: what is sealed.
    pub(super) out: Sealed,
}

impl Connection {
    pub(super) fn new(origin: Origin, from: Sender, now_ns: u64) -> Connection {
        Connection {
            origin,
            from,
            peer: None,
            has_begun: false,
            reader: FrameReader::default(),
            held: 0,
            received_ns: now_ns,
            out: Sealed::default(),
        }
    }

    /// By how much the held bytes have grown.
    pub(super) fn settle_held(&mut self) -> usize {
        let before = std::mem::replace(&mut self.held, self.reader.held());
        self.held - before
    }
}

/// What a sealed frame has in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// An envelope of the peer's queue, in the order of that.
    Content,
    /// Something else.
    Upkeep,
}

/// Sealed frames that were not written whole.
#[derive(Default)]
pub(super) struct Sealed {
    /// Frames behind their lengths; those before `written` were written.
    bytes: Vec<u8>,
    written: usize,
    /// Where each frame ends, counted from the first byte of the connection, and what it is.
    ends: VecDeque<(u64, Kind)>,
    /// Frames of upkeep among them.
    upkeep: usize,
    /// Bytes of the connection that were moved out of `bytes`.
    gone: u64,
}

impl Sealed {
    /// Adds a frame; false if it is too long for one.
    pub(super) fn push(&mut self, frame: &[u8], kind: Kind) -> bool {
        let is_written = write_frame(&mut self.bytes, frame).is_ok();
        if is_written {
            self.ends.push_back((self.gone + self.bytes.len() as u64, kind));
            self.upkeep += usize::from(kind == Kind::Upkeep);
        }
        is_written
    }

    /// Frames of upkeep that were not written whole.
    pub(super) fn upkeep(&self) -> usize {
        self.upkeep
    }

    pub(super) fn unwritten(&self) -> &[u8] {
        &self.bytes[self.written..]
    }

    /// Notes that `count` bytes were written; returns how many envelopes were completed by that.
    pub(super) fn advance(&mut self, count: usize) -> usize {
        self.written += count;
        let (end, mut contents) = (self.gone + self.written as u64, 0);
        while let Some((_, kind)) = self.ends.pop_front_if(|(at, _)| *at <= end) {
            match kind {
                Kind::Content => contents += 1,
                Kind::Upkeep => self.upkeep -= 1,
            }
        }
        if self.written == self.bytes.len() || self.written > SLACK_BYTES {
            self.gone += self.written as u64;
            self.bytes.drain(..self.written);
            self.written = 0;
        }
        contents
    }
}
