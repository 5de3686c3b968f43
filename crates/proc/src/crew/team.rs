//! The threads of a crew.
//!
//! **As many as `--workers` requests:** one for each loop but the first, which is the thread that
//! runs the event loop. They end when the run is over.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use super::{Crew, Desk};
use crate::crew::state::Alarm;
use crate::machine::{Counts, Worker};
use crate::memory::Pool;
use crate::ticker::Ticker;

/// Loops that a crew may have at most: they are numbered by a byte.
const MEMBERS_MAX: usize = 64;

/// A worker that a thread takes along.
struct Hand(*mut Worker);

// SAFETY: the worker is used by its thread, and by others only while that thread is stopped (see
// `exclusive`); what in it is bound to a thread (reports, console, systems) is the first one's, and
// empty in all others.
unsafe impl Send for Hand {}

/// The other workers of a run, and their threads.
pub(crate) struct Team {
    crew: Arc<Crew>,
    threads: Vec<JoinHandle<()>>,
    /// Made by `Box::into_raw`: other threads know their addresses.
    workers: Vec<*mut Worker>,
}

impl Team {
    /// A crew of `count` loops around a worker that has not been started.
    pub(crate) fn new(first: &mut Worker, count: usize) -> Team {
        let count = count.clamp(1, MEMBERS_MAX);
        let crew = Arc::new(Crew::new(count));
        let pool = Arc::new(Pool::new(first.memory.limit()));
        let mut workers = Vec::new();
        for index in 0..count {
            let worker: *mut Worker = if index == 0 {
                &raw mut *first
            } else {
                let made = Box::into_raw(Worker::beside(first, index as u64));
                workers.push(made);
                made
            };
            crew.members[index].worker.store(worker.cast(), Ordering::Relaxed);
            // SAFETY: it was just made, or is the caller's.
            let worker = unsafe { &mut *worker };
            worker.machine.desk = Some(Desk::new(&crew, index));
            worker.memory.join(&pool);
        }
        Team { crew, threads: Vec::new(), workers }
    }

    /// Starts the threads. `alarm` wakes the first loop. Without a thread nothing is spread.
    pub(crate) fn start(&mut self, span: Duration, alarm: Alarm) {
        if self.try_start(span, alarm).is_err() {
            self.crew.may_spread.store(false, Ordering::Relaxed);
        }
    }

    fn try_start(&mut self, span: Duration, alarm: Alarm) -> std::io::Result<()> {
        self.set_alarm(0, alarm);
        for (position, &worker) in self.workers.iter().enumerate() {
            let (index, hand) = (position + 1, Hand(worker));
            let builder = std::thread::Builder::new().name(format!("worker {index}"));
            let thread = builder.spawn(move || work(hand, index, span))?;
            let handle = thread.thread().clone();
            self.set_alarm(index, Box::new(move || handle.unpark()));
            self.threads.push(thread);
        }
        Ok(())
    }

    pub(crate) fn has_started(&self) -> bool {
        !self.threads.is_empty()
    }

    fn set_alarm(&self, index: usize, alarm: Alarm) {
        let member = &self.crew.members[index];
        *member.alarm.lock().unwrap_or_else(PoisonError::into_inner) = Some(alarm);
    }

    /// Counts of all workers but the first. After the run, or with exclusive access.
    pub(crate) fn add_counts(&self, counts: &mut Counts) {
        for &worker in &self.workers {
            // SAFETY: it lives as long as the team.
            counts.add(unsafe { &(*worker).machine.counts });
        }
    }

    /// Spreads components at every opportunity. Before the threads start.
    pub(crate) fn spread_eagerly(&mut self) {
        self.crew.eager.store(true, Ordering::Relaxed);
    }

    /// The number of components moved to another loop.
    pub(crate) fn given(&self) -> u64 {
        self.crew.given.load(Ordering::Relaxed)
    }

    /// Ends the threads, and waits for that.
    pub(crate) fn stop(&mut self) {
        self.crew.over.store(true, Ordering::SeqCst);
        self.crew.hurry(0);
        for thread in self.threads.drain(..) {
            thread.thread().unpark();
            // It cannot have panicked without the run having ended so.
            let _ = thread.join();
        }
        // The first loop is not woken any more: its alarm keeps the loop from being idle.
        *self.crew.members[0].alarm.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        self.stop();
        for worker in self.workers.drain(..) {
            // SAFETY: `Box::into_raw` made it, and its thread has ended.
            drop(unsafe { Box::from_raw(worker) });
        }
    }
}

fn work(hand: Hand, index: usize, span: Duration) {
    // The whole of it moves into the thread.
    let Hand(worker) = { hand };
    // SAFETY: the team keeps the worker until this thread has ended, see `Hand`.
    let worker = unsafe { &mut *worker };
    // Without a thread slices end when processes wait; hot loops are not cut off.
    let ticker = Ticker::new(&raw const worker.flag, span).ok();
    worker.run_thread(index, ticker);
}
