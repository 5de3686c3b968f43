//! Keys of one or more words: their hash, equality and order.
//!
//! A text counts up to its first 0X. Keys that a collection has kept are in a normal form: they end
//! there, and the last word of their bytes is filled up with zeros.

use std::cmp::Ordering;

use super::address::at;
use crate::handle::Words;
use crate::layout::TEXT_BYTES;
use crate::program::Key;
use crate::text;

/// Words of a text's header.
pub(super) const TEXT_HEADER: usize = TEXT_BYTES as usize / 8;

/// The types of a collection's keys; the common ones have code of their own.
#[repr(u8)]
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Form {
    /// One INTEGER, CHARACTER or BOOLEAN.
    Integer = 0,
    /// One TEXT.
    Text = 1,
    /// Several.
    Tuple = 2,
    /// As `Integer`, of elements that own nothing and may move.
    Flat = 3,
    /// As `Text`, of such elements.
    FlatText = 4,
}

impl Form {
    /// Of a collection with these keys, whose elements may move or may not.
    pub(super) fn of(keys: &[Key], moves: bool) -> Form {
        match keys {
            [Key::Integer] if moves => Form::Flat,
            [Key::Integer] => Form::Integer,
            [Key::Text] if moves => Form::FlatText,
            [Key::Text] => Form::Text,
            _ => Form::Tuple,
        }
    }

    #[inline]
    pub(super) fn of_number(number: u64) -> Form {
        match number {
            0 => Form::Integer,
            1 => Form::Text,
            2 => Form::Tuple,
            3 => Form::Flat,
            _ => Form::FlatText,
        }
    }

    /// Whether there is one key, of one word.
    #[inline]
    pub(super) fn is_integer(self) -> bool {
        matches!(self, Form::Integer | Form::Flat)
    }
}

/// What hashes depend on besides the keys: the addend and the factor. Senders of keys do not know
/// them, so they cannot choose keys that collide.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Seed {
    pub(super) addend: u64,
    pub(super) factor: u64,
}

impl Seed {
    pub(super) fn of(number: u64) -> Seed {
        let factor = number.rotate_left(32).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        Seed { addend: number, factor }
    }

    /// A multiplication folded to 64 bits, as in wyhash: both halves of the product depend on all
    /// bits.
    #[inline(always)]
    pub(super) fn mix(self, hash: u64, word: u64) -> u64 {
        let product = u128::from(hash ^ word) * u128::from(self.factor);
        (product >> 64) as u64 ^ product as u64
    }

    /// The same of two words at once.
    #[inline(always)]
    pub(super) fn mix_two(self, one: u64, other: u64) -> u64 {
        let product = u128::from(one ^ self.addend) * u128::from(other ^ self.factor);
        (product >> 64) as u64 ^ product as u64
    }
}

/// The hash of one integer.
#[inline(always)]
pub(super) fn hash_integer(seed: Seed, key: u64) -> u64 {
    seed.mix(seed.addend, key)
}

/// The hash of a text up to its 0X, 8 bytes at a time.
#[inline(always)]
pub(super) fn hash_text(seed: Seed, key: u64) -> u64 {
    hash_text_after(seed, seed.addend, key)
}

#[inline(always)]
fn hash_text_after(seed: Seed, before: u64, key: u64) -> u64 {
    let mut hash = before;
    if key != 0 {
        let block = at(key);
        let mut left = block.get(0) as u32 as usize;
        let mut place = TEXT_HEADER;
        while left > 0 {
            let (word, is_last) = shown_word(block.get(place), left);
            if word != 0 {
                hash = seed.mix(hash, word);
            }
            if is_last {
                break;
            }
            place += 1;
            left -= 8;
        }
    }
    // So that the texts of a tuple end.
    seed.mix(hash, 0x5851_F42D_4C95_7F2D)
}

/// Whether a byte is zero: the lowest bit that is set then is the top one of the first such byte.
#[inline(always)]
pub(super) fn zero_bytes(word: u64) -> u64 {
    word.wrapping_sub(0x0101_0101_0101_0101) & !word & 0x8080_8080_8080_8080
}

/// The next 8 bytes of a text of which `left` bytes are to come: those before the first 0X, then
/// zeros. Also returns whether the text ends there.
#[inline(always)]
pub(super) fn shown_word(word: u64, left: usize) -> (u64, bool) {
    let word = if left < 8 { word & ((1 << (8 * left)) - 1) } else { word };
    let zeros = zero_bytes(word);
    if zeros == 0 {
        return (word, left <= 8);
    }
    let below = zeros & zeros.wrapping_neg();
    (word & (below - 1), true)
}

