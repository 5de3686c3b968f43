//! An app whose two sides fit.

use tidemill_packet::fields::Fields;
use tidemill_relation::plan::RelationId;

/// An app of the graph that hands packets to the rules of the program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PacketBorder {
    /// The app.
    pub app: String,
    /// What a packet is to the rules: `event(@N, Port, Bytes)`, or, with fields,
    /// `event(@N, Port, Id, FIELD, ...)`.
    pub event: RelationId,
    /// What sends a packet: `verdict(@N, Port, Bytes)`, or `verdict(@N, Port, Id)`. Without it, the
    /// app is a sink.
    pub verdict: Option<RelationId>,
    /// What keeps a packet: `hold(@N, Port, Id, Seconds)`, with fields.
    pub hold: Option<RelationId>,
    /// What of a packet the rules are handed in place of its bytes.
    pub fields: Option<Fields>,
}

impl PacketBorder {
    /// The events that the machine has to see: with fields also packets, whose turns end then.
    pub(crate) fn crossing(&self) -> impl Iterator<Item = RelationId> {
        let event = self.fields.is_some().then_some(self.event);
        [self.verdict, self.hold, event].into_iter().flatten()
    }
}
