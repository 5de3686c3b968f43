//! The map.

use super::order::{Found, Order, Position, Walk};
use std::borrow::Borrow;
use std::cmp::Ordering;
use std::fmt;

/// An ordered map; for costs see [the module](super).
#[derive(Clone)]
pub struct OrderedMap<K, V> {
    /// By number; those in the order are filled.
    slots: Vec<Option<(K, V)>>,
    order: Order,
}

impl<K, V> OrderedMap<K, V> {
    /// Without entries.
    pub const fn new() -> Self {
        OrderedMap { slots: Vec::new(), order: Order::new() }
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// True without entries.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Drops all entries.
    pub fn clear(&mut self) {
        self.slots.clear();
        self.order.clear();
    }

    /// All entries, ascending by key.
    pub fn iter(&self) -> Iter<'_, K, V> {
        Iter { map: self, walk: self.order.walk() }
    }

    /// All keys, ascending.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &K> + Clone {
        self.order.walk().map(|number| self.at(number).0)
    }

    /// All values, ascending by key.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &V> + Clone {
        self.order.walk().map(|number| self.at(number).1)
    }

    /// All values to change, in no particular order.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        self.slots.iter_mut().flatten().map(|(_, value)| value)
    }

    /// All values alone, ascending by key.
    pub fn into_values(self) -> impl Iterator<Item = V> {
        self.into_iter().map(|(_, value)| value)
    }

    /// The least key and its value.
    pub fn first_key_value(&self) -> Option<(&K, &V)> {
        self.order.first().map(|(_, number)| self.at(number))
    }

    /// The greatest key and its value.
    pub fn last_key_value(&self) -> Option<(&K, &V)> {
        self.order.last().map(|(_, number)| self.at(number))
    }

    /// Removes the entry with the least key.
    pub fn pop_first(&mut self) -> Option<(K, V)> {
        let (place, _) = self.order.first()?;
        self.take(place)
    }

    /// Removes the entry with the greatest key.
    pub fn pop_last(&mut self) -> Option<(K, V)> {
        let (place, _) = self.order.last()?;
        self.take(place)
    }

    /// Keeps the entries for which `keep` is true; it is called in ascending order of keys.
    pub fn retain(&mut self, mut keep: impl FnMut(&K, &mut V) -> bool) {
        let slots = &mut self.slots;
        self.order.retain(&mut |number| {
            let slot = &mut slots[number as usize];
            let kept = slot.as_mut().is_some_and(|(key, value)| keep(key, value));
            if !kept {
                *slot = None;
            }
            kept
        });
        self.settle();
    }

    fn at(&self, number: u32) -> (&K, &V) {
        let (key, value) = self.slots[number as usize].as_ref().expect(FILLED);
        (key, value)
    }

    fn value_at(&mut self, number: u32) -> &mut V {
        &mut self.slots[number as usize].as_mut().expect(FILLED).1
    }

    fn put(&mut self, place: Position, key: K, value: V) -> u32 {
        let number = self.order.insert(place);
        match self.slots.get_mut(number as usize) {
            Some(slot) => *slot = Some((key, value)),
            None => self.slots.push(Some((key, value))),
        }
        number
    }

    fn take(&mut self, place: Position) -> Option<(K, V)> {
        let number = self.order.remove(place);
        let entry = self.slots[number as usize].take();
        self.settle();
        entry
    }

    /// Numbers restart when the last entry was removed.
    fn settle(&mut self) {
        if self.is_empty() {
            self.slots.clear();
        }
    }
}

/// Why a slot cannot be empty.
const FILLED: &str = "the slot of a number in the order";

impl<K: Ord, V> OrderedMap<K, V> {
    fn find<Q: Ord + ?Sized>(&self, key: &Q) -> Found
    where
        K: Borrow<Q>,
    {
        self.order.search(&mut |number| self.at(number).0.borrow().cmp(key))
    }

    fn number<Q: Ord + ?Sized>(&self, key: &Q) -> Option<u32>
    where
        K: Borrow<Q>,
    {
        match self.find(key) {
            Found::At(_, number) => Some(number),
            Found::Before(_) => None,
        }
    }

