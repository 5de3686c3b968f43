//! Stop the world: when a worker may touch what lives on other loops.
//!
//! A worker runs processes while it is *inside*; between two of them it checks whether another
//! requests exclusive access. The worker that holds it finds all others between two processes (or
//! outside: parked or asleep), and may read and write everything as a single worker would. It is
//! not taken for messages: one between two loops takes only the channel's guard. It is taken for
//! changes of *relations*: opening a communication between loops, deleting, tearing down, moving
//! components.
//!
//! There are two kinds of requests. *Between* two processes: then no process of any loop is in the
//! middle of an operation, and any component may be moved or torn down. In the *middle* of an
//! operation: the others then leave the requesting process, and its component, where they are.

#[cfg(loom)]
use loom::sync::atomic::{AtomicUsize, Ordering};
#[cfg(loom)]
use loom::sync::{Condvar, Mutex, MutexGuard};
#[cfg(loom)]
use loom::thread::yield_now;
use std::sync::PoisonError;
#[cfg(not(loom))]
use std::sync::atomic::{AtomicUsize, Ordering};
#[cfg(not(loom))]
use std::sync::{Condvar, Mutex, MutexGuard};
#[cfg(not(loom))]
use std::thread::yield_now;

#[derive(Default)]
struct Access {
    /// The number of workers inside.
    inside: usize,
    /// A worker has exclusive access, or waits for the others to leave.
    held: bool,
    /// The number of requests in the middle of an operation.
    middle: usize,
}

/// At which point the other workers are stopped.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum When {
    Between,
    Middle,
}

pub(crate) struct Exclusive {
    state: Mutex<Access>,
    changed: Condvar,
    /// The number of workers that request or hold exclusive access, or have not yet continued after
    /// it. Workers check it between processes.
    wanted: AtomicUsize,
}

impl Default for Exclusive {
    fn default() -> Exclusive {
        Exclusive {
            state: Mutex::new(Access::default()),
            changed: Condvar::new(),
            wanted: AtomicUsize::new(0),
        }
    }
}

impl Exclusive {
    /// The state is whole at every unlock, so a panic elsewhere leaves it usable.
    fn lock(&self) -> MutexGuard<'_, Access> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, Access>) -> MutexGuard<'a, Access> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    /// Enters, once no worker has exclusive access.
    pub(crate) fn enter(&self) {
        let mut state = self.lock();
        while state.held {
            state = self.wait(state);
        }
        state.inside += 1;
    }

    pub(crate) fn leave(&self) {
        let mut state = self.lock();
        state.inside -= 1;
        let held = state.held;
        drop(state);
        if held {
            self.changed.notify_all();
        }
    }

    /// Whether a worker requests exclusive access. Relaxed: the mutex orders what follows, and a
    /// late read only delays.
    #[inline(always)]
    pub(crate) fn is_wanted(&self) -> bool {
        self.wanted.load(Ordering::Relaxed) != 0
    }

    /// Lets a worker that requests exclusive access have it.
    #[cold]
    pub(crate) fn step_aside(&self) {
        self.leave();
        yield_now();
        self.enter();
    }

    /// Takes exclusive access; the caller is inside. `hurry` ends the slices of the others.
    pub(crate) fn acquire(&self, when: When, hurry: impl Fn()) {
        // SeqCst, with the swap of a worker's flag at the start of its slice: either it sees this,
        // or its flag is raised after it was taken down.
        self.wanted.fetch_add(1, Ordering::SeqCst);
        let mut state = self.lock();
        // While it waits, the caller counts as outside: two that request access would otherwise
        // wait for each other.
        state.inside -= 1;
        state.middle += usize::from(when == When::Middle);
        self.changed.notify_all();
        loop {
            while state.held || when == When::Between && state.middle > 0 {
                state = self.wait(state);
            }
            state.held = true;
            if state.inside > 0 {
                hurry();
            }
            while state.inside > 0 {
                state = self.wait(state);
            }
            // A worker may have requested access in the middle of an operation meanwhile. The
            // operation has to end first: `Between` finds no process in the middle of one.
            if when == When::Between && state.middle > 0 {
                state.held = false;
                self.changed.notify_all();
                continue;
            }
            break;
        }
        state.middle -= usize::from(when == When::Middle);
    }

