//! What happens again and again at random times.

use std::time::Duration;

use tidemill_event::{Loop, Time};
use tidemill_stdx::rng::Rng;

use crate::machine::Machine;

/// Calls `act` after an exponentially distributed time of a mean, in nanoseconds, and after each
/// call again, after a time of the mean that it returns.
///
/// Lasts from `from_ns` to `until_ns`, if given.
pub(super) fn repeat(
    events: &mut Loop<Machine>,
    (mut random, mean_ns): (Rng, f64),
    (from_ns, until_ns): (u64, Option<u64>),
    mut act: impl FnMut(&mut Machine, &mut Loop<Machine>, &mut Rng) -> f64 + 'static,
) {
    let until = Time(until_ns.unwrap_or(u64::MAX));
    let first = Time(from_ns) + span(random.exponential(mean_ns));
    events.alarm(first, move |machine: &mut Machine, events: &mut Loop<Machine>, alarm| {
        if events.now() >= until {
            events.cancel(alarm);
            return;
        }
        let mean_ns = act(machine, events, &mut random);
        let next = events.now() + span(random.exponential(mean_ns));
        events.rearm(alarm, next);
    });
}

/// At least a nanosecond, so that time advances.
fn span(ns: f64) -> Duration {
    // The cast saturates.
    Duration::from_nanos((ns as u64).max(1))
}
