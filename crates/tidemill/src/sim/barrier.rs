//! The barrier between the workers of a simulation: it spins before it sleeps, and a worker that
//! ends, also by a panic, releases the others.

use std::hint;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Spins before a worker sleeps: some microseconds, the usual delay of the others.
const LOOKS: u32 = 1000;

/// A worker has ended, and will not arrive any more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Gone;

/// A reusable barrier.
pub(super) struct Barrier {
    workers: usize,
    state: Mutex<Round>,
    changed: Condvar,
    /// The number of completed rounds, outside the lock for spinning.
    number: AtomicU64,
}

#[derive(Default)]
struct Round {
    arrived: usize,
    number: u64,
    is_left: bool,
}

impl Barrier {
    pub(super) fn of(workers: usize) -> Barrier {
        Barrier {
            workers,
            state: Mutex::default(),
            changed: Condvar::new(),
            number: AtomicU64::new(0),
        }
    }

    /// Waits for all workers. Everything that each did before happens before everything after.
    pub(super) fn wait(&self) -> Result<(), Gone> {
        let mut state = self.lock();
        if state.is_left {
            return Err(Gone);
        }
        let number = state.number;
        state.arrived += 1;
        if state.arrived == self.workers {
            (state.arrived, state.number) = (0, number + 1);
            // Release, paired with the acquire of the spin: a worker that sees the number sees all
            // that the others did before.
            self.number.store(number + 1, Ordering::Release);
            self.changed.notify_all();
            return Ok(());
        }
        drop(state);
        for _ in 0..LOOKS {
            if self.number.load(Ordering::Acquire) != number {
                return Ok(());
            }
            hint::spin_loop();
        }
        let mut state = self.lock();
        while state.number == number && !state.is_left {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if state.number == number { Err(Gone) } else { Ok(()) }
    }

    /// A panic cannot leave the state half changed.
    fn lock(&self) -> MutexGuard<'_, Round> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Held by a worker: when it is dropped, also by a panic, the barrier no longer waits for the
/// worker.
pub(super) struct Guard<'m>(pub(super) &'m Barrier);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        self.0.lock().is_left = true;
        self.0.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;
    use std::thread;
    use std::time::Duration;

    use super::*;

    #[test]
    fn all_see_what_each_did_before() {
        let (barrier, sum) = (Barrier::of(3), AtomicU64::new(0));
        thread::scope(|scope| {
            for me in 0..3_u64 {
                let (barrier, sum) = (&barrier, &sum);
                scope.spawn(move || {
                    for round in 1..=1000 {
                        sum.fetch_add(me, Ordering::Relaxed);
                        barrier.wait().unwrap();
                        assert_eq!(sum.load(Ordering::Relaxed), 3 * round);
                        barrier.wait().unwrap();
                    }
                });
            }
        });
    }

    #[test]
    fn an_ended_worker_releases_the_others() {
        let barrier = Barrier::of(2);
        thread::scope(|scope| {
            let waits = scope.spawn(|| barrier.wait());
            thread::sleep(Duration::from_millis(5));
            drop(Guard(&barrier));
            assert_eq!(waits.join().unwrap(), Err(Gone));
        });
        assert_eq!(barrier.wait(), Err(Gone));
    }
}
