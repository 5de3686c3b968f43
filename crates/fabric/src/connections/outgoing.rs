//! The send queue of one peer, and the back-off before the next connection to it.
//!
//! ```text
//!   greeting | frame frame fr|ame frame
//!                         ^ written so far on this connection
//! ```
//! A connection that breaks inside a frame leaves the peer with a piece that it drops, so that
//! frame goes again, whole, on the next connection, after a new greeting. Frames that were
//! written whole are gone: a stream does not report whether they arrived.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::stream::write_frame;

/// Bytes that may wait for one peer.
pub const QUEUE_BYTES_MAX: usize = 8 << 20;

/// The first wait before connecting again.
pub const BACKOFF_MIN_NS: u64 = 100_000_000;

/// The longest such wait.
pub const BACKOFF_MAX_NS: u64 = 5_000_000_000;

/// The most bytes already written that stay in the buffer before it is compacted.
const SLACK_BYTES: usize = 64 << 10;

/// The envelope does not fit: the queue is full, or it is too long for a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Full;

/// Frames for one peer; see the module.
#[derive(Clone, Debug)]
pub struct Outgoing {
    greeting: Arc<[u8]>,
    /// Bytes of the greeting that were written on this connection.
    greeted: usize,
    /// Frames; those before `start` were completely written.
    bytes: Vec<u8>,
    /// The start of the first frame that is not completely written.
    start: usize,
    /// The next byte to write, in that frame.
    next: usize,
    /// Lengths of the frames from `start` on.
    lengths: VecDeque<usize>,
    backoff_ns: u64,
}

impl Outgoing {
    /// Nothing waits; each connection begins with `greeting`, a frame.
    pub fn new(greeting: Arc<[u8]>) -> Outgoing {
        Outgoing {
            greeting,
            greeted: 0,
            bytes: Vec::new(),
            start: 0,
            next: 0,
            lengths: VecDeque::new(),
            backoff_ns: BACKOFF_MIN_NS,
        }
    }

    /// Adds an envelope.
    ///
    /// # Errors
    /// [`Full`]; the envelope is dropped.
    pub fn push(&mut self, envelope: &[u8]) -> Result<(), Full> {
        let before = self.bytes.len();
        if self.bytes() + envelope.len() > QUEUE_BYTES_MAX {
            return Err(Full);
        }
        write_frame(&mut self.bytes, envelope).map_err(|_| Full)?;
        self.lengths.push_back(self.bytes.len() - before);
        Ok(())
    }

    /// The number of frames that are not completely written.
    pub fn waiting(&self) -> usize {
        self.lengths.len()
    }

    /// Bytes of these frames.
    pub fn bytes(&self) -> usize {
        self.bytes.len() - self.start
    }

    /// The bytes to write next on this connection; empty if nothing waits.
    pub fn unwritten(&self) -> &[u8] {
        match self.waiting() == 0 {
            true => &[],
            false if self.greeted < self.greeting.len() => &self.greeting[self.greeted..],
            false => &self.bytes[self.next..],
        }
    }

    /// Notes that `count` bytes of [`Outgoing::unwritten`] were written.
    pub fn advance(&mut self, count: usize) {
        if self.greeted < self.greeting.len() {
            self.greeted += count;
            return;
        }
        self.next += count;
        while let Some(&length) = self.lengths.front().filter(|&&one| self.start + one <= self.next)
        {
            self.start += length;
            self.lengths.pop_front();
        }
        self.compact();
    }

    /// Takes the next envelope on this connection, for an owner that seals envelopes before they
    /// are written; it calls [`Outgoing::written`] for each that was written.
    pub fn take(&mut self) -> Option<&[u8]> {
        let (length, rest) = self.bytes[self.next..].split_first_chunk()?;
        let envelope = rest.get(..u32::from_le_bytes(*length) as usize)?;
        self.next += length.len() + envelope.len();
        Some(envelope)
    }

