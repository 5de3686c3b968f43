//! The nodes of a run: starts and drains them, and updates their keys.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use tidemill_event::{Endpoint, Host, Loop, Scope, machine_ns};
use tidemill_overlog::fleet::{self, Fleet, NodeId, Ports, Seal};
use tidemill_overlog::net::mail::Fabric;
use tidemill_overlog::node::{Identity, Program as Rules};
use tidemill_overlog::query::Shown;
use tidemill_stdx::log::Level;
use tidemill_stdx::say;

use super::{Machine, life, others, posts};
use crate::borders::{flows, rules};
use crate::control;
use crate::error::Error;
use crate::keys::{KeyFileError, KeyWatch};
use crate::run::{DRAIN_MAX, Listen, NodeOptions};

/// The maximum log level of this file.
const CEILING: Level = Level::Info;

/// The number of ports tried until datagrams and connections can have the same.
const PORTS_TRIED: u32 = 32;

/// The period of the check whether a draining run is done.
const DRAINED_EVERY: Duration = Duration::from_millis(5);

/// The period of the check for changed key files.
const KEYS_EVERY: Duration = Duration::from_secs(2);

/// A node before it starts: its name, and the address where it listens.
type Named = (String, String);

/// Open ports, for each node that this machine runs, with the actual address.
#[derive(Default)]
pub(crate) struct Opened {
    ports: Vec<(Ports, String)>,
    /// The nodes in order.
    pub(crate) names: Vec<Named>,
}

/// Sets the rules, and opens the ports of all nodes that this machine runs.
pub(crate) fn open(
    machine: &mut Machine,
    events: &mut Loop<Machine>,
    rules: Arc<Rules>,
    options: &NodeOptions,
    (seed, stop): (u64, Option<&Arc<AtomicBool>>),
) -> Result<Opened, Error> {
    let observer = Box::new(machine.journal.clone());
    let mut fleet = Fleet::new(rules, options.fabric, seed, observer);
    options.extra.iter().for_each(|extra| fleet.add_extra(extra.clone()));
    options.turn_tuples_max.into_iter().for_each(|most| fleet.limit_turns(most));
    options.seal.iter().for_each(|seal| fleet.seal_with(seal.clone()));
    if options.profile {
        fleet.measure(machine_ns);
    }
    if let Some(stop) = stop {
        events.stop_when(stop.clone());
        fleet.interrupt_by(stop.clone());
    }
    let registry = machine.registry.clone();
    fleet.show(Shown::new(move || registry.counters("").into_iter().collect()));
    machine.fleet = fleet;
    let (count, address) = match &options.listen {
        Listen::Address(address) => (1, address.as_str()),
        Listen::Nodes(count) => (*count, "localhost:0"),
    };
    let listens = options.fabric == Fabric::Tcp || options.token.is_some();
    let mut ports: Vec<(Ports, String)> = Vec::new();
    for _ in (0..count).filter(|&node| machine.share.has(NodeId(node))) {
        let opened = open_one(events.host(), address, listens);
        let refused = |error| Error::Start(format!("cannot listen on {address}: {error}"));
        ports.push(opened.map_err(refused)?);
    }
    let name = |listens: &String| options.address.clone().unwrap_or_else(|| listens.clone());
    let names = ports.iter().map(|(_, at)| (name(at), at.clone())).collect();
    Ok(Opened { ports, names })
}

/// Notes the addresses of the nodes, if the system chose the ports.
pub(crate) fn announce(machine: &Machine, names: &[Named], options: &NodeOptions) {
    if matches!(options.listen, Listen::Nodes(_)) {
        for (index, (_, address)) in names.iter().enumerate() {
            machine.journal.get_mut().console.note(format_args!("{index} {address}"));
        }
    }
}

/// Starts the nodes with open ports; the address of the run's first node is the landmark of the
/// others.
pub(crate) fn start(
    machine: &mut Machine,
    events: &mut Loop<Machine>,
    (opened, names): (Opened, &[Named]),
    options: &NodeOptions,
) -> Result<(), Error> {
    let mut ports = opened.ports.into_iter();
    let count = names.len() as u32;
    let first = || names.first().map(|(name, _)| name.clone());
    let landmark = options.landmark.clone().or_else(first).unwrap_or_default();
    for (index, (name, _)) in (0..).zip(names) {
        let (address, landmark) = (name.clone(), landmark.clone());
        let identity = Identity { address, index, count, landmark };
        let own = machine.share.has(NodeId(index)).then(|| ports.next()).flatten();
        let Some((ports, _)) = own else {
            fleet::start_elsewhere(machine, events, identity)
                .map_err(|error| Error::Start(format!("cannot note node {index}: {error}")))?;
            continue;
        };
        let id = start_one(machine, events, ports, identity)
            .map_err(|error| Error::Start(format!("cannot start node {index}: {error}")))?;
        if let Some(listener) = ports.listener.filter(|_| options.fabric != Fabric::Tcp) {
            control::listen(events, listener, id)
                .map_err(|error| Error::Start(format!("node {index} cannot be asked: {error}")))?;
        }
    }
    let ids = machine.fleet.ids().filter(|&id| machine.share.has(id));
    let ids: Vec<NodeId> = ids.collect();
    ids.into_iter().try_for_each(|id| begin(machine, events, id))?;
    // The first worker reads keys for all workers.
    if let Some(files) = options.key_files.as_ref().filter(|_| machine.share.me == 0) {
        machine.keys = Some(KeyWatch::new(files.clone()));
        events.every(KEYS_EVERY, |machine: &mut Machine, events, _| {
            let changed = machine.keys.as_mut().and_then(KeyWatch::look);
            changed.into_iter().for_each(|read| replace_keys(machine, events, read));
        });
    }
    Ok(())
}

