//! Bits as Arrow has them: the lowest of the first byte first.

use arrow_buffer::{BooleanBuffer, Buffer};

/// Bits that are set in any order; those that nobody set are zero.
#[derive(Default)]
pub(crate) struct Bits {
    /// Bits from `len` on are zero.
    words: Vec<u64>,
    len: usize,
}

impl Bits {
    /// Up to behind the last that was set.
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

    /// Takes `count` bits out, all that there are.
    pub(crate) fn finish(&mut self, count: usize) -> BooleanBuffer {
        self.pad(count);
        let next = Vec::with_capacity(self.words.len());
        self.len = 0;
        // Bytes in order are bits in order.
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
}
