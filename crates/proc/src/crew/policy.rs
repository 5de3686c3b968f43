//! When components are spread over several loops.
//!
//! A message to another loop costs several times one on the same loop, and its receiver may have to
//! be woken first. So nothing is moved unless a loop has had many ready processes for some slices,
//! and either its processes run long before they wait ([`LONG_NS`]), or few of the communications
//! of the moved components would lead to the others ([`CUT_PART`]): then most messages stay on a
//! loop, as on a ring or a chain that is cut in two. Processes that wait for each other all the
//! time, as those around one buffer do, stay together.
//!
//! A spread is judged from time to time: what the loops ran, less the cost of crossings, against
//! the time that has passed. If two loops did little more than one would have done, all components
//! are gathered on the first again and stay there for a while, which doubles each time.

/// The least and greatest pause in spreading, after components have been gathered or after too many
/// communications would have been cut.
const PAUSE_NS: (u64, u64) = (60_000_000, 2_000_000_000);
/// Spreading takes at most one part in this many of the time.
const SHARE_PART: u64 = 25;

/// The shortest stretch that counts as a slice. Others were cut short by a request for exclusive
/// access.
const BUSY_NS: u64 = 900_000;
/// Slices in a row that end with many ready processes, before components are moved.
const SLICES: u32 = 3;
/// Many ready processes: where they run long, and where they do not.
const READY: (u64, u64) = (2, 16);
/// Processes run long if they run this long, on average, until they wait.
const LONG_NS: u64 = 5_000;
/// Of the communications of the moved components, one in this many may lead to those that stay.
pub(crate) const CUT_PART: usize = 8;

/// State for the next decision.
#[derive(Default)]
pub(crate) struct Policy {
    pub(crate) window_start_ns: u64,
    pub(crate) busy_ns: u64,
    pub(crate) crossings: u64,
    pub(crate) stops: u64,
    pub(crate) bad: u32,
    pub(crate) good: u32,
    pub(crate) pause_ns: u64,
    /// The earliest time of the next spreading.
    pub(crate) share_at_ns: u64,
    pub(crate) gather: bool,
}

impl Policy {
    /// Pauses spreading, for twice as long each time.
    pub(crate) fn pause(&mut self, now_ns: u64) {
        let pause = (self.pause_ns * 2).clamp(PAUSE_NS.0, PAUSE_NS.1);
        (self.gather, self.bad, self.pause_ns) = (false, 0, pause);
        self.share_at_ns = now_ns + pause;
    }

    /// Records the duration of spreading.
    pub(crate) fn took(&mut self, start_ns: u64, end_ns: u64) {
        let next = end_ns + (end_ns - start_ns) * SHARE_PART;
        self.share_at_ns = self.share_at_ns.max(next);
    }
}

/// Measurements of a stretch of running.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Run {
    pub(crate) ns: u64,
    /// Processes that ran.
    pub(crate) steps: u64,
    /// Processes that are ready at its end.
    pub(crate) ready: u64,
}

/// The number of the last slices in a row with many ready processes.
#[derive(Copy, Clone, Default, Debug)]
pub(crate) struct Crowd(u32);

/// The components that may be moved to another loop.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Share {
    /// Components that communicate with each other.
    Neighbours,
    /// Any.
    Any,
}

impl Crowd {
    /// A slice is over: returns what may be moved, if there have been too many ready processes for
    /// one loop, for some time.
    pub(crate) fn after(&mut self, run: Run) -> Option<Share> {
        if run.ns < BUSY_NS {
            return None;
        }
        let is_long = run.ns >= run.steps * LONG_NS;
        let (least, share) =
            if is_long { (READY.0, Share::Any) } else { (READY.1, Share::Neighbours) };
        self.0 = if run.ready >= least { self.0 + 1 } else { 0 };
        if self.0 < SLICES {
            return None;
        }
        self.0 = 0;
        Some(share)
    }

    /// The ready queue was empty.
    pub(crate) fn idle(&mut self) {
        self.0 = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLICE_NS: u64 = 1_000_000;

    fn shares(steps: u64, ready: &[u64]) -> Vec<Option<Share>> {
        let mut crowd = Crowd::default();
        let run = |&ready| crowd.after(Run { ns: SLICE_NS, steps, ready });
        ready.iter().map(run).collect()
    }

    #[test]
    fn hot_loops_are_given_after_some_slices() {
        let two = [2; 4];
        assert_eq!(shares(1, &two), [None, None, Some(Share::Any), None]);
    }

    #[test]
    fn short_steps_need_many_ready_processes() {
        assert_eq!(shares(10_000, &[2; 40]), [None; 40]);
        let many = [16; 3];
        assert_eq!(shares(10_000, &many), [None, None, Some(Share::Neighbours)]);
    }

    #[test]
    fn a_queue_that_is_short_now_and_then_is_no_crowd() {
        assert_eq!(shares(10_000, &[90, 90, 3, 90, 90]), [None; 5]);
    }

    #[test]
    fn slices_that_were_cut_short_do_not_count() {
        let mut crowd = Crowd::default();
        let run = |ns| Run { ns, steps: 1, ready: 9 };
        let all = [SLICE_NS, 1000, SLICE_NS, 1000, SLICE_NS].map(|ns| crowd.after(run(ns)));
        assert_eq!(all, [None, None, None, None, Some(Share::Any)]);
    }

    #[test]
    fn pauses_double_up_to_a_limit() {
        let mut policy = Policy::default();
        let mut pauses = Vec::new();
        for _ in 0..8 {
            policy.pause(5);
            pauses.push(policy.share_at_ns - 5);
        }
        assert_eq!(pauses[..2], [PAUSE_NS.0, 2 * PAUSE_NS.0]);
        assert_eq!(pauses[7], PAUSE_NS.1);
    }
}
