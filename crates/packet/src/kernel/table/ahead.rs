//! Look-ups of packets that wait: what they will read is fetched before they are made.
//!
//! Generated code computes what packets on a link will be looked up by, before it takes the first
//! of them (see `compiled::ahead`): hashes of keys, or keys of a trie. What all of them read is
//! then fetched at the same time, step by step: slots of the index, then entries. Only caches
//! change, so a key that is looked up by in the end may be another.

use std::cell::Cell;

use tidemill_stdx::cache::prefetch_item;

use super::Table;

impl Table {
    /// Fetches what the first `count` look-ups will read. They are forgotten.
    pub(crate) fn prefetch(&self, count: usize) {
        let ahead = &self.ahead[..count.min(self.ahead.len())];
        match &self.books.borrow().trie {
            Some(trie) => trie.prefetch(ahead, |entry| self.prefetch_entry(entry)),
            None => self.prefetch_exact(ahead),
        }
    }

    fn prefetch_exact(&self, hashes: &[Cell<u64>]) {
        hashes.iter().for_each(|hash| self.index.prefetch(hash.get()));
        hashes.iter().for_each(|hash| self.prefetch_entry(self.index.find(hash.get(), |_| true)));
    }

    /// Its first and its last word: most entries have no more lines. The memory of none is there
    /// too.
    fn prefetch_entry(&self, entry: u32) {
        let first = entry as usize * self.layout.words;
        prefetch_item(&self.entries, first);
        prefetch_item(&self.entries, first + self.layout.words - 1);
    }
}
