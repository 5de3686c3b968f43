//! Measures the costs of the rules of a node, while a caller requires it.
//!
//! Costs are kept by what started the turn, and by the strand, view rule or operator that ran. The
//! rest of a turn is the cost of the engine, by the [part](Engine) of the turn. Without a clock
//! nothing is measured: each part of a turn tests that once.

use tidemill_relation::cost::{Clock, Cost};
use tidemill_relation::plan::Plan;
use tidemill_relation::view::ViewCosts;
use tidemill_stdx::sorted::SortedMap;

use super::costs::{Engine, TurnCosts, TurnKind};
use super::event::Event;
use super::profile::Profile;
use crate::program::Compiled;

/// The measurements at a node.
#[derive(Debug, Default)]
pub(super) struct Profiler {
    clock: Option<Clock>,
    kinds: SortedMap<TurnKind, usize>,
    turns: Vec<TurnCosts>,
    /// The running turn's kind in `turns`.
    current: usize,
    /// Time in the running part of the turn that is charged to rules and operators, nanoseconds.
    own_ns: u64,
    /// Costs of earlier programs of the node.
    earlier: Profile,
    /// Whether there was a clock at some time.
    has_measured: bool,
}

/// When a part of a turn began.
pub(super) struct Began(u64);

impl Profiler {
    /// Measures from now on by this clock, or stops; measured costs stay.
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

    /// Begins the turn of this event, and its first part.
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

    /// Ends a part: time not charged otherwise is the engine's.
    pub(super) fn end(&mut self, Began(began): Began, engine: Engine) {
        let Some(now) = self.now() else { return };
        let ns = now.saturating_sub(began).saturating_sub(self.own_ns);
        let cost = Cost { fired: 1, ns, ..Cost::default() };
        if let Some(turn) = self.turns.get_mut(self.current) {
            *turn.engine.entry(engine).or_default() += cost;
        }
    }

    /// Charges a strand that has run since then; returns the present time.
    pub(super) fn end_strand(&mut self, began: u64, strand: u32, cost: Cost) -> Option<u64> {
        let now = self.now()?;
        let ns = now.saturating_sub(began);
        self.own_ns += ns;
        if let Some(turn) = self.turns.get_mut(self.current) {
            *turn.strands.entry(strand).or_default() += Cost { ns, ..cost };
        }
        Some(now)
    }

    /// Charges an operator.
    pub(super) fn add_stage(&mut self, stage: usize, cost: Cost) {
        self.own_ns += cost.ns;
        if let Some(turn) = self.turns.get_mut(self.current) {
            *turn.stages.entry(stage).or_default() += cost;
        }
    }

    /// Charges view rules.
    pub(super) fn add_views(&mut self, costs: &mut ViewCosts) {
        let Some(turn) = self.turns.get_mut(self.current) else { return };
        for (&part, &cost) in costs.iter() {
            self.own_ns += cost.ns;
            *turn.views.entry(part).or_default() += cost;
        }
        costs.clear();
    }

    /// Resets for another program, whose strands are different.
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

    /// Adds the costs of each rule of this program, by position in the plan.
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

    /// The costs measured with earlier programs of the node.
    pub(super) fn earlier(&self) -> &Profile {
        &self.earlier
    }

    /// All measurements, by names.
    pub(super) fn profile(&self, program: &Compiled) -> Profile {
        let mut profile = self.earlier.clone();
        for (&kind, &at) in &self.kinds {
            profile.add_turns(program, kind, &self.turns[at]);
        }
        profile
    }
}
