//! Fields of messages as columns of events.

use tidemill_overlog::stage::Column;
use tidemill_relation::{Type, TypeSet};
use tidemill_wire::proto::Spans;
use tidemill_wire::schema::Field;
use tidemill_wire::{FieldType, Label, MessageId, Scalar, Schema};

use super::way::Way;

const NULL: TypeSet = TypeSet::of(Type::Null);

/// The columns of a message, by number of the field.
pub(super) fn of(schema: &Schema, message: MessageId, way: Way, spans: &Spans) -> Vec<Column> {
    let fields = schema.message(message).fields().iter();
    let column = |&id| {
        let field = schema.field(id);
        let name = field.name().to_owned().into();
        Column { name, types: types(field, way), source: spans.field(id) }
    };
    fields.map(column).collect()
}

/// What the column of a field holds, or may hold.
pub(super) fn types(field: &Field, way: Way) -> TypeSet {
    if field.label() == Label::Repeated {
        return match way {
            Way::Decode => TypeSet::LIST,
            Way::Encode => TypeSet::SEQUENCE.union(NULL),
        };
    }
    let value = match (field.field_type(), way) {
        (FieldType::Message(_) | FieldType::Group(_), Way::Decode) => TypeSet::LIST,
        (FieldType::Message(_) | FieldType::Group(_), Way::Encode) => TypeSet::SEQUENCE,
        (FieldType::Enum(_), Way::Decode) => TypeSet::INT,
        (FieldType::Enum(_), Way::Encode) => TypeSet::INT.union(TypeSet::TEXT),
        (FieldType::Scalar(Scalar::Double | Scalar::Float), Way::Decode) => TypeSet::DOUBLE,
        (FieldType::Scalar(Scalar::Double | Scalar::Float), Way::Encode) => TypeSet::NUMBER,
        (FieldType::Scalar(Scalar::Bool), _) => TypeSet::BOOL,
        (FieldType::Scalar(Scalar::String), _) => TypeSet::TEXT,
        (FieldType::Scalar(Scalar::Bytes), _) => TypeSet::BYTES,
        (FieldType::Scalar(_), _) => TypeSet::INT,
    };
    let text = FieldType::Scalar(Scalar::String);
    let value = match way {
        // Where its file does not ask for UTF-8, a string may be any bytes.
        Way::Decode if field.field_type() == text && !field.checks_utf8() => {
            value.union(TypeSet::BYTES)
        }
        _ => value,
    };
    let absent = way == Way::Encode || field.has_presence();
    if absent { value.union(NULL) } else { value }
}
