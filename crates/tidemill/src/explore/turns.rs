//! Turns of nodes, each of which is run once: the result follows from the node's tables and the
//! event.
//!
//! The contents of tables have a number. The node that holds them is made on demand: from a copy,
//! if one is kept, or else by running the turns that led there. So a search keeps a number for each
//! node, and only new contents cost a turn.
//!
//! The contents are rows, and the ages of those that have a lifetime, at the time of the node's
//! clock. So contents change when that clock advances. A node that is made again has a time of its
//! own, at which its rows have these ages.

use std::cmp;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tidemill_overlog::net::mail::{Fabric, Mail};
use tidemill_overlog::node::{Chosen, Event, Identity, Node, Program as Rules, Send, Turned};
use tidemill_relation::expr::Expr;
use tidemill_relation::plan::{Bind, On, Plan, RelationId};
use tidemill_relation::{SeqBuilder, Value};
use tidemill_stdx::hash::Map;
use tidemill_stdx::keyed::Secret;

use super::digest::{self, Digest};
use super::events::{EventId, Events};
use super::found::Findings;
use super::numbers::Numbers;
use super::options::ExploreOptions;
use super::properties::{ProjectionId, Properties};
use super::renaming::Renaming;

/// The number of the contents of a node's tables.
pub(super) type TablesId = u32;

/// The number of a message: an event and its destination.
pub(super) type MessageId = u32;

/// The maximum number of nodes kept.
const NODES_MAX: usize = 2048;

/// The input of a turn.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct TurnKey {
    pub(super) tables: TablesId,
    pub(super) event: EventId,
    /// The number of the next symbol; 0 where there are none.
    pub(super) symbol: u64,
    /// The time; 0 where nothing reads it.
    pub(super) clock_ns: u64,
}

/// A possible result of a turn.
#[derive(Clone, Debug)]
pub(super) struct Outcome {
    pub(super) tables: TablesId,
    pub(super) symbol: u64,
    pub(super) follows: Box<[EventId]>,
    pub(super) sends: Box<[MessageId]>,
    /// The number of its failure.
    pub(super) failure: Option<u32>,
}

/// The origin of table contents.
#[derive(Clone, Debug)]
pub(super) enum Origin {
    Start,
    /// A turn with these results of random choices.
    Turn(TurnKey, Vec<bool>),
    /// The passing of time after these contents.
    Later(TablesId),
}

#[derive(Clone, Debug)]
struct Held {
    node: u32,
    origin: Origin,
    projection: ProjectionId,
    /// The clock of the node that is made from this origin.
    now_ns: u64,
    /// The time from then to the first expiry of a row.
    expiry_ns: Option<u64>,
    digest: Digest,
}

/// What all threads number, and the turns that they have run.
#[derive(Default)]
struct Numbered {
    messages: Numbers<(u32, EventId), (u32, EventId)>,
    held: Numbers<Box<[u8]>, Held>,
    held_bytes: AtomicUsize,
    failures: Numbers<String, String>,
    outcomes: Mutex<Map<TurnKey, Ran>>,
    /// The number of turns.
    ran: AtomicU64,
}

/// The results of a turn, and whether they may depend on the order of rows, which was left out.
type Ran = (Arc<[Outcome]>, bool);

/// All turns that a thread has seen, with their results.
pub(super) struct Turns {
    rules: Arc<Rules>,
    pub(super) identities: Vec<Identity>,
    turn_tuples_max: Option<u64>,
    in_order: bool,
    uses_symbols: bool,
    /// Omit events that start no strand.
    reduction: bool,
    /// Digests of tables are needed.
    fingerprints: bool,
    pub(super) events: Events,
    numbered: Arc<Numbered>,
    /// Sent tuples in the form in which they arrive.
    arrivals: Map<(u32, EventId), Box<[MessageId]>>,
    later: Map<(TablesId, u64), TablesId>,
    outcomes: Map<TurnKey, Arc<[Outcome]>>,
    nodes: Map<TablesId, Node>,
    /// The keys of `nodes`, oldest first.
    kept: VecDeque<TablesId>,
    /// Properties of all nodes, if the program has any.
    pub(super) properties: Option<Properties>,
    /// A result may have depended on the order of rows, which was left out.
    pub(super) needs_order: bool,
}

