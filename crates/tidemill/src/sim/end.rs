//! The end of a simulation: what all nodes did, and the summary.

use tidemill_event::Loop;

use crate::console::Form;
use crate::machine::Machine;
use crate::run::Report;
use crate::summary::Summary;

/// Ends all nodes, writes the summary and says how it ended.
pub(super) fn finish(
    machine: &mut Machine,
    events: &mut Loop<Machine>,
    (seed, interrupted): (u64, bool),
    report: &mut Report,
) {
    let mut summary = Summary::of(&machine.fleet, events);
    machine.clear(events);
    machine.sum_up(events, report);
    summary.add_lost(machine.lost_packets);
    summary.turns += machine.sim.as_ref().map_or(0, |sim| sim.retired);
    summary.seed = Some(seed);
    summary.interrupted = interrupted;
    let mut journal = machine.journal.get_mut();
    summary.violations = journal.violations;
    summary.given_up = journal.given_up;
    summary.expectations_met = journal.expectations_met;
    summary.expectations_failed = journal.expectations_failed;
    match journal.console.form() {
        _ if report.is_plain => {}
        Form::Text => journal.console.line(&summary),
        Form::Json => journal.console.line(summary.json()),
    }
    journal.console.flush();
    report.failure = journal.console.take_failure();
    report.nodes = Some(summary);
}
