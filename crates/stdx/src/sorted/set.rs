//! The set.

use super::search;
use std::borrow::Borrow;
use std::fmt;
use std::ops::BitOr;
use std::{slice, vec};

/// An ordered set as a vector of members, ascending; for costs see [the module](super).
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SortedSet<T> {
    /// No two members are equal.
    members: Vec<T>,
}

impl<T> SortedSet<T> {
    /// The empty set.
    pub const fn new() -> Self {
        SortedSet { members: Vec::new() }
    }

    /// The number of members.
    #[inline]
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// True without members.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Drops all members and keeps the memory.
    pub fn clear(&mut self) {
        self.members.clear();
    }

    /// All members, ascending.
    #[inline]
    pub fn as_slice(&self) -> &[T] {
        &self.members
    }

    /// All members, ascending.
    #[inline]
    pub fn iter(&self) -> slice::Iter<'_, T> {
        self.members.iter()
    }

    /// The least member.
    #[inline]
    pub fn first(&self) -> Option<&T> {
        self.members.first()
    }

    /// The greatest member.
    #[inline]
    pub fn last(&self) -> Option<&T> {
        self.members.last()
    }

    /// Removes the least member: all others move.
    pub fn pop_first(&mut self) -> Option<T> {
        if self.members.is_empty() { None } else { Some(self.members.remove(0)) }
    }

    /// Removes the greatest member.
    #[inline]
    pub fn pop_last(&mut self) -> Option<T> {
        self.members.pop()
    }

    /// Keeps the members for which `keep` is true.
    pub fn retain(&mut self, keep: impl FnMut(&T) -> bool) {
        self.members.retain(keep);
    }
}

impl<T: Ord> SortedSet<T> {
    fn place<Q: Ord + ?Sized>(&self, member: &Q) -> Result<usize, usize>
    where
        T: Borrow<Q>,
    {
        search(self.members.len(), |at| self.members[at].borrow().cmp(member))
    }

    /// True if `member` is one.
    pub fn contains<Q: Ord + ?Sized>(&self, member: &Q) -> bool
    where
        T: Borrow<Q>,
    {
        self.place(member).is_ok()
    }

    /// Adds a member; true if it was none before.
    pub fn insert(&mut self, member: T) -> bool {
        let place = self.place(&member);
        if let Err(at) = place {
            self.members.insert(at, member);
        }
        place.is_err()
    }

    /// Removes a member; true if it was one.
    pub fn remove<Q: Ord + ?Sized>(&mut self, member: &Q) -> bool
    where
        T: Borrow<Q>,
    {
        let place = self.place(member);
        if let Ok(at) = place {
            self.members.remove(at);
        }
        place.is_ok()
    }

    /// True if all members are in `other`.
    pub fn is_subset(&self, other: &SortedSet<T>) -> bool {
        self.members.iter().all(|member| other.contains(member))
    }
}

impl<T> Default for SortedSet<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: fmt::Debug> fmt::Debug for SortedSet<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut set = f.debug_set();
        for member in &self.members {
            set.entry(member);
        }
        set.finish()
    }
}

impl<T: Ord + Clone> BitOr for &SortedSet<T> {
    type Output = SortedSet<T>;

    /// The union.
    fn bitor(self, other: &SortedSet<T>) -> SortedSet<T> {
        let mut union = self.clone();
        union.extend(other.iter().cloned());
        union
    }
}

impl<T: Ord> Extend<T> for SortedSet<T> {
    fn extend<S: IntoIterator<Item = T>>(&mut self, members: S) {
        for member in members {
            self.insert(member);
        }
    }
}

impl<T: Ord> FromIterator<T> for SortedSet<T> {
    fn from_iter<S: IntoIterator<Item = T>>(members: S) -> Self {
        let mut set = SortedSet::new();
        set.extend(members);
        set
    }
}

impl<T: Ord, const N: usize> From<[T; N]> for SortedSet<T> {
    fn from(members: [T; N]) -> Self {
        members.into_iter().collect()
    }
}

impl<T> IntoIterator for SortedSet<T> {
    type Item = T;
    type IntoIter = vec::IntoIter<T>;

    #[inline]
    fn into_iter(self) -> Self::IntoIter {
        self.members.into_iter()
    }
}

impl<'a, T> IntoIterator for &'a SortedSet<T> {
    type Item = &'a T;
    type IntoIter = slice::Iter<'a, T>;

    #[inline]
    fn into_iter(self) -> slice::Iter<'a, T> {
        self.iter()
    }
}
