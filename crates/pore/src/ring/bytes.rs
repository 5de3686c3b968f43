//! Rings of bytes: any part can be written and read.

use std::sync::atomic::{Ordering, fence};

use super::Layout;
use crate::Error;
use crate::region::Region;

/// The side that writes.
#[derive(Debug)]
pub struct Producer {
    place: Layout,
    prod: u32,
    /// The reader's index when it was last read; reading it costs more than all else.
    cons: u32,
    /// Something was published since the reader was signalled.
    is_news: bool,
}

/// The side that reads.
#[derive(Debug)]
pub struct Consumer {
    place: Layout,
    cons: u32,
    /// Room was made in a full ring since the writer was signalled.
    is_news: bool,
}

impl Producer {
    /// Continues from the index in the region: it need not be 0.
    pub fn new(region: &Region, place: Layout) -> Producer {
        let prod = region.load_index(place.prod);
        // As if it were full: the first write looks.
        Producer { place, prod, cons: prod.wrapping_sub(place.size), is_news: false }
    }

    /// Bytes that would be accepted.
    ///
    /// # Errors
    /// The reader's index is impossible.
    pub fn writable(&self, region: &Region) -> Result<u32, Error> {
        let cons = region.load_index(self.place.cons);
        Ok(self.place.size - self.place.used(self.prod, cons, cons, self.prod)?)
    }

    /// Writes what fits and publishes it.
    ///
    /// # Errors
    /// As [`writable`](Producer::writable).
    pub fn write(&mut self, region: &Region, bytes: &[u8]) -> Result<usize, Error> {
        let mut room = (self.place.size - self.prod.wrapping_sub(self.cons)) as usize;
        if room < bytes.len() {
            room = self.writable(region)? as usize;
            self.cons = self.prod.wrapping_sub(self.place.size - room as u32);
        }
        let bytes = &bytes[..bytes.len().min(room)];
        self.fill(region, 0, bytes)?;
        self.publish(region, bytes.len() as u32);
        Ok(bytes.len())
    }

    /// Writes after what is published, without publishing it; the room is the caller's concern.
    pub(super) fn fill(&self, region: &Region, after: u32, bytes: &[u8]) -> Result<(), Error> {
        let mut rest = bytes;
        let index = self.prod.wrapping_add(after);
        for (offset, length) in self.place.parts(index, bytes.len() as u32) {
            if length == 0 {
                break;
            }
            let (part, others) = rest.split_at(length as usize);
            region.put(offset, part)?;
            rest = others;
        }
        Ok(())
    }

    pub(super) fn publish(&mut self, region: &Region, length: u32) {
        if length > 0 {
            self.prod = self.prod.wrapping_add(length);
            region.store_index(self.place.prod, self.prod);
            self.is_news = true;
        }
    }

    /// Whether the reader has taken everything.
    pub fn is_drained(&self, region: &Region) -> bool {
        region.load_index(self.place.cons) == self.prod
    }

    /// Whether something was written since the last call: the reader may have to be rung.
    pub fn take_news(&mut self) -> bool {
        std::mem::take(&mut self.is_news)
    }

    pub(super) fn size(&self) -> u32 {
        self.place.size
    }
}

impl Consumer {
    /// Continues from the index in the region: it need not be 0.
    pub fn new(region: &Region, place: Layout) -> Consumer {
        Consumer { place, cons: region.load_index(place.cons), is_news: false }
    }

    /// Bytes that can be read.
    ///
    /// # Errors
    /// The writer's index is impossible.
    pub fn readable(&self, region: &Region) -> Result<u32, Error> {
        let prod = region.load_index(self.place.prod);
        self.place.used(prod, self.cons, prod, self.cons)
    }

    /// Appends up to `n` bytes without taking them.
    ///
    /// # Errors
    /// As [`readable`](Consumer::readable).
    pub fn peek(&self, region: &Region, n: usize, into: &mut Vec<u8>) -> Result<usize, Error> {
        let length = (self.readable(region)? as usize).min(n);
        self.copy(region, 0, length as u32, into)?;
        Ok(length)
    }

    /// Appends up to `n` bytes and gives their room back.
    ///
    /// # Errors
    /// As [`readable`](Consumer::readable).
    pub fn read(&mut self, region: &Region, n: usize, into: &mut Vec<u8>) -> Result<usize, Error> {
        let length = self.peek(region, n, into)?;
        self.release(region, length as u32);
        Ok(length)
    }

