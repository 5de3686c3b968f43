//! A set of ids, one bit each.

use super::Id;
use std::fmt;
use std::marker::PhantomData;

/// A set of ids as bits, with the words that the greatest member ever needed.
#[derive(Clone)]
pub struct IdSet<I> {
    words: Vec<u64>,
    ids: PhantomData<fn(I) -> I>,
}

/// The word of an id and its bit there.
#[inline]
fn position<I: Id>(id: I) -> (usize, u64) {
    (id.index() / 64, 1 << (id.index() % 64))
}

impl<I: Id> IdSet<I> {
    /// The empty set.
    pub const fn new() -> Self {
        IdSet { words: Vec::new(), ids: PhantomData }
    }

    /// Adds a member; true if it was none before.
    #[inline]
    pub fn insert(&mut self, id: I) -> bool {
        let (word, bit) = position(id);
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        let added = self.words[word] & bit == 0;
        self.words[word] |= bit;
        added
    }

    /// Removes a member; true if it was one.
    #[inline]
    pub fn remove(&mut self, id: I) -> bool {
        let (word, bit) = position(id);
        let Some(word) = self.words.get_mut(word) else { return false };
        let removed = *word & bit != 0;
        *word &= !bit;
        removed
    }

    /// True if `id` is a member.
    #[inline]
    pub fn contains(&self, id: I) -> bool {
        let (word, bit) = position(id);
        self.words.get(word).is_some_and(|word| word & bit != 0)
    }

    /// The number of members; counts the bits.
    pub fn len(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// True without members.
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|&word| word == 0)
    }

    /// Removes all members and keeps the memory.
    pub fn clear(&mut self) {
        self.words.clear();
    }

    /// Adds the members of `other`; true if that changed anything.
    pub fn union_with(&mut self, other: &Self) -> bool {
        if other.words.len() > self.words.len() {
            self.words.resize(other.words.len(), 0);
        }
        let mut changed = 0;
        for (mine, theirs) in self.words.iter_mut().zip(&other.words) {
            changed |= theirs & !*mine;
            *mine |= theirs;
        }
        changed != 0
    }

    /// Keeps only members of `other`.
    pub fn intersect_with(&mut self, other: &Self) {
        self.words.truncate(other.words.len());
        for (mine, theirs) in self.words.iter_mut().zip(&other.words) {
            *mine &= theirs;
        }
    }

    /// Removes the members of `other`.
    pub fn subtract(&mut self, other: &Self) {
        for (mine, theirs) in self.words.iter_mut().zip(&other.words) {
            *mine &= !theirs;
        }
    }

    /// True if all members are members of `other`.
    pub fn is_subset(&self, other: &Self) -> bool {
        let theirs = other.words.iter().copied().chain(std::iter::repeat(0));
        self.words.iter().zip(theirs).all(|(mine, theirs)| mine & !theirs == 0)
    }

    /// All members, ascending.
    pub fn iter(&self) -> impl Iterator<Item = I> + '_ {
        self.words.iter().enumerate().flat_map(|(at, &word)| {
            let lowest_dropped = |rest: &u64| Some(rest & (rest - 1)).filter(|&rest| rest != 0);
            std::iter::successors(Some(word).filter(|&word| word != 0), lowest_dropped)
                .map(move |rest| I::from_index(at * 64 + rest.trailing_zeros() as usize))
        })
    }
}

impl<I: Id> Default for IdSet<I> {
    fn default() -> Self {
        Self::new()
    }
}

impl<I: Id> PartialEq for IdSet<I> {
    fn eq(&self, other: &Self) -> bool {
        self.is_subset(other) && other.is_subset(self)
    }
}

impl<I: Id> Eq for IdSet<I> {}

impl<I: Id> FromIterator<I> for IdSet<I> {
    fn from_iter<S: IntoIterator<Item = I>>(ids: S) -> Self {
        let mut set = IdSet::new();
        set.extend(ids);
        set
    }
}

impl<I: Id> Extend<I> for IdSet<I> {
    fn extend<S: IntoIterator<Item = I>>(&mut self, ids: S) {
        for id in ids {
            self.insert(id);
        }
    }
}

impl<I: Id> fmt::Debug for IdSet<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}