/// Starts the rules of a node, in a scope of its own if it has other engines.
pub(crate) fn start_one(
    machine: &mut Machine,
    events: &mut Loop<Machine>,
    ports: impl Into<Ports>,
    identity: Identity,
) -> Result<NodeId, Error> {
    let life = (NodeId(identity.index), 0);
    live(machine, events, life, &identity.address.clone(), |machine, events| {
        fleet::start(machine, events, ports, identity)
    })
}

/// Restarts the rules of a node after a crash.
pub(crate) fn restart_one(
    machine: &mut Machine,
    events: &mut Loop<Machine>,
    endpoint: Endpoint,
    id: NodeId,
) -> Result<(), Error> {
    let life = (id, machine.fleet.restarts(id) + 1);
    let address = machine.fleet.identity(id).address.clone();
    live(machine, events, life, &address, |machine, events| {
        fleet::restart(machine, events, endpoint, id)
    })
}

/// Begins a life of a node: makes its other engines, if it has some, and starts its rules in their
/// scope.
fn live<T>(
    machine: &mut Machine,
    events: &mut Loop<Machine>,
    life: (NodeId, u64),
    address: &str,
    start: impl FnOnce(&mut Machine, &mut Loop<Machine>) -> io::Result<T>,
) -> Result<T, Error> {
    let scope = match machine.maker.clone() {
        Some(maker) => {
            let made = maker.make(&machine.journal, events, life, address);
            machine.add_node(made?)
        }
        None => Scope::LOOP,
    };
    let started = events.within(machine, scope, start);
    started.ok_or_else(|| Error::start("it has ended"))?.map_err(Error::start)
}

/// Starts the other engines of a node that is [started](start_one), if it has some.
pub(crate) fn begin(
    machine: &mut Machine,
    events: &mut Loop<Machine>,
    id: NodeId,
) -> Result<(), Error> {
    let scope = machine.scope_of(id).unwrap_or(Scope::LOOP);
    events.within(machine, scope, life::begin).unwrap_or(Ok(()))
}

/// Opens the ports of a node under one address; returns it with the actual port. Also listens for
/// connections, if `listens`.
fn open_one(host: &mut dyn Host, address: &str, listens: bool) -> io::Result<(Ports, String)> {
    let mut attempts = 0;
    loop {
        attempts += 1;
        let datagrams = host.bind(address)?;
        let name = host.local_addr(datagrams)?;
        if !listens {
            return Ok((datagrams.into(), name));
        }
        match host.listen(&name) {
            Ok(listener) => return Ok((Ports { datagrams, listener: Some(listener) }, name)),
            // Only one half of a port chosen by the system may be free: tries another.
            Err(error) if name == address || attempts == PORTS_TRIED => return Err(error),
            Err(_) => host.close(datagrams),
        }
    }
}

/// Ends the run in order: nodes accept no new work, and the loop stops when they are done.
pub(crate) fn drain(machine: &mut Machine, events: &mut Loop<Machine>) {
    if std::mem::replace(&mut machine.is_ending, true) {
        return;
    }
    say!(Info, "fleet", "takes no new work, and ends when it is done");
    if let Some(crew) = machine.crew.as_mut().filter(|_| machine.maker.is_some()) {
        // That their main parts have ended does not mean that their rules have.
        crew.drained.fill(false);
    }
    machine.at_each_node(events, |machine, events| {
        rules::end(machine, events);
        flows::end(machine, events);
    });
    fleet::drain(machine, events);
    posts::all(machine, drain);
    let end = events.now() + DRAIN_MAX;
    let mut have_rested = false;
    events.every(DRAINED_EVERY, move |machine: &mut Machine, events, _| {
        let is_drained = machine.fleet.is_drained() && machine.borders_are_idle();
        // Time costs nothing there, and an entry component may wait for it.
        let awaits_entry = machine.ends_after_captures && machine.has.entry;
        let may_end = is_drained && (!awaits_entry || machine.all_are_over());
        let may_end = others::is_drained(machine, may_end);
        let is_late = events.now() >= end;
        // An entry component has no work if it only waits, now and then woken by a timer.
        have_rested |= !machine.components_run();
        let has_work = !is_drained || !(may_end || awaits_entry && have_rested);
        if is_late && has_work {
            say!(Warn, "fleet", "ends with work left or tuples not delivered");
        }
        if is_late || may_end {
            events.stop();
        }
    });
}

/// Reads the key files, changed or not.
pub(crate) fn reread_keys(machine: &mut Machine, events: &mut Loop<Machine>) {
    let read = machine.keys.as_mut().map(KeyWatch::read);
    read.into_iter().for_each(|read| replace_keys(machine, events, read));
}

/// Replaces the keys; if they cannot be read, the old ones stay.
fn replace_keys(
    machine: &mut Machine,
    events: &mut Loop<Machine>,
    read: Result<Seal, KeyFileError>,
) {
    match read {
        Ok(seal) => {
            say!(Info, "keys", "the files of keys have been read again");
            fleet::replace_keys(machine, events, &seal);
            posts::all(machine, move |machine, events| fleet::replace_keys(machine, events, &seal));
        }
        Err(error) => {
            say!(Warn, "keys", "the old keys go on: {error}");
            machine.fleet.keep_keys();
            posts::all(machine, |machine, _| machine.fleet.keep_keys());
        }
    }
}
