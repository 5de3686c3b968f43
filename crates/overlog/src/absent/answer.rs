//! What is known of an absent tuple.

use tidemill_relation::OwnedValue;

/// The absent tuple: its columns, where they are given.
#[derive(Clone, PartialEq, Debug)]
pub struct Wanted {
    /// The relation.
    pub relation: String,
    /// The columns, the location among them.
    pub columns: Vec<Option<OwnedValue>>,
}

/// Why a tuple is not there, to be shown.
#[derive(Clone, PartialEq, Debug)]
pub struct WhyNot {
    pub(super) wanted: Wanted,
    pub(super) standing: Standing,
    pub(super) attempts: Vec<Attempt>,
}

/// What is there instead.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Standing {
    /// Nothing.
    Absent,
    /// It is there.
    Present,
    /// A row with the same key.
    Replaced(Wanted),
    /// No rule derives it.
    NoRule,
    /// It was asked before.
    Above,
    /// It is too deep, or there are too many.
    Cut,
}

impl WhyNot {
    /// Whether it is there.
    pub fn is_there(&self) -> bool {
        self.standing == Standing::Present
    }
}

/// How far a rule comes.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Attempt {
    pub(super) rule: String,
    pub(super) place: String,
    pub(super) is_deleting: bool,
    /// Terms of its body, and those that hold.
    pub(super) terms: usize,
    pub(super) held: usize,
    /// Terms that were not looked at, and why.
    pub(super) skipped: Vec<(String, Skipped)>,
    pub(super) verdict: Verdict,
    /// Why a row that it needs is not there.
    pub(super) below: Option<Box<WhyNot>>,
}

/// Why a term was not looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Skipped {
    /// Of its tuples nothing is known.
    Event,
    /// It depends on time or chance, or on a variable that only an event gives.
    Open,
    /// It takes too long.
    Long,
}

/// What came of it.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Verdict {
    /// All that can be looked at holds.
    Holds,
    /// A term does not hold.
    Fails {
        term: String,
        kind: Kind,
        /// Values of its variables.
        values: Vec<(String, OwnedValue)>,
        /// All others hold.
        is_alone: bool,
    },
    /// The head has another value in a column.
    Differs { column: usize, text: String, value: OwnedValue },
}

/// What kind of term does not hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// There is no such row.
    NoRow,
    /// There is one.
    Row,
    /// A condition, or what the head computes.
    Condition,
}

impl Attempt {
    /// Whether nothing is known that keeps it from deriving the tuple.
    pub(super) fn holds(&self) -> bool {
        let is_event = |(_, why): &(String, Skipped)| *why == Skipped::Event;
        self.verdict == Verdict::Holds && !self.skipped.iter().any(is_event)
    }
}
