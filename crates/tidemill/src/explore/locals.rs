//! States of single nodes, and the steps that change them: events delivered, turns, timers.
//!
//! A state consists of the tables, the inbox and the timers. The clock of a node advances only when
//! one of its timers fires or rows expire, and all times are relative to it. Each step is computed
//! once.

use std::sync::Arc;

use tidemill_overlog::node::Event;
use tidemill_stdx::hash::Map;

use super::events::EventId;
use super::fit::Traits;
use super::numbers::Numbers;
use super::options::ExploreOptions;
use super::orbits::{Orbit, Orbits};
use super::properties::ProjectionId;
use super::renaming::Renaming;
use super::turns::{MessageId, Outcome, TablesId, TurnKey, Turns};

/// The number of a state of a node.
pub(super) type LocalId = u32;

/// The maximum length of a chain of turns, after which it counts as endless.
const CHAIN_MAX: usize = 1000;

/// The minimum period in nanoseconds, as in a simulation.
const PERIOD_MIN_NS: u64 = 1000;

/// A timer of a node.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Timer {
    /// Its next firing, relative to the node's time; 0 if there is none.
    pub(super) due_ns: u64,
    /// The number of remaining firings; the maximum: unlimited.
    pub(super) left: u64,
}

/// A state of a node.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Local {
    pub(super) tables: TablesId,
    /// The number of the next symbol, if the program uses symbols.
    pub(super) symbol: u64,
    /// Its clock, if the program reads it.
    pub(super) clock_ns: u64,
    pub(super) timers: Box<[Timer]>,
    pub(super) inbox: Box<[EventId]>,
}

/// A possible result of one or several turns.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Moved {
    pub(super) local: LocalId,
    pub(super) sends: Box<[MessageId]>,
    pub(super) failure: Option<Failure>,
    /// The projection for properties of all nodes after each turn, if there are any.
    pub(super) shows: Box<[ProjectionId]>,
    /// The turn has put nothing into the inbox.
    pub(super) is_silent: bool,
}

/// Why a step fails.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Failure {
    /// A violation, or an endless turn.
    Turn(u32),
    /// A violation of all nodes together.
    Property(u32),
    /// An endless chain of turns.
    Chain,
}

/// Why a search has to be repeated.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Void {
    /// Results depend on the order of rows, which was left out.
    NeedsOrder,
    /// Nodes are not interchangeable, for this reason.
    Asymmetric(String),
}

/// All states of nodes seen in any run.
pub(super) struct Locals {
    pub(super) turns: Turns,
    reads_clock: bool,
    has_lifetimes: bool,
    uses_symbols: bool,
    periods_ns: Vec<Vec<u64>>,
    /// The initial inbox of each node.
    starts: Vec<Vec<EventId>>,
    known: Arc<Numbers<Arc<Local>, Arc<Local>>>,
    moves: Map<LocalId, Arc<[Moved]>>,
    chains: Map<LocalId, Arc<[Moved]>>,
    given: Map<(LocalId, EventId), LocalId>,
    fired: Map<LocalId, Arc<[(u32, LocalId)]>>,
    /// What permutations of nodes make of things, if some are interchangeable.
    pub(super) orbits: Option<Orbits>,
    renamed: Vec<Option<Orbit>>,
}

impl Locals {
    pub(super) fn new(mut turns: Turns, traits: &Traits, options: &ExploreOptions) -> Locals {
        let mut starts = Vec::new();
        let mut periods_ns = Vec::new();
        for number in 0..options.nodes {
            let node = turns.fresh(number);
            let mut tuples = node.facts();
            for extra in &options.extra {
                if let Ok(Some(event)) = node.tuple(extra.relation, &extra.columns, extra.location)
                {
                    tuples.push(event);
                }
            }
            let together = node.together(tuples);
            starts
                .push(together.into_iter().map(|event| turns.events.number(event, None)).collect());
            periods_ns.push(node.periodics().iter().map(|periodic| periodic.period_ns).collect());
        }
        Locals {
            turns,
            reads_clock: traits.reads_clock,
            has_lifetimes: traits.has_lifetimes,
            uses_symbols: traits.uses_symbols,
            periods_ns,
            starts,
            known: Arc::default(),
            moves: Map::default(),
            chains: Map::default(),
            given: Map::default(),
            fired: Map::default(),
            orbits: None,
            renamed: Vec::new(),
        }
    }

