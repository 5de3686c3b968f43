//! Performs the cues of a script in a simulation.

use std::fmt::Write;
use std::rc::Rc;
use std::time::Duration;

use tidemill_event::{Act, Loop, Time};
use tidemill_overlog::fleet::{self, NodeId, Skew};
use tidemill_overlog::node::Event;
use tidemill_relation::plan::RelationId;
use tidemill_relation::text::{DisplayTuple, Pattern};
use tidemill_relation::{OwnedValue, SeqBuilder};

use super::{life, messages, settle};
use crate::lines::{LineKind, Writer};
use crate::machine::Machine;
use crate::machine::life::kill;
use crate::script::{Cue, CueAction, Direction, Given, Victim, When};
use crate::switch::{self, Plug};
use crate::tuples::Parameters;

/// The maximum number of rows shown of an unexpected table.
const SHOWN_MAX: usize = 10;

/// Sets the timers of a cue with its number.
pub(super) fn set(events: &mut Loop<Machine>, number: u32, cue: Rc<Cue>) {
    match cue.when {
        When::At(at) => {
            events.timer(Time(at), move |machine: &mut Machine, events: &mut Loop<Machine>| {
                perform(machine, events, number, &cue);
            });
        }
        When::Every { from, to, step } => {
            let mut due = from;
            events.alarm(
                Time(from),
                move |machine: &mut Machine, events: &mut Loop<Machine>, alarm| {
                    perform(machine, events, number, &cue);
                    due = due.saturating_add(step);
                    if due <= to {
                        events.rearm(alarm, Time(due))
                    } else {
                        events.cancel(alarm)
                    };
                },
            );
        }
    }
}

fn perform(machine: &mut Machine, events: &mut Loop<Machine>, number: u32, cue: &Cue) {
    if let Some(sim) = &machine.sim {
        sim.turned(events);
    }
    if let Some(lasts_ns) = fault_ns(&cue.action) {
        let until = events.now().0.saturating_add(lasts_ns);
        settle::fault(machine, events, until);
    }
    match &cue.action {
        CueAction::Put(tuples) | CueAction::Delete(tuples) => {
            give(machine, events, (number, cue), tuples);
        }
        CueAction::Crash(nodes) => {
            nodes.iter().for_each(|&node| life::crash(machine, events, node))
        }
        CueAction::Restart(nodes) => {
            nodes.iter().for_each(|&node| life::restart(machine, events, node))
        }
        CueAction::Kill(nodes, victim) => {
            for &node in nodes {
                kill_in(machine, events, (number, cue), node, victim);
            }
        }
        CueAction::Pause(nodes, ns) => {
            nodes.iter().for_each(|&node| settle::pause(machine, events, node, *ns));
        }
        CueAction::Slow(nodes, ns) => {
            nodes.iter().for_each(|&node| machine.fleet.slow_down(NodeId(node), *ns));
        }
        CueAction::Clock(nodes, offset_ns, drift_ppm) => {
            let (offset_ns, drift_ppm, since) = (*offset_ns, *drift_ppm, events.now());
            let skew = Skew { offset_ns, drift_ppm, since };
            nodes.iter().for_each(|&node| machine.fleet.set_clock(NodeId(node), skew));
        }
        CueAction::Message { act, from, to, tuple } => {
            let link = (*from, *to);
            if !messages::act(machine, events, *act, link, tuple.as_ref()) {
                let note = format!("{}: no such message waits", cue.place);
                note_of(machine, events, (number, *from), note);
            }
        }
        CueAction::Manual => {
            machine.fleet.hold_timers();
            events.host().sim().into_iter().for_each(tidemill_event::Sim::hold_messages);
        }
        CueAction::Timer(nodes, rule) => fire(machine, events, (number, cue), nodes, rule),
        CueAction::Seed(seed) => {
            machine.fleet.reseed(*seed);
            events.host().sim().into_iter().for_each(|sim| sim.reseed(*seed));
        }
        CueAction::Calm => settle::calm_down(machine, events),
        CueAction::Expect { rows, living, count } => {
            expect(machine, events, (number, cue), rows, *living, *count);
        }
        CueAction::End => events.stop(),
        network => change_network(machine, events, network),
    }
}

