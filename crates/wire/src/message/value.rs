//! Values of fields, and what can be wrong with the use of a message.

use std::fmt;

use super::layout::{FieldLayout, Kind, Shape};
use super::read::{ListRef, MapRef, MessageRef};
use crate::schema::{FieldId, MessageId, Schema};

/// The value of a field, of an element of a list, or of a key or value of a map.
#[derive(Clone, Copy, Debug)]
pub enum Value<'m> {
    /// Of `double`.
    F64(f64),
    /// Of `float`.
    F32(f32),
    /// Of `int64`, `sint64`, `sfixed64`.
    I64(i64),
    /// Of `uint64`, `fixed64`.
    U64(u64),
    /// Of `int32`, `sint32`, `sfixed32`.
    I32(i32),
    /// Of `uint32`, `fixed32`.
    U32(u32),
    /// Of `bool`.
    Bool(bool),
    /// Of `string`.
    String(&'m str),
    /// Of `bytes`; and of a `string` that is not UTF-8, in a file that does not ask for it.
    Bytes(&'m [u8]),
    /// Of an enum: the number.
    Enum(i32),
    /// Of a message or group.
    Message(MessageRef<'m>),
    /// Of a repeated field.
    List(ListRef<'m>),
    /// Of a map.
    Map(MapRef<'m>),
}

impl Value<'_> {
    /// What people call it.
    pub fn kind_name(&self) -> &'static str {
        match self {
            Value::F64(_) => Kind::F64.name(),
            Value::F32(_) => Kind::F32.name(),
            Value::I64(_) => Kind::I64.name(),
            Value::U64(_) => Kind::U64.name(),
            Value::I32(_) => Kind::I32.name(),
            Value::U32(_) => Kind::U32.name(),
            Value::Bool(_) => Kind::Bool.name(),
            Value::String(_) => Kind::String.name(),
            Value::Bytes(_) => Kind::Bytes.name(),
            Value::Enum(_) => Kind::Enum.name(),
            Value::Message(_) => Kind::Message.name(),
            Value::List(_) => "list",
            Value::Map(_) => "map",
        }
    }
}

macro_rules! conversions {
    ($($variant:ident($ty:ty) $name:ident, $doc:literal;)+) => {
        impl<'m> Value<'m> {
            $(
                #[doc = $doc]
                pub fn $name(&self) -> Option<$ty> {
                    match *self {
                        Value::$variant(value) => Some(value),
                        _ => None,
                    }
                }
            )+
        }
        $(
            impl<'m> From<$ty> for Value<'m> {
                fn from(value: $ty) -> Value<'m> {
                    Value::$variant(value)
                }
            }
        )+
    };
}

conversions! {
    F64(f64) as_f64, "The `double`, if it is one.";
    F32(f32) as_f32, "The `float`, if it is one.";
    I64(i64) as_i64, "The 64-bit integer, if it is one.";
    U64(u64) as_u64, "The unsigned 64-bit integer, if it is one.";
    I32(i32) as_i32, "The 32-bit integer, if it is one; numbers of enums are [`Value::Enum`].";
    U32(u32) as_u32, "The unsigned 32-bit integer, if it is one.";
    Bool(bool) as_bool, "The truth value, if it is one.";
    String(&'m str) as_str, "The string, if it is one.";
    Bytes(&'m [u8]) as_bytes, "The bytes, if it is some.";
    Message(MessageRef<'m>) as_message, "The message, if it is one.";
    List(ListRef<'m>) as_list, "The list, if it is one.";
    Map(MapRef<'m>) as_map, "The map, if it is one.";
}

impl Value<'_> {
    /// The number of an enum, if it is one.
    pub fn as_enum(&self) -> Option<i32> {
        match *self {
            Value::Enum(number) => Some(number),
            _ => None,
        }
    }
}

/// Why a message could not be used as asked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AccessError {
    /// The message has no such field: it belongs to another message or schema.
    NoField {
        /// The message's full name.
        message: String,
        /// The name that was asked for, or that of the field given.
        field: String,
    },
    /// The field is of another type.
    WrongKind {
        /// The field's name.
        field: String,
        /// What it holds.
        holds: &'static str,
        /// What it was used as.
        used_as: &'static str,
    },
    /// The messages are of different types, or of different schemas.
    WrongMessage {
        /// The full name of what is needed.
        wanted: String,
        /// The full name of what was given.
        given: String,
    },
    /// A list has no such place.
    OutOfRange {
        /// The place asked for.
        index: usize,
        /// The places there are.
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
    /// The message has the memory that it may have.
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

/// What names a field: a [`FieldId`]; the field's name; `[full.name]` for an extension.
pub trait FieldName: Copy {
    /// The field that it names in a message of that type.
    fn find(self, schema: &Schema, message: MessageId) -> Option<FieldId>;

    /// For people.
    fn text(self, schema: &Schema) -> String;
}

impl FieldName for FieldId {
    fn find(self, schema: &Schema, message: MessageId) -> Option<FieldId> {
        let layout = schema.layouts().find(self)?;
        (layout.message == message).then_some(self)
    }

    fn text(self, schema: &Schema) -> String {
        match self.index() < schema.field_count() {
            true => schema.field(self).name().to_owned(),
            false => format!("of another schema ({})", self.index()),
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