    /// The same for another thread: numbers are shared, steps are not.
    pub(super) fn for_thread(&self) -> Locals {
        Locals {
            turns: self.turns.for_thread(),
            reads_clock: self.reads_clock,
            has_lifetimes: self.has_lifetimes,
            uses_symbols: self.uses_symbols,
            periods_ns: self.periods_ns.clone(),
            starts: self.starts.clone(),
            known: self.known.clone(),
            moves: Map::default(),
            chains: Map::default(),
            given: Map::default(),
            fired: Map::default(),
            orbits: self.orbits.as_ref().map(|orbits| Orbits::new(orbits.all.clone())),
            renamed: Vec::new(),
        }
    }

    /// Whether the nodes that a permutation exchanges begin alike.
    pub(super) fn begin_alike(&mut self, renaming: &Renaming) -> bool {
        (0..).zip(&renaming.to).all(|(node, &becomes)| {
            let [own, other] = [node, becomes].map(|node| self.start(node, None));
            let [own, other] = [own, other].map(|local| self.get(local).clone());
            let events = own.inbox.iter().map(|it| self.turns.events.renamed(*it, renaming));
            let inbox: Box<[EventId]> = events.collect();
            self.turns.tables_renamed(own.tables, renaming) == Some(other.tables)
                && inbox == other.inbox
                && own.timers == other.timers
                && self.periods_ns[node as usize] == self.periods_ns[becomes as usize]
        })
    }

    /// The state of a node under each permutation: that of other nodes.
    pub(super) fn renamed(&mut self, local: LocalId) -> Orbit {
        if let Some(Some(orbit)) = self.renamed.get(local as usize) {
            return orbit.clone();
        }
        let before = self.get(local).clone();
        let Locals { orbits, turns, .. } = self;
        let Some(orbits) = orbits else { return Arc::new([local]) };
        let tables = orbits.tables(turns, before.tables);
        let events: Vec<Orbit> = before.inbox.iter().map(|it| orbits.event(turns, *it)).collect();
        let all = (0..).zip(&*tables).map(|(at, &tables): (usize, _)| {
            let inbox = events.iter().map(|orbit| orbit[at]).collect();
            self.number(Local { tables, inbox, ..Local::clone(&before) })
        });
        let orbit: Orbit = all.collect();
        if self.renamed.len() <= local as usize {
            self.renamed.resize(local as usize + 1, None);
        }
        self.renamed[local as usize] = Some(orbit.clone());
        orbit
    }

    /// A message under each permutation.
    pub(super) fn renamed_message(&mut self, message: MessageId) -> Orbit {
        match &mut self.orbits {
            Some(orbits) => orbits.message(&mut self.turns, message),
            None => Arc::new([message]),
        }
    }

    /// Why the search has to be repeated, if it has.
    pub(super) fn void(&self) -> Option<Void> {
        let broken = self.orbits.as_ref().and_then(|orbits| orbits.broken.clone());
        let needs_order = self.turns.needs_order.then_some(Void::NeedsOrder);
        broken.map(Void::Asymmetric).or(needs_order)
    }

    /// Whether the search has to be repeated.
    pub(super) fn is_void(&self) -> bool {
        self.turns.needs_order || self.orbits.as_ref().is_some_and(|it| it.broken.is_some())
    }

    /// A state by number.
    pub(super) fn get(&self, local: LocalId) -> &Arc<Local> {
        self.known.get(local)
    }

    /// The projection of a node for properties of all nodes.
    pub(super) fn projection(&self, local: LocalId) -> ProjectionId {
        self.turns.projection(self.get(local).tables)
    }

    /// The number of states.
    pub(super) fn count(&self) -> usize {
        self.known.count()
    }

    /// The approximate memory that all threads share.
    pub(super) fn shared_bytes(&self) -> usize {
        let known: usize = self.known.count() * (size_of::<Local>() + 120);
        known + self.turns.shared_bytes()
    }

