//! Components as operators of stages: `stage("cl:Component", in, out, keys(2))`.
//!
//! ```text
//! in(@N, ...)  -> turn, after its commit -> [queue] -> IN A(..)  instance of the component
//! out(@N, ...) <- inbox of the node      <------------ OUT B(..)
//! ```
//! The first tuple of a key makes an instance. An instance gets one input at a time: the next one
//! follows when it has answered with the message that ends the current one. Until then inputs are
//! queued, up to `state::WAITING_MAX` per instance; further ones are dropped and counted. Output is
//! taken while few events of the node wait; otherwise it stays with the instance, which blocks when
//! it cannot send.
//!
//! An implementation may end after an answer. An input that it has not taken by then goes to a new
//! one of the same instance, however late the end comes: the order of messages decides, not time.
//! One that ends before it has ended the input that it has taken, or was started for, is a fault.
//!
//! An instance that fails loses its current input; the next input makes a new instance. One whose
//! row was deleted stays known until it is gone, as its FINALLY may fail.

mod border;
mod check;
mod context;
mod instance;
mod operators;
mod stage;
mod state;

use tidemill_event::Loop;
use tidemill_overlog::node::{Crossing, CrossingKind};
use tidemill_proc::{Communication, Received, Values, arm};
use tidemill_relation::TupleBuf;
use tidemill_stdx::marks;

use super::counterparts::Counterparts;
use crate::machine::Machine;
pub use border::StageBorder;
use context::StageContext;
pub(crate) use operators::{Operators, named};
pub(super) use operators::{interface_of, messages, parameters};
pub(crate) use state::Stages;

/// Hands the tuples of a turn to the instances of its stages, in order.
pub(super) fn take(machine: &mut Machine, events: &mut Loop<Machine>, tuples: &TupleBuf<Crossing>) {
    if !machine.node.borders.components.stages.is_empty() {
        hand(machine, events, tuples, |_| true);
    }
}

/// Hands the rows of a table to a stage that has just started.
pub(super) fn begin(
    machine: &mut Machine,
    events: &mut Loop<Machine>,
    stage: usize,
    rows: &TupleBuf<Crossing>,
) {
    hand(machine, events, rows, |number| number == stage);
}

/// Hands tuples to the given stages.
fn hand(
    machine: &mut Machine,
    events: &mut Loop<Machine>,
    tuples: &TupleBuf<Crossing>,
    is_meant: impl Fn(usize) -> bool,
) {
    let mut all = std::mem::take(&mut machine.node.borders.components);
    let (now, mut has_said) = (events.now(), false);
    let mut scratch = std::mem::take(&mut all.scratch);
    for (number, stage) in all.stages.iter_mut().enumerate().filter(|(it, _)| is_meant(*it)) {
        stage.turns = stage.turns.wrapping_add(1);
        let input = stage.checked.input;
        let mut context = StageContext { machine, number, stage, instances: &mut all.instances };
        let own = || tuples.iter().filter(|(crossing, _)| crossing.relation == input);
        let mut has_deleted = false;
        for (crossing, columns) in own() {
            has_said = true;
            context.stage.handover.hand(now);
            marks::leave();
            match crossing.kind {
                CrossingKind::Delete => has_deleted = true,
                CrossingKind::Event | CrossingKind::Insert => {
                    context.input(columns, &mut scratch);
                }
            }
            marks::arrive("components/channel");
        }
        // Deletions come last, as another row of the same key may have replaced the deleted one.
        let is_gone = |crossing: Crossing| crossing.kind == CrossingKind::Delete;
        let gone = own().filter(|(crossing, _)| has_deleted && is_gone(*crossing));
        for (_, columns) in gone {
            context.delete(columns, &mut scratch);
        }
    }
    all.scratch = scratch;
    machine.node.borders.components = all;
    if has_said {
        arm(machine, events);
    }
}

