//! Nodes on an event loop: sockets, timers and turns.
//!
//! A [`Fleet`] drives any number of nodes of one program, each with an endpoint of its own, on
//! one loop; whether the host behind it is the operating system or a simulation makes no
//! difference here. Everything that comes from outside becomes an event in the node's inbox and
//! one event of the loop:
//!
//! ```text
//! datagram, timer, injection -> inbox -> event: begin
//!                                          dpc: derive, some tuples at a time
//!                                          action: commit, then refine, round by round
//!                                          action: finish, post, arm timers
//! ```
//! So a node whose fixed point takes long is suspended by the loop between two of these, and
//! others go on.

mod drain;
mod peers;
mod queries;
mod seal;
mod streams;
mod system;
mod timers;
mod turns;

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use tidemill_event::{Endpoint, Handlers, Interest, Loop, Owner, Time, TimerId, WatchId};
use tidemill_relation::plan::RelationId;
use tidemill_relation::{OwnedValue, SeqBuilder, TupleBuf, Value};
use tidemill_stdx::log::Level;
use tidemill_stdx::say;

use crate::net::mail::{Fabric, Fate, Mail};
use crate::node::{Crossing, Event, Identity, Node, Observer, Program};
use crate::query::{AskerId, Desk, Limits, QueryCounters, Shown};
pub use drain::drain;
pub use queries::{Takes, ask, forget, resume};
pub use seal::{Seal, replace_keys};
use streams::Streams;
pub use system::sample;
use tidemill_fabric::connections::Connections;
use tidemill_fabric::refusals::Refusals;
use tidemill_fabric::seal::{Carrier, Guard};

/// What this file says at most.
const CEILING: Level = Level::Trace;

/// The world of a loop that runs a fleet.
pub trait World: Sized + 'static {
    /// The fleet.
    fn fleet(&mut self) -> &mut Fleet;

    /// Called after each turn of a node, to look at what it did or to stop the loop.
    fn turned(&mut self, events: &mut Loop<Self>) {
        let _ = events;
    }

    /// Takes the event tuples and changes of a turn that its program
    /// [crosses](crate::node::Program::cross), in order, after the commit.
    fn crossed(&mut self, events: &mut Loop<Self>, node: NodeId, tuples: &TupleBuf<Crossing>) {
        let _ = (events, node, tuples);
    }

    /// The rows of a table of the system at a node, without the location, of tables that are not of
    /// the fleet: `sys::app`, `sys::component` and the like.
    fn system_rows(
        &mut self,
        events: &mut Loop<Self>,
        node: NodeId,
        name: &str,
    ) -> Vec<Vec<OwnedValue>> {
        let _ = (events, node, name);
        Vec::new()
    }

    /// Takes a message that answers an asker of [`ask`], an encoded
    /// [`Control`](crate::control::Control).
    fn answered(&mut self, events: &mut Loop<Self>, asker: AskerId, message: &[u8]) -> Takes {
        let _ = (events, asker, message);
        Takes::More
    }

    /// Takes a connection to the port of a node that a tool began, watched by nobody.
    fn called(&mut self, events: &mut Loop<Self>, node: NodeId, call: Call<'_>) {
        let _ = node;
        events.host().close(call.endpoint);
    }
}

/// A connection that a tool began.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The connection.
    pub endpoint: Endpoint,
    /// Where it comes from.
    pub from: &'a str,
    /// What was read of it.
    pub bytes: &'a [u8],
}

/// Events that may wait in one node's inbox; more are dropped and counted.
pub const INBOX_MAX: usize = 1 << 16;

/// Datagrams read at a stretch before others get their turn.
const RECEIVE_BATCH: usize = 64;

/// One started node and what it holds of the loop.
struct Slot {
    identity: Identity,
    owner: Owner,
    /// Counts restarts, so that nothing of an earlier life reaches a later one.
    life: u32,
    alive: Option<Alive>,
    restarts: u64,
}