impl Turns {
    pub(super) fn new(
        rules: Arc<Rules>,
        identities: Vec<Identity>,
        properties: Option<Properties>,
        options: &ExploreOptions,
        (in_order, uses_symbols): (bool, bool),
    ) -> Turns {
        Turns {
            rules,
            identities,
            turn_tuples_max: options.turn_tuples_max,
            in_order,
            uses_symbols,
            reduction: options.reduction,
            fingerprints: options.fingerprint,
            events: Events::default(),
            numbered: Arc::default(),
            arrivals: Map::default(),
            later: Map::default(),
            outcomes: Map::default(),
            nodes: Map::default(),
            kept: VecDeque::new(),
            properties,
            needs_order: false,
        }
    }

    /// The same for another thread: numbers are shared, nodes are not.
    pub(super) fn for_thread(&self) -> Turns {
        Turns {
            rules: self.rules.clone(),
            identities: self.identities.clone(),
            turn_tuples_max: self.turn_tuples_max,
            in_order: self.in_order,
            uses_symbols: self.uses_symbols,
            reduction: self.reduction,
            fingerprints: self.fingerprints,
            events: self.events.clone(),
            numbered: self.numbered.clone(),
            arrivals: Map::default(),
            later: Map::default(),
            outcomes: Map::default(),
            nodes: Map::default(),
            kept: VecDeque::new(),
            properties: self.properties.as_ref().map(Properties::for_thread),
            needs_order: false,
        }
    }

    /// The number of turns run by all threads.
    pub(super) fn ran(&self) -> u64 {
        // Relaxed: it is read after the threads have ended.
        self.numbered.ran.load(Ordering::Relaxed)
    }

    pub(super) fn rules(&self) -> &Arc<Rules> {
        &self.rules
    }

    /// A new node.
    pub(super) fn fresh(&self, node: u32) -> Node {
        let identity = self.identities[node as usize].clone();
        let mut node = Node::new(self.rules.clone(), identity, 0, Secret::FIXED);
        self.turn_tuples_max.iter().for_each(|most| node.limit_turns(*most));
        node
    }

    /// The initial contents of a node's tables.
    pub(super) fn start(&mut self, node: u32) -> TablesId {
        let fresh = self.fresh(node);
        self.hold(fresh, node, Origin::Start, 0)
    }

    /// The contents after `by_ns` nanoseconds without a turn.
    pub(super) fn later(&mut self, tables: TablesId, by_ns: u64) -> TablesId {
        let Held { node: number, now_ns, expiry_ns, .. } = *self.held(tables);
        if by_ns == 0 || expiry_ns.is_none() {
            return tables;
        }
        if let Some(later) = self.later.get(&(tables, by_ns)) {
            return *later;
        }
        let node = self.node(tables);
        let later = self.hold(node, number, Origin::Later(tables), now_ns + by_ns);
        self.later.insert((tables, by_ns), later);
        later
    }

    /// The time to the first expiry of a row, relative to the node's clock, in nanoseconds.
    pub(super) fn expiry_ns(&self, tables: TablesId) -> Option<u64> {
        self.held(tables).expiry_ns
    }

    /// The origin of these tables.
    pub(super) fn origin(&self, tables: TablesId) -> Origin {
        self.held(tables).origin.clone()
    }

    /// The time by which the clock of tables is ahead of that of others, in nanoseconds.
    pub(super) fn time_between_ns(&self, before: TablesId, after: TablesId) -> u64 {
        let now_ns = |tables: TablesId| self.held(tables).now_ns;
        now_ns(after).saturating_sub(now_ns(before))
    }

