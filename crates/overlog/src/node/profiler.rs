//! Measures what the rules of a node cost, while a caller asks for it.
//!
//! Costs are kept by what started the turn, and by the strand, view rule or operator that ran. What
//! a turn does beside those is the cost of the engine, by the [part](Engine) of the turn. Without a
//! clock nothing is measured, and each of these places tests for that once.

use tidemill_relation::cost::{Clock, Cost};
use tidemill_relation::view::ViewCosts;
use tidemill_stdx::sorted::SortedMap;

use super::costs::{Engine, Kind, TurnCosts};
use super::event::Event;
use super::profile::Profile;
use crate::program::Compiled;

/// What is measured at a node.
#[derive(Debug, Default)]
pub(super) struct Profiler {
    clock: Option<Clock>,
    kinds: SortedMap<Kind, usize>,
    turns: Vec<TurnCosts>,
    /// That of the running turn in `turns`.
    current: usize,
    /// What ran in the running part of the turn and has a cost of its own, nanoseconds.
    own_ns: u64,
    /// Costs of programs that the node had before.
    earlier: Profile,
    /// Whether there was a clock at some time.
    has_measured: bool,
}

/// When a part of a turn began, and what had a cost of its own before.
pub(super) struct Began(u64);

impl Profiler {
    /// Measures from now on by this clock, or no more; what was measured stays.
    pub(super) fn set_clock(&mut self, clock: Option<Clock>) {
        self.clock = clock;
        self.has_measured |= clock.is_some();
        if clock.is_some() {
            self.enter(Kind::Before);
        }
    }

    pub(super) fn clock(&self) -> Option<Clock> {
        self.clock
    }

    pub(super) fn has_measured(&self) -> bool {
        self.has_measured
    }

    /// The time, if it is measured.
    #[inline]
    pub(super) fn now(&self) -> Option<u64> {
        self.clock.map(|clock| clock())
    }

    /// A turn begins that this event starts.
    #[inline]
    pub(super) fn start(&mut self, event: &Event) {
        if self.clock.is_some() {
            self.enter(Kind::of(event));
        }
    }

    fn enter(&mut self, kind: Kind) {
        let next = self.turns.len();
        self.current = *self.kinds.entry(kind).or_insert(next);
        if self.current == next {
            self.turns.push(TurnCosts::default());
        }
    }

    /// A part of a turn begins.
    #[inline]
    pub(super) fn begin(&mut self) -> Option<Began> {
        let now = self.now()?;
        self.own_ns = 0;
        Some(Began(now))
    }

    /// It ends: what had no cost of its own in it is the engine's.
    #[inline]
    pub(super) fn end(&mut self, began: Option<Began>, engine: Engine) {
        let (Some(Began(began)), Some(now)) = (began, self.now()) else { return };
        let ns = now.saturating_sub(began).saturating_sub(self.own_ns);
        let cost = Cost { fired: 1, ns, ..Cost::default() };
        if let Some(turn) = self.turns.get_mut(self.current) {
            *turn.engine.entry(engine).or_default() += cost;
        }
    }

    /// A strand has run.
    pub(super) fn add_strand(&mut self, strand: u32, cost: Cost) {
        self.own_ns += cost.ns;
        if let Some(turn) = self.turns.get_mut(self.current) {
            *turn.strands.entry(strand).or_default() += cost;
        }
    }

    /// An operator has worked.
    pub(super) fn add_stage(&mut self, stage: usize, cost: Cost) {
        self.own_ns += cost.ns;
        if let Some(turn) = self.turns.get_mut(self.current) {
            *turn.stages.entry(stage).or_default() += cost;
        }
    }

    /// View rules have run.
    pub(super) fn add_views(&mut self, costs: &mut ViewCosts) {
        let Some(turn) = self.turns.get_mut(self.current) else { return };
        for (&part, &cost) in costs.iter() {
            self.own_ns += cost.ns;
            *turn.views.entry(part).or_default() += cost;
        }
        costs.clear();
    }

    /// The node goes on with another program, whose strands are others.
    pub(super) fn start_over(&mut self, old: &Compiled) {
        if self.has_measured {
            self.earlier = self.profile(old);
        }
        self.kinds.clear();
        self.turns.clear();
        self.current = 0;
        if self.clock.is_some() {
            self.enter(Kind::Before);
        }
    }

    /// All that was measured, by names.
    pub(super) fn profile(&self, program: &Compiled) -> Profile {
        let mut profile = self.earlier.clone();
        for (&kind, &at) in &self.kinds {
            profile.add_turns(program, kind, &self.turns[at]);
        }
        profile
    }
}
