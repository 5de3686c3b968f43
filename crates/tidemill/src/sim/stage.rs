//! What the cues of a script do to a simulation.

use std::fmt::Write;
use std::rc::Rc;
use std::time::Duration;

use tidemill_event::{Loop, Time};
use tidemill_overlog::fleet::{self, NodeId};
use tidemill_overlog::node::Event;
use tidemill_relation::SeqBuilder;
use tidemill_relation::plan::RelationId;
use tidemill_relation::text::{DisplayTuple, Pattern};

use super::life;
use crate::machine::Machine;
use crate::machine::life::kill;
use crate::script::{Cue, Deed, When};
use crate::switch::{self, Plug};
use crate::tuples::Parameters;

/// Rows shown of a table that is not as expected.
const SHOWN_MAX: usize = 10;

/// Sets the timers of a cue.
pub(super) fn set(events: &mut Loop<Machine>, cue: Rc<Cue>) {
    match cue.when {
        When::At(at) => {
            events.timer(Time(at), move |machine: &mut Machine, events: &mut Loop<Machine>| {
                perform(machine, events, &cue);
            });
        }
        When::Every { from, to, step } => {
            let mut due = from;
            events.alarm(
                Time(from),
                move |machine: &mut Machine, events: &mut Loop<Machine>, alarm| {
                    perform(machine, events, &cue);
                    due = due.saturating_add(step);
                    match due <= to {
                        true => events.rearm(alarm, Time(due)),
                        false => events.cancel(alarm),
                    };
                },
            );
        }
    }
}

fn perform(machine: &mut Machine, events: &mut Loop<Machine>, cue: &Cue) {
    if let Some(sim) = &machine.sim {
        sim.turned(events);
    }
    match &cue.deed {
        Deed::Put(tuples) => {
            for (node, relation, columns) in tuples {
                let (relation, row) = (*relation, SeqBuilder::from(&columns[..]));
                let event = Event::Tuple { relation, row, delete: false, received: false };
                if !fleet::inject(machine, events, NodeId(*node), event) {
                    let note = format!("{}: node {node} is not there to get it", cue.place);
                    machine.journal.get_mut().console.note(note);
                }
            }
        }
        Deed::Crash(nodes) => nodes.iter().for_each(|&node| life::crash(machine, events, node)),
        Deed::Restart(nodes) => nodes.iter().for_each(|&node| life::restart(machine, events, node)),
        Deed::Kill(nodes, victim) => {
            for &node in nodes {
                if let Err(reason) = kill(machine, events, NodeId(node), victim) {
                    let note = format!("{}: node {node} {reason}", cue.place);
                    machine.journal.get_mut().console.note(note);
                }
            }
        }
        Deed::Expect { rows, living, count } => {
            expect(machine, events, cue, rows, *living, *count);
        }
        Deed::End => events.stop(),
        network => change_network(machine, events, network),
    }
}

fn change_network(machine: &Machine, events: &mut Loop<Machine>, deed: &Deed) {
    let Some(sim) = events.host().sim() else { return };
    match deed {
        Deed::Partition(groups) => {
            let plugs = machine.sim.as_ref().map_or(&[] as &[Plug], |sim| &sim.plugs);
            // A node with its devices.
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
            sim.partition(&named);
        }
        Deed::Heal => sim.heal(),
        Deed::Loss(probability) => sim.conditions().loss = *probability,
        Deed::Latency { least, most } => {
            let range = Duration::from_nanos(*least)..=Duration::from_nanos(*most);
            sim.conditions().latency = range;
        }
        _ => {}
    }
}

fn expect(
    machine: &mut Machine,
    events: &mut Loop<Machine>,
    cue: &Cue,
    rows: &[(u32, RelationId, Pattern)],
    living: bool,
    count: Option<u64>,
) {
    for (node, relation, pattern) in rows {
        if living && !machine.is_alive(NodeId(*node)) {
            continue;
        }
        let failure = disappointment(machine, *node, *relation, pattern, count);
        let mut journal = machine.journal.get_mut();
        match failure {
            None => journal.expectations_met += 1,
            Some(failure) => {
                journal.expectations_failed += 1;
                journal.console.note(format!("{}: error[expect]: {failure}", cue.place));
            }
        }
    }
    if machine.journal.get().is_over() {
        events.stop();
    }
}

/// What is not as expected at a node.
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
