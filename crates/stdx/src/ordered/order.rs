//! Numbers of entries in the order of their keys, which this file never sees.
//!
//! ```text
//! chunks: [ 4 0 7 ] [ 2 ] [ 5 1 6 3 ]      ascending by key within a chunk and from chunk to chunk
//! ```

use std::cmp::Ordering;

/// Numbers in a chunk.
const CHUNK_MAX: usize = if cfg!(test) { 6 } else { 128 };

/// A place between or at numbers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Position {
    chunk: usize,
    at: usize,
}

/// The position of a key, or of its insertion.
pub(super) enum Found {
    /// At a place, with this number.
    At(Position, u32),
    /// Absent; it belongs here.
    Before(Position),
}

/// The order, and the numbers that are not in use.
#[derive(Clone, Default)]
pub(super) struct Order {
    /// None is empty.
    chunks: Vec<Vec<u32>>,
    len: usize,
    /// Numbers below `len + free.len()` that are in no chunk.
    free: Vec<u32>,
}

impl Order {
    pub(super) const fn new() -> Order {
        Order { chunks: Vec::new(), len: 0, free: Vec::new() }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// `compare` gives the order of the key of a number relative to the one that is looked for.
    pub(super) fn search(&self, compare: &mut dyn FnMut(u32) -> Ordering) -> Found {
        let is_less = |chunk: &Vec<u32>| chunk.last().is_some_and(|&last| compare(last).is_lt());
        let chunk = self.chunks.partition_point(is_less);
        let Some(numbers) = self.chunks.get(chunk) else {
            // Past the end: ascending inserts go to the last chunk.
            let chunk = self.chunks.len().saturating_sub(1);
            let at = self.chunks.last().map_or(0, Vec::len);
            return Found::Before(Position { chunk, at });
        };
        match numbers.binary_search_by(|&number| compare(number)) {
            Ok(at) => Found::At(Position { chunk, at }, numbers[at]),
            Err(at) => Found::Before(Position { chunk, at }),
        }
    }

    /// Puts a number that is not in use there.
    ///
    /// # Panics
    /// With 2³² entries.
    pub(super) fn insert(&mut self, place: Position) -> u32 {
        let fresh = || u32::try_from(self.len).expect("fewer than 2^32 entries");
        let number = self.free.pop().unwrap_or_else(fresh);
        self.len += 1;
        if self.chunks.is_empty() {
            self.chunks.push(Vec::new());
        }
        let is_last = place.chunk + 1 == self.chunks.len();
        let chunk = &mut self.chunks[place.chunk];
        let is_end = is_last && place.at == chunk.len();
        chunk.insert(place.at, number);
        if chunk.len() > CHUNK_MAX {
            // Ascending inserts leave full chunks behind.
            let upper = chunk.split_off(if is_end { CHUNK_MAX } else { CHUNK_MAX / 2 });
            self.chunks.insert(place.chunk + 1, upper);
        }
        number
    }

    /// Removes the number there.
    pub(super) fn remove(&mut self, place: Position) -> u32 {
        let number = self.chunks[place.chunk].remove(place.at);
        self.release(number);
        self.merge(place.chunk);
        number
    }

    /// Keeps numbers for which `keep` is true; it is called in order.
    pub(super) fn retain(&mut self, keep: &mut dyn FnMut(u32) -> bool) {
        let mut chunks = std::mem::take(&mut self.chunks);
        for chunk in &mut chunks {
            chunk.retain(|&number| {
                let kept = keep(number);
                if !kept {
                    self.release(number);
                }
                kept
            });
        }
        chunks.retain(|chunk| !chunk.is_empty());
        self.chunks = chunks;
    }

    pub(super) fn clear(&mut self) {
        *self = Order::new();
    }

    fn release(&mut self, number: u32) {
        self.free.push(number);
        self.len -= 1;
        if self.len == 0 {
            self.free.clear();
        }
    }

    /// Chunks with few numbers become one with the next, so that there are O(n / `CHUNK_MAX`).
    fn merge(&mut self, chunk: usize) {
        let length = |at: usize| self.chunks.get(at).map_or(CHUNK_MAX, Vec::len);
        if length(chunk) == 0 {
            self.chunks.remove(chunk);
        } else if length(chunk) + length(chunk + 1) <= CHUNK_MAX / 2 {
            let next = self.chunks.remove(chunk + 1);
            self.chunks[chunk].extend(next);
        }
    }

    /// All numbers in order.
    pub(super) fn walk(&self) -> Walk<'_> {
        self.walk_from(Position { chunk: 0, at: 0 })
    }

    /// The numbers from a place on.
    pub(super) fn walk_from(&self, from: Position) -> Walk<'_> {
        let end = Position { chunk: self.chunks.len(), at: 0 };
        Walk { order: self, front: self.normal(from), back: end }
    }

    /// The end of a chunk is the beginning of the next.
    fn normal(&self, place: Position) -> Position {
        match self.chunks.get(place.chunk) {
            Some(chunk) if place.at == chunk.len() => Position { chunk: place.chunk + 1, at: 0 },
            _ => place,
        }
    }

    pub(super) fn first(&self) -> Option<(Position, u32)> {
        let number = *self.chunks.first()?.first()?;
        Some((Position { chunk: 0, at: 0 }, number))
    }

    pub(super) fn last(&self) -> Option<(Position, u32)> {
        let chunk = self.chunks.len().checked_sub(1)?;
        let at = self.chunks[chunk].len() - 1;
        Some((Position { chunk, at }, self.chunks[chunk][at]))
    }
}

/// Numbers in order.
#[derive(Clone)]
pub(super) struct Walk<'a> {
    order: &'a Order,
    /// Both normal; `back` is the place after the last.
    front: Position,
    back: Position,
}

impl Iterator for Walk<'_> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        if self.front == self.back {
            return None;
        }
        let Position { chunk, at } = self.front;
        self.front = self.order.normal(Position { chunk, at: at + 1 });
        Some(self.order.chunks[chunk][at])
    }
}

impl DoubleEndedIterator for Walk<'_> {
    fn next_back(&mut self) -> Option<u32> {
        if self.front == self.back {
            return None;
        }
        let (chunk, at) = match self.back {
            Position { chunk, at: 0 } => (chunk - 1, self.order.chunks[chunk - 1].len() - 1),
            Position { chunk, at } => (chunk, at - 1),
        };
        self.back = Position { chunk, at };
        Some(self.order.chunks[chunk][at])
    }
}
