//! Whether a loop sleeps: it must not miss a post.
//!
//! Each side writes, then reads what the other side writes, with a SeqCst fence between:
//!
//! ```text
//! sleeper, Asleep::fall:        asleep := true    fence    read the rings: a post? stay awake
//! poster, Asleep::end_by_post:  push into a ring  fence    read asleep: true? clear it, wake
//! ```
//! So at least one of them sees the other's write (the store buffering litmus test). Of several
//! that find a loop asleep one clears the flag, and wakes it.
//!
//! The flag says whether a loop was woken. A sleeper that returns from `park` reads it, as a token
//! of an earlier `unpark` ends `park` at once.

#[cfg(loom)]
use loom::sync::atomic::{AtomicBool, Ordering, fence};
#[cfg(not(loom))]
use std::sync::atomic::{AtomicBool, Ordering, fence};

/// A loop sleeps, or is about to.
pub(crate) struct Asleep(AtomicBool);

impl Asleep {
    pub(crate) fn new(asleep: bool) -> Asleep {
        Asleep(AtomicBool::new(asleep))
    }

    /// Declares that this loop sleeps; false if there is something to do meanwhile. By the sleeper
    /// only.
    pub(crate) fn fall(&self, is_idle: impl FnOnce() -> bool) -> bool {
        self.0.store(true, Ordering::SeqCst);
        // Paired with that of `end_by_post`: what `is_idle` reads is read after the flag is set.
        fence(Ordering::SeqCst);
        if is_idle() {
            return true;
        }
        self.wake_up();
        false
    }

    /// This loop is awake. By the sleeper only.
    pub(crate) fn wake_up(&self) {
        self.0.store(false, Ordering::SeqCst);
    }

    /// Ends the sleep of another loop; true for the one that has to wake it.
    #[inline]
    pub(crate) fn end(&self) -> bool {
        self.0.load(Ordering::SeqCst) && self.0.swap(false, Ordering::SeqCst)
    }

    /// The same after a post to that loop.
    #[inline]
    pub(crate) fn end_by_post(&self) -> bool {
        // Paired with that of `fall`: the sleeper sees the post, or this sees that it sleeps.
        fence(Ordering::SeqCst);
        self.end()
    }

    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }

    /// The same, maybe late: to look for a loop that sleeps.
    pub(crate) fn is_likely(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Every interleaving of posters and a sleeper.
#[cfg(all(test, loom))]
mod models {
    use super::*;
    use crate::crew::ring::{Post, Ring};
    use loom::sync::Arc;
    use loom::thread;

    /// A sleeper takes one post of each poster, and sleeps while there is none. If a post were
    /// missed, the sleeper would wait for ever, which the model reports.
    fn all_posts_arrive(posters: usize) {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.check(move || {
            let rings: Vec<Ring> = (0..posters).map(|_| Ring::new(2)).collect();
            let shared = Arc::new((Asleep::new(false), rings));
            let post = |number: usize| {
                let shared = shared.clone();
                thread::spawn(move || {
                    assert!(shared.1[number].push(Post::Wake(number)));
                    shared.0.end_by_post();
                })
            };
            let posts: Vec<_> = (0..posters).map(post).collect();
            let (asleep, rings) = &*shared;
            let mut taken = 0;
            while taken < posters {
                taken += rings.iter().filter_map(Ring::pop).count();
                let is_idle = || rings.iter().all(Ring::is_empty);
                let sleeps = taken < posters && asleep.fall(is_idle);
                while sleeps && asleep.is_set() {
                    thread::yield_now();
                }
            }
            posts.into_iter().for_each(|post| post.join().unwrap());
        });
    }

    #[test]
    fn a_post_wakes() {
        all_posts_arrive(1);
    }

    #[test]
    fn two_posts_wake() {
        all_posts_arrive(2);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn one_of_several_wakes() {
        let asleep = Asleep::new(false);
        assert!(!asleep.end_by_post(), "it is awake");
        assert!(asleep.fall(|| true) && asleep.is_set());
        assert!(asleep.end_by_post());
        assert!(!asleep.end() && !asleep.is_set());
    }

    #[test]
    fn a_loop_with_something_to_do_stays_awake() {
        let asleep = Asleep::new(false);
        assert!(!asleep.fall(|| false));
        assert!(!asleep.is_set() && !asleep.end());
    }
}
