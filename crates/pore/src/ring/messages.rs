//! Rings of messages: each its length (u32, little endian), its bytes, and padding up to a multiple
//! of four.
//!
//! A message is written whole or not at all, and read whole. None is empty. The index is published
//! once, after the whole message, so a reader that sees a part of one sees a hostile writer.

use super::Layout;
use super::bytes::{Consumer, Producer};
use crate::Error;
use crate::region::Region;

const HEADER: u32 = 4;

fn room_for(length: u32) -> u32 {
    HEADER + length.next_multiple_of(4)
}

/// The longest message of a ring of `size` bytes.
pub fn longest(size: u32) -> u32 {
    size - HEADER
}

/// The side that writes.
#[derive(Debug)]
pub struct Sender(Producer);

/// The side that reads.
#[derive(Debug)]
pub struct Receiver(Consumer);

impl Sender {
    /// Continues from the index in the region.
    pub fn new(region: &Region, place: Layout) -> Sender {
        Sender(Producer::new(region, place))
    }

    /// Bytes of the longest message that would be accepted.
    ///
    /// # Errors
    /// The reader's index is impossible.
    pub fn writable(&self, region: &Region) -> Result<u32, Error> {
        // Room that is not a multiple of 4 can only result from a reader that took half a word.
        Ok((self.0.writable(region)? & !3).saturating_sub(HEADER))
    }

    /// Writes a message if there is room: its length, or 0.
    ///
    /// # Errors
    /// As [`writable`](Sender::writable); or no ring of this size could take it, ever.
    pub fn write(&mut self, region: &Region, message: &[u8]) -> Result<usize, Error> {
        if message.is_empty() || message.len() > longest(self.0.size()) as usize {
            return Err(Error::Malformed("a message is empty, or longer than its ring"));
        }
        let length = message.len() as u32;
        if length > self.writable(region)? {
            return Ok(0);
        }
        self.0.fill(region, 0, &length.to_le_bytes())?;
        self.0.fill(region, HEADER, message)?;
        self.0.publish(region, room_for(length));
        Ok(message.len())
    }

    /// Whether the reader has taken everything.
    pub fn is_drained(&self, region: &Region) -> bool {
        self.0.is_drained(region)
    }

    /// Whether something was written since the last call.
    pub fn take_news(&mut self) -> bool {
        self.0.take_news()
    }
}

impl Receiver {
    /// Continues from the index in the region.
    pub fn new(region: &Region, place: Layout) -> Receiver {
        Receiver(Consumer::new(region, place))
    }

    /// Bytes of the next message; 0 if there is none.
    ///
    /// # Errors
    /// The writer's index or the message's length is impossible.
    pub fn readable(&self, region: &Region) -> Result<u32, Error> {
        let there = self.0.readable(region)?;
        if there == 0 {
            return Ok(0);
        }
        if there < HEADER {
            return Err(Error::BadLength(there));
        }
        let mut header = Vec::with_capacity(HEADER as usize);
        self.0.copy(region, 0, HEADER, &mut header)?;
        let length = u32::from_le_bytes(header.try_into().unwrap_or_default());
        // First against the ring: the rounding must not overflow.
        if length == 0 || length > longest(self.0.size()) || room_for(length) > there {
            return Err(Error::BadLength(length));
        }
        Ok(length)
    }

    /// Appends the next message without taking it; 0 if there is none or it is longer than `n`.
    ///
    /// # Errors
    /// As [`readable`](Receiver::readable).
    pub fn peek(&self, region: &Region, n: usize, into: &mut Vec<u8>) -> Result<usize, Error> {
        let length = self.readable(region)?;
        if length as usize > n {
            return Ok(0);
        }
        self.0.copy(region, HEADER, length, into)?;
        Ok(length as usize)
    }

    /// Takes the next message; 0 if there is none or it is longer than `n`.
    ///
    /// # Errors
    /// As [`readable`](Receiver::readable).
    pub fn read(&mut self, region: &Region, n: usize, into: &mut Vec<u8>) -> Result<usize, Error> {
        let length = self.peek(region, n, into)?;
        if length > 0 {
            // The length as it was checked: the memory may hold another by now.
            self.0.release(region, room_for(length as u32));
        }
        Ok(length)
    }

    /// Whether the writer has to be signalled. A message that does not fit waits in a ring that is
    /// not full, so it is each time that something was taken.
    pub fn take_news(&mut self) -> bool {
        self.0.take_news()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACE: Layout = Layout { data: 64, size: 64, prod: 0, cons: 4 };

    fn ring(start: u32) -> (Region, Sender, Receiver) {
        let region = Region::anonymous(4096).expect("memory");
        region.store_index(PLACE.prod, start);
        region.store_index(PLACE.cons, start);
        let (sender, receiver) = (Sender::new(&region, PLACE), Receiver::new(&region, PLACE));
        (region, sender, receiver)
    }

    #[test]
    fn messages_come_whole_across_the_wrap() {
        let (region, mut sender, mut receiver) = ring(u32::MAX - 63);
        let (mut sent, mut got) = (Vec::new(), Vec::new());
        for step in 0..500usize {
            let message: Vec<u8> = (0..step % 60 + 1).map(|i| (step + i) as u8).collect();
            if sender.write(&region, &message).expect("fine") > 0 {
                sent.push(message);
            }
            if step % 3 > 0 {
                let mut one = Vec::new();
                if receiver.read(&region, 60, &mut one).expect("fine") > 0 {
                    got.push(one);
                }
            }
        }
        let mut one = Vec::new();
        while receiver.read(&region, 60, &mut one).expect("fine") > 0 {
            got.push(std::mem::take(&mut one));
        }
        assert_eq!(sent, got);
        assert!(sent.len() > 200);
    }

    #[test]
    fn too_long_is_the_writers_mistake_and_too_short_a_buffer_takes_nothing() {
        let (region, mut sender, mut receiver) = ring(0);
        assert!(matches!(sender.write(&region, &[0; 61]), Err(Error::Malformed(_))));
        assert!(matches!(sender.write(&region, &[]), Err(Error::Malformed(_))));
        assert_eq!(sender.write(&region, &[7; 40]).expect("fine"), 40);
        assert_eq!(sender.write(&region, &[8; 40]).expect("fine"), 0);
        let mut read = Vec::new();
        assert_eq!(receiver.read(&region, 39, &mut read).expect("fine"), 0);
        assert_eq!(receiver.readable(&region).expect("fine"), 40);
        assert_eq!(receiver.read(&region, 40, &mut read).expect("fine"), 40);
    }

    #[test]
    fn hostile_lengths_are_errors() {
        for bad in [0u32, 61, 21, u32::MAX, 0x8000_0000] {
            let (region, mut sender, mut receiver) = ring(0);
            sender.write(&region, &[1; 20]).expect("fine");
            region.put(64, &bad.to_le_bytes()).expect("inside");
            let mut read = Vec::new();
            let outcome = receiver.read(&region, 100, &mut read);
            // 21 bytes take as much room as 24, which the ring does not hold.
            assert!(matches!(outcome, Err(Error::BadLength(_))), "{bad}: {outcome:?}");
        }
        let (region, _, mut receiver) = ring(0);
        region.store_index(PLACE.prod, 2);
        assert!(matches!(receiver.read(&region, 9, &mut Vec::new()), Err(Error::BadLength(2))));
    }
}
