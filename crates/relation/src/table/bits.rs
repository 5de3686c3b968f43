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
