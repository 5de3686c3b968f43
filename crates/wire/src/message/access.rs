//! Errors of accesses to a message, and the names of its fields.

use std::fmt;

use super::layout::{FieldLayout, Shape};
use crate::schema::{FieldId, MessageId, Schema};

/// Why an access to a message failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AccessError {
    /// The message has no such field: it belongs to another message or schema.
    NoField {
        /// The message's full name.
        message: String,
        /// The name looked up, or that of the field given.
        field: String,
    },
    /// The field is of another type.
    WrongKind {
        /// The field's name.
        field: String,
        /// The type that it holds.
        holds: &'static str,
        /// The type that it was used as.
        used_as: &'static str,
    },
    /// The messages are of different types, or of different schemas.
    WrongMessage {
        /// The full name of the required type.
        wanted: String,
        /// The full name of the given type.
        given: String,
    },
    /// An index is out of range.
    OutOfRange {
        /// The index given.
        index: usize,
        /// The length of the list.
        len: usize,
    },
    /// A closed enum has no such number.
    NotInEnum {
        /// The field's name.
        field: String,
        /// The number.
        number: i32,
    },
    /// Bytes that are no fields.
    BadUnknown,
    /// A value has 4 GiB or more.
    TooLarge,
    /// The message has reached its memory limit.
    Full,
}

impl fmt::Display for AccessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AccessError::NoField { message, field } => {
                write!(f, "message {message} has no field {field}")
            }
            AccessError::WrongKind { field, holds, used_as } => {
                write!(f, "field {field} holds {holds}, used as {used_as}")
            }
            AccessError::WrongMessage { wanted, given } => {
                write!(f, "a message {given} is given where {wanted} is needed")
            }
            AccessError::OutOfRange { index, len } => {
                write!(f, "no place {index} in a list of {len}")
            }
            AccessError::NotInEnum { field, number } => {
                write!(f, "the enum of field {field} is closed and has no number {number}")
            }
            AccessError::BadUnknown => f.write_str("the bytes are no fields"),
            AccessError::TooLarge => f.write_str("a value has 4 GiB or more"),
            AccessError::Full => f.write_str("the message has all the memory that it may have"),
        }
    }
}

impl std::error::Error for AccessError {}

/// A name of a field: a [`FieldId`]; the field's name; `[full.name]` for an extension.
pub trait FieldName: Copy {
    /// The field that it names in a message of that type.
    fn find(self, schema: &Schema, message: MessageId) -> Option<FieldId>;

    /// The field's name in messages to users.
    fn text(self, schema: &Schema) -> String;
}

impl FieldName for FieldId {
    fn find(self, schema: &Schema, message: MessageId) -> Option<FieldId> {
        let layout = schema.layouts().find(self)?;
        (layout.message == message).then_some(self)
    }

    fn text(self, schema: &Schema) -> String {
        if self.index() < schema.field_count() {
            schema.field(self).name().to_owned()
        } else {
            format!("of another schema ({})", self.index())
        }
    }
}

impl FieldName for &str {
    fn find(self, schema: &Schema, message: MessageId) -> Option<FieldId> {
        let Some(extension) = self.strip_prefix('[') else {
            return schema.field_by_name(message, self);
        };
        let id = schema.extension_by_name(extension.strip_suffix(']')?)?;
        (schema.layouts().field(id).message == message).then_some(id)
    }

    fn text(self, _: &Schema) -> String {
        self.to_owned()
    }
}

/// The field and its layout, or why not.
#[inline]
pub(super) fn field(
    schema: &Schema,
    message: MessageId,
    name: impl FieldName,
) -> Result<(FieldId, &FieldLayout), AccessError> {
    match name.find(schema, message) {
        Some(id) => Ok((id, schema.layouts().field(id))),
        None => Err(no_field(schema, message, name)),
    }
}

#[cold]
fn no_field(schema: &Schema, message: MessageId, name: impl FieldName) -> AccessError {
    let message = schema.full_name(message).to_owned();
    AccessError::NoField { message, field: name.text(schema) }
}

#[cold]
pub(super) fn wrong_kind(
    schema: &Schema,
    id: FieldId,
    layout: &FieldLayout,
    used_as: &'static str,
) -> AccessError {
    let holds = match layout.shape {
        Shape::Single => layout.kind.name(),
        Shape::List => "list",
        Shape::Map => "map",
    };
    AccessError::WrongKind { field: schema.field(id).name().to_owned(), holds, used_as }
}