    /// The number of renamed tables; `None` if no node has had these contents.
    pub(super) fn tables_renamed(
        &mut self,
        tables: TablesId,
        renaming: &Renaming,
    ) -> Option<TablesId> {
        if renaming.is_identity() {
            return Some(tables);
        }
        let Held { node: number, now_ns, .. } = *self.held(tables);
        let mut state = renaming.to[number as usize].to_le_bytes().to_vec();
        let write = |out: &mut Vec<u8>, value: Value<'_>| renaming.write(out, value);
        self.node(tables).append_renamed_state(self.in_order, now_ns, &write, &mut state);
        self.numbered.held.find(&*state)
    }

    /// An event as text.
    pub(super) fn text(&self, event: EventId) -> String {
        self.events.text(self.rules.plan(), event).to_string()
    }

    /// The node that has these tables.
    pub(super) fn node_of(&self, tables: TablesId) -> u32 {
        self.held(tables).node
    }

    /// The projection of these tables; 0 if there are no properties.
    pub(super) fn projection(&self, tables: TablesId) -> ProjectionId {
        self.held(tables).projection
    }

    /// The digest of these tables.
    pub(super) fn digest(&self, tables: TablesId) -> Digest {
        self.held(tables).digest
    }

    /// The destination of a message, and its event there.
    pub(super) fn message(&self, message: MessageId) -> (u32, EventId) {
        *self.numbered.messages.get(message)
    }

    /// The order of two messages, which follows from what they contain.
    pub(super) fn order(&self, one: MessageId, other: MessageId) -> cmp::Ordering {
        let ((to, event), (other_to, other_event)) = (self.message(one), self.message(other));
        self.events.order(event, other_event).then(to.cmp(&other_to))
    }

    fn held(&self, tables: TablesId) -> &Held {
        self.numbered.held.get(tables)
    }

    /// The text of a failure.
    pub(super) fn failure(&self, number: u32) -> &str {
        self.numbered.failures.get(number)
    }

    /// The approximate memory that all threads share.
    pub(super) fn shared_bytes(&self) -> usize {
        // Relaxed: an approximation.
        self.events.bytes() + self.numbered.held_bytes.load(Ordering::Relaxed)
    }

    /// The approximate memory that no other thread shares.
    pub(super) fn own_bytes(&self) -> usize {
        let properties = self.properties.as_ref().map_or(0, Properties::bytes);
        self.nodes.len() * 32_768 + self.outcomes.len() * 200 + properties
    }

    /// All possible results of a turn.
    pub(super) fn outcomes(&mut self, key: TurnKey) -> Arc<[Outcome]> {
        if let Some(outcomes) = self.outcomes.get(&key) {
            return outcomes.clone();
        }
        let known = self.ran_already().get(&key).cloned();
        let (outcomes, is_ordered) = known.unwrap_or_else(|| self.run_all(key));
        self.needs_order |= is_ordered;
        self.outcomes.insert(key, outcomes.clone());
        outcomes
    }

    fn ran_already(&self) -> MutexGuard<'_, Map<TurnKey, Ran>> {
        self.numbered.outcomes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a turn with all results of random choices.
    fn run_all(&mut self, key: TurnKey) -> Ran {
        let (mut outcomes, mut is_ordered) = (Vec::new(), false);
        let mut flips = Some(Vec::new());
        while let Some(first) = flips {
            let (outcome, flipped, depends) = self.run(key, first);
            is_ordered |= depends;
            outcomes.push(outcome);
            flips = next_flips(flipped);
        }
        let ran: Ran = (outcomes.into(), is_ordered && !self.in_order);
        let is_first = self.ran_already().insert(key, ran.clone()).is_none();
        let count = if is_first { ran.0.len() as u64 } else { 0 };
        // Relaxed: it publishes nothing.
        self.numbered.ran.fetch_add(count, Ordering::Relaxed);
        ran
    }

