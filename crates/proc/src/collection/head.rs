//! The block that a collection's word owns.
//!
//! ```text
//! 0 shape, form << 32   1 elements        2, 3 seed of the hash  7 elements in the tables
//! 4 table               5 log2 of chunks, bytes of its block before it << 32
//! 6 the table, if it is all there is to search, and flat; else 0
//! 8 table that grows    9 the same       10 chunks moved out
//! 11 directory         12 its length     13 its pages            14 order
//! 15 places freed      16 removed nodes  17 first node of a skip list that is freed
//! ```

use tidemill_stdx::cache;

use super::address::{at, word_of};
use super::key::{Form, Seed};
use crate::handle::Words;
use crate::layout::quick::{COLLECTION_BITS, COLLECTION_FIRST, COLLECTION_SEED};
use crate::machine::Worker;
use crate::memory::OutOfMemory;

const SHAPE: usize = 0;
const COUNT: usize = 1;
const SEED: usize = COLLECTION_SEED as usize / 8;
const TABLE: usize = COLLECTION_BITS as usize / 8 - 1;
const QUICK: usize = COLLECTION_FIRST as usize / 8;
const HASHED: usize = 7;
const OLD: usize = 8;
const MOVED: usize = 10;
const DIRECTORY: usize = 11;
const DIRECTORY_LENGTH: usize = 12;
const PAGES: usize = 13;
const ORDER: usize = 14;
const FREED: usize = 15;
const TRASH: usize = 16;
const TRASH_LIST: usize = 17;
const SIZE: usize = 8 * 18;

/// Prefetches the memory at an address that is needed soon.
#[inline]
pub(super) fn prefetch(words: Words) {
    cache::prefetch(words.0);
}

/// A table: its first chunk, and how many there are, as a power of 2.
#[derive(Copy, Clone)]
pub(super) struct Table {
    pub(super) first: Words,
    pub(super) bits: u32,
    /// How far behind the start of its block the first chunk is.
    pub(super) left_out: u32,
}

/// A collection.
#[derive(Copy, Clone)]
pub(super) struct Head(Words);

impl Head {
    /// The collection that a word owns.
    #[inline]
    pub(super) fn of(word: u64) -> Option<Head> {
        (word != 0).then(|| Head(at(word)))
    }

    pub(super) fn make(worker: &mut Worker, shape: u32, form: Form) -> Result<Head, OutOfMemory> {
        let head = Head(Words(worker.memory.take(SIZE)?.cast()));
        head.0.set(SHAPE, u64::from(shape) | (form as u64) << 32);
        let seed = Seed::of(worker.machine.hash_seed);
        head.0.set(SEED, seed.addend);
        head.0.set(SEED + 1, seed.factor);
        Ok(head)
    }

    pub(super) fn free(self, worker: &mut Worker) {
        worker.memory.give(self.0.0.cast(), SIZE);
    }

    pub(super) fn word(self) -> u64 {
        word_of(self.0)
    }

    pub(super) fn shape(self) -> u32 {
        self.0.get(SHAPE) as u32
    }

    #[inline]
    pub(super) fn form(self) -> Form {
        Form::of_number(self.0.get(SHAPE) >> 32)
    }

    pub(super) fn count(self) -> u64 {
        self.0.get(COUNT)
    }

    pub(super) fn set_count(self, count: u64) {
        self.0.set(COUNT, count);
    }

    #[inline]
    pub(super) fn seed(self) -> Seed {
        Seed { addend: self.0.get(SEED), factor: self.0.get(SEED + 1) }
    }

    #[inline(always)]
    fn table_at(self, place: usize) -> Option<Table> {
        let (first, rest) = (self.0.get(place), self.0.get(place + 1));
        (first != 0).then(|| Table {
            first: at(first),
            bits: rest as u32,
            left_out: (rest >> 32) as u32,
        })
    }

    fn set_table_at(self, place: usize, table: Option<Table>) {
        let rest = |table: Table| u64::from(table.bits) | u64::from(table.left_out) << 32;
        self.0.set(place, table.map_or(0, |table| word_of(table.first)));
        self.0.set(place + 1, table.map_or(0, rest));
    }

    /// The table that elements are put into.
    #[inline]
    pub(super) fn table(self) -> Option<Table> {
        self.table_at(TABLE)
    }

    pub(super) fn set_table(self, table: Option<Table>) {
        self.set_table_at(TABLE, table);
        self.set_quick();
    }

    /// Whether generated code may search the table by itself, after any of this has changed.
    fn set_quick(self) {
        let is_all = self.0.get(OLD) == 0 && self.directory_length() == 0;
        let is = is_all && self.form() == Form::Flat;
        self.0.set(QUICK, if is { self.0.get(TABLE) } else { 0 });
    }

    /// The table whose elements are being moved to the other one.
    #[inline]
    pub(super) fn old_table(self) -> Option<Table> {
        self.table_at(OLD)
    }

    pub(super) fn set_old_table(self, table: Option<Table>) {
        self.set_table_at(OLD, table);
        self.0.set(MOVED, 0);
        self.set_quick();
    }

    /// Chunks of the old table that have been moved out.
    pub(super) fn moved(self) -> u64 {
        self.0.get(MOVED)
    }

    pub(super) fn set_moved(self, moved: u64) {
        self.0.set(MOVED, moved);
    }

    /// Elements in both tables.
    pub(super) fn hashed(self) -> u64 {
        self.0.get(HASHED)
    }

    pub(super) fn set_hashed(self, hashed: u64) {
        self.0.set(HASHED, hashed);
    }

    /// Elements in pages.
    pub(super) fn dense(self) -> u64 {
        self.count() - self.hashed()
    }

    pub(super) fn directory(self) -> Words {
        at(self.0.get(DIRECTORY))
    }

    #[inline]
    pub(super) fn directory_length(self) -> u64 {
        self.0.get(DIRECTORY_LENGTH)
    }

    pub(super) fn set_directory(self, directory: Words, length: u64) {
        self.0.set(DIRECTORY, word_of(directory));
        self.0.set(DIRECTORY_LENGTH, length);
        self.set_quick();
    }

    pub(super) fn pages(self) -> u64 {
        self.0.get(PAGES)
    }

    pub(super) fn set_pages(self, pages: u64) {
        self.0.set(PAGES, pages);
    }

    /// The block of the order, 0 if there is none.
    #[inline]
    pub(super) fn order(self) -> u64 {
        self.0.get(ORDER)
    }

    pub(super) fn set_order(self, order: u64) {
        self.0.set(ORDER, order);
    }

    /// Places that have been freed where the whole collection is: of the directory, then slots.
    pub(super) fn freed(self) -> u64 {
        self.0.get(FREED)
    }

    pub(super) fn set_freed(self, freed: u64) {
        self.0.set(FREED, freed);
    }

    /// The first removed node whose memory is still to be freed; each names the next.
    pub(super) fn trash(self) -> u64 {
        self.0.get(TRASH)
    }

    pub(super) fn set_trash(self, node: u64) {
        self.0.set(TRASH, node);
    }

    /// The first node of a skip list that is still to be freed.
    pub(super) fn trash_list(self) -> u64 {
        self.0.get(TRASH_LIST)
    }

    pub(super) fn set_trash_list(self, node: u64) {
        self.0.set(TRASH_LIST, node);
    }
}
