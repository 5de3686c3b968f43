//! An input whose contents come bit by bit.

use std::io::{ErrorKind, Read, Result};

/// Gives the bytes one by one, and nothing ([`ErrorKind::WouldBlock`]) before each of them.
#[derive(Debug)]
pub struct Trickle<R> {
    input: R,
    is_next: bool,
}

impl<R> Trickle<R> {
    /// Of what an input gives.
    pub fn new(input: R) -> Trickle<R> {
        Trickle { input, is_next: false }
    }
}

impl<R: Read> Read for Trickle<R> {
    fn read(&mut self, to: &mut [u8]) -> Result<usize> {
        self.is_next = !self.is_next;
        if self.is_next {
            return Err(ErrorKind::WouldBlock.into());
        }
        self.input.read(&mut to[..1])
    }
}
