//! The positions of a schema's definitions in its texts, for diagnostics that point to them.

use tidemill_diag::Span;

use crate::schema::{FieldId, MessageId};

/// The names of messages and fields in the texts; definitions from descriptors are at the beginning
/// of an empty text of their file's name.
#[derive(Clone, Debug, Default)]
pub struct Spans {
    messages: Vec<Span>,
    fields: Vec<Span>,
}

impl Spans {
    /// Both in the order of their ids.
    pub(super) fn new(
        messages: impl Iterator<Item = Span>,
        fields: impl Iterator<Item = Span>,
    ) -> Spans {
        Spans { messages: messages.collect(), fields: fields.collect() }
    }

    /// The name of a message.
    pub fn message(&self, id: MessageId) -> Option<Span> {
        self.messages.get(id.index()).copied()
    }

    /// The name of a field.
    pub fn field(&self, id: FieldId) -> Option<Span> {
        self.fields.get(id.index()).copied()
    }
}
