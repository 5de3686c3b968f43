//! Values into messages.

use tidemill_relation::limits::VALUE_BYTES_MAX;
use tidemill_relation::{Seq, Value};
use tidemill_wire::encode::table::Encoder;
use tidemill_wire::message::MessageMut;
use tidemill_wire::schema::Field;
use tidemill_wire::{
    self as wire, FieldId, FieldType, Label, Message, MessageId, NativeEncoder, Scalar, Schema,
};

use super::counts::{Failed, Reason};
use super::loaded::Schemas;

/// The memory limit of one message.
const MESSAGE_BYTES_MAX: usize = 4 * VALUE_BYTES_MAX;
/// The capacity kept from one message to the next.
const KEPT_BYTES: usize = 64 << 10;

/// Encodes messages of one type.
pub(super) struct MessageWriter {
    schema: Schema,
    message: MessageId,
    native: Option<NativeEncoder>,
    /// The previous message, whose memory is reused.
    kept: Option<Message<'static>>,
}

impl MessageWriter {
    pub(super) fn new(schemas: &Schemas, schema: &Schema, message: MessageId) -> MessageWriter {
        let code = schemas.encoder(schema, message);
        let native = code.map(|code| NativeEncoder::new(code).check_required());
        MessageWriter { schema: schema.clone(), message, native, kept: None }
    }

    /// The number of fields of the message.
    pub(super) fn fields(&self) -> usize {
        self.schema.message(self.message).fields().len()
    }

    /// Encodes a message with these values as its fields, by number.
    pub(super) fn write<'v>(
        &mut self,
        values: impl ExactSizeIterator<Item = Value<'v>>,
        take: impl FnOnce(&[u8]),
    ) -> Result<(), Failed> {
        let mut message = match self.kept.take() {
            Some(message) => message,
            None => Message::with_limit(&self.schema, self.message, MESSAGE_BYTES_MAX)?,
        };
        let filled = fill(&self.schema, self.message, message.as_mut(), values);
        let done = filled.and_then(|()| {
            let bytes = match &mut self.native {
                Some(native) => native.encode(message.as_ref())?,
                None => &Encoder::new().check_required().encode(message.as_ref())?,
            };
            if bytes.len() > VALUE_BYTES_MAX {
                let text = format!("the message has more than {VALUE_BYTES_MAX} bytes");
                return Err(Failed::new(Reason::TooLarge, text));
            }
            take(bytes);
            Ok(())
        });
        message.clear();
        message.shrink(KEPT_BYTES);
        self.kept = Some(message);
        done
    }
}

/// Sets the fields of a message. The nesting limit of values bounds that of messages.
fn fill<'v>(
    schema: &Schema,
    of: MessageId,
    mut message: MessageMut<'_>,
    values: impl ExactSizeIterator<Item = Value<'v>>,
) -> Result<(), Failed> {
    let fields = schema.message(of).fields();
    if fields.len() != values.len() {
        let (name, count) = (schema.full_name(of), fields.len());
        let text = format!("{name} has {count} fields, and {} values are given", values.len());
        return Err(Failed::new(Reason::WrongCount, text));
    }
    for (&id, value) in fields.iter().zip(values) {
        if let Value::Null = value {
            continue;
        }
        let field = schema.field(id);
        match (field.label(), field.field_type()) {
            (Label::Repeated, FieldType::Message(entry))
                if schema.message(entry).is_map_entry() =>
            {
                entries(schema, &mut message, id, entry, value)?;
            }
            (Label::Repeated, ty) => elements(schema, &mut message, id, ty, value)?,
            (_, FieldType::Message(inner) | FieldType::Group(inner)) => {
                let values = sequence(field, value)?;
                fill(schema, inner, message.message_mut(id)?, values.iter())?;
            }
            _ => message.set(id, scalar(schema, field, value)?)?,
        }
    }
    Ok(())
}

fn elements(
    schema: &Schema,
    message: &mut MessageMut<'_>,
    id: FieldId,
    ty: FieldType,
    value: Value<'_>,
) -> Result<(), Failed> {
    let field = schema.field(id);
    let mut list = message.list_mut(id)?;
    for value in sequence(field, value)?.iter() {
        match ty {
            FieldType::Message(inner) | FieldType::Group(inner) => {
                let values = sequence(field, value)?;
                fill(schema, inner, list.push_message()?, values.iter())?;
            }
            _ => list.push(scalar(schema, field, value)?)?,
        }
    }
    Ok(())
}

