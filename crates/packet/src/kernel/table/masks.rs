//! The masks of a table by prefix or with priorities (tuple space search, Srinivasan, Suri and
//! Varghese 1999): entries of one mask are found by one look-up in the index, with what the mask
//! leaves of the key and the number of the mask.

use super::spec::{KEY_WORDS_MAX, TableKind, TableSpec};

/// Different masks of a ternary table at most: each costs a look-up.
pub const MASKS_MAX: usize = 64;

/// Those of a table of prefixes: a column has no more lengths.
const LENGTHS_MAX: usize = 129;

/// The words of a key that a mask leaves.
pub(super) type Words = [u64; KEY_WORDS_MAX];

#[derive(Clone, Copy)]
pub(super) struct Mask {
    pub words: Words,
    /// Different from that of every other mask there has been.
    pub number: u64,
    /// No entry has a greater priority.
    pub priority_max: u64,
    entries: u32,
}

impl Mask {
    pub fn of(&self, key: &[u64]) -> Words {
        let mut left = [0; KEY_WORDS_MAX];
        for ((left, word), mask) in left.iter_mut().zip(key).zip(&self.words) {
            *left = word & mask;
        }
        left
    }
}

/// All masks of a table, those with the greatest priority first.
pub(super) struct Masks {
    /// How many there may be.
    max: usize,
    list: Vec<Mask>,
    numbers: u64,
}

impl Masks {
    /// None so far.
    pub fn of(spec: &TableSpec) -> Masks {
        let max = match spec.kind {
            TableKind::Prefix => LENGTHS_MAX,
            TableKind::Exact | TableKind::Ternary => MASKS_MAX,
        };
        Masks { max, list: Vec::new(), numbers: 0 }
    }

    /// Whether that many further masks are not too many.
    pub fn has_room_for(&self, further: usize) -> bool {
        self.list.len() + further <= self.max
    }

    pub fn iter(&self) -> impl Iterator<Item = &Mask> {
        self.list.iter()
    }

    pub fn find(&self, words: &Words) -> Option<Mask> {
        self.list.iter().find(|mask| mask.words == *words).copied()
    }

    pub fn numbered(&self, number: u64) -> Option<Mask> {
        self.list.iter().find(|mask| mask.number == number).copied()
    }

    /// Counts an entry of a mask; nothing, if there would be too many masks.
    pub fn add(&mut self, words: &Words) -> Option<Mask> {
        let at = match self.list.iter().position(|mask| mask.words == *words) {
            Some(at) => at,
            None if self.list.len() == self.max => return None,
            None => {
                self.numbers += 1;
                let number = self.numbers;
                self.list.push(Mask { words: *words, number, priority_max: 0, entries: 0 });
                self.list.len() - 1
            }
        };
        self.list[at].entries += 1;
        Some(self.list[at])
    }

    /// An entry of a mask has a priority.
    pub fn raise(&mut self, number: u64, priority: u64) {
        let Some(mask) = self.list.iter_mut().find(|mask| mask.number == number) else { return };
        mask.priority_max = mask.priority_max.max(priority);
        self.list.sort_by_key(|mask| std::cmp::Reverse(mask.priority_max));
    }

    /// An entry of a mask has been removed.
    pub fn remove(&mut self, number: u64) {
        let Some(at) = self.list.iter().position(|mask| mask.number == number) else { return };
        self.list[at].entries -= 1;
        if self.list[at].entries == 0 {
            self.list.remove(at);
        }
    }
}
