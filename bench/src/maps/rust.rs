//! The cases with the maps of Rust's library: `HashMap`, whose keys are sorted where they are
//! visited in order, and `BTreeMap`.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;

/// A map of the library.
pub trait Map<K>: Default {
    fn get(&self, key: &K) -> Option<u64>;
    fn put(&mut self, key: K, value: u64);
    fn count(&mut self, key: &K);
    fn remove(&mut self, key: &K);
    /// Visits all in ascending order of keys; looks each up, like the other contenders.
    fn visit(&self, visit: impl FnMut(u64));
}

impl<K: Hash + Ord + Copy> Map<K> for HashMap<K, u64> {
    fn get(&self, key: &K) -> Option<u64> {
        HashMap::get(self, key).copied()
    }

    fn put(&mut self, key: K, value: u64) {
        self.insert(key, value);
    }

    fn count(&mut self, key: &K) {
        *self.entry(*key).or_insert(0) += 1;
    }

    fn remove(&mut self, key: &K) {
        HashMap::remove(self, key);
    }

    fn visit(&self, mut visit: impl FnMut(u64)) {
        let mut keys: Vec<K> = self.keys().copied().collect();
        keys.sort_unstable();
        keys.iter().filter_map(|key| HashMap::get(self, key)).for_each(|value| visit(*value));
    }
}

impl<K: Ord + Copy> Map<K> for BTreeMap<K, u64> {
    fn get(&self, key: &K) -> Option<u64> {
        BTreeMap::get(self, key).copied()
    }

    fn put(&mut self, key: K, value: u64) {
        self.insert(key, value);
    }

    fn count(&mut self, key: &K) {
        *self.entry(*key).or_insert(0) += 1;
    }

    fn remove(&mut self, key: &K) {
        BTreeMap::remove(self, key);
    }

    fn visit(&self, mut visit: impl FnMut(u64)) {
        self.values().for_each(|value| visit(*value));
    }
}

/// A Lehmer generator, whose numbers do not repeat.
fn next(x: &mut u64) -> u64 {
    *x = *x * 48271 % 0x7FFF_FFFF;
    *x
}

/// Scatters adjacent numbers.
fn key(x: u64) -> i64 {
    x as i64 * 2_654_435_761 - 40_000_000_000
}

pub fn sparse<M: Map<i64>>(seed: u64, count: u64, rounds: u64) -> u64 {
    let mut map = M::default();
    let mut x = seed;
    (1..=count).for_each(|i| map.put(key(next(&mut x)), i));
    let mut sum = 0;
    for _ in 0..rounds {
        let mut x = seed;
        for _ in 0..count {
            let key = key(next(&mut x));
            sum += map.get(&key).unwrap_or(0) + map.get(&(key + 1)).unwrap_or(0);
        }
    }
    let mut x = seed;
    for i in 1..=count {
        let key = key(next(&mut x));
        if i % 2 == 0 {
            map.remove(&key);
        }
    }
    let mut x = seed;
    sum + (0..count).filter(|_| map.get(&key(next(&mut x))).is_some()).count() as u64
}

/// Counts words, which the map borrows.
pub fn words<'w, M: Map<&'w str>>(words: &'w [String], x: u64, rounds: u64) -> u64 {
    let (mut map, mut x, count) = (M::default(), x, words.len() as u64);
    for _ in 0..count * rounds {
        let drawn = next(&mut x);
        let most = drawn % count;
        let place = drawn_below(most, drawn);
        map.count(&words[place as usize].as_str());
    }
    let times = words.iter().map(|word| map.get(&word.as_str()).unwrap_or(0));
    times.enumerate().map(|(i, times)| (i as u64 % 1000 + 1) * times).sum()
}

/// Small numbers are more frequent.
fn drawn_below(most: u64, drawn: u64) -> u64 {
    drawn / 65536 % (most + 1)
}

/// `count` words, and the state of the generator after them.
pub fn drawn_words(seed: u64, count: u64) -> (Vec<String>, u64) {
    let mut x = seed;
    ((0..count).map(|_| key(next(&mut x)).to_string()).collect(), x)
}

pub fn ordered<M: Map<i64>>(seed: u64, count: u64, rounds: u64) -> u64 {
    let mut map = M::default();
    let (mut x, mut first, mut sum) = (seed, seed, 0);
    (1..=count).for_each(|i| map.put(key(next(&mut x)), i));
    for round in 1..=rounds {
        map.remove(&key(next(&mut first)));
        map.put(key(next(&mut x)), count + round);
        let mut place = 0;
        map.visit(|value| {
            place += 1;
            sum = (sum + place * value) % 1_000_000_007;
        });
    }
    sum
}
