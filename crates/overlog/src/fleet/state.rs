//! A fleet, its nodes, and their state while they are alive.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use tidemill_event::{Datagrams, Endpoint, Loop, Owner, Time, TimerId, WatchId};
use tidemill_fabric::connections::Connections;
use tidemill_fabric::refusals::Refusals;
use tidemill_fabric::seal::Guard;
use tidemill_relation::SeqBuilder;
use tidemill_relation::cost::Clock;
use tidemill_relation::plan::RelationId;

use super::former::FormerLives;
use super::links::Streams;
use super::pace::Pace;
use super::peer_table::Peers;
use super::seal::Seal;
use super::system_tables::SystemTables;
use crate::net::mail::{Fabric, Mail};
use crate::node::{Event, Identity, Node, Observer, Profile, Program};
use crate::query::{AskerId, Desk, Limits, QueryCounters, Shown};

/// A node of a fleet.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct NodeId(pub u32);

/// Events that may wait in one node's inbox; more are dropped and counted.
pub const INBOX_MAX: usize = 1 << 16;

/// Room for the bytes of a read from a connection.
const RECEIVED_BYTES_MAX: usize = 1 << 16;

/// One started node and what it holds of the loop.
pub(super) struct Slot {
    pub(super) identity: Identity,
    pub(super) owner: Owner,
    /// Counts restarts, so that nothing of an earlier life reaches a later one.
    pub(super) life: u32,
    pub(super) alive: Option<Alive>,
    pub(super) restarts: u64,
    /// The faults of time that its next life inherits.
    pub(super) pace: Option<Box<Pace>>,
}

/// The state of a node while it is alive.
pub(super) struct Alive {
    pub(super) node: Node,
    pub(super) mail: Mail,
    /// What seals and opens its datagrams, if the fleet has a key; connections have their own.
    pub(super) guard: Option<Box<Guard>>,
    pub(super) endpoint: Endpoint,
    pub(super) watch: WatchId,
    /// Its connections, if tuples travel by those.
    pub(super) streams: Option<Streams>,
    pub(super) expiry: Option<TimerId>,
    pub(super) release: Option<TimerId>,
    pub(super) look: Option<TimerId>,
    pub(super) post: Option<TimerId>,
    /// For each active periodic: its timer, and when that fires next.
    pub(super) periodics: Vec<Option<(TimerId, Time)>>,
    /// The refusals of peers that were logged.
    pub(super) refusals: Refusals,
    /// The table of its peers, if the program reads that.
    pub(super) peers: Option<Peers>,
    /// The tables of the system that the program reads, if it reads any.
    pub(super) system: Option<SystemTables>,
    /// Its faults of time, in a simulation.
    pub(super) pace: Option<Box<Pace>>,
    /// When this life began.
    pub(super) started: Time,
    /// The tuples of a datagram, before they are events; kept for its memory.
    pub(super) arrived: Vec<(RelationId, SeqBuilder, bool)>,
}

impl Alive {
    /// Converts a span of its clock to that of the loop.
    pub(super) fn span_ns(&self, ns: u64) -> u64 {
        self.pace.as_ref().map_or(ns, |pace| pace.span_ns(ns))
    }

    /// The guard of its datagrams, or that of its connections.
    pub(super) fn any_guard(&self) -> Option<&Guard> {
        let streams = || self.streams.as_ref()?.connections().guard();
        self.guard.as_deref().or_else(streams)
    }
}

/// Nodes of one program; see the [module](super).
pub struct Fleet {
    pub(super) program: Arc<Program>,
    /// The program to which nodes switch when none is in the middle of a turn.
    pub(super) pending: Option<Arc<Program>>,
    pub(super) fabric: Fabric,
    pub(super) seal: Option<Seal>,
    pub(super) seed: u64,
    pub(super) slots: Vec<Slot>,
    pub(super) observer: Box<dyn Observer>,
    /// Tuples given on the command line, inserted after the program's facts.
    pub(super) extra: Vec<Extra>,
    /// The queries under way, by asker.
    pub(super) desk: Desk,
    /// The owner of the slices of queries, once there was a query.
    pub(super) queries: Option<Owner>,
    /// A slice for queries is queued.
    pub(super) slice_is_queued: bool,
    /// The limit of tuples per turn, if not the default.
    pub(super) turn_tuples_max: Option<u64>,
    /// The first event of nodes that start.
    pub(super) opening: Option<Event>,
    /// Interrupts all nodes.
    pub(super) interrupt: Option<Arc<AtomicBool>>,
    /// Timers fire explicitly, not by themselves.
    pub(super) holds_timers: bool,
    /// Nodes observe the order of their events.
    pub(super) observes_order: bool,
    /// The clock, if the costs of rules are always measured.
    pub(super) clock: Option<Clock>,
    /// Until when costs are measured for tools.
    pub(super) looked_at: Option<Time>,
    /// The costs of rules at nodes that have ended.
    pub(super) ended: Profile,
    /// The counters of nodes that have crashed.
    pub(super) former: FormerLives,
    /// Room for received bytes of connections, made when some come first.
    buffer: Vec<u8>,
    /// Room for received datagrams.
    pub(super) datagrams: Datagrams,
}

