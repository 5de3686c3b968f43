//! An input that can be read again from the last mark on.

use std::io::{self, Read};

/// Bytes that are read at a time.
const CHUNK: usize = 1 << 16;

/// An input, and what was read of it since the last mark: a record of which only a part has come is
/// read again from its start.
#[derive(Debug)]
pub struct Replay<R> {
    input: R,
    kept: Vec<u8>,
    /// The mark, and the next byte, in `kept`.
    mark: usize,
    next: usize,
}

impl<R> Replay<R> {
    /// Of an input from its start.
    pub fn new(input: R) -> Replay<R> {
        Replay { input, kept: Vec::new(), mark: 0, next: 0 }
    }

    /// The input itself.
    pub fn input(&self) -> &R {
        &self.input
    }

    /// Marks the next byte.
    pub fn mark(&mut self) {
        self.mark = self.next;
    }

    /// Goes back to the mark.
    pub fn rewind(&mut self) {
        self.next = self.mark;
    }
}

impl<R: Read> Replay<R> {
    /// Reads a chunk behind what is kept.
    fn fill(&mut self) -> io::Result<()> {
        self.kept.drain(..self.mark);
        (self.mark, self.next) = (0, self.next - self.mark);
        let before = self.kept.len();
        self.kept.resize(before + CHUNK, 0);
        let read = self.input.read(&mut self.kept[before..]);
        self.kept.truncate(before + read.as_ref().map_or(0, |count| *count));
        read.map(drop)
    }
}

impl<R: Read> Read for Replay<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        if self.next == self.kept.len() {
            self.fill()?;
        }
        let count = (&self.kept[self.next..]).read(to)?;
        self.next += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_read_since_the_mark_is_read_again() {
        let bytes: Vec<u8> = (0..CHUNK * 3).map(|at| (at % 251) as u8).collect();
        let mut replay = Replay::new(bytes.as_slice());
        let mut first = vec![0; CHUNK - 7];
        replay.read_exact(&mut first).expect("there");
        replay.mark();
        for _ in 0..3 {
            replay.rewind();
            let mut rest = vec![0; CHUNK * 2];
            replay.read_exact(&mut rest).expect("there");
            assert_eq!(rest, bytes[CHUNK - 7..][..CHUNK * 2]);
        }
        replay.mark();
        let mut rest = Vec::new();
        replay.read_to_end(&mut rest).expect("there");
        assert_eq!(rest, bytes[CHUNK * 3 - 7..]);
        assert!(replay.kept.len() <= CHUNK);
    }
}
