//! A skip list: keys of one or more words in ascending order.
//!
//! ```text
//! node   0 level   1.. keys   then a link for each level
//! heads  a link for each of the levels
//! ```
//! No operation recurses. A node has another level with probability 1/4 (Pugh, "Skip lists",
//! 1990). Links are addresses of nodes as words, 0 at the end.

use std::cmp::Ordering;

use super::address::{at, word_of};

use super::key::compare;
use crate::handle::Words;
use crate::machine::Worker;
use crate::memory::OutOfMemory;
use crate::program::Key;

/// Levels of a list: enough for 4^16 elements.
pub(super) const LEVELS: usize = 16;

const LEVEL: usize = 0;
const KEYS: usize = 1;

/// A list: where its heads are, and what its keys are.
#[derive(Copy, Clone)]
pub(super) struct List<'a> {
    pub(super) heads: Words,
    pub(super) keys: &'a [Key],
}

/// The keys of a node.
pub(super) fn keys_of(node: Words) -> Words {
    node.at(KEYS)
}

impl List<'_> {
    fn node_size(&self, level: usize) -> usize {
        8 * (KEYS + self.keys.len() + level)
    }

    /// The links of a node, or of the heads.
    fn links(&self, node: u64) -> Words {
        if node == 0 { self.heads } else { at(node).at(KEYS + self.keys.len()) }
    }

    /// For each level the last node before the keys, or at most the keys; 0 for the heads.
    fn path(&self, keys: Words, through: Ordering) -> [u64; LEVELS] {
        let mut path = [0; LEVELS];
        let mut here = 0;
        for level in (0..LEVELS).rev() {
            loop {
                let next = self.links(here).get(level);
                if next == 0 {
                    break;
                }
                let order = compare(self.keys, keys_of(at(next)), keys);
                if order != Ordering::Less && order != through {
                    break;
                }
                here = next;
            }
            path[level] = here;
        }
        path
    }

    /// The node with these keys.
    pub(super) fn find(&self, keys: Words) -> Option<Words> {
        let path = self.path(keys, Ordering::Less);
        let next = self.links(path[0]).get(0);
        let found = next != 0 && compare(self.keys, keys_of(at(next)), keys) == Ordering::Equal;
        found.then(|| at(next))
    }

    /// The first node above these keys.
    pub(super) fn above(&self, keys: Words) -> Option<Words> {
        let path = self.path(keys, Ordering::Equal);
        let next = self.links(path[0]).get(0);
        (next != 0).then(|| at(next))
    }

    /// The first node.
    pub(super) fn first(&self) -> Option<Words> {
        let first = self.heads.get(0);
        (first != 0).then(|| at(first))
    }

    /// The node after this one.
    pub(super) fn after(&self, node: Words) -> Option<Words> {
        let next = self.links(word_of(node)).get(0);
        (next != 0).then(|| at(next))
    }

    /// A new node with these keys, which no node has yet. Texts are not copied.
    pub(super) fn insert(
        &self,
        worker: &mut Worker,
        keys: Words,
        random: u64,
    ) -> Result<Words, OutOfMemory> {
        let level = 1 + (random.trailing_zeros() as usize / 2).min(LEVELS - 1);
        let node = Words(worker.memory.take(self.node_size(level))?.cast());
        node.set(LEVEL, level as u64);
        for i in 0..self.keys.len() {
            keys_of(node).set(i, keys.get(i));
        }
        let path = self.path(keys, Ordering::Less);
        for (i, &before) in path.iter().enumerate().take(level) {
            let links = self.links(before);
            self.links(word_of(node)).set(i, links.get(i));
            links.set(i, word_of(node));
        }
        Ok(node)
    }

    /// Frees a node without taking it out, where the whole list goes.
    pub(super) fn free_node(&self, worker: &mut Worker, node: Words) {
        let size = self.node_size(node.get(LEVEL) as usize);
        worker.memory.give(node.0.cast(), size);
    }
}
