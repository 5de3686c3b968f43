//! A bounded queue between two threads: one pushes, the other pops.
//!
//! ```text
//!   Sender                     slots                        Receiver
//!   tail (owned, published)    [ . . v v v v . . ]          head (owned, published)
//!   a copy of head                   ^head   ^tail          a copy of tail
//! ```
//!
//! `head` and `tail` count all values ever popped and pushed; a slot is a count modulo the
//! capacity, a power of two. Each side owns its count and looks at the other's only when its own
//! copy of it says full or empty, so a stream costs one shared cache line per copy refreshed, not
//! per value.
//!
//! Nobody sleeps here: waking the other side is the business of the loops.
//!
//! ```
//! use tidemill_stdx::ring::spsc;
//!
//! let (mut sender, mut receiver) = spsc::channel(4);
//! let worker = std::thread::spawn(move || sender.push("done"));
//! worker.join().unwrap().unwrap();
//! assert_eq!(receiver.pop(), Some("done"));
//! assert!(receiver.is_closed());
//! ```

use std::cell::UnsafeCell;
use std::fmt;
use std::mem::MaybeUninit;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering, fence};

/// Keeps the counts of the two sides on cache lines of their own (pairs of lines are fetched
/// together on x86-64).
#[repr(align(128))]
struct OwnLine<T>(T);

struct Shared<T> {
    /// Values pushed; written by the sender.
    tail: OwnLine<AtomicUsize>,
    /// Values popped; written by the receiver.
    head: OwnLine<AtomicUsize>,
    slots: Box<[UnsafeCell<MaybeUninit<T>>]>,
}

// SAFETY: a slot is touched by the sender alone while it is outside `head..tail` and by the
// receiver alone while inside; the counts hand it over with release and acquire. Values move from
// thread to thread, so they must be `Send`.
unsafe impl<T: Send> Sync for Shared<T> {}
// SAFETY: as above; owning the queue means owning its values.
unsafe impl<T: Send> Send for Shared<T> {}

/// The side that pushes.
pub struct Sender<T> {
    shared: Arc<Shared<T>>,
    tail: usize,
    head_seen: usize,
    refused: u64,
}

/// The side that pops.
pub struct Receiver<T> {
    shared: Arc<Shared<T>>,
    head: usize,
    tail_seen: usize,
}

/// A queue for `capacity` values, rounded up to a power of two.
pub fn channel<T: Send>(capacity: usize) -> (Sender<T>, Receiver<T>) {
    let empty = || UnsafeCell::new(MaybeUninit::uninit());
    let shared = Arc::new(Shared {
        tail: OwnLine(AtomicUsize::new(0)),
        head: OwnLine(AtomicUsize::new(0)),
        slots: std::iter::repeat_with(empty).take(capacity.next_power_of_two()).collect(),
    });
    let sender = Sender { shared: shared.clone(), tail: 0, head_seen: 0, refused: 0 };
    (sender, Receiver { shared, head: 0, tail_seen: 0 })
}

impl<T> Shared<T> {
    /// True if one side is gone.
    fn is_lonely(self: &Arc<Self>) -> bool {
        let lonely = Arc::strong_count(self) < 2;
        // Acquire: pairs with the release decrement when `Arc` drops the other side, so that its
        // last push or pop is seen from now on.
        fence(Ordering::Acquire);
        lonely
    }

    #[inline]
    fn slot(&self, count: usize) -> *mut MaybeUninit<T> {
        self.slots[count & (self.slots.len() - 1)].get()
    }
}

impl<T> Sender<T> {
    /// Adds a value at the end.
    ///
    /// # Errors
    /// The value itself if the queue is full; that is counted in [`refused`](Sender::refused).
    #[inline]
    pub fn push(&mut self, value: T) -> Result<(), T> {
        if self.free() == 0 {
            self.refused += 1;
            return Err(value);
        }
        // SAFETY: the slot is outside `head..tail`: the receiver gave it back (acquired in
        // `free`) and will not touch it before `tail` is published.
        unsafe { (*self.shared.slot(self.tail)).write(value) };
        self.tail = self.tail.wrapping_add(1);
        // Release: the value is written before the receiver's acquire load of `tail` sees it.
        self.shared.tail.0.store(self.tail, Ordering::Release);
        Ok(())
    }

