//! Queues with a limit, which say what they could not take.
//!
//! * [`Ring`]: within one loop.
//! * [`spsc`]: from one loop to another.
//!
//! Both hand back a value that does not fit and count it, so that a drop is always the decision
//! of whoever pushes and always visible.
//!
//! ```
//! use tidemill_stdx::ring::Ring;
//!
//! let mut queue = Ring::new(2);
//! queue.push('a')?;
//! queue.push('b')?;
//! assert_eq!(queue.push('c'), Err('c'));
//! assert_eq!((queue.pop(), queue.refused()), (Some('a'), 1));
//! # Ok::<(), char>(())
//! ```

pub mod spsc;

use std::collections::VecDeque;

/// A bounded queue with one owner.
#[derive(Clone, Debug)]
pub struct Ring<T> {
    values: VecDeque<T>,
    capacity: usize,
    refused: u64,
}

impl<T> Ring<T> {
    /// An empty queue for `capacity` values, rounded up to a power of two; takes memory as it
    /// first fills.
    pub fn new(capacity: usize) -> Ring<T> {
        Ring { values: VecDeque::new(), capacity: capacity.next_power_of_two(), refused: 0 }
    }

    /// Adds a value at the end.
    ///
    /// # Errors
    /// The value itself if the queue is full; that is counted in [`refused`](Ring::refused).
    #[inline]
    pub fn push(&mut self, value: T) -> Result<(), T> {
        if self.is_full() {
            self.refused += 1;
            return Err(value);
        }
        self.values.push_back(value);
        Ok(())
    }

    /// Adds a value at the end and takes the first one out if that is needed to have room; what
    /// was taken out is returned and counted in [`refused`](Ring::refused).
    #[inline]
    pub fn push_evicting(&mut self, value: T) -> Option<T> {
        let evicted = if self.is_full() { self.values.pop_front() } else { None };
        self.refused += u64::from(evicted.is_some());
        self.values.push_back(value);
        evicted
    }

    /// Takes the first value out.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        self.values.pop_front()
    }

    /// The first value.
    #[inline]
    pub fn front(&self) -> Option<&T> {
        self.values.front()
    }

    /// All values, first to last.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> + ExactSizeIterator {
        self.values.iter()
    }

    /// How many values.
    #[inline]
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// True without values.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// True if the next push is refused.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.values.len() == self.capacity
    }

    /// How many values it can hold.
    #[inline]
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// How many values it ever refused or evicted.
    #[inline]
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// Drops all values and keeps the memory.
    pub fn clear(&mut self) {
        self.values.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn a_ring_is_a_queue_with_a_limit(
            capacity in 0usize..9,
            steps in proptest::collection::vec(0u8..3, 0..100),
        ) {
            let mut ring = Ring::new(capacity);
            let (mut model, mut refused) = (VecDeque::new(), 0);
            assert!(ring.capacity() >= capacity && ring.capacity().is_power_of_two());
            for (value, step) in steps.into_iter().enumerate() {
                let full = model.len() == ring.capacity();
                match step {
                    0 => assert_eq!(ring.pop(), model.pop_front()),
                    1 if full => {
                        assert_eq!(ring.push(value), Err(value));
                        refused += 1;
                    }
                    1 => {
                        assert_eq!(ring.push(value), Ok(()));
                        model.push_back(value);
                    }
                    _ => {
                        let evicted = if full { model.pop_front() } else { None };
                        model.push_back(value);
                        assert_eq!(ring.push_evicting(value), evicted);
                        refused += u64::from(full);
                    }
                }
                assert!(ring.iter().eq(&model));
                assert_eq!((ring.len(), ring.front(), ring.refused()),
                    (model.len(), model.front(), refused));
            }
        }
    }
}
