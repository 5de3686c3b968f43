//! Publishes the counters of a run.

use std::time::Duration;

use tidemill_event::Loop;
use tidemill_overlog::fleet;

use crate::machine::Machine;

/// The period of updates.
const METER_EVERY: Duration = Duration::from_secs(1);

/// Publishes the counters now and periodically.
pub(super) fn show_counters(machine: &mut Machine, events: &mut Loop<Machine>) {
    machine.meters.update(&machine.fleet, events.stats());
    events.every(METER_EVERY, |machine: &mut Machine, events: &mut Loop<Machine>, _| {
        machine.meters.update(&machine.fleet, events.stats());
        fleet::sample(machine, events);
    });
}
