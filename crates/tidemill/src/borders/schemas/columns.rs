//! Fields of messages as columns of events.

use tidemill_overlog::stage::Column;
use tidemill_relation::{Type, TypeSet};
use tidemill_wire::proto::Spans;
use tidemill_wire::schema::Field;
use tidemill_wire::{FieldType, Label, MessageId, Scalar, Schema};

use super::direction::Direction;

const NULL: TypeSet = TypeSet::of(Type::Null);

/// The columns of a message, by number of the field.
pub(super) fn of(
    schema: &Schema,
    message: MessageId,
    direction: Direction,
    spans: &Spans,
) -> Vec<Column> {
    let fields = schema.message(message).fields().iter();
    let column = |&id| {
        let field = schema.field(id);
        let name = field.name().to_owned().into();
        Column { name, types: types(field, direction), source: spans.field(id) }
    };
    fields.map(column).collect()
}

/// The types of the column of a field.
pub(super) fn types(field: &Field, direction: Direction) -> TypeSet {
    if field.label() == Label::Repeated {
        return match direction {
            Direction::Decode => TypeSet::LIST,
            Direction::Encode => TypeSet::SEQUENCE.union(NULL),
        };
    }
    let value = match (field.field_type(), direction) {
        (FieldType::Message(_) | FieldType::Group(_), Direction::Decode) => TypeSet::LIST,
        (FieldType::Message(_) | FieldType::Group(_), Direction::Encode) => TypeSet::SEQUENCE,
        (FieldType::Enum(_), Direction::Decode) => TypeSet::INT,
        (FieldType::Enum(_), Direction::Encode) => TypeSet::INT.union(TypeSet::TEXT),
        (FieldType::Scalar(Scalar::Double | Scalar::Float), Direction::Decode) => TypeSet::DOUBLE,
        (FieldType::Scalar(Scalar::Double | Scalar::Float), Direction::Encode) => TypeSet::NUMBER,
        (FieldType::Scalar(Scalar::Bool), _) => TypeSet::BOOL,
        (FieldType::Scalar(Scalar::String), _) => TypeSet::TEXT,
        (FieldType::Scalar(Scalar::Bytes), _) => TypeSet::BYTES,
        (FieldType::Scalar(_), _) => TypeSet::INT,
    };
    let text = FieldType::Scalar(Scalar::String);
    let value = match direction {
        // Unless its file requires UTF-8, a string may be any bytes.
        Direction::Decode if field.field_type() == text && !field.checks_utf8() => {
            value.union(TypeSet::BYTES)
        }
        _ => value,
    };
    let absent = direction == Direction::Encode || field.has_presence();
    if absent { value.union(NULL) } else { value }
}
