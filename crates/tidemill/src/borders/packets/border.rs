//! An app whose two sides fit.

use tidemill_packet::fields::Fields;
use tidemill_relation::plan::RelationId;

/// An app of the graph that hands packets to the rules of the program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PacketBorder {
    /// The app.
    pub app: String,
    /// The event of a packet: `event(@N, Port, Bytes)` or, with fields, `event(@N, Port, Id, FIELD,
    /// ...)`. An app without links to it has none.
    pub event: Option<RelationId>,
    /// The relation that sends a packet: `verdict(@N, Port, Bytes)`, or `verdict(@N, Port, Id)`.
    /// Without it, the app is a sink.
    pub verdict: Option<RelationId>,
    /// The relation that holds a packet: `hold(@N, Port, Id, Seconds)`, with fields.
    pub hold: Option<RelationId>,
    /// The fields of a packet that rules get in place of its bytes.
    pub fields: Option<Fields>,
}

/// What a tuple says about a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    /// It is the event of the packet, whose turn has ended.
    Event,
    /// Where the packet goes.
    Verdict,
    /// How long it is held.
    Hold,
}

impl Role {
    /// The number of columns that say so.
    pub(crate) fn columns(self) -> usize {
        match self {
            Role::Event | Role::Verdict => 3,
            Role::Hold => 4,
        }
    }
}

impl PacketBorder {
    /// The relations that the machine observes; where packets wait for verdicts also their events,
    /// whose turns end them.
    pub(crate) fn crossing(&self) -> impl Iterator<Item = RelationId> {
        let event = self.event.filter(|_| self.keeps_packets());
        [self.verdict, self.hold, event].into_iter().flatten()
    }

    /// Whether packets wait for verdicts of their turns.
    pub(crate) fn keeps_packets(&self) -> bool {
        self.fields.is_some() && (self.verdict.is_some() || self.hold.is_some())
    }

    /// What tuples of a relation say.
    pub(super) fn role(&self, relation: RelationId) -> Option<Role> {
        match Some(relation) {
            of if of == self.verdict => Some(Role::Verdict),
            of if of == self.hold => Some(Role::Hold),
            of if of == self.event && self.keeps_packets() => Some(Role::Event),
            _ => None,
        }
    }
}