/// What a node has while it lives.
struct Alive {
    node: Node,
    mail: Mail,
    /// What seals and opens its datagrams, if the fleet has a key; connections have their own.
    guard: Option<Box<Guard>>,
    endpoint: Endpoint,
    watch: WatchId,
    /// Its connections, if tuples travel by those.
    streams: Option<Streams>,
    expiry: Option<TimerId>,
    release: Option<TimerId>,
    post: Option<TimerId>,
    periodics: Vec<TimerId>,
    /// What has been logged of what peers sent.
    refusals: Refusals,
    /// The table of its peers, if the program reads that.
    peers: Option<peers::Peers>,
    /// The tables of the system that the program reads, if it reads any.
    system: Option<system::SystemTables>,
    /// When this life began.
    started: Time,
    /// The tuples of a datagram, before they are events; kept for its memory.
    arrived: Vec<(RelationId, SeqBuilder, bool)>,
}

impl Alive {
    /// Logs why something of a peer was dropped, if it was since there were `drops`.
    fn log_drop(&mut self, from: &str, bytes: usize, drops: u64) {
        let Some(reason) = self.mail.counters().dropped_since(drops) else { return };
        let (name, text) = (&self.node.identity().address, reason.name());
        say!(Debug, "net", "{name}: dropped of {bytes} bytes from {from}: {text}");
        if reason.is_refusal()
            && let Some(whom) = self.refusals.first(from, text)
        {
            say!(Info, "net", "{name}: {whom} is refused: {text}");
        }
    }

    /// Takes a datagram; returns how many events came of it.
    fn take_in(&mut self, from: &str, datagram: &[u8], now_ns: u64) -> usize {
        let (bytes, drops) = (datagram.len(), self.mail.counters().drops());
        let name = &self.node.identity().address;
        say!(Trace, "net", "{name}: {bytes} bytes from {from}");
        let (mut arrived, node) = (std::mem::take(&mut self.arrived), &mut self.node);
        self.mail.receive(from, datagram, now_ns, &mut |delivery| {
            let mut row = node.spare_row();
            row.extend(delivery.columns);
            arrived.push((delivery.relation, row, delivery.delete));
        });
        self.log_drop(from, bytes, drops);
        // What a peer's earlier life left goes before what its new life brings.
        let mut count = self.settle_fates();
        for (relation, row, delete) in arrived.drain(..) {
            if self.node.waiting() >= INBOX_MAX {
                self.node.counters_mut().dropped_queue_full += 1;
                self.node.reuse_row(row);
                continue;
            }
            self.node.enqueue(Event::Tuple { relation, row, delete, received: true });
            count += 1;
        }
        self.arrived = arrived;
        count
    }

    /// Retracts what lost peers supported and reminds those that have forgotten us; returns how
    /// many events came of it.
    fn settle_fates(&mut self) -> usize {
        let mut count = 0;
        for fate in self.mail.fates() {
            let name = &self.node.identity().address;
            match fate {
                Fate::Gone(peer) => {
                    say!(Info, "net", "{name}: {peer} is gone, and what it supports here");
                    self.node.enqueue(Event::Lost { sender: peer });
                    count += 1;
                }
                Fate::Forgot(peer) => {
                    say!(Info, "net", "{name}: {peer} has forgotten what it was told");
                    self.node.enqueue(Event::Forgotten { peer });
                    count += 1;
                }
            }
        }
        count
    }

    /// Gives the node's sends to its mail.
    fn hand_over(&mut self, now_ns: u64) {
        let mail = &mut self.mail;
        self.node.take_sends(|send, columns| mail.post(send, columns, now_ns));
    }
}

/// Nodes of one program; see the module.
pub struct Fleet {
    program: Arc<Program>,
    fabric: Fabric,
    seal: Option<Seal>,
    seed: u64,
    slots: Vec<Slot>,
    observer: Box<dyn Observer>,
    /// Tuples given on the command line: put in after the program's facts.
    extra: Vec<Extra>,
    /// What is asked, and by whom.
    desk: Desk,
    /// The owner of what queries take, once there was one.
    queries: Option<Owner>,
    /// A slice for queries is queued.
    slice_is_queued: bool,
    /// What a turn of a node may derive, if not the default.
    turn_tuples_max: Option<u64>,
    /// What nodes that start begin with.
    opening: Option<Event>,
    /// Ends all that nodes do.
    interrupt: Option<Arc<AtomicBool>>,
    buffer: Vec<u8>,
}

