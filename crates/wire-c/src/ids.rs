//! Types and fields by their numbers in C.

use tidemill_wire::{FieldId, MessageId, Schema};

use crate::error::Failure;
use crate::guard::Outcome;

/// No type, no field: `TIDEMILL_NONE`.
pub(crate) const NONE: u32 = u32::MAX;

/// The type of that number.
pub(crate) fn type_of(schema: &Schema, number: u32) -> Outcome<MessageId> {
    let found = schema.message_at(number as usize);
    found.ok_or_else(|| Failure::misuse(format!("the schema has no message type {number}")))
}

/// The field of that number.
pub(crate) fn field_of(schema: &Schema, number: u32) -> Outcome<FieldId> {
    let found = schema.field_at(number as usize);
    found.ok_or_else(|| Failure::misuse(format!("the schema has no field {number}")))
}