    /// The value of `key`.
    pub fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.number(key).map(|number| self.at(number).1)
    }

    /// The key that is stored for `key`, and its value.
    pub fn get_key_value<Q: Ord + ?Sized>(&self, key: &Q) -> Option<(&K, &V)>
    where
        K: Borrow<Q>,
    {
        self.number(key).map(|number| self.at(number))
    }

    /// The value of `key` to change.
    pub fn get_mut<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        self.number(key).map(|number| self.value_at(number))
    }

    /// True if `key` has an entry.
    pub fn contains_key<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.number(key).is_some()
    }

    /// Enters or replaces; returns the old value. An existing key stays.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        match self.find(&key) {
            Found::At(_, number) => Some(std::mem::replace(self.value_at(number), value)),
            Found::Before(place) => {
                self.put(place, key, value);
                None
            }
        }
    }

    /// Removes an entry.
    pub fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        match self.find(key) {
            Found::At(place, _) => self.take(place).map(|(_, value)| value),
            Found::Before(_) => None,
        }
    }

    /// The place of `key`, with an entry or without.
    pub fn entry(&mut self, key: K) -> Entry<'_, K, V> {
        Entry { map: self, key }
    }

    /// The entries whose keys are not less than `key`, ascending.
    pub fn iter_from<Q: Ord + ?Sized>(&self, key: &Q) -> Iter<'_, K, V>
    where
        K: Borrow<Q>,
    {
        let mut compare = |number| self.at(number).0.borrow().cmp(key).then(Ordering::Greater);
        let walk = match self.order.search(&mut compare) {
            Found::At(place, _) | Found::Before(place) => self.order.walk_from(place),
        };
        Iter { map: self, walk }
    }
}

/// The place of one key in an [`OrderedMap`].
pub struct Entry<'a, K, V> {
    map: &'a mut OrderedMap<K, V>,
    key: K,
}

impl<'a, K: Ord, V> Entry<'a, K, V> {
    /// The value, which `value` makes if there is none.
    pub fn or_insert_with(self, value: impl FnOnce() -> V) -> &'a mut V {
        let number = match self.map.find(&self.key) {
            Found::At(_, number) => number,
            Found::Before(place) => self.map.put(place, self.key, value()),
        };
        self.map.value_at(number)
    }

    /// The value, which is `value` if there is none.
    pub fn or_insert(self, value: V) -> &'a mut V {
        self.or_insert_with(|| value)
    }

    /// The value, which is the default if there is none.
    pub fn or_default(self) -> &'a mut V
    where
        V: Default,
    {
        self.or_insert_with(V::default)
    }
}

/// Entries of an [`OrderedMap`], ascending by key.
pub struct Iter<'a, K, V> {
    map: &'a OrderedMap<K, V>,
    walk: Walk<'a>,
}

impl<'a, K, V> Iterator for Iter<'a, K, V> {
    type Item = (&'a K, &'a V);

    fn next(&mut self) -> Option<Self::Item> {
        self.walk.next().map(|number| self.map.at(number))
    }
}

impl<K, V> DoubleEndedIterator for Iter<'_, K, V> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.walk.next_back().map(|number| self.map.at(number))
    }
}

impl<K, V> Clone for Iter<'_, K, V> {
    fn clone(&self) -> Self {
        Iter { map: self.map, walk: self.walk.clone() }
    }
}

impl<K, V> Default for OrderedMap<K, V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: PartialEq, V: PartialEq> PartialEq for OrderedMap<K, V> {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}

impl<K: Eq, V: Eq> Eq for OrderedMap<K, V> {}

impl<K: fmt::Debug, V: fmt::Debug> fmt::Debug for OrderedMap<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut map = f.debug_map();
        for (key, value) in self {
            map.entry(key, value);
        }
        map.finish()
    }
}

impl<K: Ord, V> Extend<(K, V)> for OrderedMap<K, V> {
    fn extend<S: IntoIterator<Item = (K, V)>>(&mut self, entries: S) {
        for (key, value) in entries {
            self.insert(key, value);
        }
    }
}

impl<K: Ord, V> FromIterator<(K, V)> for OrderedMap<K, V> {
    fn from_iter<S: IntoIterator<Item = (K, V)>>(entries: S) -> Self {
        let mut map = OrderedMap::new();
        map.extend(entries);
        map
    }
}

impl<K, V> IntoIterator for OrderedMap<K, V> {
    type Item = (K, V);
    type IntoIter = IntoIter<K, V>;

    fn into_iter(self) -> IntoIter<K, V> {
        IntoIter(self)
    }
}

impl<'a, K, V> IntoIterator for &'a OrderedMap<K, V> {
    type Item = (&'a K, &'a V);
    type IntoIter = Iter<'a, K, V>;

    fn into_iter(self) -> Iter<'a, K, V> {
        self.iter()
    }
}

/// Entries taken out of an [`OrderedMap`], ascending by key.
pub struct IntoIter<K, V>(OrderedMap<K, V>);

impl<K, V> Iterator for IntoIter<K, V> {
    type Item = (K, V);

    fn next(&mut self) -> Option<(K, V)> {
        self.0.pop_first()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.0.len(), Some(self.0.len()))
    }
}