/// A tuple that every node it is located at gets when it starts.
#[derive(Clone, Debug)]
pub struct Extra {
    /// Its relation.
    pub relation: RelationId,
    /// Its columns, without registers.
    pub columns: Vec<tidemill_relation::expr::Expr>,
    /// The column that says where it lies.
    pub location: u32,
}

/// A node of a fleet.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct NodeId(pub u32);

impl Fleet {
    /// A fleet without nodes. `seed` starts the random numbers of all of them.
    pub fn new(
        program: Arc<Program>,
        fabric: Fabric,
        seed: u64,
        observer: Box<dyn Observer>,
    ) -> Fleet {
        Fleet {
            program,
            fabric,
            seal: None,
            seed,
            slots: Vec::new(),
            observer,
            extra: Vec::new(),
            desk: Desk::default(),
            queries: None,
            slice_is_queued: false,
            turn_tuples_max: None,
            opening: None,
            interrupt: None,
            buffer: vec![0; 1 << 16],
        }
    }

    /// Adds a tuple to what nodes get when they start, after the facts.
    pub fn add_extra(&mut self, extra: Extra) {
        self.extra.push(extra);
    }

    /// Has nodes that start from now on seal what they send each other, and hear nothing else.
    pub fn seal_with(&mut self, seal: Seal) {
        self.seal = Some(seal);
    }

    /// Has queries for the counters of the process answered.
    pub fn show(&mut self, shown: Shown) {
        self.desk.show(shown);
    }

    /// The event that nodes which start from now on begin with, before their facts.
    pub fn open_with(&mut self, opening: Event) {
        self.opening = Some(opening);
    }

    /// Has nodes that start from now on give up turns that derive more than this: see
    /// [`Node::limit_turns`].
    pub fn limit_turns(&mut self, tuples_max: u64) {
        self.turn_tuples_max = Some(tuples_max);
    }

    /// Has nodes that start from now on do nothing more once the flag is true, even in the middle
    /// of a turn. The loop must see the flag as well ([`Loop::stop_when`]).
    pub fn interrupt_by(&mut self, flag: Arc<AtomicBool>) {
        self.interrupt = Some(flag);
    }

    /// The program.
    pub fn program(&self) -> &Arc<Program> {
        &self.program
    }

    /// How tuples travel.
    pub fn fabric(&self) -> Fabric {
        self.fabric
    }

    /// The observer, to take out what it has gathered.
    pub fn observer(&mut self) -> &mut dyn Observer {
        &mut *self.observer
    }

    /// All nodes, living or not.
    pub fn ids(&self) -> impl Iterator<Item = NodeId> + use<> {
        (0..self.slots.len() as u32).map(NodeId)
    }

    /// What a node is called.
    pub fn identity(&self, id: NodeId) -> &Identity {
        &self.slots[id.0 as usize].identity
    }

    /// The node of that address.
    pub fn find(&self, address: &str) -> Option<NodeId> {
        self.ids().find(|&id| self.identity(id).address == address)
    }

    /// A living node.
    pub fn node(&self, id: NodeId) -> Option<&Node> {
        self.slots.get(id.0 as usize)?.alive.as_ref().map(|alive| &alive.node)
    }

    /// What a node is called.
    pub fn address(&self, id: NodeId) -> Option<&str> {
        self.slots.get(id.0 as usize).map(|slot| slot.identity.address.as_str())
    }

    /// A living node's mail, for its counters.
    pub fn mail(&self, id: NodeId) -> Option<&Mail> {
        self.slots.get(id.0 as usize)?.alive.as_ref().map(|alive| &alive.mail)
    }

    /// What queries to its nodes have counted.
    pub fn queries(&self) -> QueryCounters {
        self.desk.counters()
    }

    /// True while questions of this asker are not answered.
    pub fn is_asking(&self, asker: AskerId) -> bool {
        self.desk.is_busy(asker)
    }

    /// What each query, and all together, may take from now on.
    pub fn limit_queries(&mut self, limits: Limits, bytes_max: usize) {
        self.desk.limit(limits, bytes_max);
    }

    /// How often a node was started again.
    pub fn restarts(&self, id: NodeId) -> u64 {
        self.slots[id.0 as usize].restarts
    }

