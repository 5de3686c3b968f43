//! The end of a simulation: the results of all nodes, and the summary.

use tidemill_event::Loop;

use crate::console::{Console, Form};
use crate::history::{History, Model};
use crate::machine::Machine;
use crate::run::Report;
use crate::summary::Summary;

/// Ends all nodes of a machine; returns their results, with all reasons for drops.
pub(super) fn sum_up(
    machine: &mut Machine,
    events: &mut Loop<Machine>,
    report: &mut Report,
) -> Summary {
    let mut summary = Summary::of_part(&machine.fleet, events);
    machine.journal.get_mut().set_clock(None);
    let ended = machine.sim.as_mut().map(|sim| std::mem::take(&mut sim.coverage));
    report.coverage = ended.unwrap_or_default();
    let times = machine.sim.as_mut().map(|sim| std::mem::take(&mut sim.rule_times));
    report.rule_times = times.unwrap_or_default();
    for node in machine.fleet.ids().filter_map(|id| machine.fleet.node(id)) {
        node.add_coverage(&mut report.coverage);
    }
    let properties = machine.sim.as_ref().and_then(|sim| sim.properties.as_ref());
    properties.into_iter().for_each(|it| it.add_coverage(&mut report.coverage));
    machine.clear(events);
    machine.sum_up(events, report);
    summary.add_lost(machine.lost_packets);
    let journal = machine.journal.get();
    summary.violations = journal.written().map_or(journal.violations, |it| it.violations);
    summary.given_up = journal.given_up;
    summary.expectations_met = journal.expectations_met;
    summary.expectations_failed = journal.expectations_failed;
    summary
}

/// Checks the history of clients against a model, if there is one, and notes failures. An
/// interrupted run skips that.
pub(super) fn check(
    history: History,
    model: Option<&Model>,
    summary: &mut Summary,
    console: &mut Console,
) {
    let Some(model) = model.filter(|_| !summary.interrupted) else { return };
    let checked = history.check(model);
    if let Some(failure) = &checked.failure {
        console.failing(format_args!("tidemill: {} history: {failure}", model.name()));
    }
    summary.history = Some(checked);
}

/// Writes the summary, and adds it to the report.
pub(super) fn write(mut summary: Summary, console: &mut Console, report: &mut Report) {
    summary.leave_out();
    match console.form() {
        Form::Json => console.line(summary.json()),
        Form::Text => console.line(&summary),
    }
    console.flush();
    report.failure = console.take_failure();
    report.cause = console.take_cause();
    report.nodes = Some(summary);
}