fn give(
    machine: &mut Machine,
    events: &mut Loop<Machine>,
    (number, cue): (u32, &Cue),
    tuples: &[Given],
) {
    let delete = matches!(cue.action, CueAction::Delete(_));
    for (node, relation, columns) in tuples {
        if !machine.share.has(NodeId(*node)) {
            continue;
        }
        if !delete && let Some(explaining) = &mut machine.journal.get_mut().explaining {
            let plan = machine.fleet.program().plan();
            explaining.injected(&plan.relation(*relation).name, columns);
        }
        let (relation, row) = (*relation, SeqBuilder::from(&columns[..]));
        let event = Event::Tuple { relation, row, delete, received: false };
        if !fleet::inject(machine, events, NodeId(*node), event) {
            let note = format!("{}: node {node} is not there to get it", cue.place);
            note_of(machine, events, (number, *node), note);
        }
    }
}

fn kill_in(
    machine: &mut Machine,
    events: &mut Loop<Machine>,
    (number, cue): (u32, &Cue),
    node: u32,
    victim: &Victim,
) {
    if !machine.share.has(NodeId(node)) {
        return;
    }
    if let Err(reason) = kill(machine, events, NodeId(node), victim) {
        let note = format!("{}: node {node} {reason}", cue.place);
        note_of(machine, events, (number, node), note);
    }
}

fn fire(
    machine: &mut Machine,
    events: &mut Loop<Machine>,
    (number, cue): (u32, &Cue),
    nodes: &[u32],
    rule: &str,
) {
    let share = machine.share;
    for &node in nodes.iter().filter(|&&node| share.has(NodeId(node))) {
        if !fleet::fire_timer(machine, events, NodeId(node), rule) {
            let note = format!("{}: node {node} has no timer of {rule}", cue.place);
            note_of(machine, events, (number, node), note);
        }
    }
}

/// The duration of an action that is a fault; a fault that another action ends, or none, lasts
/// until then or for ever.
fn fault_ns(action: &CueAction) -> Option<u64> {
    match action {
        CueAction::Pause(_, ns) => Some(*ns),
        CueAction::Message { act: Act::Duplicate { after } | Act::Delay { after }, .. } => {
            Some(u64::try_from(after.as_nanos()).unwrap_or(u64::MAX))
        }
        CueAction::Put(_)
        | CueAction::Delete(_)
        | CueAction::Timer(..)
        | CueAction::Manual
        | CueAction::Seed(_)
        | CueAction::Expect { .. }
        | CueAction::End => None,
        _ => Some(0),
    }
}

fn change_network(machine: &Machine, events: &mut Loop<Machine>, action: &CueAction) {
    let Some(sim) = events.host().sim() else { return };
    match action {
        CueAction::Partition(groups, direction) => {
            let plugs = machine.sim.as_ref().map_or(&[] as &[Plug], |sim| &sim.plugs);
            // A node and its devices.
            let names = |&node: &u32| {
                let address = machine.fleet.identity(NodeId(node)).address.clone();
                let mut names = switch::names(plugs, &address);
                names.push(address);
                names
            };
            let named: Vec<Vec<String>> =
                groups.iter().map(|group| group.iter().flat_map(names).collect()).collect();
            let named: Vec<Vec<&str>> =
                named.iter().map(|group| group.iter().map(String::as_str).collect()).collect();
            let named: Vec<&[&str]> = named.iter().map(Vec::as_slice).collect();
            match direction {
                Direction::Both => sim.partition(&named),
                Direction::Forth => sim.partition_one_way(&named),
            }
        }
        CueAction::Heal => sim.heal(),
        CueAction::Loss(probability) => sim.conditions().loss = *probability,
        CueAction::Duplicate(probability) => sim.conditions().duplicate = *probability,
        CueAction::Reorder(probability) => sim.conditions().reorder = *probability,
        CueAction::Latency { least, most, shape } => {
            let range = Duration::from_nanos(*least)..=Duration::from_nanos(*most);
            (sim.conditions().latency, sim.conditions().shape) = (range, *shape);
        }
        _ => {}
    }
}

