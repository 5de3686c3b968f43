//! The stages in the life of a tuple.

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
    /// All of them: the stages of `watch(p)`.
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
