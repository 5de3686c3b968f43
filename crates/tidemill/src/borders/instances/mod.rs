//! Instances of a graph at several workers, beside rules at the first of them. Components that
//! instances run for their flows are at the same worker each; others are at the first.
//!
//! ```text
//! other workers                              first worker
//! link -> app Rules, Decode -> outbox --+    its own instance
//!                                       +->  waiting -> inbox of the node, files
//! link <- app Rules <-------------------+-<  turn, after its commit
//! ```
//! Each worker takes the packets on its links, and posts what their receivers get in batches. While
//! four batches of it have not been taken, its packets stay on the links, as they do at the first
//! worker while many events wait. Batches of one worker are taken in order, so the packets of a
//! flow stay in order. What turns say about packets of another worker goes back to it, turn by
//! turn, and is counted there; there is room for a number of verdicts, and others are dropped and
//! counted. A number of a packet names its worker; a frame that rules have made goes to the
//! instance of its flow. Components of flows put tuples by the same way.
//!
//! Rules that replace others may have other borders: what is under way then is dropped and counted
//! as `border/workers/dropped_stale`.

mod open_apps;
pub(super) mod outside;
mod state;

use tidemill_event::{Loop, Owner};
use tidemill_packet::drive;
use tidemill_packet::graph::Graph;
use tidemill_relation::TupleBuf;

use super::checked::Checked;
use super::{decode, packets, rules};
use crate::machine::{Machine, posts};

pub(crate) use open_apps::OpenApps;
use state::Batch;
pub(crate) use state::{Instances, Outbox, ReturnQueue};
pub(super) use state::{Receiver, Returned, first_number};

/// Verdicts that a graph of another worker gets between two breaths: far fewer than a link has room
/// for.
const VERDICTS_OF_BREATH: usize = 256;

/// Runs another graph at all workers; see [`drive::prepare`].
///
/// # Errors
/// Why the graph of this worker goes on, and with it those of the others.
pub(crate) fn prepare(
    machine: &mut Machine,
    events: &mut Loop<Machine>,
    graph: Graph,
) -> Result<(), String> {
    let running = machine.node.driver.engine.graph();
    let ports = tidemill_apps::port_blocks;
    let has_instances = machine.crew.is_some() && machine.maker.is_none();
    if has_instances && ports(running) != ports(&graph) {
        // Sockets distribute frames by ranges of ports.
        return Err("of several workers each has a part of the ports of a Nat44: its address and \
                    ports change with --restart only"
            .to_owned());
    }
    drive::prepare(machine, events, graph.clone()).map_err(|why| why.to_string())?;
    if !has_instances {
        return Ok(());
    }
    posts::all(machine, move |machine, events| {
        if let Err(why) = drive::prepare(machine, events, graph.clone()) {
            machine.note(&format!("worker {}: {why}", machine.share.me));
        }
    });
    Ok(())
}

/// The graph has breathed: posts what it hands over, if this is not the first worker.
pub(super) fn post(machine: &mut Machine) {
    let Some(outbox) = &mut machine.node.borders.outbox else { return };
    let me = machine.share.me;
    for batch in outbox.take() {
        posts::first(machine, move |machine, events| arrived(machine, events, me, batch));
    }
}

/// Components may have put tuples: posts them, together with those of others that are ready.
pub(crate) fn post_later(machine: &mut Machine, events: &mut Loop<Machine>) {
    let outbox = machine.node.borders.outbox.as_mut();
    if outbox.is_some_and(Outbox::begin_post)
        && events.event(Owner::LOOP, |machine: &mut Machine, _| post(machine)).is_err()
    {
        post(machine);
    }
}

/// A batch has come from another worker.
fn arrived(machine: &mut Machine, events: &mut Loop<Machine>, worker: u32, batch: Batch) {
    machine.has_work_of(worker);
    let Some(instances) = &mut machine.node.borders.instances else { return };
    instances.waiting.push_back((worker, batch));
    go_on(machine, events);
}