    /// Ends exclusive access; the others continue, and the caller stays inside.
    pub(crate) fn release(&self) {
        let mut state = self.lock();
        state.held = false;
        state.inside += 1;
        drop(state);
        self.wanted.fetch_sub(1, Ordering::SeqCst);
        self.changed.notify_all();
    }
}

/// Every interleaving of some workers.
#[cfg(all(test, loom))]
mod models {
    use super::*;
    use loom::cell::UnsafeCell;
    use loom::sync::Arc;

    /// What workers touch: each may read it inside, and write it with exclusive access. The model
    /// detects a read or write that is concurrent with a write.
    #[derive(Default)]
    struct Shared {
        exclusive: Exclusive,
        word: UnsafeCell<u32>,
    }

    // SAFETY: the stop-the-world lock serialises the accesses; the model checks that.
    unsafe impl Sync for Shared {}
    // SAFETY: it owns its data, and is bound to no thread.
    unsafe impl Send for Shared {}

    fn work(shared: &Shared, when: Option<When>) {
        shared.exclusive.enter();
        shared.word.with(|_| ());
        if let Some(when) = when {
            shared.exclusive.acquire(when, || ());
            // SAFETY: exclusive access: no other worker is inside.
            shared.word.with_mut(|word| unsafe { *word += 1 });
            shared.exclusive.release();
        }
        if shared.exclusive.is_wanted() {
            shared.exclusive.step_aside();
        }
        shared.word.with(|_| ());
        shared.exclusive.leave();
    }

    fn model(workers: &'static [Option<When>]) {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.check(move || {
            let shared = Arc::new(Shared::default());
            let others: Vec<_> = workers[1..]
                .iter()
                .map(|&when| {
                    let shared = shared.clone();
                    loom::thread::spawn(move || work(&shared, when))
                })
                .collect();
            work(&shared, workers[0]);
            others.into_iter().for_each(|other| other.join().unwrap());
            let wanted = workers.iter().filter(|when| when.is_some()).count();
            // SAFETY: the others have ended.
            assert_eq!(shared.word.with(|word| unsafe { *word }) as usize, wanted);
        });
    }

    #[test]
    fn exclusive_access_excludes() {
        model(&[Some(When::Between), None]);
        model(&[Some(When::Middle), None]);
    }

    #[test]
    fn two_want_it() {
        model(&[Some(When::Between), Some(When::Between)]);
        model(&[Some(When::Between), Some(When::Middle)]);
        model(&[Some(When::Middle), Some(When::Middle)]);
    }

    #[test]
    fn two_want_it_of_three() {
        model(&[Some(When::Between), Some(When::Middle), None]);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::AtomicU64;

    #[test]
    fn one_at_a_time_has_it_alone() {
        let exclusive = Arc::new(Exclusive::default());
        let (alone, on) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let threads: Vec<_> = (0..4)
            .map(|index| {
                let (exclusive, alone, on) = (exclusive.clone(), alone.clone(), on.clone());
                std::thread::spawn(move || {
                    exclusive.enter();
                    for turn in 0..2000 {
                        on.fetch_add(1, Ordering::SeqCst);
                        assert_eq!(alone.load(Ordering::SeqCst), 0);
                        on.fetch_sub(1, Ordering::SeqCst);
                        if exclusive.is_wanted() {
                            exclusive.step_aside();
                        }
                        if turn % 7 == index {
                            let when = if turn % 2 == 0 { When::Between } else { When::Middle };
                            exclusive.acquire(when, || ());
                            assert_eq!(alone.fetch_add(1, Ordering::SeqCst), 0);
                            assert_eq!(on.load(Ordering::SeqCst), 0);
                            alone.fetch_sub(1, Ordering::SeqCst);
                            exclusive.release();
                        }
                    }
                    exclusive.leave();
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    }
}
