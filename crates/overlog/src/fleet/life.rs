//! The start, end and restart of nodes.

use std::io;

use tidemill_event::{Endpoint, Host, Loop, Owner};
use tidemill_fabric::refusals::Refusals;
use tidemill_fabric::seal::{Carrier, Guard};
use tidemill_stdx::keyed::Secret;
use tidemill_stdx::log::Level;
use tidemill_stdx::say;

use super::datagrams::watch_datagrams;
use super::links::Streams;
use super::measure;
use super::pace::Pace;
use super::peer_table::Peers;
use super::periodics::start_periodics;
use super::queries::node_ended;
use super::seal::{CONTENT_BYTES, entropy};
use super::state::{Alive, Fleet, NodeId, Slot};
use super::system_tables::SystemTables;
use super::turns;
use super::world::World;
use crate::net::mail::{Fabric, Mail};
use crate::node::{Identity, Node};

/// The most verbose level of this file's log lines.
const CEILING: Level = Level::Info;

/// The open ports of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ports {
    /// For datagrams: tuples, unless they travel by streams.
    pub datagrams: Endpoint,
    /// For connections, of the same address. Where tuples travel by streams and this is missing,
    /// it is opened under the node's address; otherwise it is ignored.
    pub listener: Option<Endpoint>,
}

impl From<Endpoint> for Ports {
    fn from(datagrams: Endpoint) -> Ports {
        Ports { datagrams, listener: None }
    }
}

/// Starts a node on ports that were opened for it.
///
/// Its facts and the extra tuples become its first events; then its periodics start.
///
/// # Errors
/// The host's errors on watching the ports, or opening the one for connections.
pub fn start<W: World>(
    world: &mut W,
    events: &mut Loop<W>,
    ports: impl Into<Ports>,
    identity: Identity,
) -> io::Result<NodeId> {
    let owner = events.owner("node");
    let fleet = world.fleet();
    let id = NodeId(fleet.slots.len() as u32);
    fleet.slots.push(Slot { identity, owner, life: 0, alive: None, restarts: 0, pace: None });
    bring_up(world, events, ports.into(), id)?;
    Ok(id)
}

/// Notes a node that is run by another part of a simulation: here it has a number and a name, and
/// is not alive. Draws from the host what its start would, so that later starts draw the same.
///
/// # Errors
/// No random numbers.
pub fn start_elsewhere<W: World>(
    world: &mut W,
    events: &mut Loop<W>,
    identity: Identity,
) -> io::Result<NodeId> {
    let fleet = world.fleet();
    let id = NodeId(fleet.slots.len() as u32);
    fleet.slots.push(Slot {
        identity,
        owner: Owner::LOOP,
        life: 0,
        alive: None,
        restarts: 0,
        pace: None,
    });
    restart_elsewhere(events).map(|()| id)
}

/// Draws from the host what a node draws that another part starts again.
///
/// # Errors
/// No random numbers.
pub fn restart_elsewhere<W: World>(events: &mut Loop<W>) -> io::Result<()> {
    entropy(events.host()).map(drop)
}

/// Starts a node again, empty, after [`crash`].
///
/// # Errors
/// As [`start`].
pub fn restart<W: World>(
    world: &mut W,
    events: &mut Loop<W>,
    ports: impl Into<Ports>,
    id: NodeId,
) -> io::Result<()> {
    // Of the scope of this life.
    let owner = events.owner("node");
    let slot = &mut world.fleet().slots[id.0 as usize];
    slot.owner = owner;
    slot.restarts += 1;
    bring_up(world, events, ports.into(), id)
}