/// Writes a note of a cue about a node.
fn note_of(machine: &Machine, events: &Loop<Machine>, about: (u32, u32), note: String) {
    report(machine, events, about, LineKind::Note, note);
}

fn report(
    machine: &Machine,
    events: &Loop<Machine>,
    (cue, node): (u32, u32),
    kind: LineKind,
    note: String,
) {
    let by = (Writer::Cue(cue, node), kind);
    machine.journal.get_mut().cue_note(events.now().0, by, note);
}

fn expect(
    machine: &mut Machine,
    events: &mut Loop<Machine>,
    (number, cue): (u32, &Cue),
    rows: &[(u32, RelationId, Pattern)],
    living: bool,
    count: Option<u64>,
) {
    for (node, relation, pattern) in
        rows.iter().filter(|(node, ..)| machine.share.has(NodeId(*node)))
    {
        if living && !machine.is_alive(NodeId(*node)) {
            continue;
        }
        machine.fleet.write_record(NodeId(*node), *relation, events.now().0);
        match disappointment(machine, *node, *relation, pattern, count) {
            None => machine.journal.get_mut().expectations_met += 1,
            Some(failure) => {
                let mut journal = machine.journal.get_mut();
                journal.expectations_failed += 1;
                if let Some(explaining) = &mut journal.explaining {
                    explaining.missed(&machine.fleet, NodeId(*node), pattern);
                    if let Some(row) = surplus(machine, *node, *relation, pattern, count) {
                        let at = &machine.fleet.identity(NodeId(*node)).address;
                        explaining.unwanted((events.now().0, at), &pattern.name, &row);
                    }
                }
                drop(journal);
                let note = format!("{}: error[expect]: {failure}", cue.place);
                report(machine, events, (number, *node), LineKind::Failure, note);
            }
        }
    }
    machine.journal.get_mut().cued(events.now().0);
    machine.stop_if_over(events);
}

/// The last row that fits, if there are more than there should be.
fn surplus(
    machine: &Machine,
    node: u32,
    relation: RelationId,
    pattern: &Pattern,
    count: Option<u64>,
) -> Option<Vec<OwnedValue>> {
    let identity = machine.fleet.identity(NodeId(node));
    let (mut fitting, mut last) = (0, None);
    machine.fleet.node(NodeId(node))?.rows(relation, |columns| {
        if pattern.matches(columns, |param| Parameters(identity).get(param)) {
            fitting += 1;
            last = Some(columns.iter().map(|it| OwnedValue::new(*it)).collect());
        }
    });
    last.filter(|_| count.is_some_and(|count| fitting > count))
}

/// The note on an expectation that fails at a node.
fn disappointment(
    machine: &Machine,
    node: u32,
    relation: RelationId,
    pattern: &Pattern,
    count: Option<u64>,
) -> Option<String> {
    let identity = machine.fleet.identity(NodeId(node));
    let address = &identity.address;
    let Some(node) = machine.fleet.node(NodeId(node)) else {
        return Some(format!("{address} is not alive, and {pattern} is expected there"));
    };
    let (mut fitting, mut shown, mut all) = (0, String::new(), 0);
    node.rows(relation, |columns| {
        fitting += u64::from(pattern.matches(columns, |param| Parameters(identity).get(param)));
        all += 1;
        if all <= SHOWN_MAX {
            let row = DisplayTuple::new(&pattern.name, columns.iter().copied());
            // Writing to a string cannot fail.
            let _ = write!(shown, "\n  {row}");
        }
    });
    let wanted = match count {
        None if fitting > 0 => return None,
        Some(count) if fitting == count => return None,
        None => "1 or more".to_owned(),
        Some(count) => count.to_string(),
    };
    if all > SHOWN_MAX {
        let _ = write!(shown, "\n  and {} more", all - SHOWN_MAX);
    }
    Some(format!("{fitting} rows of {address} fit {pattern}, expected {wanted}{shown}"))
}