/// Takes batches while the inbox has room.
pub(super) fn go_on(machine: &mut Machine, events: &mut Loop<Machine>) {
    while machine.node.borders.instances.as_ref().is_some_and(|it| !it.waiting.is_empty())
        && machine.has_inbox_room()
    {
        let Some(instances) = &mut machine.node.borders.instances else { return };
        let Some((worker, Batch { version, rows })) = instances.waiting.pop_front() else { return };
        if version == instances.version {
            for (receiver, row) in rows.iter() {
                match receiver {
                    Receiver::Rules(app) => packets::receive(machine, events, app, row),
                    Receiver::Decode(app) => decode::receive(machine, events, app, row),
                    Receiver::Component { interface, message } => {
                        rules::receive(machine, events, (interface, message), row);
                    }
                }
            }
        } else {
            instances.stale.add(rows.len() as u64);
        }
        posts::to(machine, worker, |machine, events| {
            let outbox = machine.node.borders.outbox.as_mut();
            outbox.into_iter().for_each(Outbox::taken);
            rules::go_on(machine, events);
            post_later(machine, events);
            // Packets may have stayed on links, or the graph may be finished now.
            drive::wake(machine, events);
        });
    }
}

/// A turn has ended: posts what it says about packets of other workers, together with what other
/// turns that are due say.
pub(super) fn give_back(machine: &mut Machine, events: &mut Loop<Machine>) {
    let instances = machine.node.borders.instances.as_mut();
    if instances.is_some_and(Instances::begin_flush)
        && events.event(Owner::LOOP, |machine: &mut Machine, _| flush(machine)).is_err()
    {
        flush(machine);
    }
}

fn flush(machine: &mut Machine) {
    let Some(instances) = &mut machine.node.borders.instances else { return };
    for (worker, tuples) in instances.take() {
        posts::to(machine, worker, move |machine, events| returned(machine, events, tuples));
    }
}

/// Turns have said something about packets of this worker.
fn returned(machine: &mut Machine, events: &mut Loop<Machine>, tuples: TupleBuf<Returned>) {
    machine.node.borders.returns.put(tuples);
    take_back(machine, events, VERDICTS_OF_BREATH);
}

/// The graph has breathed: its links have room for more verdicts.
pub(super) fn breathed(machine: &mut Machine, events: &mut Loop<Machine>) {
    machine.node.borders.returns.done = 0;
    take_back(machine, events, VERDICTS_OF_BREATH);
}

/// Does what turns have said about packets of this worker, up to a number of verdicts between two
/// breaths.
fn take_back(machine: &mut Machine, events: &mut Loop<Machine>, most: usize) {
    while let Some(mut first) = machine.node.borders.returns.queue.pop_front() {
        let left = most.saturating_sub(machine.node.borders.returns.done);
        let part = (&first.tuples, first.next);
        let (next, verdicts) = packets::returned(machine, events, part, left);
        machine.node.borders.returns.done += verdicts;
        if next < first.tuples.len() {
            first.next = next;
            machine.node.borders.returns.queue.push_front(first);
            return drive::wake(machine, events);
        }
        taken_back(machine, &first.tuples);
    }
}

fn taken_back(machine: &Machine, tuples: &TupleBuf<Returned>) {
    let roles = tuples.iter().map(|(returned, _)| returned.role);
    let verdicts = roles.filter(|role| *role == packets::Role::Verdict).count();
    let me = machine.share.me;
    posts::first(machine, move |machine, _| {
        machine.has_work_of(me);
        let instances = machine.node.borders.instances.as_mut();
        instances.into_iter().for_each(|instances| instances.taken(me, verdicts));
    });
}

/// The borders of the first worker are bound to other rules: binds those of the others. If
/// `are_same`, rows for the old borders fit the new ones.
pub(crate) fn rebind(machine: &mut Machine, checked: &Checked, are_same: bool) {
    flush(machine);
    let Some(instances) = &mut machine.node.borders.instances else { return };
    instances.version += u32::from(!are_same);
    let (version, checked) = (instances.version, checked.clone());
    posts::all(machine, move |machine, events| {
        // It is about the old borders.
        take_back(machine, events, usize::MAX);
        let registry = machine.registry.clone();
        let borders = &mut machine.node.borders;
        borders.packets.rebind(&checked.packets, &registry, |_, _| are_same);
        borders.decoders.rebind(&checked.decoders);
        borders.rules.iter_mut().for_each(|rules| rules.follow(&checked.rules));
        borders.outbox.iter_mut().for_each(|outbox| outbox.version = version);
        packets::link(machine);
    });
}