fn bring_up<W: World>(
    world: &mut W,
    events: &mut Loop<W>,
    ports: Ports,
    id: NodeId,
) -> io::Result<()> {
    let life = world.fleet().slots[id.0 as usize].life;
    let secret = entropy(events.host())?;
    let hash_secret = events.host().hash_secret()?;
    let fleet = world.fleet();
    let identity = fleet.slots[id.0 as usize].identity.clone();
    let mut guard = guard(fleet, &identity, events.host())?;
    let datagram_bytes = guard.as_ref().map(|_| CONTENT_BYTES);
    let post = fleet.program.post().clone();
    let mail = Mail::new(post, fleet.fabric, &identity.address, secret, datagram_bytes);
    let mut node = new_node(fleet, id, hash_secret);
    node.measure(fleet.clock_of_new(events));
    let first = node.waiting();
    let streams = match fleet.fabric {
        Fabric::Tcp => Some(open_streams(events, ports, (id, life), &identity, guard.take())?),
        Fabric::Udp | Fabric::Reliable => None,
    };
    let watch = match watch_datagrams(events, ports.datagrams, id, life) {
        Ok(watch) => watch,
        Err(error) => {
            streams.into_iter().for_each(|streams| streams.close(events));
            return Err(error);
        }
    };
    let peers = Peers::new(fleet.program.plan());
    let system = SystemTables::new(&fleet.program);
    let mut alive = Alive {
        node,
        mail,
        guard,
        endpoint: ports.datagrams,
        watch,
        streams,
        expiry: None,
        release: None,
        look: None,
        post: None,
        periodics: Vec::new(),
        refusals: Refusals::default(),
        peers,
        system,
        pace: next_pace(&world.fleet().slots[id.0 as usize]),
        started: events.now(),
        arrived: Vec::new(),
    };
    alive.watch_peers();
    let slot = &mut world.fleet().slots[id.0 as usize];
    slot.alive = Some(alive);
    let (name, times) = (&slot.identity.address, slot.restarts + 1);
    say!(Info, "node", "{name}: starts with {first} tuples (start {times})");
    turns::schedule(world, events, id, life, first);
    start_periodics(world, events, id, life, &[]);
    turns::arm_comparison(world, events, id, life);
    Ok(())
}

/// The pace of the next life of a node.
fn next_pace(slot: &Slot) -> Option<Box<Pace>> {
    slot.pace.as_ref().map(|pace| Box::new(pace.of_next_life()))
}

/// The guard of a node whose messages are sealed.
fn guard(
    fleet: &Fleet,
    identity: &Identity,
    host: &mut dyn Host,
) -> io::Result<Option<Box<Guard>>> {
    let carrier = match fleet.fabric {
        Fabric::Tcp => Carrier::Connections,
        Fabric::Udp | Fabric::Reliable => Carrier::Datagrams,
    };
    let seal = fleet.seal.as_ref();
    let guard = seal.map(|seal| seal.guard(&identity.address, carrier, host)).transpose()?;
    Ok(guard.map(Box::new))
}

/// The node of a new life, with its first events in its inbox.
fn new_node(fleet: &Fleet, id: NodeId, hash_secret: Secret) -> Node {
    let slot = &fleet.slots[id.0 as usize];
    let seed = fleet.seed_of(id, slot.life);
    let mut node = Node::new(fleet.program.clone(), slot.identity.clone(), seed, hash_secret);
    fleet.turn_tuples_max.iter().for_each(|&most| node.limit_turns(most));
    fleet.interrupt.iter().for_each(|flag| node.interrupt_by(flag.clone()));
    if fleet.observes_order {
        node.observe_order();
    }
    fleet.opening.iter().for_each(|opening| node.enqueue(opening.clone()));
    let mut tuples = node.facts();
    for extra in &fleet.extra {
        if let Ok(Some(event)) = node.tuple(extra.relation, &extra.columns, extra.location) {
            tuples.push(event);
        }
    }
    node.together(tuples).into_iter().for_each(|event| node.enqueue(event));
    node
}

fn open_streams<W: World>(
    events: &mut Loop<W>,
    ports: Ports,
    (id, life): (NodeId, u32),
    identity: &Identity,
    guard: Option<Box<Guard>>,
) -> io::Result<Streams> {
    let port = match ports.listener {
        Some(port) => port,
        None => events.host().listen(&identity.address)?,
    };
    Streams::open(events, port, (id, life), &identity.address, guard)
}

/// Ends a node without notice; its port for datagrams is given back to be closed or used again.
/// Connections are closed.
pub fn crash<W: World>(world: &mut W, events: &mut Loop<W>, id: NodeId) -> Option<Endpoint> {
    measure::keep(world.fleet(), id);
    let Fleet { slots, former, .. } = world.fleet();
    let slot = slots.get_mut(id.0 as usize)?;
    let alive = slot.alive.take()?;
    former.add(&alive.node, alive.mail.counters());
    slot.life += 1;
    say!(
        Info,
        "node",
        "{}: ends after {} turns",
        slot.identity.address,
        alive.node.counters().turns
    );
    events.discard(slot.owner);
    events.unwatch(alive.watch);
    let timers = alive.periodics.iter().flatten().map(|(timer, _)| timer);
    let timers =
        timers.chain(&alive.expiry).chain(&alive.release).chain(&alive.look).chain(&alive.post);
    for &timer in timers {
        events.cancel(timer);
    }
    if let Some(streams) = alive.streams {
        streams.close(events);
    }
    node_ended(world, events, id);
    Some(alive.endpoint)
}
