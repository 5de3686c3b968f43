//! Facts about some of the ids of an [`IdVec`](super::IdVec).

use super::Id;
use std::fmt;
use std::marker::PhantomData;

/// A dense map from ids: a place for each id up to the greatest one ever inserted.
#[derive(Clone)]
pub struct IdMap<I, T> {
    places: Vec<Option<T>>,
    len: usize,
    ids: PhantomData<fn(I) -> I>,
}

impl<I: Id, T> IdMap<I, T> {
    /// Without entries.
    pub const fn new() -> Self {
        IdMap { places: Vec::new(), len: 0, ids: PhantomData }
    }

    /// Enters or replaces; returns the old value.
    pub fn insert(&mut self, id: I, value: T) -> Option<T> {
        let old = self.place(id).replace(value);
        self.len += usize::from(old.is_none());
        old
    }

    /// Removes an entry.
    pub fn remove(&mut self, id: I) -> Option<T> {
        let old = self.places.get_mut(id.index())?.take();
        self.len -= usize::from(old.is_some());
        old
    }

    /// The entry of `id`.
    #[inline]
    pub fn get(&self, id: I) -> Option<&T> {
        self.places.get(id.index())?.as_ref()
    }

    /// The entry of `id` to change.
    #[inline]
    pub fn get_mut(&mut self, id: I) -> Option<&mut T> {
        self.places.get_mut(id.index())?.as_mut()
    }

    /// The entry of `id`, made by `value` if there is none.
    pub fn get_or_insert_with(&mut self, id: I, value: impl FnOnce() -> T) -> &mut T {
        if !self.contains(id) {
            self.insert(id, value());
        }
        self.places[id.index()].as_mut().expect("just inserted")
    }

    /// True if `id` has an entry.
    #[inline]
    pub fn contains(&self, id: I) -> bool {
        self.get(id).is_some()
    }

    /// The number of entries.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// True without entries.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// All entries, ascending by id.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (I, &T)> {
        let places = self.places.iter().enumerate();
        places.filter_map(|(index, place)| Some((I::from_index(index), place.as_ref()?)))
    }

    /// All entries to change, ascending by id.
    pub fn iter_mut(&mut self) -> impl DoubleEndedIterator<Item = (I, &mut T)> {
        let places = self.places.iter_mut().enumerate();
        places.filter_map(|(index, place)| Some((I::from_index(index), place.as_mut()?)))
    }

    /// Drops all entries and keeps the memory.
    pub fn clear(&mut self) {
        self.places.clear();
        self.len = 0;
    }

    fn place(&mut self, id: I) -> &mut Option<T> {
        if id.index() >= self.places.len() {
            self.places.resize_with(id.index() + 1, || None);
        }
        &mut self.places[id.index()]
    }
}

impl<I: Id, T> Default for IdMap<I, T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<I: Id, T: PartialEq> PartialEq for IdMap<I, T> {
    fn eq(&self, other: &Self) -> bool {
        self.len == other.len && self.iter().eq(other.iter())
    }
}

impl<I: Id, T: Eq> Eq for IdMap<I, T> {}

impl<I: Id, T> FromIterator<(I, T)> for IdMap<I, T> {
    fn from_iter<S: IntoIterator<Item = (I, T)>>(entries: S) -> Self {
        let mut map = IdMap::new();
        for (id, value) in entries {
            map.insert(id, value);
        }
        map
    }
}

impl<I: Id, T: fmt::Debug> fmt::Debug for IdMap<I, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}