/// The entries of a map: lists of a key and a value.
fn entries(
    schema: &Schema,
    message: &mut MessageMut<'_>,
    id: FieldId,
    entry: MessageId,
    value: Value<'_>,
) -> Result<(), Failed> {
    let field = schema.field(id);
    let mut map = message.map_mut(id)?;
    let &[key_id, value_id] = schema.message(entry).fields() else {
        return Err(Failed::new(Reason::WrongType, "the entries of a map have a key and a value"));
    };
    let (key_field, value_field) = (schema.field(key_id), schema.field(value_id));
    for pair in sequence(field, value)?.iter() {
        let pair: Vec<Value<'_>> = sequence(field, pair)?.iter().collect();
        let &[key, value] = &pair[..] else {
            let name = field.name();
            let text = format!("an entry of field {name} is a list of a key and a value");
            return Err(Failed::new(Reason::WrongType, text));
        };
        let key = scalar(schema, key_field, key)?;
        match value_field.field_type() {
            FieldType::Message(inner) | FieldType::Group(inner) => {
                let values = sequence(field, value)?;
                let mut inside = map.message_mut(key)?;
                // A duplicate key takes its last value.
                inside.clear_all();
                fill(schema, inner, inside, values.iter())?;
            }
            _ => map.insert(key, scalar(schema, value_field, value)?)?,
        }
    }
    Ok(())
}

fn sequence<'v>(field: &Field, value: Value<'v>) -> Result<Seq<'v>, Failed> {
    match value {
        Value::List(seq) | Value::Vector(seq) => Ok(seq),
        other => Err(wrong_type(field, "a list", other)),
    }
}

fn wrong_type(field: &Field, wanted: &str, given: Value<'_>) -> Failed {
    let (name, given) = (field.name(), given.type_of().name());
    Failed::new(Reason::WrongType, format!("field {name} takes {wanted}, not {given}"))
}

/// The value of a scalar field.
pub(crate) fn scalar<'v>(
    schema: &Schema,
    field: &Field,
    value: Value<'v>,
) -> Result<wire::Value<'v>, Failed> {
    let name = field.name();
    let wrong = |wanted: &str| wrong_type(field, wanted, value);
    let out_of_range =
        || Failed::new(Reason::OutOfRange, format!("field {name} cannot be {value}"));
    let scalar = match field.field_type() {
        FieldType::Enum(of) => {
            let of = schema.enum_def(of);
            let number = match value {
                Value::Int(number) => i32::try_from(number).ok(),
                Value::Str(text) => of.value_by_name(text).map(|value| value.number()),
                _ => return Err(wrong("the number or the name of an enum")),
            };
            return number.map(wire::Value::Enum).ok_or_else(out_of_range);
        }
        FieldType::Message(_) | FieldType::Group(_) => return Err(wrong("a list")),
        FieldType::Scalar(scalar) => scalar,
    };
    let int = || match value {
        Value::Int(number) => Ok(number),
        _ => Err(wrong("an integer")),
    };
    let double = || match value {
        Value::Double(number) => Ok(number),
        Value::Int(number) => Ok(number as f64),
        _ => Err(wrong("a number")),
    };
    Ok(match scalar {
        Scalar::Double => wire::Value::F64(double()?),
        Scalar::Float => {
            let number = double()?;
            let single = number as f32;
            if single.is_infinite() && number.is_finite() {
                return Err(out_of_range());
            }
            wire::Value::F32(single)
        }
        Scalar::Int32 | Scalar::Sint32 | Scalar::Sfixed32 => {
            wire::Value::I32(int()?.try_into().map_err(|_| out_of_range())?)
        }
        Scalar::Uint32 | Scalar::Fixed32 => {
            wire::Value::U32(int()?.try_into().map_err(|_| out_of_range())?)
        }
        Scalar::Int64 | Scalar::Sint64 | Scalar::Sfixed64 => wire::Value::I64(int()?),
        Scalar::Uint64 | Scalar::Fixed64 => {
            wire::Value::U64(int()?.try_into().map_err(|_| out_of_range())?)
        }
        Scalar::Bool => match value {
            Value::Bool(truth) => wire::Value::Bool(truth),
            _ => return Err(wrong("a truth value")),
        },
        Scalar::String => wire::Value::String(value.as_str().ok_or_else(|| wrong("a text"))?),
        Scalar::Bytes => wire::Value::Bytes(value.as_bytes().ok_or_else(|| wrong("bytes"))?),
    })
}