    /// The approximate memory that no other thread shares.
    pub(super) fn own_bytes(&self) -> usize {
        let moves = (self.moves.len() + self.chains.len()) * 160;
        let orbits = self
            .orbits
            .as_ref()
            .map_or(0, |orbits| orbits.bytes() + self.renamed.len() * (orbits.all.len() * 4 + 60));
        orbits + moves + (self.given.len() + self.fired.len()) * 24 + self.turns.own_bytes()
    }

    fn number(&mut self, local: Local) -> LocalId {
        let local = Arc::new(local);
        self.known.number(local.clone(), || local).0
    }

    /// The initial state of a node; after a crash symbols and clock continue.
    pub(super) fn start(&mut self, node: u32, before: Option<LocalId>) -> LocalId {
        let tables = self.turns.start(node);
        let fresh = self.turns.fresh(node);
        let timer = |periodic: &tidemill_overlog::node::Periodic| match periodic.left {
            Some(0) => Timer { due_ns: 0, left: 0 },
            left => Timer { due_ns: periodic.period_ns, left: left.unwrap_or(u64::MAX) },
        };
        let timers = fresh.periodics().iter().map(timer).collect();
        let (symbol, clock_ns) = before.map_or((0, 0), |before| {
            let before = self.get(before);
            (before.symbol, before.clock_ns)
        });
        let inbox = self.starts[node as usize].clone().into();
        self.number(Local { tables, symbol, clock_ns, timers, inbox })
    }

    /// Puts an event into the inbox.
    pub(super) fn give(&mut self, local: LocalId, event: EventId) -> LocalId {
        if let Some(given) = self.given.get(&(local, event)) {
            return *given;
        }
        let before = self.get(local);
        let inbox = before.inbox.iter().copied().chain([event]).collect();
        let given = Local { inbox, ..Local::clone(before) };
        let given = self.number(given);
        self.given.insert((local, event), given);
        given
    }

    /// The possible results of the turn of the first event; empty if the inbox is.
    pub(super) fn moves(&mut self, local: LocalId) -> Arc<[Moved]> {
        if let Some(moves) = self.moves.get(&local) {
            return moves.clone();
        }
        let before = self.get(local).clone();
        let Some((&event, rest)) = before.inbox.split_first() else { return Arc::new([]) };
        let Local { tables, symbol, clock_ns, .. } = *before;
        let key = TurnKey { tables, event, symbol, clock_ns };
        if let Some(orbits) = &mut self.orbits {
            orbits.verify(&mut self.turns, key);
        }
        let outcomes = self.turns.outcomes(key);
        let mut moves: Vec<Moved> = Vec::with_capacity(outcomes.len());
        for outcome in &*outcomes {
            let Outcome { tables, symbol, follows, sends, failure } = outcome;
            let inbox = rest.iter().chain(follows).copied().collect();
            let (tables, symbol) = (*tables, *symbol);
            let shows = self.turns.properties.iter().map(|_| self.turns.projection(tables));
            let shows = shows.collect();
            let local = self.number(Local { tables, symbol, inbox, ..Local::clone(&before) });
            let moved = Moved {
                local,
                sends: sends.clone(),
                failure: failure.map(Failure::Turn),
                shows,
                is_silent: follows.is_empty(),
            };
            if !moves.contains(&moved) {
                moves.push(moved);
            }
        }
        let moves: Arc<[Moved]> = moves.into();
        self.moves.insert(local, moves.clone());
        moves
    }

