//! The guard of a channel between two loops.
//!
//! A channel whose ends are on one loop needs none, and inlined code works on it. Between two
//! loops inlined code leaves the channel to the run-time ([`REMOTE`]), whose operations take the
//! guard first. It is held for the length of one operation on the channel, never while waiting
//! for anything; contenders spin. Which channels are between loops changes only while one worker
//! has stopped the others ([`crate::crew`]).

use std::sync::atomic::Ordering;

use crate::handle::{ChannelRef, SlotRef};
use crate::layout::{FAILED, REMOTE};
use crate::machine::Worker;

/// Both ends are on one loop.
const LOCAL: u8 = 0;
const FREE: u8 = 1;
const TAKEN: u8 = 2;

/// Spins before the thread gives its core away.
const SPINS: u32 = 200;

/// The two steps, on an atomic byte of the machine or of the model checker.
macro_rules! steps {
    ($atomic:ty) => {
        /// Takes a guard that is free. Acquire, with the release in `give_back`: what the other end
        /// has done to the channel.
        fn try_take(guard: &$atomic) -> bool {
            guard.compare_exchange(FREE, TAKEN, Ordering::Acquire, Ordering::Relaxed).is_ok()
        }

        /// Release, with the acquire in `try_take`.
        fn give_back(guard: &$atomic) {
            guard.store(FREE, Ordering::Release);
        }
    };
}

steps!(std::sync::atomic::AtomicU8);

/// Whether the ends are on different loops. Relaxed: it changes only under exclusive access.
pub(crate) fn is_remote(worker: &Worker, channel: ChannelRef) -> bool {
    worker.machine.desk.is_some() && channel.guard().load(Ordering::Relaxed) != LOCAL
}

/// Makes a channel one between loops, or one on a loop. The caller has exclusive access.
pub(crate) fn set_remote(channel: ChannelRef, remote: bool) {
    if remote {
        channel.raise(REMOTE);
        channel.guard().store(FREE, Ordering::Relaxed);
    } else {
        channel.clear(REMOTE);
        channel.guard().store(LOCAL, Ordering::Relaxed);
    }
}

/// Takes the guard of a channel, if it has one and is not held already.
#[inline]
pub(crate) fn hold(worker: &mut Worker, channel: ChannelRef) {
    if is_remote(worker, channel) {
        take(worker, channel);
    }
}

/// The same for the channel of a slot, if one is open.
#[inline]
pub(crate) fn hold_slot(worker: &mut Worker, slot: SlotRef) {
    if worker.machine.desk.is_some() {
        let channel = slot.channel();
        if !channel.is_null() && channel.0 != FAILED {
            hold(worker, channel);
        }
    }
}

#[cold]
#[inline(never)]
fn take(worker: &mut Worker, channel: ChannelRef) {
    let Some(desk) = &mut worker.machine.desk else { return };
    if desk.held == channel || desk.crew.is_alone() {
        return;
    }
    debug_assert!(desk.held.is_null(), "one guard at a time");
    desk.crossings += 1;
    let mut spins = 0;
    while !try_take(channel.guard()) {
        spins += 1;
        if spins < SPINS {
            std::hint::spin_loop();
        } else {
            std::thread::yield_now();
        }
    }
    desk.held = channel;
}

/// Gives back the guard that is held, if one is.
#[inline]
pub(crate) fn release(worker: &mut Worker) {
    if let Some(desk) = &mut worker.machine.desk
        && let Some(channel) = desk.held.some()
    {
        desk.held = ChannelRef::NULL;
        give_back(channel.guard());
    }
}

/// Every interleaving of the two ends of a channel.
#[cfg(all(test, loom))]
mod models {
    use loom::cell::UnsafeCell;
    use loom::sync::Arc;
    use loom::sync::atomic::{AtomicU8, Ordering};

    use super::{FREE, TAKEN};

    steps!(AtomicU8);

    /// A channel: its guard, and data that only the holder of the guard touches.
    struct Shared {
        guard: AtomicU8,
        entries: UnsafeCell<[u32; 2]>,
    }

    // SAFETY: the guard serialises the accesses; the model checks that.
    unsafe impl Sync for Shared {}
    // SAFETY: it owns its data, and is bound to no thread.
    unsafe impl Send for Shared {}

    /// `count` operations of one end, each on the whole channel.
    fn operate(shared: &Shared, end: usize, count: u32) {
        for _ in 0..count {
            while !try_take(&shared.guard) {
                loom::thread::yield_now();
            }
            shared.entries.with_mut(|entries| {
                // SAFETY: the guard is held.
                unsafe { (*entries)[end] += 1 };
            });
            give_back(&shared.guard);
        }
    }

    #[test]
    fn one_end_at_a_time() {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.check(|| {
            let guard = AtomicU8::new(FREE);
            let shared = Arc::new(Shared { guard, entries: UnsafeCell::new([0; 2]) });
            let client = shared.clone();
            let other = loom::thread::spawn(move || operate(&client, 0, 2));
            operate(&shared, 1, 2);
            other.join().unwrap();
            // SAFETY: the other end is done.
            assert_eq!(shared.entries.with(|entries| unsafe { *entries }), [2, 2]);
        });
    }
}
