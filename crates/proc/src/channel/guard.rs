//! The guard of a channel between two loops.
//!
//! A channel whose ends are on one loop needs none, and inlined code works on it. Between two
//! loops inlined code leaves the channel to the run-time ([`REMOTE`]), whose operations take the
//! guard first. It is held for the length of one operation on the channel, never while waiting
//! for anything: whoever finds it taken spins. Which channels are between loops changes only
//! while one worker has the floor alone ([`crate::crew`]).

use std::sync::atomic::Ordering;

use crate::handle::{ChannelRef, SlotRef};
use crate::layout::{FAILED, REMOTE, Worker};

/// Both ends are on one loop.
const LOCAL: u8 = 0;
const FREE: u8 = 1;
const TAKEN: u8 = 2;

/// Spins before the thread gives its core away.
const SPINS: u32 = 200;

/// Whether the ends are on different loops. Relaxed: it changes under the floor's mutex only.
pub(crate) fn is_remote(worker: &Worker, channel: ChannelRef) -> bool {
    worker.machine.desk.is_some() && channel.guard().load(Ordering::Relaxed) != LOCAL
}

/// Makes a channel one between loops, or one on a loop. While the floor is the caller's.
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
    // Acquire, with the release in `release`: what the other end has done to the channel.
    while channel
        .guard()
        .compare_exchange_weak(FREE, TAKEN, Ordering::Acquire, Ordering::Relaxed)
        .is_err()
    {
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
        // Release, with the acquire in `take`.
        channel.guard().store(FREE, Ordering::Release);
    }
}
