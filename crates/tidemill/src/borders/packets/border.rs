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

impl PacketBorder {
    /// The relations that the machine observes; with fields also the events of packets, whose turns
    /// end their packets.
    pub(crate) fn crossing(&self) -> impl Iterator<Item = RelationId> {
        let event = self.event.filter(|_| self.fields.is_some());
        [self.verdict, self.hold, event].into_iter().flatten()
    }
}
