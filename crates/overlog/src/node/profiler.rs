//! Measures what the rules of a node cost, while a caller asks for it.
//!
//! Costs are kept by what started the turn, and by the strand, view rule or operator that ran. What
//! a turn does beside those is the cost of the engine, by the [part](Engine) of the turn. Without a
//! clock nothing is measured: each part of a turn tests for that once.

use tidemill_relation::cost::{Clock, Cost};
use tidemill_relation::plan::Plan;
use tidemill_relation::view::ViewCosts;
use tidemill_stdx::sorted::SortedMap;

use super::costs::{Engine, TurnCosts, TurnKind};
use super::event::Event;
use super::profile::Profile;
use crate::program::Compiled;

/// What is measured at a node.
#[derive(Debug, Default)]
pub(super) struct Profiler {
    clock: Option<Clock>,
    kinds: SortedMap<TurnKind, usize>,
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

/// When a part of a turn began.
pub(super) struct Began(u64);

impl Profiler {
    /// Measures from now on by this clock, or no more; what was measured stays.
    pub(super) fn set_clock(&mut self, clock: Option<Clock>) {
        self.clock = clock;
        self.has_measured |= clock.is_some();
        if clock.is_some() {
            self.enter(TurnKind::Before);
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

    /// Whether it measures.
    #[inline]
    pub(super) fn is_on(&self) -> bool {
        self.clock.is_some()
    }

    /// A turn begins that this event starts, and its first part.
    pub(super) fn start(&mut self, event: &Event) -> Began {
        self.enter(TurnKind::of(event));
        self.begin()
    }

    fn enter(&mut self, kind: TurnKind) {
        let next = self.turns.len();
        self.current = *self.kinds.entry(kind).or_insert(next);
        if self.current == next {
            self.turns.push(TurnCosts::default());
        }
    }

    /// A part of a turn begins.
    pub(super) fn begin(&mut self) -> Began {
        self.own_ns = 0;
        Began(self.now().unwrap_or(0))
    }

    /// It ends: what had no cost of its own in it is the engine's.
    pub(super) fn end(&mut self, Began(began): Began, engine: Engine) {
        let Some(now) = self.now() else { return };
        let ns = now.saturating_sub(began).saturating_sub(self.own_ns);
        let cost = Cost { fired: 1, ns, ..Cost::default() };
        if let Some(turn) = self.turns.get_mut(self.current) {
            *turn.engine.entry(engine).or_default() += cost;
        }
    }

    /// A strand has run since then; the time of now.
    pub(super) fn end_strand(&mut self, began: u64, strand: u32, cost: Cost) -> Option<u64> {
        let now = self.now()?;
        let ns = now.saturating_sub(began);
        self.own_ns += ns;
        if let Some(turn) = self.turns.get_mut(self.current) {
            *turn.strands.entry(strand).or_default() += Cost { ns, ..cost };
        }
        Some(now)
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
            self.enter(TurnKind::Before);
        }
    }

    /// Adds what each rule has cost with this program, by position in the plan.
    pub(super) fn add_to_rules(&self, plan: &Plan, sums: &mut [Cost]) {
        for turn in &self.turns {
            for (&strand, &cost) in &turn.strands {
                sums[plan.strands[strand as usize].rule.index()] += cost;
            }
            for (&part, &cost) in &turn.views {
                let rule = plan.strata[part.stratum as usize].rules[part.rule as usize].rule;
                sums[rule.index()] += cost;
            }
        }
    }

    /// What was measured with programs that the node had before.
    pub(super) fn earlier(&self) -> &Profile {
        &self.earlier
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
