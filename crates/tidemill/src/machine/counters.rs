//! Publishes the counters of a run.

use std::time::Duration;

use tidemill_event::{Loop, Time};
use tidemill_overlog::fleet;

use super::Machine;

/// The period of updates.
const METER_EVERY: Duration = Duration::from_secs(1);

/// Publishes the counters now and periodically.
pub(crate) fn show_counters(machine: &mut Machine, events: &mut Loop<Machine>) {
    machine.meters.update(&machine.fleet, events);
    if machine.node.driver.engine.has_capture_time() {
        // The clock jumps to the next timer: one each second would make it walk through each gap
        // between packets. Something changes only with a batch of packets or ticks.
        machine.metered = Some(events.now());
        return;
    }
    events.every(METER_EVERY, |machine: &mut Machine, events: &mut Loop<Machine>, _| {
        update(machine, events);
    });
}

/// Publishes the counters after a batch, if time is that of captures and the last update is old.
pub(super) fn breathed(machine: &mut Machine, events: &mut Loop<Machine>) {
    let now: Time = events.now();
    if machine.metered.is_some_and(|last| now >= last + METER_EVERY) {
        machine.metered = Some(now);
        update(machine, events);
    }
}

fn update(machine: &mut Machine, events: &mut Loop<Machine>) {
    machine.meters.update(&machine.fleet, events);
    fleet::sample(machine, events);
}