    /// How many values can be pushed now at least.
    #[inline]
    pub fn free(&mut self) -> usize {
        let capacity = self.shared.slots.len();
        if self.tail.wrapping_sub(self.head_seen) == capacity {
            // Acquire: pairs with the release store of `head` in `pop`; the receiver is done with
            // the slots before it.
            self.head_seen = self.shared.head.0.load(Ordering::Acquire);
        }
        capacity - self.tail.wrapping_sub(self.head_seen)
    }

    /// How many values it can hold.
    pub fn capacity(&self) -> usize {
        self.shared.slots.len()
    }

    /// How many values were ever refused.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// True if the receiver is gone: what is pushed is never read.
    pub fn is_closed(&self) -> bool {
        self.shared.is_lonely()
    }
}

impl<T> Receiver<T> {
    /// Takes the first value out.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        if self.is_empty() {
            return None;
        }
        // SAFETY: the slot is inside `head..tail`: its value was written (acquired in
        // `is_empty`), and the sender will not touch it before `head` is published.
        let value = unsafe { (*self.shared.slot(self.head)).assume_init_read() };
        self.head = self.head.wrapping_add(1);
        // Release: the value is read before the sender's acquire load of `head` frees the slot.
        self.shared.head.0.store(self.head, Ordering::Release);
        Some(value)
    }

    /// True if there is nothing to pop now.
    #[inline]
    pub fn is_empty(&mut self) -> bool {
        if self.head == self.tail_seen {
            // Acquire: pairs with the release store of `tail` in `push`; the values before it are
            // written.
            self.tail_seen = self.shared.tail.0.load(Ordering::Acquire);
        }
        self.head == self.tail_seen
    }

    /// How many values it can hold.
    pub fn capacity(&self) -> usize {
        self.shared.slots.len()
    }

    /// True if the sender is gone: once empty, the queue stays empty.
    pub fn is_closed(&self) -> bool {
        self.shared.is_lonely()
    }
}

impl<T> Drop for Shared<T> {
    fn drop(&mut self) {
        let (mut at, tail) = (*self.head.0.get_mut(), *self.tail.0.get_mut());
        while at != tail {
            // SAFETY: `head..tail` holds values, and both sides are gone.
            unsafe { (*self.slot(at)).assume_init_drop() };
            at = at.wrapping_add(1);
        }
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").field("pushed", &self.tail).finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver").field("popped", &self.head).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn values_cross_in_order_and_none_is_lost() {
        let count = if cfg!(miri) { 300 } else { 200_000 };
        let (mut sender, mut receiver) = channel::<Box<u64>>(8);
        let producer = thread::spawn(move || {
            for i in 0..count {
                let mut value = Box::new(i);
                while let Err(back) = sender.push(value) {
                    value = back;
                    thread::yield_now();
                }
            }
        });
        for i in 0..count {
            let value = loop {
                match receiver.pop() {
                    Some(value) => break value,
                    None => thread::yield_now(),
                }
            };
            assert_eq!(*value, i);
        }
        producer.join().unwrap();
        assert!(receiver.is_closed() && receiver.is_empty());
    }

    #[test]
    fn a_full_queue_hands_the_value_back() {
        let (mut sender, mut receiver) = channel(3);
        assert_eq!((sender.capacity(), sender.free()), (4, 4));
        for round in 0..10 {
            for i in 0..4 {
                assert_eq!(sender.push(i), Ok(()));
            }
            assert_eq!(sender.push(9), Err(9));
            assert_eq!(sender.refused(), round + 1);
            for i in 0..4 {
                assert_eq!(receiver.pop(), Some(i));
            }
            assert_eq!(receiver.pop(), None);
        }
    }

    #[test]
    fn what_nobody_popped_is_dropped_once() {
        let token = Arc::new(());
        let (mut sender, mut receiver) = channel(8);
        for _ in 0..6 {
            sender.push(token.clone()).unwrap();
        }
        drop(receiver.pop());
        assert!(!sender.is_closed());
        drop(receiver);
        assert!(sender.is_closed());
        assert_eq!(Arc::strong_count(&token), 6);
        drop(sender);
        assert_eq!(Arc::strong_count(&token), 1);
    }
}
