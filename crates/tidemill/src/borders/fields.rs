//! Fields of packets as columns of rules.

use tidemill_packet::fields::{FieldType, FieldValue};
use tidemill_relation::{Type, TypeSet, Value};

/// The types of the column of a packet field.
pub(super) fn types_of(kind: FieldType) -> TypeSet {
    let types = match kind {
        FieldType::Integer => TypeSet::INT,
        FieldType::Bytes => TypeSet::BYTES,
        FieldType::Time => TypeSet::TIME,
    };
    types.union(TypeSet::of(Type::Null))
}

/// The value of a packet field in rules.
pub(super) fn value_of(field: FieldValue<'_>) -> Value<'_> {
    match field {
        FieldValue::Absent => Value::Null,
        FieldValue::Integer(number) => Value::Int(number),
        FieldValue::Bytes(bytes) => Value::Bytes(bytes),
        FieldValue::Time(time) => Value::Time(time),
    }
}
