//! What loops share, and what a worker knows of them.

use super::asleep::Asleep;
use super::exclusive::Exclusive;
use super::ring::{Post, Ring};
use crate::crew::policy;
use crate::handle::{ChannelRef, ComponentRef};
use crate::layout::WorkerHead;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// Posts on their way from one loop to another; more wait with the sender.
pub(crate) const RING: usize = 4096;

/// Bytes written by other loops that the first has not yet passed on.
pub(crate) const SPOOL_MAX: usize = 1 << 20;

/// How a sleeping loop is woken.
pub(crate) type Alarm = Box<dyn Fn() + Send + Sync>;

/// One loop of the crew.
pub(crate) struct Member {
    pub(crate) worker: AtomicPtr<WorkerHead>,
    /// It sleeps, or is about to: who has something for it wakes it.
    pub(crate) asleep: Asleep,
    pub(crate) alarm: Mutex<Option<Alarm>>,
    /// Rings to this loop, by sender.
    pub(crate) inbound: Vec<Ring>,
    /// Nanoseconds in which it ran processes. Relaxed, like the next two: for judgement only.
    pub(crate) busy_ns: AtomicU64,
    /// Since when it runs processes now; 0 if it does not.
    pub(crate) busy_since_ns: AtomicU64,
    /// Operations on channels to other loops.
    pub(crate) crossings: AtomicU64,
    /// How often it stopped the world, or was about to.
    pub(crate) stops: AtomicU64,
}

/// What all loops of a run share.
pub(crate) struct Crew {
    pub(crate) members: Vec<Member>,
    pub(crate) exclusive: Exclusive,
    /// A worker has exclusive access. Only that worker writes it; the same thread reads it, or
    /// others that find false: relaxed.
    pub(crate) alone: AtomicBool,
    /// Components live on more than one loop. Changed under exclusive access; relaxed.
    pub(crate) spread: AtomicBool,
    /// The run is over: threads end. Changed under exclusive access; relaxed.
    pub(crate) over: AtomicBool,
    /// What other loops have written.
    pub(crate) spool: Mutex<Vec<u8>>,
    pub(crate) policy: Mutex<policy::Policy>,
    /// Components may be spread at all. Changed under exclusive access; relaxed.
    pub(crate) may_spread: AtomicBool,
    /// They are spread even if that does not pay. Set before the threads start; relaxed.
    pub(crate) eager: AtomicBool,
    /// The number of components moved to another loop; relaxed.
    pub(crate) given: AtomicU64,
    pub(crate) start: Instant,
}

/// A worker's place in the crew.
pub(crate) struct Desk {
    pub(crate) crew: Arc<Crew>,
    pub(crate) index: u8,
    /// The channel whose guard it holds.
    pub(crate) held: ChannelRef,
    pub(crate) crossings: u64,
    /// The process at the head of the ready queue must continue with exclusive access.
    pub(crate) later: bool,
    /// A component that must move to the first loop before it continues.
    pub(crate) home: ComponentRef,
    /// It is inside, that is, not stopped.
    pub(crate) inside: bool,
    /// The load of its last slices.
    pub(crate) crowd: policy::Crowd,
    /// Posts for which there was no room.
    pub(crate) overflow: Vec<(u8, Post)>,
}

impl Member {
    /// Wakes the loop, whose sleep the caller has ended.
    pub(crate) fn ring_alarm(&self) {
        let alarm = self.alarm.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(alarm) = &*alarm {
            alarm();
        }
    }
}

impl Crew {
    pub(crate) fn new(count: usize) -> Crew {
        let member = |index| Member {
            worker: AtomicPtr::new(std::ptr::null_mut()),
            // Until its thread runs it sleeps; the first runs already.
            asleep: Asleep::new(index != 0),
            alarm: Mutex::new(None),
            inbound: (0..count).map(|_| Ring::new(RING)).collect(),
            busy_ns: AtomicU64::new(0),
            busy_since_ns: AtomicU64::new(0),
            crossings: AtomicU64::new(0),
            stops: AtomicU64::new(0),
        };
        Crew {
            members: (0..count).map(member).collect(),
            exclusive: Exclusive::default(),
            alone: AtomicBool::new(false),
            spread: AtomicBool::new(false),
            over: AtomicBool::new(false),
            spool: Mutex::new(Vec::new()),
            policy: Mutex::default(),
            may_spread: AtomicBool::new(true),
            eager: AtomicBool::new(false),
            given: AtomicU64::new(0),
            start: Instant::now(),
        }
    }

    pub(crate) fn worker(&self, index: usize) -> *mut WorkerHead {
        // Relaxed: set before the threads start, or under the mutex of `exclusive`.
        self.members[index].worker.load(Ordering::Relaxed)
    }

    pub(crate) fn is_alone(&self) -> bool {
        self.alone.load(Ordering::Relaxed)
    }

    pub(crate) fn is_spread(&self) -> bool {
        self.spread.load(Ordering::Relaxed)
    }

    pub(crate) fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    pub(crate) fn now_ns(&self) -> u64 {
        // Runs on several loops are not repeatable: the clock decides only where things run.
        self.start.elapsed().as_nanos() as u64
    }

    /// Wakes a loop if it sleeps.
    pub(crate) fn wake(&self, index: usize) {
        let member = &self.members[index];
        if member.asleep.end() {
            member.ring_alarm();
        }
    }

    /// Ends the slices of all loops but one.
    pub(crate) fn hurry(&self, but: usize) {
        for index in (0..self.members.len()).filter(|&index| index != but) {
            let worker = self.worker(index);
            if !worker.is_null() {
                // SAFETY: workers live until the threads have ended; the flag is atomic.
                unsafe { (*worker).flag.store(1, Ordering::SeqCst) };
            }
        }
    }
}

impl Desk {
    pub(crate) fn new(crew: &Arc<Crew>, index: usize) -> Desk {
        Desk {
            crew: crew.clone(),
            index: index as u8,
            held: ChannelRef::NULL,
            crossings: 0,
            later: false,
            home: ComponentRef::NULL,
            inside: false,
            crowd: policy::Crowd::default(),
            overflow: Vec::new(),
        }
    }
}