/// Rebinds the stages to other rules; returns the numbers of new stages that have an instance for
/// each row of a table.
pub(super) fn rebind(
    machine: &mut Machine,
    events: &mut Loop<Machine>,
    checked: &[StageBorder],
    counterparts: &Counterparts<'_>,
) -> Vec<usize> {
    let secret = events.host().hash_secret();
    let Ok(secret) = secret.inspect_err(|error| {
        machine.note(&format!("no random numbers: {error}"));
    }) else {
        return Vec::new();
    };
    let registry = machine.registry.clone();
    let stages = &mut machine.node.borders.components;
    let had_some = stages.is_some();
    let (parted, begun) = stages.rebind(checked, (&registry, secret), counterparts);
    let worker = machine.node.runner.worker();
    let has_parted = !parted.is_empty();
    parted.into_iter().for_each(|name| worker.close(name));
    match (had_some, !checked.is_empty()) {
        // Rules may wake idle instances, so the worker stays.
        (false, true) => worker.hold(),
        (true, false) => worker.unhold(),
        _ => {}
    }
    if has_parted {
        arm(machine, events);
    }
    begun.into_iter().filter(|&stage| checked[stage].has_rows()).collect()
}

/// An instance has sent a message, ended or failed.
pub(crate) fn noted(machine: &mut Machine, events: &mut Loop<Machine>, from: Communication) {
    let mut all = std::mem::take(&mut machine.node.borders.components);
    if all.instances.get(from).is_some_and(|instance| instance.is_held) {
        machine.node.borders.components = all;
        return;
    }
    let mut values = std::mem::take(&mut all.values);
    let is_drained = receive(machine, events, &mut all, from, &mut values);
    if !is_drained && let Some(instance) = all.instances.get_mut(from) {
        instance.is_held = true;
        all.held.push_back(from);
    }
    all.values = values;
    machine.node.borders.components = all;
}

/// Takes the output that was held back while the inbox was full, as far as there is room now.
pub(super) fn go_on(machine: &mut Machine, events: &mut Loop<Machine>) {
    if machine.node.borders.components.held.is_empty() || !machine.has_inbox_room() {
        return;
    }
    for _ in 0..machine.node.borders.components.held.len() {
        if machine.is_inbox_full() {
            break;
        }
        let all = &mut machine.node.borders.components;
        let Some(from) = all.held.pop_front() else { break };
        all.instances.get_mut(from).into_iter().for_each(|instance| instance.is_held = false);
        noted(machine, events, from);
    }
    arm(machine, events);
}

/// Takes all output of an instance; returns false if the inbox is full and some is left.
fn receive(
    machine: &mut Machine,
    events: &mut Loop<Machine>,
    all: &mut Stages,
    from: Communication,
    values: &mut Values,
) -> bool {
    let Stages { stages, instances, scratch, .. } = all;
    let Some(number) = instances.get(from).map(|instance| instance.stage as usize) else {
        return true;
    };
    let stage = &mut stages[number];
    let talk = stage.checked.talk;
    stage.handover.begin(events.now());
    loop {
        if machine.is_inbox_full() {
            return false;
        }
        let mut context = StageContext { machine, number, stage, instances };
        marks::leave();
        match context.machine.node.runner.worker().receive(from, values) {
            Received::Message(message) if message == talk.output => {
                context.output(events, values);
            }
            Received::Message(_) => {
                context.done(from, scratch);
                marks::arrive("components/channel");
            }
            Received::Nothing => return true,
            Received::Ended if context.is_at_work(from) => {
                let why = "the implementation has ended without ending its input";
                context.fault(events, from, why, scratch);
            }
            Received::Ended | Received::Restarted(Ok(())) => {}
            Received::Restarted(Err(_)) => {
                context.stage.counters.refused.add(1);
                context.done(from, scratch);
            }
            Received::Failed(why) => context.fault(events, from, &why, scratch),
            Received::Gone => {
                context.gone(from);
                return true;
            }
        }
    }
}
