//! What a worker does that has nothing to run.
//!
//! ```text
//! poll the rings for a while        a post: run on
//! fall asleep                       a post: run on                        (asleep)
//! another worker: park              until another loop wakes it
//! the first worker                  another loop is awake: wait for descriptors and timers
//!   all are asleep: maybe no loop has anything to run
//!     with exclusive access: some loop has? wake up, run on
//!     no loop has: gather all components, then settle: virtual time, deadlocks, the end
//! ```
//! The last to fall asleep wakes the first. That all workers are asleep is only a hint that the run
//! is quiet. It is decided under exclusive access, when all posts are delivered and no process
//! runs.

use super::{Crew, between, spread};
use crate::machine::Worker;
use crate::paused::Paused;

/// Polls of the rings before a worker with nothing to run sleeps: a short wait is cheaper than
/// parking and waking a thread.
const POLLS_MAX: u32 = 300;

impl Worker {
    /// Pauses the first worker, which has nothing to run; `None` if there is something after all.
    pub(super) fn pause_idle(&mut self, crew: &Crew) -> Option<Paused> {
        if !crew.fall_asleep(self, 0) {
            return None;
        }
        if !crew.all_asleep() {
            self.machine.console.flush();
            return Some(Paused::Waiting);
        }
        crew.members[0].asleep.wake_up();
        if !self.gather_if_quiet(crew) || self.is_ready() {
            return None;
        }
        match self.settle()? {
            Paused::Ended => Some(self.end_crew()),
            Paused::Waiting => crew.fall_asleep(self, 0).then_some(Paused::Waiting),
            paused => Some(paused),
        }
    }

    /// Gathers all components on the first loop if no loop has anything to run: one worker then
    /// does what concerns all, such as advancing virtual time and finding deadlocks.
    fn gather_if_quiet(&mut self, crew: &Crew) -> bool {
        between(self, |worker| {
            let quiet = crew.is_quiet(worker);
            if quiet {
                spread::gather(worker);
            }
            quiet
        })
    }
}

impl Crew {
    /// Declares that a worker sleeps; false if there is something to do after all.
    pub(super) fn fall_asleep(&self, worker: &Worker, index: usize) -> bool {
        let is_idle = || worker.has_no_posts() && !worker.is_ready();
        self.members[index].asleep.fall(is_idle)
    }

    pub(super) fn all_asleep(&self) -> bool {
        self.members.iter().all(|member| member.asleep.is_set())
    }

    /// Whether no loop has anything to run. The caller has exclusive access.
    fn is_quiet(&self, worker: &mut Worker) -> bool {
        debug_assert!(self.is_alone() || self.is_over(), "a post may be in transit");
        (0..self.members.len()).all(|index| !worker.member(index as u8).is_ready())
    }
}

/// Polls the rings for a while; returns whether there is something to run.
pub(super) fn await_posts(worker: &mut Worker, crew: &Crew) -> bool {
    if !crew.is_spread() {
        return false;
    }
    for _ in 0..POLLS_MAX {
        if crew.exclusive.is_wanted() || worker.is_ready() {
            break;
        }
        if !worker.has_no_posts() {
            worker.take_posts();
            return true;
        }
        std::hint::spin_loop();
    }
    worker.is_ready()
}
