//! Words that are addresses of blocks.

use crate::handle::Words;

#[inline(always)]
pub(super) fn at(word: u64) -> Words {
    Words(std::ptr::with_exposed_provenance_mut(word as usize))
}

pub(super) fn word_of(words: Words) -> u64 {
    words.0.expose_provenance() as u64
}