    /// Runs a turn with these results of random choices; returns its result, the results of all
    /// choices made, and whether the result may depend on the order of rows.
    fn run(&mut self, key: TurnKey, flips: Vec<bool>) -> (Outcome, Vec<bool>, bool) {
        let mut node = self.node(key.tables);
        let mut found = Findings::default();
        let (turned, chosen) = self.turn(&mut node, key, flips, &mut found);
        let symbol = if self.uses_symbols { chosen.symbol } else { 0 };
        if turned.is_none() && found.failure.is_none() {
            found.failure = Some("a turn is given up".to_owned());
        }
        let Turned { sends, follows, is_ordered } =
            turned.unwrap_or(Turned { sends: Vec::new(), follows: Vec::new(), is_ordered: false });
        let number = self.node_of(key.tables);
        let plan = self.rules.plan();
        let follows = follows.into_iter().filter(|event| !self.reduction || may_start(plan, event));
        let follows = follows.map(|event| self.events.number(event, None)).collect();
        let sends = sends.iter().flat_map(|(send, row)| self.post(number, send, row)).collect();
        let failures = &self.numbered.failures;
        let failure = found.failure.map(|failure| failures.number(failure.clone(), || failure).0);
        let now_ns = self.held(key.tables).now_ns;
        let tables = self.hold(node, number, Origin::Turn(key, chosen.flips.clone()), now_ns);
        (Outcome { tables, symbol, follows, sends, failure }, chosen.flips, is_ordered)
    }

    /// Runs a turn of a node.
    fn turn(
        &mut self,
        node: &mut Node,
        key: TurnKey,
        flips: Vec<bool>,
        found: &mut Findings,
    ) -> (Option<Turned>, Chosen) {
        let known = self.events.get(key.event).clone();
        if let Event::Periodic { timer } = known.event {
            node.set_left(timer, known.left.filter(|left| *left < u64::MAX));
        }
        node.choose(Chosen { flips, symbol: key.symbol });
        let now_ns = self.held(key.tables).now_ns;
        let wall_ns = i64::try_from(key.clock_ns).unwrap_or(i64::MAX);
        let turned = node.run_turn(known.event, now_ns, wall_ns, found);
        let chosen = node.chosen();
        (turned, chosen)
    }

    /// A copy of the node with these contents.
    pub(super) fn node(&mut self, tables: TablesId) -> Node {
        if let Some(node) = self.nodes.get(&tables) {
            return node.fork();
        }
        let Held { node: number, origin, .. } = self.held(tables).clone();
        let node = match origin {
            Origin::Start => self.fresh(number),
            Origin::Turn(..) | Origin::Later(_) => self.run_again(tables),
        };
        let copy = node.fork();
        self.keep(tables, node);
        copy
    }

    /// Makes a node by replaying turns, from a kept node or from its start.
    fn run_again(&mut self, tables: TablesId) -> Node {
        let mut turns = Vec::new();
        let mut at = tables;
        let mut node = loop {
            if let Some(node) = self.nodes.get(&at) {
                break node.fork();
            }
            match self.held(at).origin.clone() {
                Origin::Start => break self.fresh(self.held(at).node),
                Origin::Turn(key, flips) => {
                    turns.push((key, flips));
                    at = key.tables;
                }
                Origin::Later(tables) => at = tables,
            }
        };
        for (key, flips) in turns.into_iter().rev() {
            self.turn(&mut node, key, flips, &mut Findings::default());
        }
        node
    }

    /// The number of the contents of a node's tables.
    fn hold(&mut self, mut node: Node, number: u32, origin: Origin, now_ns: u64) -> TablesId {
        let mut state = number.to_le_bytes().to_vec();
        node.append_state(self.in_order, now_ns, &mut state);
        if let Some(known) = self.numbered.held.find(&*state) {
            return known;
        }
        let address = &self.identities[number as usize].address;
        let project = |properties: &mut Properties| properties.project(&node, address);
        let projection = self.properties.as_mut().map_or(0, project);
        let expiry_ns = node.next_expiry_ns().map(|at_ns| at_ns.saturating_sub(now_ns));
        let digest = || digest::of_tables(&node, number, self.in_order, now_ns);
        let digest = self.fingerprints.then(digest).unwrap_or_default();
        let held = Held { node: number, origin, projection, now_ns, expiry_ns, digest };
        let bytes = state.len() + 136;
        let (tables, is_new) = self.numbered.held.number(state.into(), || held);
        if is_new {
            self.numbered.held_bytes.fetch_add(bytes, Ordering::Relaxed);
        }
        self.keep(tables, node);
        tables
    }

