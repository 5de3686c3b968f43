//! The end of faults, and the check for rows that must be gone then.

use tidemill_event::{Loop, Time, TimerId};
use tidemill_overlog::fleet::{self, NodeId, Skew};
use tidemill_overlog::node::Program as Rules;
use tidemill_relation::plan::RelationId;

use super::common::Common;
use super::fault_options::FaultOptions;
use super::life;
use super::options::SimOptions;
use crate::machine::Machine;
use crate::script::{Cue, CueAction, When};
pub(super) use crate::unsettled::TABLE;

/// The table `unsettled` of a program.
pub(super) fn table(rules: &Rules) -> Option<RelationId> {
    let id = rules.plan().find(TABLE)?;
    rules.plan().relation(id).table().map(|_| id)
}

/// The end of the run, by its options or its script.
pub(super) fn end_ns(cues: &[Cue], end_ns: Option<u64>) -> Option<u64> {
    let ends = cues.iter().filter(|cue| cue.action == CueAction::End).map(|cue| cue.when.first());
    ends.chain(end_ns).min()
}

/// The end of faults that are drawn or set by options; `None` if they need not end.
pub(super) fn calm_ns(cues: &[Cue], options: &SimOptions) -> Option<u64> {
    let settle = options.settle?;
    end_ns(cues, options.end_ns).map(|end| end.saturating_sub(settle.over_ns()))
}

/// The same, or the end of the run.
pub(super) fn faults_end_ns(cues: &[Cue], options: &SimOptions) -> Option<u64> {
    calm_ns(cues, options).or_else(|| end_ns(cues, options.end_ns))
}

/// The cue that ends all faults, and the latest end of faults.
pub(super) fn calm(common: &Common) -> (Option<Cue>, Option<u64>) {
    let (cues, options) = (&common.cues, &common.options);
    let cue = calm_ns(cues, options).map(|at| Cue {
        when: When::At(at),
        action: CueAction::Calm,
        place: "settle".to_owned(),
    });
    (cue, faults_end_ns(cues, options))
}

/// Ends all faults: resets the network to one without options, the speed of nodes, and clocks.
pub(super) fn calm_down(machine: &mut Machine, events: &mut Loop<Machine>) {
    if let Some(sim) = events.host().sim() {
        sim.heal();
        *sim.conditions() = FaultOptions::default().conditions();
    }
    for id in machine.fleet.ids() {
        machine.fleet.slow_down(id, 0);
        machine.fleet.set_clock(id, Skew::default());
    }
    life::end_churn(machine, events);
}

/// Pauses a node: it neither runs turns, nor reads or sends.
pub(super) fn pause(machine: &mut Machine, events: &mut Loop<Machine>, node: u32, ns: u64) {
    if !machine.is_alive(NodeId(node)) {
        return;
    }
    let until = Time(events.now().0.saturating_add(ns));
    let address = machine.fleet.identity(NodeId(node)).address.clone();
    if let Some(sim) = events.host().sim() {
        sim.freeze(&address);
    }
    fleet::pause(machine, events, NodeId(node), until);
    // Events that wait for a turn precede datagrams that wait to be read.
    let after = Time(until.0.saturating_add(1));
    events.timer(after, move |_: &mut Machine, events: &mut Loop<Machine>| {
        if let Some(sim) = events.host().sim() {
            sim.thaw(&address);
        }
    });
}

/// Records a fault that lasts until then.
pub(super) fn fault(machine: &mut Machine, events: &mut Loop<Machine>, until_ns: u64) {
    if let Some(unsettled) = machine.sim.as_mut().and_then(|sim| sim.unsettled.as_mut()) {
        unsettled.fault(until_ns);
    }
    machine.check_settled(events);
}

/// The timer that checks for overdue rows, set while there are some.
pub(super) fn watch(events: &mut Loop<Machine>) -> TimerId {
    let look = |machine: &mut Machine, events: &mut Loop<Machine>, _| {
        machine.check_settled(events);
    };
    events.alarm(Time::MAX, look)
}
