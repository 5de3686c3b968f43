//! Numbers for things: equal ones have one number, in all threads.
//!
//! A thing is found by its number without a lock, as the searches of all threads do at each step.
//! Numbers are given in the order of arrival, so with several threads nothing visible may depend on
//! their order.

use std::hash::Hash;
use std::sync::{Mutex, OnceLock, PoisonError};

use tidemill_stdx::hash::Map;

/// Things by number.
pub(super) struct Numbers<K, T> {
    numbers: Mutex<Map<K, u32>>,
    things: Things<T>,
}

impl<K, T> Default for Numbers<K, T> {
    fn default() -> Numbers<K, T> {
        Numbers { numbers: Mutex::default(), things: Things::default() }
    }
}

impl<K: Hash + Eq, T> Numbers<K, T> {
    /// The number of the thing with this key, which is made if it is new; and whether it is.
    pub(super) fn number(&self, key: K, make: impl FnOnce() -> T) -> (u32, bool) {
        let mut numbers = self.numbers.lock().unwrap_or_else(PoisonError::into_inner);
        let next = numbers.len() as u32;
        let number = *numbers.entry(key).or_insert(next);
        if number == next {
            self.things.put(next, make());
        }
        (number, number == next)
    }

    /// The number of the thing with this key, if there is one.
    pub(super) fn find<Q>(&self, key: &Q) -> Option<u32>
    where
        K: std::borrow::Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let numbers = self.numbers.lock().unwrap_or_else(PoisonError::into_inner);
        numbers.get(key).copied()
    }

    /// A thing.
    #[inline]
    pub(super) fn get(&self, number: u32) -> &T {
        self.things.get(number)
    }

    /// The number of things.
    pub(super) fn count(&self) -> usize {
        self.numbers.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}

/// The size of the first chunk, as a power of two.
const FIRST_BITS: u32 = 6;

/// Things that are added and never removed, in chunks of which each is as large as all before it.
struct Things<T> {
    chunks: [OnceLock<Box<[OnceLock<T>]>>; 32 - FIRST_BITS as usize],
}

impl<T> Default for Things<T> {
    fn default() -> Things<T> {
        Things { chunks: [const { OnceLock::new() }; 32 - FIRST_BITS as usize] }
    }
}

impl<T> Things<T> {
    /// Adds a thing. Callers give each number once.
    fn put(&self, number: u32, thing: T) {
        let (chunk, at) = place(number);
        let size = 1usize << (chunk as u32 + FIRST_BITS);
        let empty = || (0..size).map(|_| OnceLock::new()).collect();
        let _ = self.chunks[chunk].get_or_init(empty)[at].set(thing);
    }

    #[inline]
    fn get(&self, number: u32) -> &T {
        let (chunk, at) = place(number);
        let thing = self.chunks[chunk].get().and_then(|chunk| chunk[at].get());
        thing.expect("a number that was given")
    }
}

/// The chunk of a number and its place there.
#[inline]
fn place(number: u32) -> (usize, usize) {
    // Numbers end far before the limit: a search ends at half of it.
    let number = number + (1 << FIRST_BITS);
    let chunk = number.ilog2();
    ((chunk - FIRST_BITS) as usize, (number - (1 << chunk)) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_threads_see_the_same_numbers() {
        let numbers: Numbers<u32, u32> = Numbers::default();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for key in 0..1000 {
                        let (number, _) = numbers.number(key, || key);
                        assert_eq!(*numbers.get(number), key);
                        assert_eq!(numbers.find(&key), Some(number));
                    }
                });
            }
        });
        assert_eq!(numbers.count(), 1000);
    }
}