    /// Whether [`Outgoing::take`] has something to give.
    pub fn has_more(&self) -> bool {
        self.next < self.bytes.len()
    }

    /// Notes that the oldest of the envelopes taken was completely written.
    pub fn written(&mut self) {
        let Some(length) = self.lengths.pop_front() else { return };
        self.start += length;
        self.compact();
    }

    /// Removes written frames from the buffer, if that is worth moving the rest.
    fn compact(&mut self) {
        if self.start == self.bytes.len() || self.start > SLACK_BYTES {
            self.bytes.drain(..self.start);
            self.next -= self.start;
            self.start = 0;
        }
    }

    /// The connection is gone: the next one begins with a greeting and a complete frame.
    pub fn rewind(&mut self) {
        self.greeted = 0;
        self.next = self.start;
    }

    /// The wait before the next connection: twice the last wait.
    pub fn back_off(&mut self) -> u64 {
        let wait = self.backoff_ns;
        self.backoff_ns = (wait * 2).min(BACKOFF_MAX_NS);
        wait
    }

    /// A connection has lasted: resets the back-off.
    pub fn calm(&mut self) {
        self.backoff_ns = BACKOFF_MIN_NS;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::FrameReader;

    fn outgoing() -> Outgoing {
        let mut greeting = Vec::new();
        write_frame(&mut greeting, b"hello").unwrap();
        Outgoing::new(greeting.into())
    }

    /// Writes at most `count` bytes in pieces of `size`; returns them.
    fn write(outgoing: &mut Outgoing, count: usize, size: usize) -> Vec<u8> {
        let mut written = Vec::new();
        while written.len() < count && !outgoing.unwritten().is_empty() {
            let unwritten = outgoing.unwritten();
            let piece = unwritten.len().min(size).min(count - written.len());
            written.extend_from_slice(&unwritten[..piece]);
            outgoing.advance(piece);
        }
        written
    }

    fn frames(bytes: &[u8]) -> Vec<Vec<u8>> {
        let mut reader = FrameReader::default();
        reader.push(bytes);
        std::iter::from_fn(|| reader.next_frame().unwrap().map(<[u8]>::to_vec)).collect()
    }

    #[test]
    fn frames_broken_off_go_again_behind_a_greeting() {
        let envelopes: Vec<Vec<u8>> = (0..40).map(|n| vec![n; n as usize * 3]).collect();
        for size in [1, 5, 4096] {
            for broken in 0..400 {
                let mut outgoing = outgoing();
                envelopes.iter().for_each(|one| outgoing.push(one).unwrap());
                let first = frames(&write(&mut outgoing, broken, size));
                outgoing.rewind();
                let second = frames(&write(&mut outgoing, usize::MAX, size));
                assert_eq!(outgoing.waiting(), 0);
                assert_eq!(second[0], b"hello");
                let came: Vec<_> = first.iter().skip(1).chain(&second[1..]).cloned().collect();
                assert_eq!(came, envelopes, "{size} {broken}");
            }
        }
    }

    #[test]
    fn the_queue_has_a_limit_and_gives_its_memory_back() {
        let mut outgoing = outgoing();
        let envelope = vec![0; 1 << 20];
        let taken = (0..100).take_while(|_| outgoing.push(&envelope).is_ok()).count();
        assert_eq!(taken, 7);
        write(&mut outgoing, 3 << 20, 1000);
        assert!(outgoing.bytes.len() < 6 << 20);
        assert!(outgoing.push(&envelope).is_ok());
        write(&mut outgoing, usize::MAX, 1 << 16);
        assert_eq!((outgoing.waiting(), outgoing.bytes.len()), (0, 0));
    }

    #[test]
    fn waits_double_up_to_a_limit() {
        let mut outgoing = outgoing();
        let waits: Vec<u64> = (0..8).map(|_| outgoing.back_off() / 100_000_000).collect();
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 50, 50]);
        outgoing.calm();
        assert_eq!(outgoing.back_off(), BACKOFF_MIN_NS);
    }
}
