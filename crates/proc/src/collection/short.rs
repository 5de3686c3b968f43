//! Texts as keys in a slot of a table, most without a block of their own.
//!
//! ```text
//! up to 24 bytes   0, 1, 2 the bytes, then zeros
//! more             0 address of a text, << 8   1 its hash
//! ```
//! A text ends before its first 0X: the first byte of one that is not empty distinguishes the two.

use super::address::at;
use super::key::{self, Seed, TEXT_HEADER, shown_word, zero_bytes};
use crate::handle::Words;
use crate::machine::Worker;
use crate::memory::OutOfMemory;
use crate::text;

/// Words of a short text.
const WORDS: usize = 3;
/// What the first word of a longer text has below the address.
const BELOW: u32 = 8;

/// The bytes of a text, if they are few.
pub(super) fn of(key: u64) -> Option<[u64; WORDS]> {
    if key == 0 { Some([0; WORDS]) } else { plain(key).or_else(|| up_to_end(at(key))) }
}

/// The bytes of a text, if they are few, not none, and there is no 0X.
#[inline(always)]
pub(super) fn plain(key: u64) -> Option<[u64; WORDS]> {
    if key == 0 {
        return None;
    }
    let block = at(key);
    match block.get(0) as u32 {
        length @ 17..=24 => words_in::<3>(block, length),
        length @ 9..=16 => words_in::<2>(block, length),
        length @ 1..=8 => words_in::<1>(block, length),
        _ => None,
    }
}

/// The bytes of a text of `N` words, unless they contain a 0X.
#[inline(always)]
fn words_in<const N: usize>(block: Words, length: u32) -> Option<[u64; WORDS]> {
    let (mut words, mut zeros) = ([0; WORDS], 0);
    for (i, to) in words.iter_mut().enumerate().take(N) {
        let is_last = i + 1 == N;
        let unused = if is_last { !(u64::MAX >> (8 * (8 * N as u32 - length))) } else { 0 };
        let word = block.get(TEXT_HEADER + i);
        zeros |= zero_bytes(word | unused);
        *to = word & !unused;
    }
    (zeros == 0).then_some(words)
}

/// The bytes before the first 0X, if they are few.
#[inline(never)]
fn up_to_end(block: Words) -> Option<[u64; WORDS]> {
    let mut left = block.get(0) as u32 as usize;
    let mut words = [0; WORDS];
    for (i, to) in words.iter_mut().enumerate() {
        let (word, is_last) = shown_word(block.get(TEXT_HEADER + i), left);
        *to = word;
        if is_last {
            return Some(words);
        }
        left -= 8;
    }
    (block.get(TEXT_HEADER + WORDS) & 0xFF == 0).then_some(words)
}

/// The hash of a short text.
#[inline(always)]
pub(super) fn hash_of(seed: Seed, [first, second, third]: [u64; WORDS]) -> u64 {
    seed.mix(seed.mix_two(first, second), third)
}

/// The hash of a text, as a key that is looked for.
#[inline]
pub(super) fn hash(seed: Seed, key: u64) -> u64 {
    match of(key) {
        Some(words) => hash_of(seed, words),
        None => key::hash_text(seed, key),
    }
}

fn words(slot: Words) -> [u64; WORDS] {
    std::array::from_fn(|i| slot.get(i))
}

/// The text of a slot that has no room for its bytes.
fn long(slot: Words) -> Option<u64> {
    let first = slot.get(0);
    (first & 0xFF == 0 && first != 0).then_some(first >> BELOW)
}

/// The hash of the text in a slot.
pub(super) fn hash_in(seed: Seed, slot: Words) -> u64 {
    if long(slot).is_some() { slot.get(1) } else { hash_of(seed, words(slot)) }
}

/// Whether a slot has this short text.
#[inline(always)]
pub(super) fn is(slot: Words, text: [u64; WORDS]) -> bool {
    let differences = text.iter().enumerate().map(|(i, &word)| slot.get(i) ^ word);
    differences.fold(0, |all, bits| all | bits) == 0
}

/// Whether a slot has this text with this hash, which is not short.
pub(super) fn is_long(slot: Words, key: u64, hash: u64) -> bool {
    slot.get(1) == hash && long(slot).is_some_and(|kept| key::is_text(kept, key))
}

/// The form in a slot of a text with this hash; a longer text is copied.
pub(super) fn keep(worker: &mut Worker, key: u64, hash: u64) -> Result<[u64; WORDS], OutOfMemory> {
    match of(key) {
        Some(words) => Ok(words),
        None => {
            let kept = text::make_filled(worker, text::shown(key))?;
            Ok([kept << BELOW, hash, 0])
        }
    }
}

/// Frees the text in a slot.
pub(super) fn free(worker: &mut Worker, slot: Words) {
    if let Some(text) = long(slot) {
        text::free(worker, text);
    }
}

/// Room for the key of a slot as programs have it: its word, then a block.
#[derive(Default)]
pub(super) struct Room([u64; 1 + TEXT_HEADER + WORDS]);

impl Room {
    /// The key of a slot.
    pub(super) fn show(&mut self, slot: Words) -> Words {
        *self = Room::default();
        let here = Words(self.0.as_mut_ptr());
        match long(slot) {
            Some(text) => here.set(0, text),
            None => {
                let bytes = words(slot).map(u64::to_le_bytes);
                let bytes = bytes.as_flattened();
                let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
                let word = if end == 0 { 0 } else { text::place(here.at(1), &bytes[..end]) };
                here.set(0, word);
            }
        }
        here
    }
}
