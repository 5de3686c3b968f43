//! An app that decodes messages, whose two sides fit.

use tidemill_packet::app::Config;
use tidemill_packet::fields::Fields;
use tidemill_relation::plan::RelationId;
use tidemill_wire::{MessageId, Schema};

use crate::borders::files::{Column, FileName};
use crate::borders::schemas::{MessageReader, Schemas, Selection};

/// The type of the apps.
pub(crate) const DECODE: &str = "Decode";

/// An app of the graph that decodes messages.
#[derive(Clone, Debug)]
pub struct DecodeBorder {
    /// The app.
    pub app: String,
    /// Its config in the graph.
    pub(super) config: Config,
    /// The schemas of the program.
    pub(super) schemas: Schemas,
    pub(super) schema: Schema,
    /// The type of the messages.
    pub(super) message: MessageId,
    /// The field that holds the message.
    pub(super) from: Fields,
    /// The fields of the packet that precede those of the message.
    pub(super) fields: Fields,
    /// The selected fields of the message; `None`: all.
    pub(super) selection: Option<Selection>,
    pub(super) target: Target,
}

/// The destination of decoded messages.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Target {
    /// `event(@N, fields.., selected..)`.
    Event(RelationId),
    /// A file, whose columns these are.
    File(FileName, Vec<Column>),
}

impl DecodeBorder {
    /// Whether its messages go to the rules.
    pub(crate) fn has_event(&self) -> bool {
        self.event().is_some()
    }

    /// A reader of its messages.
    pub(super) fn reader(&self) -> MessageReader {
        let DecodeBorder { schemas, schema, message, selection, .. } = self;
        match selection {
            None => MessageReader::new(schemas, schema, *message),
            Some(selection) => MessageReader::selecting(schemas, schema, *message, selection),
        }
    }

    /// The event of its messages.
    pub(crate) fn event(&self) -> Option<RelationId> {
        match self.target {
            Target::Event(event) => Some(event),
            Target::File(..) => None,
        }
    }

    /// The file that its messages go to.
    pub(crate) fn file(&self) -> Option<&FileName> {
        match &self.target {
            Target::Event(_) => None,
            Target::File(file, _) => Some(file),
        }
    }

    /// The type of its messages, by its full name.
    pub(crate) fn message(&self) -> &str {
        self.schema.message(self.message).full_name()
    }
}
