//! Which fields can be decoded lazily: sub-messages that are decoded on first access.

use crate::schema::{Definitions, FieldId, FieldType};

/// True for the fields of a message that are put off; see [`lazy`](super::lazy).
pub(crate) fn is_put_off(schema: &Definitions, field: FieldId) -> bool {
    let is_message = |field: FieldId| {
        let field = schema.field(field);
        match field.field_type() {
            FieldType::Message(of) => !schema.message(of).is_map_entry(),
            _ => false,
        }
    };
    let field_def = schema.field(field);
    let alone = |oneof| schema.oneof(oneof).fields().iter().copied().all(is_message);
    is_message(field)
        && !schema.message(field_def.message()).is_message_set()
        && field_def.oneof().is_none_or(alone)
}
