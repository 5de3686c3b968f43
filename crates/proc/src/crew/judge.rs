//! Judging whether components are worth spreading: what loops ran, less what crossing cost.

use std::sync::atomic::Ordering;

use super::policy::Policy;
use super::state::{Crew, Member};

/// Nanoseconds between two judgements.
const WINDOW_NS: u64 = 3_000_000;
/// The extra cost of an operation on a channel to another loop.
const CROSSING_NS: u64 = 250;
/// What stopping the world costs, summed over the loops.
const STOP_NS: u64 = 12_000;
/// Judgements against spreading, one after the other, before all is gathered.
const BAD_MAX: u32 = 2;
/// Judgements for spreading after which earlier ones against it are forgotten.
const GOOD_MAX: u32 = 100;

impl Member {
    /// How long it has run processes, the stretch that is not over included. The two counts are
    /// read one after the other: a judgement may be wrong once.
    fn busy_until(&self, now_ns: u64) -> u64 {
        let since = self.busy_since_ns.load(Ordering::Relaxed);
        let running = if since == 0 { 0 } else { now_ns.saturating_sub(since) };
        self.busy_ns.load(Ordering::Relaxed) + running
    }
}

impl Crew {
    fn total(&self, count: impl Fn(&Member) -> u64) -> u64 {
        self.members.iter().map(count).sum()
    }

    /// Judges whether spreading the components pays.
    pub(super) fn judge(&self) {
        let Ok(mut policy) = self.policy.try_lock() else { return };
        let now = self.now_ns();
        let passed = now.saturating_sub(policy.window_start_ns);
        if passed < WINDOW_NS {
            return;
        }
        let busy = self.total(|member| member.busy_until(now));
        let crossings = self.total(|member| member.crossings.load(Ordering::Relaxed));
        let stops = self.total(|member| member.stops.load(Ordering::Relaxed));
        let cost = (crossings - policy.crossings) * CROSSING_NS + (stops - policy.stops) * STOP_NS;
        let useful = busy.saturating_sub(policy.busy_ns).saturating_sub(cost);
        (policy.busy_ns, policy.crossings, policy.stops) = (busy, crossings, stops);
        policy.window_start_ns = now;
        if !self.is_spread() || self.is_eager() {
            policy.bad = 0;
        } else if useful * 5 < passed * 6 {
            policy.bad += 1;
            policy.good = 0;
            policy.gather |= policy.bad >= BAD_MAX;
        } else {
            policy.bad = 0;
            policy.good += 1;
            if policy.good > GOOD_MAX {
                policy.pause_ns = 0;
            }
        }
    }

    /// Whether the last judgement was that all should be gathered.
    pub(super) fn shall_gather(&self) -> bool {
        self.policy.try_lock().is_ok_and(|policy| policy.gather)
    }

    pub(super) fn may_share_now(&self) -> bool {
        let now = self.now_ns();
        let is_time = |policy: &Policy| self.is_eager() || now >= policy.share_at_ns;
        self.may_spread.load(Ordering::Relaxed)
            && self.policy.try_lock().is_ok_and(|policy| is_time(&policy))
    }

    pub(super) fn is_eager(&self) -> bool {
        self.eager.load(Ordering::Relaxed)
    }
}
