//! The explanation of an absent tuple.

use tidemill_relation::OwnedValue;

/// The absent tuple: its columns, where they are given.
#[derive(Clone, PartialEq, Debug)]
pub struct Wanted {
    /// The relation.
    pub relation: String,
    /// The columns, the location among them.
    pub columns: Vec<Option<OwnedValue>>,
}

/// Why a tuple is absent, for display.
#[derive(Clone, PartialEq, Debug)]
pub struct WhyNot {
    pub(super) wanted: Wanted,
    pub(super) standing: Standing,
    pub(super) attempts: Vec<Attempt>,
}

/// What was found in its place.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Standing {
    /// Nothing.
    Absent,
    /// It is present.
    Present,
    /// A row with the same key.
    Replaced(Wanted),
    /// No rule derives it.
    NoRule,
    /// It was explained above.
    Above,
    /// The limit of depth or of rules was reached.
    Cut,
}

impl WhyNot {
    /// Whether it is present.
    pub fn is_there(&self) -> bool {
        self.standing == Standing::Present
    }
}

/// The progress of a rule towards the tuple.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Attempt {
    pub(super) rule: String,
    pub(super) place: String,
    pub(super) is_deleting: bool,
    /// Terms of its body, and those that hold.
    pub(super) terms: usize,
    pub(super) held: usize,
    /// Terms that were not evaluated, and why.
    pub(super) skipped: Vec<(String, Skipped)>,
    pub(super) verdict: Verdict,
    /// Why a row that it needs is absent.
    pub(super) below: Option<Box<WhyNot>>,
}

/// Why a term was not evaluated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Skipped {
    /// Its tuples are not known.
    Event,
    /// It depends on time or chance, or on a variable that only an event gives.
    Open,
    /// It takes too long.
    Long,
}

/// The result of an attempt.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Verdict {
    /// All terms that can be evaluated hold.
    Holds,
    /// A term does not hold.
    Fails {
        term: String,
        kind: TermKind,
        /// Values of its variables.
        values: Vec<(String, OwnedValue)>,
        /// All others hold.
        is_alone: bool,
    },
    /// The head has another value in a column.
    Differs { column: usize, text: String, value: OwnedValue },
}

/// The kind of a term that does not hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TermKind {
    /// A row is missing.
    NoRow,
    /// A negated row is present.
    Row,
    /// A condition, or an expression of the head.
    Condition,
}

impl Attempt {
    /// Whether it would derive the tuple, as far as is known.
    pub(super) fn holds(&self) -> bool {
        let is_event = |(_, why): &(String, Skipped)| *why == Skipped::Event;
        self.verdict == Verdict::Holds && !self.skipped.iter().any(is_event)
    }
}
