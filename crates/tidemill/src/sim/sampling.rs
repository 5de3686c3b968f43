//! Looks in regular intervals at what rules have done.

use tidemill_event::{Loop, Time};

use crate::machine::Machine;

/// Looks every `step_ns` from now on.
pub(super) fn sample(events: &mut Loop<Machine>, step_ns: u64) {
    let step_ns = step_ns.max(1);
    events.alarm(Time(step_ns), move |machine: &mut Machine, events: &mut Loop<Machine>, alarm| {
        look(machine, events.now());
        let next = Time(events.now().0.saturating_add(step_ns));
        events.rearm(alarm, next);
    });
}

fn look(machine: &mut Machine, now: Time) {
    let Some(sim) = &mut machine.sim else { return };
    let mut rules = sim.coverage.rules.clone();
    for node in machine.fleet.ids().filter_map(|id| machine.fleet.node(id)) {
        node.add_coverage_of_rules(&mut rules);
    }
    sim.rule_times.note(now.0, &rules);
}
