//! Bits in the order of Arrow: the lowest of the first byte first.

use arrow_buffer::{BooleanBuffer, Buffer};

/// Bits that are set in any order, initially zero.
#[derive(Default)]
pub(crate) struct Bits {
    /// Bits from `len` on are zero.
    words: Vec<u64>,
    len: usize,
}

impl Bits {
    /// The position after the last bit that was set.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub(crate) fn set(&mut self, at: usize, value: bool) {
        let (word, bit) = (at / 64, 1 << (at % 64));
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        let word = &mut self.words[word];
        *word = if value { *word | bit } else { *word & !bit };
        self.len = self.len.max(at + 1);
    }

    /// Appends zeros until there are `count`.
    pub(crate) fn pad(&mut self, count: usize) {
        self.len = self.len.max(count);
        self.words.resize(self.len.div_ceil(64), 0);
    }

    /// Appends bits.
    pub(crate) fn extend(&mut self, bits: impl ExactSizeIterator<Item = bool>) {
        let first = self.len;
        self.pad(first + bits.len());
        let mut bits = bits;
        let (mut at, mut shift) = (first / 64, first % 64);
        while bits.len() > 0 {
            // Up to the free bits of the word.
            let count = bits.len().min(64 - shift);
            let mut word = 0;
            for (place, bit) in (0..count).zip(&mut bits) {
                word |= u64::from(bit) << place;
            }
            self.words[at] |= word << shift;
            (at, shift) = (at + 1, 0);
        }
    }

    pub(crate) fn truncate(&mut self, count: usize) {
        if count >= self.len {
            return;
        }
        self.len = count;
        self.words.truncate(count.div_ceil(64));
        if let Some(last) = self.words.last_mut()
            && !count.is_multiple_of(64)
        {
            *last &= (1 << (count % 64)) - 1;
        }
    }

    /// Takes all bits out: `count` of them.
    pub(crate) fn finish(&mut self, count: usize) -> BooleanBuffer {
        self.pad(count);
        let next = Vec::with_capacity(self.words.len());
        self.len = 0;
        // Little-endian words keep the bits in order.
        let words: Vec<u64> = std::mem::replace(&mut self.words, next);
        let words = if cfg!(target_endian = "big") {
            words.into_iter().map(u64::swap_bytes).collect()
        } else {
            words
        };
        BooleanBuffer::new(Buffer::from_vec(words), 0, count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_what_was_set() {
        let mut bits = Bits::default();
        for at in [0, 3, 63, 64, 200] {
            bits.set(at, true);
        }
        bits.set(3, false);
        assert_eq!(bits.len(), 201);
        bits.truncate(200);
        bits.set(130, true);
        assert_eq!(bits.len(), 200);
        bits.truncate(131);
        bits.pad(300);
        let taken = bits.finish(300);
        let set: Vec<usize> = taken.set_indices().collect();
        assert_eq!((set, taken.len()), (vec![0, 63, 64, 130], 300));
        assert_eq!(bits.finish(1).count_set_bits(), 0);
    }

    #[test]
    fn bits_are_appended_anywhere() {
        for (before, count) in [(0, 0), (0, 64), (3, 61), (5, 200), (64, 1), (63, 2), (70, 0)] {
            let mut bits = Bits::default();
            bits.pad(before);
            if before > 0 {
                bits.set(before - 1, true);
            }
            let third = |at: usize| at.is_multiple_of(3);
            bits.extend((0..count).map(third));
            let taken = bits.finish(before + count);
            let wanted = |at: usize| match at.checked_sub(before) {
                Some(at) => third(at),
                None => at + 1 == before,
            };
            assert!(
                (0..before + count).all(|at| taken.value(at) == wanted(at)),
                "{before} {count}"
            );
        }
    }
}
