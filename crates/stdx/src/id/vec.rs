//! One value for each id, none missing.

use super::Id;
use std::fmt;
use std::iter::Enumerate;
use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

/// A vector whose places are ids of type `I`.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct IdVec<I, T> {
    values: Vec<T>,
    ids: PhantomData<fn(I) -> I>,
}

impl<I: Id, T> IdVec<I, T> {
    /// Without values.
    pub const fn new() -> Self {
        IdVec { values: Vec::new(), ids: PhantomData }
    }

    /// Without values, with room for `capacity` of them.
    pub fn with_capacity(capacity: usize) -> Self {
        IdVec { values: Vec::with_capacity(capacity), ids: PhantomData }
    }

    /// `value` for each of the first `len` ids.
    pub fn filled(value: T, len: usize) -> Self
    where
        T: Clone,
    {
        IdVec { values: vec![value; len], ids: PhantomData }
    }

    /// Adds a value and makes its id.
    ///
    /// # Panics
    /// At the 2^32nd value.
    #[inline]
    pub fn push(&mut self, value: T) -> I {
        let id = self.next_id();
        self.values.push(value);
        id
    }

    /// Adds a value that knows its own id.
    pub fn push_with(&mut self, value: impl FnOnce(I) -> T) -> I {
        let id = self.next_id();
        self.values.push(value(id));
        id
    }

    /// The id that the next [`push`](Self::push) returns.
    #[inline]
    pub fn next_id(&self) -> I {
        I::from_index(self.values.len())
    }

    /// The value of `id`, if there is one.
    #[inline]
    pub fn get(&self, id: I) -> Option<&T> {
        self.values.get(id.index())
    }

    /// The value of `id` to change, if there is one.
    #[inline]
    pub fn get_mut(&mut self, id: I) -> Option<&mut T> {
        self.values.get_mut(id.index())
    }

    /// Two values to change at once; `None` if they are one or one is missing.
    pub fn get_two_mut(&mut self, a: I, b: I) -> Option<(&mut T, &mut T)> {
        let [a, b] = self.values.get_disjoint_mut([a.index(), b.index()]).ok()?;
        Some((a, b))
    }

    /// The number of values.
    #[inline]
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// True without values.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// All ids, ascending.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = I> + ExactSizeIterator + use<I, T> {
        (0..self.values.len()).map(I::from_index)
    }

    /// All values, ascending by id.
    pub fn iter(&self) -> std::slice::Iter<'_, T> {
        self.values.iter()
    }

    /// All values to change, ascending by id.
    pub fn iter_mut(&mut self) -> std::slice::IterMut<'_, T> {
        self.values.iter_mut()
    }

    /// All ids with their values, ascending.
    pub fn iter_enumerated(
        &self,
    ) -> impl DoubleEndedIterator<Item = (I, &T)> + ExactSizeIterator + '_ {
        with_ids(self.values.iter().enumerate())
    }

    /// All ids with their values to change, ascending.
    pub fn iter_mut_enumerated(
        &mut self,
    ) -> impl DoubleEndedIterator<Item = (I, &mut T)> + ExactSizeIterator + '_ {
        with_ids(self.values.iter_mut().enumerate())
    }

    /// The values with their ids, ascending.
    pub fn into_iter_enumerated(
        self,
    ) -> impl DoubleEndedIterator<Item = (I, T)> + ExactSizeIterator {
        with_ids(self.values.into_iter().enumerate())
    }

    /// The values as a slice; the place of each is its id.
    #[inline]
    pub fn as_slice(&self) -> &[T] {
        &self.values
    }

    /// The values to change as a slice.
    #[inline]
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        &mut self.values
    }

    /// Drops all values and keeps the memory.
    pub fn clear(&mut self) {
        self.values.clear();
    }

    /// Drops the values from the place `len` on.
    pub fn truncate(&mut self, len: usize) {
        self.values.truncate(len);
    }
}

fn with_ids<I: Id, T, S>(
    values: Enumerate<S>,
) -> impl DoubleEndedIterator<Item = (I, T)> + ExactSizeIterator
where
    S: DoubleEndedIterator<Item = T> + ExactSizeIterator,
{
    values.map(|(index, value)| (I::from_index(index), value))
}

impl<I: Id, T> Default for IdVec<I, T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<I: Id, T> Index<I> for IdVec<I, T> {
    type Output = T;

    #[inline]
    fn index(&self, id: I) -> &T {
        &self.values[id.index()]
    }
}

impl<I: Id, T> IndexMut<I> for IdVec<I, T> {
    #[inline]
    fn index_mut(&mut self, id: I) -> &mut T {
        &mut self.values[id.index()]
    }
}

impl<I: Id, T> FromIterator<T> for IdVec<I, T> {
    fn from_iter<S: IntoIterator<Item = T>>(values: S) -> Self {
        IdVec { values: values.into_iter().collect(), ids: PhantomData }
    }
}

impl<I: Id, T> From<Vec<T>> for IdVec<I, T> {
    fn from(values: Vec<T>) -> Self {
        IdVec { values, ids: PhantomData }
    }
}

impl<I: Id, T> Extend<T> for IdVec<I, T> {
    fn extend<S: IntoIterator<Item = T>>(&mut self, values: S) {
        self.values.extend(values);
    }
}

impl<'a, I: Id, T> IntoIterator for &'a IdVec<I, T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.values.iter()
    }
}

impl<I: Id, T> IntoIterator for IdVec<I, T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.values.into_iter()
    }
}

impl<I: Id, T: fmt::Debug> fmt::Debug for IdVec<I, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter_enumerated()).finish()
    }
}
