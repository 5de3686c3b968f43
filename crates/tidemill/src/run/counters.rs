//! The counters of a run that are shown while it runs.

use std::time::Duration;

use tidemill_event::Loop;
use tidemill_overlog::fleet;

use crate::machine::Machine;

/// How often the counters are shown.
const METER_EVERY: Duration = Duration::from_secs(1);

/// Shows the counters now and from now on.
pub(super) fn show_counters(machine: &mut Machine, events: &mut Loop<Machine>) {
    machine.meters.update(&machine.fleet, events.stats());
    events.every(METER_EVERY, |machine: &mut Machine, events: &mut Loop<Machine>, _| {
        machine.meters.update(&machine.fleet, events.stats());
        fleet::sample(machine, events);
    });
}