    /// Whether nothing is left to do but to uphold leases: no timer is armed but those of the
    /// nodes' mail, and the mail has nothing under way but signs of life.
    pub fn only_upkeep<W: 'static>(&self, events: &Loop<W>) -> bool {
        let living = || self.slots.iter().filter_map(|slot| slot.alive.as_ref());
        let posts = living().filter_map(|alive| alive.post);
        let armed = posts.filter(|&timer| events.is_armed(timer)).count();
        let is_quiet = |alive: &Alive| {
            let streams = alive.streams.as_ref().map(Streams::connections);
            alive.mail.only_upkeep()
                && alive.any_guard().is_none_or(Guard::only_upkeep)
                && streams.is_none_or(Connections::has_written_all)
        };
        armed == events.timers_armed() && living().all(is_quiet)
    }

    /// The life, the address and the node itself, if it lives and its inbox has room; if that has
    /// none, it is counted.
    fn with_room(&mut self, id: NodeId) -> Option<(u32, &str, &mut Node)> {
        let Slot { identity, life, alive, .. } = self.slots.get_mut(id.0 as usize)?;
        let node = &mut alive.as_mut()?.node;
        if node.waiting() >= INBOX_MAX {
            node.counters_mut().dropped_queue_full += 1;
            return None;
        }
        Some((*life, &identity.address, node))
    }

    fn alive(&mut self, id: NodeId, life: u32) -> Option<(&mut Alive, &mut dyn Observer)> {
        let slot = self.slots.get_mut(id.0 as usize)?;
        if slot.life != life {
            return None;
        }
        Some((slot.alive.as_mut()?, &mut *self.observer))
    }
}

/// What is open for a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ports {
    /// For datagrams: tuples, unless they travel by streams.
    pub datagrams: Endpoint,
    /// For connections, of the same address. Where tuples travel by streams and this is missing,
    /// it is opened under the node's address; elsewhere it is not looked at.
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
/// What the host says about watching the ports, or opening the one for connections.
pub fn start<W: World>(
    world: &mut W,
    events: &mut Loop<W>,
    ports: impl Into<Ports>,
    identity: Identity,
) -> io::Result<NodeId> {
    let owner = events.owner("node");
    let fleet = world.fleet();
    let id = NodeId(fleet.slots.len() as u32);
    fleet.slots.push(Slot { identity, owner, life: 0, alive: None, restarts: 0 });
    bring_up(world, events, ports.into(), id)?;
    Ok(id)
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
    let secret = seal::entropy(events.host())?;
    let hash_secret = events.host().hash_secret()?;
    let fleet = world.fleet();
    let identity = fleet.slots[id.0 as usize].identity.clone();
    let lives = u64::from(life) << 32 | u64::from(id.0);
    let seed = tidemill_stdx::hash::combine(fleet.seed, lives);
    let mut node = Node::new(fleet.program.clone(), identity.clone(), seed, hash_secret);
    fleet.turn_tuples_max.iter().for_each(|&most| node.limit_turns(most));
    fleet.interrupt.iter().for_each(|flag| node.interrupt_by(flag.clone()));
    let carrier = match fleet.fabric {
        Fabric::Tcp => Carrier::Connections,
        Fabric::Udp | Fabric::Reliable => Carrier::Datagrams,
    };
    let seal = fleet.seal.as_ref();
    let guard = seal.map(|seal| seal.guard(&identity.address, carrier, events.host()));
    let mut guard = guard.transpose()?.map(Box::new);
    let datagram_bytes = guard.as_ref().map(|_| seal::CONTENT_BYTES);
    let post = fleet.program.post().clone();
    let mail = Mail::new(post, fleet.fabric, &identity.address, secret, datagram_bytes);
    fleet.opening.iter().for_each(|opening| node.enqueue(opening.clone()));
    let mut tuples = node.facts();
    for extra in &fleet.extra {
        if let Ok(Some(event)) = node.tuple(extra.relation, &extra.columns, extra.location) {
            tuples.push(event);
        }
    }
    node.together(tuples).into_iter().for_each(|event| node.enqueue(event));
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
    let peers = peers::Peers::new(fleet.program.plan());
    let system = system::SystemTables::new(fleet.program.plan());
    let mut alive = Alive {
        node,
        mail,
        guard,
        endpoint: ports.datagrams,
        watch,
        streams,
        expiry: None,
        release: None,
        post: None,
        periodics: Vec::new(),
        refusals: Refusals::default(),
        peers,
        system,
        started: events.now(),
        arrived: Vec::new(),
    };
    alive.watch_peers();
    let slot = &mut world.fleet().slots[id.0 as usize];
    slot.alive = Some(alive);
    let (name, times) = (&slot.identity.address, slot.restarts + 1);
    say!(Info, "node", "{name}: starts with {first} tuples (start {times})");
    turns::schedule(world, events, id, life, first);
    timers::start_periodics(world, events, id, life);
    system::arm(world, events, id, life);
    Ok(())
}

