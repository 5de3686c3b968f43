//! An interface by which components reach the rules, whose two sides fit.

use tidemill_relation::plan::RelationId;

use crate::borders::counterparts::Counterparts;
use crate::borders::parameters::Parameter;

/// An interface by which components reach the rules.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RulesBorder {
    /// The interface.
    pub interface: String,
    /// Its messages, by their numbers.
    pub(super) messages: Vec<Meaning>,
}

/// The meaning of a message of such an interface.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Meaning {
    /// Puts an event or fact into the inbox.
    Put(Relation),
    /// Acknowledges a put.
    Taken,
    /// Requests the next change.
    Next,
    /// An event or a change of a table.
    Change(Relation),
    /// No more changes follow.
    End,
}

/// A relation whose tuples are messages.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Relation {
    pub(super) id: RelationId,
    /// Its columns without the location.
    pub(super) parameters: Vec<Parameter>,
    /// All values of the columns' types fit the parameters.
    pub(super) is_certain: bool,
    /// The location column.
    pub(super) location: usize,
    /// The columns of the key of a table that has one, with the location where it is one of them.
    pub(super) key: Option<Vec<usize>>,
}

impl RulesBorder {
    /// The relations that components listen to.
    pub(crate) fn crossing(&self) -> impl Iterator<Item = RelationId> {
        self.messages.iter().filter_map(|meaning| match meaning {
            Meaning::Change(relation) => Some(relation.id),
            _ => None,
        })
    }

    /// The relations whose tuples components put.
    pub(crate) fn puts(&self) -> impl Iterator<Item = RelationId> {
        self.messages.iter().filter_map(|meaning| match meaning {
            Meaning::Put(relation) => Some(relation.id),
            _ => None,
        })
    }

    /// Whether a queued message keeps its meaning with the new rules.
    pub(super) fn goes_on(
        &self,
        new: &RulesBorder,
        message: u32,
        counterparts: &Counterparts<'_>,
    ) -> bool {
        let relation = |border: &RulesBorder| match border.messages.get(message as usize) {
            Some(Meaning::Change(relation)) => Some(relation.clone()),
            _ => None,
        };
        match (relation(self), relation(new)) {
            (Some(old), Some(new)) => {
                counterparts.are(old.id, new.id) && Relation { id: new.id, ..old } == new
            }
            _ => false,
        }
    }

    /// Whether it delivers changes to components.
    pub(crate) fn has_changes(&self) -> bool {
        self.messages.contains(&Meaning::Next)
    }

    /// The number of a message.
    pub(super) fn number(&self, of: &Meaning) -> Option<u32> {
        let number = self.messages.iter().position(|meaning| meaning == of)?;
        Some(number as u32)
    }
}