/// Whether a text equals a kept one, up to its 0X.
#[inline(always)]
pub(super) fn is_text(kept: u64, key: u64) -> bool {
    if kept == 0 || key == 0 {
        return text::shown(kept).is_empty() && text::shown(key).is_empty();
    }
    let (own, other) = (at(kept), at(key));
    let (own_left, mut left) = (own.get(0) as u32 as usize, other.get(0) as u32 as usize);
    if left <= own_left {
        // A kept text has no 0X, so one of the same length is equal or has another byte.
        return left == own_left && are_bytes_equal(own, other, left);
    }
    let words = own_left.div_ceil(8);
    for place in TEXT_HEADER..TEXT_HEADER + words {
        let (word, is_last) = shown_word(other.get(place), left);
        if word != own.get(place) {
            return false;
        }
        if is_last {
            return place + 1 == TEXT_HEADER + words;
        }
        left -= 8;
    }
    // The other continues: with a 0X, or with more bytes than the kept one has.
    other.get(TEXT_HEADER + words) & 0xFF == 0
}

/// Whether the first bytes of a text are those that a kept one has.
#[inline(always)]
fn are_bytes_equal(kept: Words, other: Words, length: usize) -> bool {
    let last = TEXT_HEADER + (length - 1) / 8;
    for place in TEXT_HEADER..last {
        if kept.get(place) != other.get(place) {
            return false;
        }
    }
    let unused = 64 - 8 * ((length - 1) % 8 + 1);
    (kept.get(last) ^ other.get(last)) << unused == 0
}

/// The hash of several keys.
pub(super) fn hash_tuple(seed: Seed, keys: &[Key], of: Words) -> u64 {
    keys.iter().enumerate().fold(seed.addend, |hash, (i, key)| match key {
        Key::Integer => seed.mix(hash, of.get(i)),
        Key::Text => hash_text_after(seed, hash, of.get(i)),
    })
}

/// Whether keys are kept ones.
pub(super) fn is_tuple(keys: &[Key], kept: Words, of: Words) -> bool {
    keys.iter().enumerate().all(|(i, key)| match key {
        Key::Integer => kept.get(i) == of.get(i),
        Key::Text => is_text(kept.get(i), of.get(i)),
    })
}

/// The order of two keys of several words.
pub(super) fn compare(keys: &[Key], left: Words, right: Words) -> Ordering {
    for (i, key) in keys.iter().enumerate() {
        let (left, right) = (left.get(i), right.get(i));
        let order = match key {
            Key::Integer => (left as i64).cmp(&(right as i64)),
            Key::Text => text::order(left, right),
        };
        if order != Ordering::Equal {
            return order;
        }
    }
    Ordering::Equal
}

/// A number in the order of the first of these keys, as far as 64 bits go.
pub(super) fn prefix(keys: &[Key], of: Words) -> u64 {
    match keys.first() {
        Some(Key::Text) if of.get(0) == 0 => 0,
        Some(Key::Text) => {
            let text = at(of.get(0));
            shown_word(text.get(TEXT_HEADER), text.get(0) as u32 as usize).0.swap_bytes()
        }
        _ => of.get(0) ^ (1 << 63),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Worker;
    use crate::program::Program;
    use crate::worker::Options;

    #[test]
    fn texts_count_up_to_their_first_0x() {
        let mut worker = Worker::for_test(Program::default(), Options::quiet());
        let samples: Vec<Vec<u8>> = (0usize..40)
            .flat_map(|length| {
                let whole: Vec<u8> = (0..length).map(|i| b'a' + i as u8 % 26).collect();
                let cut = |at: usize| {
                    let mut text = whole.clone();
                    if let Some(byte) = text.get_mut(at) {
                        *byte = 0;
                    }
                    text
                };
                [whole.clone(), cut(0), cut(7), cut(8), cut(9), cut(length.saturating_sub(1))]
            })
            .collect();
        for one in &samples {
            let shown = one.split(|&byte| byte == 0).next().unwrap_or_default();
            let kept = text::make(&mut worker, shown).unwrap();
            if kept != 0 {
                // As nodes have it.
                let end = TEXT_HEADER + shown.len().div_ceil(8) - 1;
                let (word, _) = shown_word(at(kept).get(end), (shown.len() - 1) % 8 + 1);
                at(kept).set(end, word);
            }
            for other in &samples {
                let asked = text::make(&mut worker, other).unwrap();
                let same = shown == other.split(|&byte| byte == 0).next().unwrap_or_default();
                assert_eq!(is_text(kept, asked), same, "{one:?} {other:?}");
                let hash = |text| hash_text(Seed::of(1), text);
                assert_eq!(hash(kept) == hash(asked), same, "{one:?} {other:?}");
                text::free(&mut worker, asked);
            }
            text::free(&mut worker, kept);
        }
    }
}