fn watch_datagrams<W: World>(
    events: &mut Loop<W>,
    endpoint: Endpoint,
    id: NodeId,
    life: u32,
) -> io::Result<WatchId> {
    let handlers = Handlers::new()
        .read(move |world: &mut W, events: &mut Loop<W>, _| receive(world, events, id, life))
        .error(|_, _, _, _| {});
    events.watch(endpoint, Interest::Read, handlers)
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
    let slot = world.fleet().slots.get_mut(id.0 as usize)?;
    let alive = slot.alive.take()?;
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
    let timers = alive.periodics.iter();
    let timers = timers.chain(&alive.expiry).chain(&alive.release).chain(&alive.post);
    for &timer in timers {
        events.cancel(timer);
    }
    if let Some(streams) = alive.streams {
        streams.close(events);
    }
    queries::node_ended(world, events, id);
    Some(alive.endpoint)
}

/// Gives a node an event from outside; false if it is not alive or its inbox is full.
pub fn inject<W: World>(world: &mut W, events: &mut Loop<W>, id: NodeId, event: Event) -> bool {
    let Some((life, _, node)) = world.fleet().with_room(id) else { return false };
    node.enqueue(event);
    turns::schedule(world, events, id, life, 1);
    true
}

/// Hands a node a tuple that another part of the program has, as an event that was received; `fill`
/// appends its columns, and is given the node's address. False if it is not alive or its inbox is
/// full.
///
/// # Errors
/// What `fill` says: then nothing is handed over.
pub fn hand<W: World, E>(
    world: &mut W,
    events: &mut Loop<W>,
    id: NodeId,
    relation: RelationId,
    fill: impl FnOnce(&str, &mut SeqBuilder) -> Result<(), E>,
) -> Result<bool, E> {
    let Some((life, address, node)) = world.fleet().with_room(id) else { return Ok(false) };
    let mut row = node.spare_row();
    if let Err(error) = fill(address, &mut row) {
        node.reuse_row(row);
        return Err(error);
    }
    node.enqueue(Event::Tuple { relation, row, delete: false, received: true });
    turns::schedule(world, events, id, life, 1);
    Ok(true)
}

/// Reads what has arrived for a node.
fn receive<W: World>(world: &mut W, events: &mut Loop<W>, id: NodeId, life: u32) {
    let now_ns = events.now().0;
    let mut buffer = std::mem::take(&mut world.fleet().buffer);
    let mut count = 0;
    for _ in 0..RECEIVE_BATCH {
        let Some((alive, _)) = world.fleet().alive(id, life) else { break };
        let Ok(Some((length, from))) = events.host().recv(alive.endpoint, &mut buffer) else {
            break;
        };
        let from = events.host().name_of(from).into_owned();
        if alive.guard.is_some() {
            count += alive.open(events.host(), &from, &mut buffer[..length], now_ns);
            continue;
        }
        count += alive.take_in(&from, &buffer[..length], now_ns);
    }
    world.fleet().buffer = buffer;
    turns::schedule(world, events, id, life, count);
    timers::post(world, events, id, life);
}

/// Rows of a table of a living node, for queries and expectations.
pub fn rows(fleet: &Fleet, id: NodeId, relation: &str, row: impl FnMut(&[Value<'_>])) {
    if let (Some(node), Some(relation)) = (fleet.node(id), fleet.program.plan().find(relation)) {
        node.rows(relation, row);
    }
}