    fn keep(&mut self, tables: TablesId, node: Node) {
        if self.kept.len() >= NODES_MAX
            && let Some(oldest) = self.kept.pop_front()
        {
            self.nodes.remove(&oldest);
        }
        self.nodes.insert(tables, node);
        self.kept.push_back(tables);
    }

    /// Passes a tuple through the mail of its node and that of the destination, as messages travel;
    /// returns the messages that arrive.
    fn post(&mut self, from: u32, send: &Send, row: &SeqBuilder) -> Box<[MessageId]> {
        let sent = Event::Tuple {
            relation: send.relation,
            row: row.clone(),
            delete: send.delete,
            received: false,
        };
        let key = (send.location, self.events.number(sent, None));
        if let Some(arrivals) = self.arrivals.get(&key) {
            return arrivals.clone();
        }
        let address = row.as_seq().get(send.location as usize);
        let address = address.and_then(|address| address.as_str()).unwrap_or_default();
        let mut names = self.identities.iter().map(|identity| identity.address.as_str());
        let to = names.position(|name| name == address);
        let mut arrived: Vec<(RelationId, SeqBuilder, bool)> = Vec::new();
        if let Some(to) = to {
            let mail = |node: usize| {
                let address = &self.identities[node].address;
                Mail::new(self.rules.post().clone(), Fabric::Udp, address, [node as u8; 32], None)
            };
            let (mut sender, mut receiver) = (mail(from as usize), mail(to));
            sender.post(*send, row.as_seq(), 0);
            let from = &self.identities[from as usize].address;
            sender.flush(0, &mut |_, datagram| {
                receiver.receive(from, datagram, 0, &mut |delivery| {
                    let mut row = SeqBuilder::new();
                    row.extend(delivery.columns);
                    arrived.push((delivery.relation, row, delivery.delete));
                });
            });
        }
        let to = to.unwrap_or_default() as u32;
        let arrivals: Box<[MessageId]> = arrived
            .into_iter()
            .map(|(relation, row, delete)| {
                let event = Event::Tuple { relation, row, delete, received: true };
                let event = self.events.number(event, None);
                self.message_of(to, event)
            })
            .collect();
        self.arrivals.insert(key, arrivals.clone());
        arrivals
    }

    /// The number of a message.
    pub(super) fn message_of(&mut self, to: u32, event: EventId) -> MessageId {
        self.numbered.messages.number((to, event), || (to, event)).0
    }
}

/// Whether an event may start a strand: the change of a row does not if each strand that it could
/// start requires another constant.
fn may_start(plan: &Plan, event: &Event) -> bool {
    let Event::Change { relation, row, .. } = event else { return true };
    let fits = |(value, bind): (Value<'_>, &Bind)| match bind {
        Bind::Equal(Expr::Const(constant)) => constant.get().equal(&value),
        Bind::Equal(_) | Bind::Ignore | Bind::Reg(_) => true,
    };
    plan.strands.iter().any(|strand| {
        let trigger = &strand.trigger;
        trigger.on == On::Change
            && trigger.relation == *relation
            && row.as_seq().iter().zip(&trigger.columns).all(fits)
    })
}

/// The next results of random choices after these, in the order of binary counting.
fn next_flips(mut flips: Vec<bool>) -> Option<Vec<bool>> {
    while flips.pop_if(|last| *last).is_some() {}
    *flips.last_mut()? = true;
    Some(flips)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_ways_that_coins_fall_are_tried_once() {
        // Two choices, and a third if the first is true.
        let (mut flips, mut seen) = (Some(Vec::new()), Vec::new());
        while let Some(mut flipped) = flips {
            while flipped.len() < 2 || flipped[0] && flipped.len() < 3 {
                flipped.push(false);
            }
            seen.push(flipped.clone());
            flips = next_flips(flipped);
        }
        assert_eq!(seen.len(), 6);
        seen.dedup();
        assert_eq!(seen.len(), 6);
    }
}
