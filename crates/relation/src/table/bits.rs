//! One bit per row.

#[derive(Clone, Debug, Default)]
pub(super) struct Bits {
    words: Vec<u64>,
}

impl Bits {
    #[inline]
    pub(super) fn get(&self, index: u32) -> bool {
        let word = self.words.get(index as usize / 64).copied().unwrap_or(0);
        word >> (index % 64) & 1 != 0
    }

    pub(super) fn set(&mut self, index: u32) {
        let word = index as usize / 64;
        if self.words.len() <= word {
            self.words.resize(word + 1, 0);
        }
        self.words[word] |= 1 << (index % 64);
    }

    /// Sets the bits of a range.
    pub(super) fn set_range(&mut self, range: std::ops::Range<u32>) {
        let mut index = range.start;
        while index < range.end {
            if index.is_multiple_of(64) && range.end - index >= 64 {
                self.set(index);
                self.words[index as usize / 64] = u64::MAX;
                index += 64;
            } else {
                self.set(index);
                index += 1;
            }
        }
    }

    pub(super) fn clear_bit(&mut self, index: u32) {
        if let Some(word) = self.words.get_mut(index as usize / 64) {
            *word &= !(1 << (index % 64));
        }
    }

    pub(super) fn clear(&mut self) {
        self.words.clear();
    }

    pub(super) fn bytes(&self) -> usize {
        self.words.capacity() * size_of::<u64>()
    }
}
