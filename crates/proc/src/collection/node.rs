//! Nodes: an element of a table with its keys.
//!
//! ```text
//! 0 value   1.. keys   then the texts among the keys, each as a block of its own has it
//! ```
//! A node does not move. The texts are part of it: one block, near the rest.

use super::address::word_of;
use super::key::TEXT_HEADER;
use crate::handle::Words;
use crate::machine::Worker;
use crate::memory::OutOfMemory;
use crate::program::Key;
use crate::text;

const VALUE: usize = 0;
const KEYS: usize = 1;

/// The value of a node.
#[inline]
pub(super) fn value_of(node: Words) -> Words {
    node.at(VALUE)
}

/// The node of a value.
pub(super) fn of_value(value: Words) -> Words {
    value
}

/// The keys of a node.
#[inline]
pub(super) fn keys_of(node: Words) -> Words {
    node.at(KEYS)
}

/// Words of a text of this many bytes; the empty one has none.
fn text_words(length: usize) -> usize {
    if length == 0 { 0 } else { TEXT_HEADER + length.div_ceil(8) }
}

/// Bytes of a node.
fn size(keys: &[Key], of: Words) -> usize {
    let texts = keys.iter().enumerate().map(|(i, key)| match key {
        Key::Integer => 0,
        Key::Text => text_words(text::shown(of.get(i)).len()),
    });
    8 * (KEYS + keys.len() + texts.sum::<usize>())
}

/// A node with these keys, texts up to their 0X; its value is 0.
pub(super) fn make(worker: &mut Worker, keys: &[Key], of: Words) -> Result<Words, OutOfMemory> {
    let node = Words(worker.memory.take(size(keys, of))?.cast());
    let mut place = KEYS + keys.len();
    for (i, key) in keys.iter().enumerate() {
        let word = match key {
            Key::Integer => of.get(i),
            Key::Text => {
                let shown = text::shown(of.get(i));
                let text = node.at(place);
                place += text_words(shown.len());
                if shown.is_empty() { 0 } else { text::place(text, shown) }
            }
        };
        keys_of(node).set(i, word);
    }
    Ok(node)
}

/// Frees a node; what its value owns is the caller's.
pub(super) fn free(worker: &mut Worker, keys: &[Key], node: Words) {
    let size = size(keys, keys_of(node));
    worker.memory.give(node.0.cast(), size);
}

/// A node as a word.
pub(super) fn word(node: Words) -> u64 {
    word_of(node)
}
