//! The block that a collection's word owns.
//!
//! ```text
//! 0 shape   1 count   2 random   3 heads of the skip list   4 directory   5 its length   6 pages
//! 7 places of the directory that have been freed
//! ```

use super::skip::{LEVELS, at, word_of};
use crate::handle::Words;
use crate::layout::Worker;
use crate::memory::OutOfMemory;

const SHAPE: usize = 0;
const COUNT: usize = 1;
const RANDOM: usize = 2;
const HEADS: usize = 3;
const DIRECTORY: usize = 4;
const DIRECTORY_LENGTH: usize = 5;
const PAGES: usize = 6;
const FREED: usize = 7;
const SIZE: usize = 8 * 8;

/// A collection.
#[derive(Copy, Clone)]
pub(super) struct Head(Words);

impl Head {
    /// The collection that a word owns.
    pub(super) fn of(word: u64) -> Option<Head> {
        (word != 0).then(|| Head(at(word)))
    }

    pub(super) fn make(worker: &mut Worker, shape: u32) -> Result<Head, OutOfMemory> {
        let head = Head(Words(worker.memory.take(SIZE)?.cast()));
        head.0.set(SHAPE, u64::from(shape));
        head.0.set(RANDOM, 0x9E37_79B9_7F4A_7C15);
        Ok(head)
    }

    pub(super) fn free(self, worker: &mut Worker) {
        if self.has_heads() {
            worker.memory.give(self.heads().0.cast(), 8 * LEVELS);
        }
        worker.memory.give(self.0.0.cast(), SIZE);
    }

    pub(super) fn word(self) -> u64 {
        word_of(self.0)
    }

    pub(super) fn shape(self) -> u32 {
        self.0.get(SHAPE) as u32
    }

    pub(super) fn count(self) -> u64 {
        self.0.get(COUNT)
    }

    pub(super) fn set_count(self, count: u64) {
        self.0.set(COUNT, count);
    }

    /// Levels of nodes need not be good random numbers, but the same in each run: xorshift.
    pub(super) fn random(self) -> u64 {
        let mut x = self.0.get(RANDOM);
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        self.0.set(RANDOM, x);
        x
    }

    pub(super) fn has_heads(self) -> bool {
        self.0.get(HEADS) != 0
    }

    pub(super) fn heads(self) -> Words {
        at(self.0.get(HEADS))
    }

    pub(super) fn make_heads(self, worker: &mut Worker) -> Result<(), OutOfMemory> {
        if !self.has_heads() {
            let heads = Words(worker.memory.take(8 * LEVELS)?.cast());
            self.0.set(HEADS, word_of(heads));
        }
        Ok(())
    }

    pub(super) fn directory(self) -> Words {
        at(self.0.get(DIRECTORY))
    }

    pub(super) fn directory_length(self) -> u64 {
        self.0.get(DIRECTORY_LENGTH)
    }

    pub(super) fn set_directory(self, directory: Words, length: u64) {
        self.0.set(DIRECTORY, word_of(directory));
        self.0.set(DIRECTORY_LENGTH, length);
    }

    /// How many places of the directory have been freed, where the whole collection goes.
    pub(super) fn freed(self) -> u64 {
        self.0.get(FREED)
    }

    pub(super) fn set_freed(self, freed: u64) {
        self.0.set(FREED, freed);
    }

    pub(super) fn pages(self) -> u64 {
        self.0.get(PAGES)
    }

    pub(super) fn set_pages(self, pages: u64) {
        self.0.set(PAGES, pages);
    }
}