/// A tuple that every node it is located at gets when it starts.
#[derive(Clone, Debug)]
pub struct Extra {
    /// Its relation.
    pub relation: RelationId,
    /// Its columns, without registers.
    pub columns: Vec<tidemill_relation::expr::Expr>,
    /// The column of its location.
    pub location: u32,
}

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
            pending: None,
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
            holds_timers: false,
            observes_order: false,
            clock: None,
            looked_at: None,
            ended: Profile::default(),
            former: FormerLives::default(),
            buffer: Vec::new(),
            datagrams: Datagrams::new(),
        }
    }

    /// The counters of nodes that have crashed.
    pub fn former_lives(&self) -> &FormerLives {
        &self.former
    }

    /// Draws random numbers of all nodes from another seed, in this life and later ones.
    pub fn reseed(&mut self, seed: u64) {
        self.seed = seed;
        for (id, slot) in (0..).map(NodeId).zip(&self.slots) {
            if let Some(alive) = &slot.alive {
                alive.node.reseed(self.seed_of(id, slot.life));
            }
        }
    }

    /// The seed of a life of a node.
    pub(super) fn seed_of(&self, id: NodeId, life: u32) -> u64 {
        let lives = u64::from(life) << 32 | u64::from(id.0);
        tidemill_stdx::hash::combine(self.seed, lives)
    }

    /// Takes the room for received bytes of connections; to be given back.
    pub(super) fn take_buffer(&mut self) -> Vec<u8> {
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.resize(RECEIVED_BYTES_MAX, 0);
        buffer
    }

    pub(super) fn give_back(&mut self, buffer: Vec<u8>) {
        self.buffer = buffer;
    }

    /// Adds a tuple that nodes get when they start, after the facts.
    pub fn add_extra(&mut self, extra: Extra) {
        self.extra.push(extra);
    }

    /// Makes nodes that start from now on seal what they send each other, and refuse all else.
    pub fn seal_with(&mut self, seal: Seal) {
        self.seal = Some(seal);
    }

    /// Enables queries for the counters of the process.
    pub fn show(&mut self, shown: Shown) {
        self.desk.show(shown);
    }

    /// The event that nodes which start from now on begin with, before their facts.
    pub fn open_with(&mut self, opening: Event) {
        self.opening = Some(opening);
    }

    /// Makes nodes that start from now on observe the order of their events.
    pub fn observe_order(&mut self) {
        self.observes_order = true;
    }

    /// Makes nodes that start from now on give up turns that derive more than this: see
    /// [`Node::limit_turns`].
    pub fn limit_turns(&mut self, tuples_max: u64) {
        self.turn_tuples_max = Some(tuples_max);
    }

    /// Makes nodes that start from now on stop once the flag is true, even in the middle of a turn.
    /// The loop must see the flag as well ([`Loop::stop_when`]).
    pub fn interrupt_by(&mut self, flag: Arc<AtomicBool>) {
        self.interrupt = Some(flag);
    }

    /// The program.
    pub fn program(&self) -> &Arc<Program> {
        &self.program
    }

    /// The transport of tuples.
    pub fn fabric(&self) -> Fabric {
        self.fabric
    }

    /// The observer, to take what it has collected.
    pub fn observer(&mut self) -> &mut dyn Observer {
        &mut *self.observer
    }

    /// All nodes, living or not.
    pub fn ids(&self) -> impl Iterator<Item = NodeId> + use<> {
        (0..self.slots.len() as u32).map(NodeId)
    }

    /// The identity of a node.
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

    /// Makes the [rows of a node's record](Node::write_record), all of them, if this is one of its
    /// tables.
    pub fn write_record(&mut self, id: NodeId, table: RelationId, now_ns: u64) {
        let traces = &self.program.compiled.traces;
        if !traces.as_ref().is_some_and(|it| it.is_record(table)) {
            return;
        }
        let slot = self.slots.get_mut(id.0 as usize);
        if let Some(alive) = slot.and_then(|slot| slot.alive.as_mut()) {
            while alive.node.write_record(now_ns) {}
        }
    }

    /// The address of a node.
    pub fn address(&self, id: NodeId) -> Option<&str> {
        self.slots.get(id.0 as usize).map(|slot| slot.identity.address.as_str())
    }

    /// A living node's mail, for its counters.
    pub fn mail(&self, id: NodeId) -> Option<&Mail> {
        self.slots.get(id.0 as usize)?.alive.as_ref().map(|alive| &alive.mail)
    }

    /// The counters of queries to its nodes.
    pub fn queries(&self) -> QueryCounters {
        self.desk.counters()
    }

    /// True while questions of this asker are not answered.
    pub fn is_asking(&self, asker: AskerId) -> bool {
        self.desk.is_busy(asker)
    }

    /// Sets the limits of each query, and of all together.
    pub fn limit_queries(&mut self, limits: Limits, bytes_max: usize) {
        self.desk.limit(limits, bytes_max);
    }

    /// The number of restarts of a node.
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
    pub(super) fn with_room(&mut self, id: NodeId) -> Option<(u32, &str, &mut Node)> {
        let Slot { identity, life, alive, .. } = self.slots.get_mut(id.0 as usize)?;
        let node = &mut alive.as_mut()?.node;
        if node.waiting() >= INBOX_MAX {
            node.counters_mut().dropped_queue_full += 1;
            return None;
        }
        Some((*life, &identity.address, node))
    }

    pub(super) fn alive(
        &mut self,
        id: NodeId,
        life: u32,
    ) -> Option<(&mut Alive, &mut dyn Observer)> {
        let slot = self.slots.get_mut(id.0 as usize)?;
        if slot.life != life {
            return None;
        }
        Some((slot.alive.as_mut()?, &mut *self.observer))
    }
}