    /// The possible results of the turns of all waiting events, and of all that follow from them.
    pub(super) fn chains(&mut self, local: LocalId) -> Arc<[Moved]> {
        if let Some(chains) = self.chains.get(&local) {
            return chains.clone();
        }
        let (sends, shows) = (Box::default(), Box::default());
        let first = Moved { local, sends, failure: None, shows, is_silent: true };
        let (mut ended, mut open, mut left) = (Vec::new(), vec![first], CHAIN_MAX);
        while let Some(at) = open.pop() {
            let is_over = at.failure.is_some() || self.get(at.local).inbox.is_empty();
            if is_over || left == 0 {
                let failure = at.failure.or((!is_over).then_some(Failure::Chain));
                let moved = Moved { failure, ..at };
                if !ended.contains(&moved) {
                    ended.push(moved);
                }
                continue;
            }
            left -= 1;
            for moved in &*self.moves(at.local) {
                let sends = at.sends.iter().chain(&moved.sends).copied().collect();
                let mut shows = at.shows.to_vec();
                shows.extend(&moved.shows);
                shows.dedup();
                let shows = shows.into();
                open.push(Moved { sends, shows, is_silent: true, ..moved.clone() });
            }
        }
        let chains: Arc<[Moved]> = ended.into();
        self.chains.insert(local, chains.clone());
        chains
    }

    /// The timers that may fire next, and the state after each: any of those due first. A timer
    /// whose last firing still waits is late: it is skipped, as a running node does. The expiry of
    /// rows is one more timer after those of the rules.
    pub(super) fn fire(&mut self, local: LocalId) -> Arc<[(u32, LocalId)]> {
        if let Some(fired) = self.fired.get(&local) {
            return fired.clone();
        }
        let before = self.get(local).clone();
        let events = &self.turns.events;
        let late: Vec<usize> =
            before.inbox.iter().filter_map(|event| events.timer(*event)).collect();
        let is_expiry = |event: &EventId| matches!(events.get(*event).event, Event::Expiry);
        let expires = before.inbox.iter().any(is_expiry);
        let expiry_ns = self.turns.expiry_ns(before.tables).filter(|_| !expires);
        let due = |at: usize| match before.timers.get(at) {
            Some(timer) => (timer.left > 0 && !late.contains(&at)).then_some(timer.due_ns),
            None => expiry_ns,
        };
        let all: Vec<Option<u64>> = (0..=before.timers.len()).map(due).collect();
        let first_ns = all.iter().flatten().min().copied();
        let next = (0..all.len()).filter(|at| all[*at].is_some() && all[*at] == first_ns);
        let next: Vec<usize> = next.collect();
        let fire = |at: usize| {
            let now_ns = first_ns.unwrap_or_default();
            (at as u32, self.fire_one(&before, (at, now_ns), &late))
        };
        let fired: Arc<[(u32, LocalId)]> = next.into_iter().map(fire).collect();
        self.fired.insert(local, fired.clone());
        fired
    }

    /// The state after a timer has fired at a time.
    fn fire_one(
        &mut self,
        before: &Local,
        (next, now_ns): (usize, u64),
        late: &[usize],
    ) -> LocalId {
        let node = self.turns.node_of(before.tables) as usize;
        let mut timers = before.timers.clone();
        for (at, timer) in timers.iter_mut().enumerate().filter(|(_, timer)| timer.left > 0) {
            let period_ns = self.periods_ns[node][at].max(PERIOD_MIN_NS);
            if at == next {
                timer.due_ns += period_ns;
                timer.left = if timer.left == u64::MAX { u64::MAX } else { timer.left - 1 };
            } else if late.contains(&at) && timer.due_ns <= now_ns {
                timer.due_ns += period_ns * ((now_ns - timer.due_ns) / period_ns + 1);
            }
            timer.due_ns = if timer.left > 0 { timer.due_ns - now_ns } else { 0 };
        }
        let event = match timers.get(next) {
            Some(Timer { left, .. }) => {
                self.turns.events.number(Event::Periodic { timer: next }, Some(*left))
            }
            None => self.turns.events.number(Event::Expiry, None),
        };
        let inbox = before.inbox.iter().copied().chain([event]).collect();
        let clock_ns = if self.reads_clock { before.clock_ns + now_ns } else { 0 };
        let tables = self.turns.later(before.tables, now_ns);
        self.number(Local { tables, clock_ns, timers, inbox, ..before.clone() })
    }

    /// Whether the result of a turn may depend on timers that fire before it.
    pub(super) fn follows_clock(&self) -> bool {
        self.reads_clock || self.has_lifetimes
    }

    /// Whether a new life of a node depends on the previous one.
    pub(super) fn remembers(&self) -> bool {
        self.reads_clock || self.uses_symbols
    }
}
