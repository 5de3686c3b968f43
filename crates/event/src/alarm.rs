//! Timers of the loop: what is called at a deadline, once, again or periodically.
//!
//! A timer that comes late fires once, however late. Handlers run between turns and usually
//! queue an event; deferring from them makes an event too.

use std::time::Duration;

use crate::event_loop::{Task, TimerHandler};
use crate::time::nanos;
use crate::timer_entry::{Alarm, TimerEntry};
use crate::{Loop, Time, TimerId};

/// Timers fired in one batch.
const BATCH_TIMERS: usize = 1024;

impl<W: 'static> Loop<W> {
    /// Calls `f` once at `at`, or as soon as possible if that is past. The timer is gone when
    /// `f` runs: for one that can be set again see [`Loop::alarm`].
    pub fn timer(&mut self, at: Time, f: impl FnOnce(&mut W, &mut Loop<W>) + 'static) -> TimerId {
        let at = self.not_before_now(at);
        self.set(at, Alarm::Once(Task::new(f)))
    }

    /// Calls `f` at `at`, and again whenever it is [re-armed](Loop::rearm) after that, from
    /// inside `f` or outside. It stays until cancelled.
    pub fn alarm(
        &mut self,
        at: Time,
        f: impl FnMut(&mut W, &mut Loop<W>, TimerId) + 'static,
    ) -> TimerId {
        let at = self.not_before_now(at);
        self.set(at, Alarm::Lasting { handler: Some(Box::new(f)), period: None })
    }

    /// A timer of the scope that runs.
    fn set(&mut self, at: Time, alarm: Alarm<Task<W>, TimerHandler<W>>) -> TimerId {
        self.timers.insert(at, TimerEntry { scope: self.scope, alarm })
    }

    /// Calls `f` every `period` from now on, the first time after one period, until cancelled.
    /// Deadlines do not drift; periods that the loop was too late for are skipped and counted. A
    /// period below 1 ns is 1 ns.
    pub fn every(
        &mut self,
        period: Duration,
        f: impl FnMut(&mut W, &mut Loop<W>, TimerId) + 'static,
    ) -> TimerId {
        let period = period.max(Duration::from_nanos(1));
        let handler: TimerHandler<W> = Box::new(f);
        let alarm = Alarm::Lasting { handler: Some(handler), period: Some(period) };
        self.set(self.now() + period, alarm)
    }

    /// Removes a timer; false if it is gone already. From inside its own handler too.
    pub fn cancel(&mut self, id: TimerId) -> bool {
        self.timers.remove(id).is_some()
    }

    /// Sets a timer's next deadline, whether it is armed or resting; false if it is gone. From
    /// inside its own handler too.
    pub fn rearm(&mut self, id: TimerId, at: Time) -> bool {
        let at = self.not_before_now(at);
        self.timers.arm(id, at)
    }

    /// Whether a timer is armed; one that rests or is gone is not.
    pub fn is_armed(&self, id: TimerId) -> bool {
        self.timers.is_armed(id)
    }

    /// The number of armed timers.
    pub fn timers_armed(&self) -> usize {
        self.timers.armed()
    }

    /// A deadline in the past would put a timer ahead of those already due: one that keeps
    /// setting itself to such a time would starve them.
    fn not_before_now(&self, at: Time) -> Time {
        at.max(self.now)
    }

    /// Fires the timers that are due, at most a batch where time advances meanwhile, and none that
    /// was set meanwhile.
    pub(crate) fn fire_timers(&mut self, world: &mut W) {
        let before = self.timers.sequence();
        let most = match self.host.sim() {
            Some(_) => usize::MAX,
            None => BATCH_TIMERS,
        };
        for _ in 0..most {
            let Some((id, at)) = self.timers.expire(self.now, before) else { break };
            self.stats.timers += 1;
            self.steps += 1;
            self.stats.timer_late_max = self.stats.timer_late_max.max(self.now - at);
            self.fire(world, id, at);
        }
    }

    fn fire(&mut self, world: &mut W, id: TimerId, at: Time) {
        let Some(scope) = self.timers.payload(id).map(|timer| timer.scope) else { return };
        if !self.enter(world, scope) {
            self.timers.remove(id);
            return;
        }
        let Some(TimerEntry { alarm, .. }) = self.timers.payload(id) else { return };
        let Alarm::Lasting { handler, period } = alarm else {
            if let Some(TimerEntry { alarm: Alarm::Once(task), .. }) = self.timers.remove(id) {
                task.run(world, self);
            }
            return;
        };
        let (taken, period) = (handler.take(), *period);
        if let Some(period) = period {
            let next = self.next_period(at, period);
            self.timers.arm(id, next);
        }
        let Some(mut f) = taken else { return };
        f(world, self, id);
        let timer = self.timers.payload(id);
        if let Some(TimerEntry { alarm: Alarm::Lasting { handler, .. }, .. }) = timer {
            *handler = Some(f);
        }
    }

    /// The first deadline after now in steps of `period` from `at`.
    fn next_period(&mut self, at: Time, period: Duration) -> Time {
        let missed = nanos(self.now - at) / nanos(period);
        self.stats.periods_missed += missed;
        Time(at.0.saturating_add(nanos(period).saturating_mul(missed + 1)))
    }
}
