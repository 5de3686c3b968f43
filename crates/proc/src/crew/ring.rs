//! A bounded queue from one loop to another: one producer, one consumer, no lock.
//!
//! `tail` is written by the producer only, `head` by the consumer only; both count on without
//! end, so full and empty differ. An entry belongs to the producer until it has stored `tail`
//! after it, and to the consumer until it has stored `head` after it.

#[cfg(loom)]
use loom::cell::UnsafeCell;
#[cfg(loom)]
use loom::sync::atomic::{AtomicUsize, Ordering};
#[cfg(not(loom))]
use std::cell::UnsafeCell;
#[cfg(not(loom))]
use std::sync::atomic::{AtomicUsize, Ordering};

/// What one loop posts to another. The names stay valid until the receiver reads them: a process
/// that is posted counts as ready, and is not freed; a component has its id.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Post {
    /// The process at this address is ready.
    Wake(usize),
    /// Conditions of the component with this id may hold now.
    Poke(u64),
    /// The component with this id is terminated; nothing waits for its end.
    End(u64),
}

/// The queue.
pub(crate) struct Ring {
    /// Read next, by the consumer.
    head: AtomicUsize,
    /// Keeps the two counts on cache lines of their own.
    _apart: [u64; 15],
    /// Written next, by the producer.
    tail: AtomicUsize,
    entries: Box<[UnsafeCell<Post>]>,
}

// SAFETY: an entry is touched by one side at a time, see the top.
unsafe impl Sync for Ring {}
// SAFETY: posts are plain numbers, bound to no thread.
unsafe impl Send for Ring {}

impl Ring {
    /// A queue with room for `room` posts, a power of two.
    pub(crate) fn new(room: usize) -> Ring {
        assert!(room.is_power_of_two(), "{room}");
        Ring {
            head: AtomicUsize::new(0),
            _apart: [0; 15],
            tail: AtomicUsize::new(0),
            entries: (0..room).map(|_| UnsafeCell::new(Post::Wake(0))).collect(),
        }
    }

    fn place(&self, count: usize) -> &UnsafeCell<Post> {
        &self.entries[count & (self.entries.len() - 1)]
    }

    /// Puts a post after the others, if there is room. By the producer only.
    pub(crate) fn push(&self, post: Post) -> bool {
        // Relaxed: only this side writes it.
        let tail = self.tail.load(Ordering::Relaxed);
        // Acquire, with the release in `pop`: the consumer has read the entry that is reused.
        if tail.wrapping_sub(self.head.load(Ordering::Acquire)) == self.entries.len() {
            return false;
        }
        write(self.place(tail), post);
        // Release, paired with the acquire in `pop`: a consumer that sees the count sees the entry,
        // and all that was written before it was posted.
        self.tail.store(tail.wrapping_add(1), Ordering::Release);
        true
    }

    /// Takes the first. Only for the consumer, or a worker that has stopped it.
    pub(crate) fn pop(&self) -> Option<Post> {
        // Relaxed: only this side writes it.
        let head = self.head.load(Ordering::Relaxed);
        // Acquire, with the release in `push`.
        if head == self.tail.load(Ordering::Acquire) {
            return None;
        }
        let post = read(self.place(head));
        // Release, with the acquire in `push`: the entry has been read.
        self.head.store(head.wrapping_add(1), Ordering::Release);
        Some(post)
    }

    /// Whether there is nothing in it. Exact for the consumer.
    pub(crate) fn is_empty(&self) -> bool {
        // Relaxed for its own count, acquire with the release in `push` for the other.
        self.head.load(Ordering::Relaxed) == self.tail.load(Ordering::Acquire)
    }
}

#[cfg(not(loom))]
fn write(place: &UnsafeCell<Post>, post: Post) {
    // SAFETY: the entry belongs to the producer now, see the top.
    unsafe { *place.get() = post };
}

#[cfg(not(loom))]
fn read(place: &UnsafeCell<Post>) -> Post {
    // SAFETY: the entry belongs to the consumer now, see the top.
    unsafe { *place.get() }
}

#[cfg(loom)]
fn write(place: &UnsafeCell<Post>, post: Post) {
    // SAFETY: the entry belongs to the producer now, see the top.
    place.with_mut(|entry| unsafe { *entry = post });
}

#[cfg(loom)]
fn read(place: &UnsafeCell<Post>) -> Post {
    // SAFETY: the entry belongs to the consumer now, see the top.
    place.with(|entry| unsafe { *entry })
}

#[cfg(all(test, loom))]
mod models {
    use super::*;
    use loom::sync::Arc;

    #[test]
    fn posts_arrive_once_and_in_order() {
        loom::model(|| {
            let ring = Arc::new(Ring::new(2));
            let theirs = ring.clone();
            let producer = loom::thread::spawn(move || {
                let mut next = 1;
                while next <= 3 {
                    if theirs.push(Post::Wake(next)) {
                        next += 1;
                    } else {
                        loom::thread::yield_now();
                    }
                }
            });
            let mut expected = 1;
            while expected <= 3 {
                match ring.pop() {
                    Some(post) => {
                        assert_eq!(post, Post::Wake(expected));
                        expected += 1;
                    }
                    None => loom::thread::yield_now(),
                }
            }
            producer.join().unwrap();
            assert!(ring.is_empty());
        });
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn a_full_ring_refuses() {
        let ring = Ring::new(2);
        assert!(ring.push(Post::Wake(1)) && ring.push(Post::Poke(2)));
        assert!(!ring.push(Post::End(3)));
        assert_eq!(ring.pop(), Some(Post::Wake(1)));
        assert!(ring.push(Post::End(3)));
        assert_eq!([ring.pop(), ring.pop()], [Some(Post::Poke(2)), Some(Post::End(3))]);
        assert!(ring.is_empty() && ring.pop().is_none());
    }

    #[test]
    fn two_threads_agree() {
        const COUNT: usize = 300_000;
        let ring = Arc::new(Ring::new(64));
        let theirs = ring.clone();
        let producer = std::thread::spawn(move || {
            for number in 1..=COUNT {
                while !theirs.push(Post::Wake(number)) {
                    std::thread::yield_now();
                }
            }
        });
        for number in 1..=COUNT {
            let post = loop {
                match ring.pop() {
                    Some(post) => break post,
                    None => std::thread::yield_now(),
                }
            };
            assert_eq!(post, Post::Wake(number));
        }
        producer.join().unwrap();
        assert!(ring.is_empty());
    }
}
