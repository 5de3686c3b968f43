//! Timers of nodes.

use tidemill_event::{Loop, Time, TimerId};

/// Sets a timer of a node to `at`, made to call `f` if there is none yet.
pub(super) fn arm<W: 'static>(
    timer: &mut Option<TimerId>,
    events: &mut Loop<W>,
    at: Time,
    mut f: impl FnMut(&mut W, &mut Loop<W>) + 'static,
) {
    match *timer {
        Some(timer) => {
            events.rearm(timer, at);
        }
        None => *timer = Some(events.alarm(at, move |world, events, _| f(world, events))),
    }
}
