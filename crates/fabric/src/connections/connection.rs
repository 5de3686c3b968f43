//! One connection: the node at the other end, the partial frame received, the sealed frames to
//! write.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::stream::{FrameReader, write_frame};

/// The most bytes already written that stay in the buffer before it is compacted.
const SLACK_BYTES: usize = 64 << 10;

/// Which side made a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Origin {
    /// This node.
    Made,
    /// The other side.
    Taken,
}

/// The node at the other end.
pub(super) enum RemoteEnd {
    /// Not known yet; where the connection comes from.
    Unknown(String),
    /// The node of this address.
    Node(String),
    /// A peer that cannot be answered; where the connection comes from.
    Nameless(String),
}

impl RemoteEnd {
    pub(super) fn name(&self) -> &str {
        match self {
            RemoteEnd::Unknown(name) | RemoteEnd::Node(name) | RemoteEnd::Nameless(name) => name,
        }
    }
}

/// One connection; see the module.
pub(super) struct Connection {
    pub(super) origin: Origin,
    pub(super) from: RemoteEnd,
    /// The name of the peer: of one that this node made, or that has proven it by a key.
    pub(super) peer: Option<Arc<str>>,
    /// With a key: it has begun a handshake that is under way.
    pub(super) has_begun: bool,
    pub(super) reader: FrameReader,
    /// Bytes that the reader held when the sum over all connections was last
    /// updated.
    pub(super) held: usize,
    /// When it was made or something last came.
    pub(super) received_ns: u64,
    /// Without a key, of one that was taken: when it is looked at whether it is idle.
    pub(super) idle_ns: Option<u64>,
    /// With a key: sealed frames to write.
    pub(super) out: Sealed,
}

impl Connection {
    pub(super) fn new(origin: Origin, from: RemoteEnd, now_ns: u64) -> Connection {
        Connection {
            origin,
            from,
            peer: None,
            has_begun: false,
            reader: FrameReader::default(),
            held: 0,
            received_ns: now_ns,
            idle_ns: None,
            out: Sealed::default(),
        }
    }

    /// Updates `held`; returns by how much it has grown.
    pub(super) fn settle_held(&mut self) -> usize {
        let before = std::mem::replace(&mut self.held, self.reader.held());
        self.held - before
    }
}

/// The content of a sealed frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum FrameKind {
    /// An envelope of the peer's queue, in order.
    Content,
    /// Handshakes and signs of life.
    Upkeep,
}

/// Sealed frames that are not completely written.
#[derive(Default)]
pub(super) struct Sealed {
    /// Frames preceded by their lengths; those before `written` were written.
    bytes: Vec<u8>,
    written: usize,
    /// The end of each frame, counted from the first byte of the connection, and its kind.
    ends: VecDeque<(u64, FrameKind)>,
    /// Frames of upkeep among them.
    upkeep: usize,
    /// Bytes of the connection that were removed from the front of `bytes`.
    gone: u64,
}

impl Sealed {
    /// Adds a frame; false if it is too long for one.
    pub(super) fn push(&mut self, frame: &[u8], kind: FrameKind) -> bool {
        let is_written = write_frame(&mut self.bytes, frame).is_ok();
        if is_written {
            self.ends.push_back((self.gone + self.bytes.len() as u64, kind));
            self.upkeep += usize::from(kind == FrameKind::Upkeep);
        }
        is_written
    }

    /// Frames of upkeep that are not completely written.
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
                FrameKind::Content => contents += 1,
                FrameKind::Upkeep => self.upkeep -= 1,
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
