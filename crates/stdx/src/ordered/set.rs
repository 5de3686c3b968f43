//! The set.

use super::map::{IntoIter, Iter, OrderedMap};
use std::borrow::Borrow;
use std::fmt;
use std::iter::Map;

/// An ordered set; for costs see [the module](super).
#[derive(Clone, PartialEq, Eq)]
pub struct OrderedSet<T>(OrderedMap<T, ()>);

impl<T> OrderedSet<T> {
    /// The empty set.
    pub const fn new() -> Self {
        OrderedSet(OrderedMap::new())
    }

    /// The number of members.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True without members.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Drops all members.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// All members, ascending.
    pub fn iter(&self) -> Members<'_, T> {
        self.0.iter().map(|(member, ())| member)
    }

    /// The least member.
    pub fn first(&self) -> Option<&T> {
        self.0.first_key_value().map(|(member, ())| member)
    }

    /// The greatest member.
    pub fn last(&self) -> Option<&T> {
        self.0.last_key_value().map(|(member, ())| member)
    }

    /// Removes the least member.
    pub fn pop_first(&mut self) -> Option<T> {
        self.0.pop_first().map(|(member, ())| member)
    }

    /// Removes the greatest member.
    pub fn pop_last(&mut self) -> Option<T> {
        self.0.pop_last().map(|(member, ())| member)
    }

    /// Keeps the members for which `keep` is true; it is called in ascending order.
    pub fn retain(&mut self, mut keep: impl FnMut(&T) -> bool) {
        self.0.retain(|member, ()| keep(member));
    }
}

impl<T: Ord> OrderedSet<T> {
    /// True if `member` is one.
    pub fn contains<Q: Ord + ?Sized>(&self, member: &Q) -> bool
    where
        T: Borrow<Q>,
    {
        self.0.contains_key(member)
    }

    /// Adds a member; true if it was none before.
    pub fn insert(&mut self, member: T) -> bool {
        self.0.insert(member, ()).is_none()
    }

    /// Removes a member; true if it was one.
    pub fn remove<Q: Ord + ?Sized>(&mut self, member: &Q) -> bool
    where
        T: Borrow<Q>,
    {
        self.0.remove(member).is_some()
    }

    /// The members that are not less than `member`, ascending.
    pub fn iter_from<Q: Ord + ?Sized>(&self, member: &Q) -> Members<'_, T>
    where
        T: Borrow<Q>,
    {
        self.0.iter_from(member).map(|(member, ())| member)
    }
}

/// Members of an [`OrderedSet`], ascending.
pub type Members<'a, T> = Map<Iter<'a, T, ()>, fn((&'a T, &'a ())) -> &'a T>;

impl<T> Default for OrderedSet<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: fmt::Debug> fmt::Debug for OrderedSet<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut set = f.debug_set();
        for member in self {
            set.entry(member);
        }
        set.finish()
    }
}

impl<T: Ord> Extend<T> for OrderedSet<T> {
    fn extend<S: IntoIterator<Item = T>>(&mut self, members: S) {
        for member in members {
            self.insert(member);
        }
    }
}

impl<T: Ord> FromIterator<T> for OrderedSet<T> {
    fn from_iter<S: IntoIterator<Item = T>>(members: S) -> Self {
        let mut set = OrderedSet::new();
        set.extend(members);
        set
    }
}

impl<T> IntoIterator for OrderedSet<T> {
    type Item = T;
    type IntoIter = Map<IntoIter<T, ()>, fn((T, ())) -> T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter().map(|(member, ())| member)
    }
}

impl<'a, T> IntoIterator for &'a OrderedSet<T> {
    type Item = &'a T;
    type IntoIter = Members<'a, T>;

    fn into_iter(self) -> Members<'a, T> {
        self.iter()
    }
}