    /// Copies bytes that the caller knows to be there.
    pub(super) fn copy(
        &self,
        region: &Region,
        after: u32,
        length: u32,
        into: &mut Vec<u8>,
    ) -> Result<(), Error> {
        for (offset, length) in self.place.parts(self.cons.wrapping_add(after), length) {
            if length == 0 {
                break;
            }
            region.get(offset, u64::from(length), into)?;
        }
        Ok(())
    }

    pub(super) fn release(&mut self, region: &Region, length: u32) {
        if length == 0 {
            return;
        }
        let before = self.cons;
        self.cons = self.cons.wrapping_add(length);
        region.store_index(self.place.cons, self.cons);
        // The writer publishes its index and then reads ours before it sleeps; we publish ours and
        // then read its: with a full fence between, one of the two sees the other.
        fence(Ordering::SeqCst);
        let prod = region.load_index(self.place.prod);
        self.is_news |= prod.wrapping_sub(before) >= self.place.size;
    }

    /// Whether the writer has to be signalled: it may have found the ring full and wait for room.
    /// Called once for each signal.
    pub fn take_news(&mut self) -> bool {
        std::mem::take(&mut self.is_news)
    }

    pub(super) fn size(&self) -> u32 {
        self.place.size
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACE: Layout = Layout { data: 64, size: 16, prod: 0, cons: 4 };

    fn ring(start: u32) -> (Region, Producer, Consumer) {
        let region = Region::anonymous(4096).expect("memory");
        region.store_index(PLACE.prod, start);
        region.store_index(PLACE.cons, start);
        let (producer, consumer) = (Producer::new(&region, PLACE), Consumer::new(&region, PLACE));
        (region, producer, consumer)
    }

    #[test]
    fn overfilling_accepts_what_fits_and_an_empty_ring_gives_nothing() {
        let (region, mut producer, mut consumer) = ring(0);
        let mut read = Vec::new();
        assert_eq!(consumer.read(&region, 10, &mut read).expect("fine"), 0);
        assert_eq!(producer.write(&region, b"twenty bytes of text").expect("fine"), 16);
        assert_eq!(producer.write(&region, b"more").expect("fine"), 0);
        assert_eq!(consumer.read(&region, 100, &mut read).expect("fine"), 16);
        assert_eq!(read, b"twenty bytes of ");
        assert!(producer.is_drained(&region));
    }

    /// Every way across 2^32, with every size of writes and reads.
    #[test]
    fn indexes_wrap() {
        for start in (0u32..40).map(|back| 0u32.wrapping_sub(back)) {
            let (region, mut producer, mut consumer) = ring(start);
            let (mut sent, mut got) = (Vec::new(), Vec::new());
            for step in 0..200u32 {
                let bytes: Vec<u8> = (0..step % 19).map(|i| (step * 7 + i) as u8).collect();
                let accepted = producer.write(&region, &bytes).expect("fine");
                sent.extend_from_slice(&bytes[..accepted]);
                consumer.read(&region, (step % 13) as usize, &mut got).expect("fine");
                let used = consumer.readable(&region).expect("fine");
                assert_eq!(used + producer.writable(&region).expect("fine"), 16);
            }
            consumer.read(&region, 16, &mut got).expect("fine");
            assert_eq!(sent, got, "from {start}");
        }
    }

    #[test]
    fn hostile_indexes_are_errors_of_that_ring() {
        let (region, mut producer, mut consumer) = ring(u32::MAX - 3);
        producer.write(&region, b"abcdefgh").expect("fine");
        let mut read = Vec::new();
        for bad in [u32::MAX - 4, 1000, 13, 0x8000_0000] {
            region.store_index(PLACE.prod, bad);
            let outcome = consumer.read(&region, 16, &mut read);
            assert!(matches!(outcome, Err(Error::BadIndex { .. })), "{bad}: {outcome:?}");
        }
        // The writer is at 4.
        for bad in [5, 1000, u32::MAX - 12, 0x8000_0000] {
            region.store_index(PLACE.cons, bad);
            // More than there was room for when it last looked.
            let outcome = producer.write(&region, b"nine byte");
            assert!(matches!(outcome, Err(Error::BadIndex { .. })), "{bad}: {outcome:?}");
        }
        assert!(read.is_empty());
    }
}
