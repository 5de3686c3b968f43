//! The limits of a turn.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tidemill_relation::view::{COMPUTED_MAX, DERIVED_MAX, Overrun};

/// Event tuples that a turn may derive, unless [`limit_turns`](super::Node::limit_turns) says
/// otherwise.
pub const TURN_TUPLES_MAX: u64 = 10_000_000;

/// Tuples of any kind (events, table changes, those for other nodes) that rules on a cycle may
/// derive. A turn without end derives nothing else, and this number takes some tenths of a second.
pub const CYCLE_TUPLES_MAX: u64 = 500_000;

/// Rows of tables that joins may examine for each of those.
pub(super) const CYCLE_ROWS_PER_TUPLE: u64 = 20;

/// Changes of tables in a chain, in which each is queued by the turn of the one before: only rules
/// that go round for ever have such long ones.
pub const CHAIN_CHANGES_MAX: u64 = 500_000;

/// Table changes and tuples for other nodes that a turn may derive.
pub(super) const TURN_CHANGES_MAX: usize = DERIVED_MAX as usize;

/// Which limit a turn has run into.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limit {
    /// The limit of event tuples.
    Tuples(u64),
    /// The limit of tuples of rules on a cycle.
    Cycle(u64),
    /// The limit of rows looked at by such rules.
    Looked(u64),
    /// The limit of table changes and tuples for other nodes.
    Changes(u64),
    /// The limit of changes in a chain.
    Chain(u64),
    /// The limits of its views in a commit.
    Views(Overrun),
}

/// An adaptive limit of a turn. A turn that is given up would cost as much each time it is tried,
/// so each failure halves the limit, down to a 64th; a turn that ends within it and took more than
/// half doubles it again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Allowance {
    whole: u64,
    halved: u32,
}

impl Allowance {
    const HALVED_MAX: u32 = 6;

    pub(super) fn new(whole: u64) -> Allowance {
        Allowance { whole, halved: 0 }
    }

    #[inline]
    pub(super) fn get(self) -> u64 {
        self.whole >> self.halved
    }

    pub(super) fn exceeded(&mut self) {
        self.halved = (self.halved + 1).min(Allowance::HALVED_MAX);
    }

    #[inline]
    pub(super) fn ended(&mut self, taken: u64) {
        if self.halved > 0 && taken > self.get() / 2 {
            self.halved -= 1;
        }
    }
}

/// The limits of a turn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Allowances {
    pub(super) tuples: Allowance,
    pub(super) cycle_tuples: Allowance,
    pub(super) cycle_rows: Allowance,
    pub(super) chain: Allowance,
    /// Rows that views which compute values as they recurse may change in a commit.
    pub(super) computed: Allowance,
    /// Rows that all views may change in a commit.
    pub(super) rows: Allowance,
}

impl Allowances {
    /// Whether a turn that was given up has reduced one.
    #[inline]
    pub(super) fn are_reduced(&self) -> bool {
        let Allowances { tuples, cycle_tuples, cycle_rows, chain, computed, rows } = self;
        let halved = tuples.halved | cycle_tuples.halved | cycle_rows.halved | chain.halved;
        halved | computed.halved | rows.halved != 0
    }
}

impl Default for Allowances {
    fn default() -> Allowances {
        Allowances {
            tuples: Allowance::new(TURN_TUPLES_MAX),
            cycle_tuples: Allowance::new(CYCLE_TUPLES_MAX),
            cycle_rows: Allowance::new(CYCLE_TUPLES_MAX * CYCLE_ROWS_PER_TUPLE),
            chain: Allowance::new(CHAIN_CHANGES_MAX),
            computed: Allowance::new(COMPUTED_MAX),
            rows: Allowance::new(DERIVED_MAX),
        }
    }
}

/// The consumption of the running turn.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Taken {
    /// Event tuples that were derived, but for those of the next generation.
    pub(super) tuples: u64,
    /// Tuples that rules on a cycle derived, and rows examined for them.
    pub(super) cycle_tuples: u64,
    pub(super) cycle_rows: u64,
    /// Changes in the chain that the running one ends.
    pub(super) link: u64,
    /// The number of derivations between the tuple that started the turn and the current ones.
    pub(super) generation: usize,
}

/// A turn that was given up and rolled back.
#[derive(Clone, Debug)]
pub struct GivenUp<'a> {
    /// The node.
    pub node: &'a str,
    /// The trigger of the turn: a tuple, or a few words.
    pub start: &'a str,
    /// The number of turns of this node that were given up with these rules, this one included.
    pub times: u64,
    /// The limit that it reached.
    pub limit: Limit,
    /// The rules of the cycle, or those at work if there is none, in program order: the label
    /// and the place of each.
    pub rules: Vec<(&'a str, &'a str)>,
}

/// The flag that interrupts all work for good.
#[derive(Clone, Debug, Default)]
pub(super) struct Interrupt(pub(super) Option<Arc<AtomicBool>>);

impl Interrupt {
    #[inline]
    pub(super) fn is_set(&self) -> bool {
        // Relaxed: the flag publishes nothing but itself.
        self.0.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed))
    }
}
