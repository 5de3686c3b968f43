//! Rebinds borders to the relations of rules that replace the running ones.
//!
//! | border | keeps |
//! |---|---|
//! | packets | the packets that rules hold |
//! | settings | what rows of `flow::config` say |
//! | tables | those that are the same; others are compared with what the rules have |
//! | programs | what is still to be installed |
//! | decoders | all |
//! | sinks | files of the same name, which are written on |
//! | components | the instances of stages that are the same |
//! | rules | what waits for components, of relations that are the same |
//!
//! What has no counterpart ends: files are finished, instances ended, and inputs queued for them
//! counted as dropped.

use tidemill_event::Loop;
use tidemill_overlog::fleet::{self, Switched};
use tidemill_overlog::node::{Crossing, CrossingKind};
use tidemill_packet::graph::Graph;
use tidemill_relation::TupleBuf;

use super::checked::Checked;
use super::counterparts::Counterparts;
use super::packets::PacketBorder;
use super::programs::Programs;
use super::{components, crossed, instances, packets, report, tables};
use crate::machine::Machine;

/// Decodes and encodes messages by other schemas from now on.
pub(crate) fn rebind_schemas(machine: &mut Machine, events: &mut Loop<Machine>, checked: &Checked) {
    machine.at_each_node(events, |machine, _| {
        machine.node.systems.know(&checked.schemas);
        machine.node.borders.decoders.rebind(&checked.decoders);
    });
}

/// Rebinds all borders to the rules that nodes run now. `graph` is the packet graph of the new
/// files.
pub(crate) fn rebind(
    machine: &mut Machine,
    events: &mut Loop<Machine>,
    (checked, graph): (&Checked, Option<&Graph>),
    switched: Switched,
) {
    let Switched { old, crossings, .. } = switched;
    let new = machine.fleet.program().clone();
    let counterparts = Counterparts { old: &old, new: &new };
    let faults = machine.sinks.rebind(&checked.sinks, &machine.registry, events.wall());
    report(machine, &faults);
    if !machine.sinks.is_empty() {
        machine.write_each_second(events);
    }
    let are_same = are_same(machine, checked, &counterparts);
    rebind_schemas(machine, events, checked);
    machine.at_each_node(events, |machine, events| {
        rebind_node(machine, events, (checked, graph), &counterparts);
    });
    instances::rebind(machine, checked, are_same);
    for (id, tuples) in crossings {
        match machine.scope_of(id) {
            Some(scope) => {
                events.within(machine, scope, |machine, events| {
                    crossed(machine, events, id, &tuples)
                });
            }
            None => crossed(machine, events, id, &tuples),
        }
    }
}

/// Whether events of an old border fit a new one.
fn fit(old: &PacketBorder, new: &PacketBorder, counterparts: &Counterparts<'_>) -> bool {
    let events = old.event.zip(new.event);
    events.is_some_and(|(old, new)| counterparts.are(old, new)) && old.fields == new.fields
}

/// Whether all that comes from packets fits the new borders.
fn are_same(machine: &Machine, checked: &Checked, counterparts: &Counterparts<'_>) -> bool {
    let (packets, decoders) = (&machine.node.borders.packets, &machine.node.borders.decoders);
    let mut apps = packets.checked().zip(&checked.packets);
    let are_packets = packets.checked().len() == checked.packets.len()
        && apps.all(|(old, new)| old.app == new.app && fit(old, new, counterparts));
    let mut messages = decoders.checked().zip(&checked.decoders);
    let interfaces = machine.node.borders.rules.iter().flat_map(|rules| rules.checked());
    let mut interfaces = interfaces.zip(&checked.rules);
    let are_puts = interfaces.all(|(old, new)| {
        let mut puts = old.puts().zip(new.puts());
        old.interface == new.interface && puts.all(|(old, new)| counterparts.are(old, new))
    });
    are_packets
        && are_puts
        && decoders.checked().len() == checked.decoders.len()
        && messages.all(|(old, new)| match (old.event(), new.event()) {
            (Some(one), Some(other)) => old.app == new.app && counterparts.are(one, other),
            (one, other) => old.app == new.app && one == other,
        })
}

fn rebind_node(
    machine: &mut Machine,
    events: &mut Loop<Machine>,
    (checked, graph): (&Checked, Option<&Graph>),
    counterparts: &Counterparts<'_>,
) {
    let registry = machine.registry.clone();
    let borders = &mut machine.node.borders;
    borders.packets.rebind(&checked.packets, &registry, |old, new| fit(old, new, counterparts));
    if let Some(rules) = &mut borders.rules {
        rules.rebind(&checked.rules, counterparts);
    }
    Programs::rebind(&mut borders.programs, checked.programs, &registry);
    let written = borders.rebind_settings(checked.settings, graph, &registry);
    packets::link(machine);
    tables::rebind(machine, events, &checked.tables);
    if let Some(written) = written
        && let Err(refused) = instances::prepare(machine, events, written)
    {
        machine.note(&format!("the graph stays as it is: {refused}"));
    }
    let begun = components::rebind(machine, events, &checked.components, counterparts);
    // A new stage with an instance per row also gets the existing rows.
    for stage in begun {
        let mut rows = TupleBuf::new();
        let (relation, kind) = (checked.components[stage].input, CrossingKind::Insert);
        let name = &counterparts.new.plan().relation(relation).name;
        fleet::rows(&machine.fleet, machine.node.id, name, |row| {
            rows.push(Crossing { relation, kind }, row);
        });
        components::begin(machine, events, stage, &rows);
    }
}
