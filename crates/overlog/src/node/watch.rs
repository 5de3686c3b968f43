//! Watching tuples go through the stages of their life.

use tidemill_relation::Value;
use tidemill_relation::plan::{Plan, RelationId};

/// A stage in the life of a tuple; the letters are those of `watchmod`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Stage {
    /// `i`: a row was inserted.
    Inserted,
    /// `r`: a row was inserted again.
    Refreshed,
    /// `d`: a row was deleted.
    Deleted,
    /// `c`: received, from the network or from a local rule.
    Received,
    /// `p`: a timer fired.
    Periodic,
    /// `a`: about to be added to its table.
    Adding,
    /// `z`: about to be deleted from its table.
    Deleting,
    /// `s`: sent, to another node or to this one.
    Sent,
    /// `b`: about to start a rule's joins.
    BeforeJoin,
    /// `j`: has passed a rule's joins.
    AfterJoin,
    /// `h`: projected as the head of a rule.
    Head,
}

impl Stage {
    /// All stages.
    pub const ALL: [Stage; 11] = [
        Stage::Inserted,
        Stage::Refreshed,
        Stage::Deleted,
        Stage::Received,
        Stage::Periodic,
        Stage::Adding,
        Stage::Deleting,
        Stage::Sent,
        Stage::BeforeJoin,
        Stage::AfterJoin,
        Stage::Head,
    ];

    /// The letter in programs and in output.
    pub fn letter(self) -> char {
        match self {
            Stage::Inserted => 'i',
            Stage::Refreshed => 'r',
            Stage::Deleted => 'd',
            Stage::Received => 'c',
            Stage::Periodic => 'p',
            Stage::Adding => 'a',
            Stage::Deleting => 'z',
            Stage::Sent => 's',
            Stage::BeforeJoin => 'b',
            Stage::AfterJoin => 'j',
            Stage::Head => 'h',
        }
    }
}

/// A set of stages.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Stages(u16);

impl Stages {
    /// All of them: what `watch(p)` asks for.
    pub const ALL: Stages = Stages((1 << Stage::ALL.len()) - 1);

    /// The stages that `letters` names; `Err` with the first letter that names none.
    pub fn parse(letters: &str) -> Result<Stages, char> {
        let mut stages = Stages::default();
        for letter in letters.chars() {
            let stage = Stage::ALL.into_iter().find(|stage| stage.letter() == letter);
            stages.insert(stage.ok_or(letter)?);
        }
        Ok(stages)
    }

    /// Adds a stage.
    pub fn insert(&mut self, stage: Stage) {
        self.0 |= 1 << stage as u16;
    }

    /// Adds stages.
    pub fn union(self, other: Stages) -> Stages {
        Stages(self.0 | other.0)
    }

    /// Whether a stage is among them.
    #[inline]
    pub fn contains(self, stage: Stage) -> bool {
        self.0 >> stage as u16 & 1 != 0
    }

    /// True for none.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// What happened to a watched tuple.
#[derive(Clone, Copy, Debug)]
pub struct Sighting<'a> {
    /// Nanoseconds since the start of the loop.
    pub at_ns: u64,
    /// The node.
    pub node: &'a str,
    /// The stage.
    pub stage: Stage,
    /// The rule at work, if it is known.
    pub rule: Option<&'a str>,
    /// The relation's name.
    pub relation: &'a str,
    /// The tuple.
    pub columns: &'a [Value<'a>],
}

/// Receives what a program's watches and the run-time checks have to say.
pub trait Observer {
    /// A watched tuple reached a watched stage.
    fn sighted(&mut self, sighting: Sighting<'_>);

    /// A tuple of the relation `violation` appeared.
    fn violated(&mut self, sighting: Sighting<'_>);

    /// A rule dropped a derivation for the first time.
    fn rule_failed(&mut self, node: &str, rule: &str, place: &str, reason: &str);
}

/// What of each relation is watched.
#[derive(Clone, Debug)]
pub(super) struct Watching {
    stages: Vec<Stages>,
    pub(super) any: bool,
    pub(super) violation: Option<RelationId>,
}

impl Watching {
    pub(super) fn new(
        plan: &Plan,
        watches: impl Iterator<Item = (RelationId, Stages)>,
    ) -> Watching {
        let mut stages = vec![Stages::default(); plan.relations.len()];
        let mut any = false;
        for (relation, watched) in watches {
            let slot = &mut stages[relation.index()];
            *slot = slot.union(watched);
            any = true;
        }
        Watching { stages, any, violation: plan.find("violation") }
    }

    #[inline]
    pub(super) fn wants(&self, relation: RelationId, stage: Stage) -> bool {
        self.any && self.stages[relation.index()].contains(stage)
    }

    pub(super) fn of(&self, relation: RelationId) -> Stages {
        self.stages[relation.index()]
    }
}
