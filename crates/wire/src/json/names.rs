//! The JSON names of a schema's fields: made once for all messages that are printed or read, and
//! kept with the schema.

use tidemill_stdx::hash::{combine, hash_bytes};

use super::options::Names;
use super::{print, scan};
use crate::schema::{Definitions, EnumId, FieldId, FieldType, Label, MessageId, Scalar};

/// No field.
pub(crate) const NONE: u32 = u32::MAX;

/// The JSON names of a schema's fields, and messages with special forms.
#[derive(Debug)]
pub(crate) struct JsonNames {
    /// By field.
    pub(super) fields: Box<[FieldMap]>,
    /// By message.
    pub(super) messages: Box<[MessageMap]>,
    /// By enum.
    pub(super) enums: Box<[EnumMap]>,
    /// Names as they are printed: keys with quotes and colon. [`scan::WIDE`] bytes follow the last.
    pub(super) texts: String,
    /// Field ids by name, probed one after the other; a power of two.
    pub(super) table: Box<[u32]>,
}

/// One field.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FieldMap {
    pub(crate) message: MessageId,
    pub(crate) kind: ValueForm,
    pub(crate) list: Cardinality,
    /// Its bit among the fields seen; members of a oneof share one.
    pub(crate) seen: u32,
    /// Zero, or an empty string, means that it is absent.
    pub(crate) implicit: bool,
    /// The field that is expected after it, or [`NONE`].
    pub(crate) next: u32,
    pub(super) json_key: (u32, u32),
    pub(super) proto_key: (u32, u32),
}

impl FieldMap {
    /// The range of its key.
    #[inline]
    pub(super) fn key(&self, names: Names) -> (u32, u32) {
        match names {
            Names::Json => self.json_key,
            Names::Proto => self.proto_key,
        }
    }
}

/// Whether a field holds one value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Cardinality {
    /// One.
    Single,
    /// Several.
    Repeated,
    /// Entries of a map.
    Map,
}

/// The form of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ValueForm {
    Int64,
    Uint64,
    Int32,
    Uint32,
    Double,
    Float,
    Bool,
    String,
    Bytes,
    Enum(EnumId),
    /// `google.protobuf.NullValue`.
    Null,
    Message(MessageId),
}

/// One message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MessageMap {
    pub(crate) shape: MessageForm,
    /// The field that is expected first, or [`NONE`].
    pub(crate) first: u32,
    /// The number of bits for [`FieldMap::seen`].
    pub(crate) seen: u32,
}

/// The forms of messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum MessageForm {
    /// An object with a key for each field.
    Plain,
    /// A key and a value of an object.
    Entry,
    Any,
    Timestamp,
    Duration,
    FieldMask,
    Struct,
    Value,
    ListValue,
    /// The value of field 1.
    Wrapper,
}

impl MessageForm {
    /// True if the form is no object of fields: inside an `Any` it is a `value`.
    pub(crate) fn is_special(self) -> bool {
        !matches!(self, MessageForm::Plain | MessageForm::Entry)
    }
}

/// Names of an enum's values, with quotes.
#[derive(Debug, Default)]
pub(super) struct EnumMap {
    /// By number, from 0.
    pub(super) dense: Box<[Option<(u32, u32)>]>,
}

/// Enum numbers that are looked up without search.
const DENSE_MAX: i32 = 256;

impl JsonNames {
    /// The names of a schema, and the forms of its messages.
    pub(crate) fn new(schema: &Definitions) -> JsonNames {
        let mut texts = String::new();
        let count = schema.field_count();
        let shapes: Vec<MessageForm> = schema.messages().map(|id| shape(schema, id)).collect();
        let mut messages: Vec<MessageMap> =
            shapes.iter().map(|&shape| MessageMap { shape, first: NONE, seen: 0 }).collect();
        let mut fields = Vec::with_capacity(count);
        for index in 0..count as u32 {
            fields.push(field_map(schema, FieldId(index), &mut texts));
        }
        for message in schema.messages() {
            let ids = schema.message(message).fields();
            let map = &mut messages[message.index()];
            map.first = ids.first().map_or(NONE, |id| id.0);
            map.seen = ids.len() as u32;
            for (at, &id) in ids.iter().enumerate() {
                fields[id.index()].next = ids.get(at + 1).map_or(NONE, |id| id.0);
            }
        }
        for id in schema.extensions() {
            let map = &mut messages[schema.field(id).message().index()];
            fields[id.index()].seen = map.seen;
            map.seen += 1;
        }
        let enums = schema.enums().map(|id| enum_map(schema, id, &mut texts)).collect();
        // So the last key too can be copied and compared as a block.
        texts.extend([' '; scan::WIDE]);
        let (fields, messages) = (fields.into(), messages.into());
        let table = Box::default();
        let mut names = JsonNames { fields, messages, enums, texts, table };
        names.fill_table();
        names
    }

    fn key(&self, (start, end): (u32, u32)) -> &str {
        &self.texts[start as usize..end as usize]
    }

    fn fill_table(&mut self) {
        let size = (self.fields.len() * 4).next_power_of_two();
        let mut table = vec![NONE; size].into_boxed_slice();
        let mut insert = |message, name, id: usize| {
            let mut at = hash(message, name) as usize & (size - 1);
            while table[at] != NONE {
                at = (at + 1) & (size - 1);
            }
            table[at] = id as u32;
        };
        // JSON names first: they take precedence over an equal own name of another field.
        for (id, field) in self.fields.iter().enumerate() {
            insert(field.message, bare(self.key(field.json_key)), id);
        }
        for (id, field) in self.fields.iter().enumerate() {
            if field.json_key != field.proto_key {
                insert(field.message, bare(self.key(field.proto_key)), id);
            }
        }
        self.table = table;
    }
}

pub(super) fn hash(message: MessageId, name: &str) -> u64 {
    combine(hash_bytes(name.as_bytes()), u64::from(message.0))
}

/// A key without quotes and colon.
pub(super) fn bare(key: &str) -> &str {
    key.get(1..key.len().saturating_sub(2)).unwrap_or("")
}

/// Each key has a comma before it, which is not part of it.
fn push_key(texts: &mut String, name: &str) -> (u32, u32) {
    texts.push(',');
    let start = texts.len() as u32;
    print::quote_into(texts, name);
    texts.push(':');
    (start, texts.len() as u32)
}

fn field_map(schema: &Definitions, id: FieldId, texts: &mut String) -> FieldMap {
    let field = schema.field(id);
    let (json_key, proto_key) = match field.extension_name() {
        Some(name) => {
            let key = push_key(texts, &format!("[{name}]"));
            (key, key)
        }
        None if field.json_name() == field.name() => {
            let key = push_key(texts, field.name());
            (key, key)
        }
        None => (push_key(texts, field.json_name()), push_key(texts, field.name())),
    };
    let is_map = |message| schema.message(message).is_map_entry();
    let list = match field.field_type() {
        _ if field.label() != Label::Repeated => Cardinality::Single,
        FieldType::Message(message) if is_map(message) => Cardinality::Map,
        _ => Cardinality::Repeated,
    };
    let first = |oneof| schema.oneof(oneof).fields().first().copied().unwrap_or(id);
    let first = field.oneof().map_or(id, first);
    let seen = schema.field(first).index_in_message();
    let (message, kind) = (field.message(), kind(schema, field.field_type()));
    let implicit = field.label() == Label::Implicit;
    FieldMap { message, kind, list, seen, implicit, next: NONE, json_key, proto_key }
}

fn kind(schema: &Definitions, ty: FieldType) -> ValueForm {
    match ty {
        FieldType::Scalar(scalar) => match scalar {
            Scalar::Double => ValueForm::Double,
            Scalar::Float => ValueForm::Float,
            Scalar::Int64 | Scalar::Sint64 | Scalar::Sfixed64 => ValueForm::Int64,
            Scalar::Uint64 | Scalar::Fixed64 => ValueForm::Uint64,
            Scalar::Int32 | Scalar::Sint32 | Scalar::Sfixed32 => ValueForm::Int32,
            Scalar::Uint32 | Scalar::Fixed32 => ValueForm::Uint32,
            Scalar::Bool => ValueForm::Bool,
            Scalar::String => ValueForm::String,
            Scalar::Bytes => ValueForm::Bytes,
        },
        FieldType::Enum(id) if is_null_value(schema, id) => ValueForm::Null,
        FieldType::Enum(id) => ValueForm::Enum(id),
        FieldType::Message(id) | FieldType::Group(id) => ValueForm::Message(id),
    }
}

fn is_null_value(schema: &Definitions, id: EnumId) -> bool {
    &**schema.enum_def(id).full_name() == "google.protobuf.NullValue"
}

fn enum_map(schema: &Definitions, id: EnumId, texts: &mut String) -> EnumMap {
    let found = schema.enum_def(id);
    let numbers = found.values().iter().map(|value| value.number());
    let highest = numbers.filter(|number| (0..DENSE_MAX).contains(number)).max();
    let name = |number| {
        let value = found.value_by_number(number)?;
        let start = texts.len() as u32;
        print::quote_into(texts, value.name());
        Some((start, texts.len() as u32))
    };
    EnumMap { dense: (0..highest.map_or(0, |highest| highest + 1)).map(name).collect() }
}

/// The form of a message: one of the well-known, if it has their fields.
fn shape(schema: &Definitions, id: MessageId) -> MessageForm {
    let message = schema.message(id);
    if message.is_map_entry() {
        return MessageForm::Entry;
    }
    let Some(name) = message.full_name().strip_prefix("google.protobuf.") else {
        return MessageForm::Plain;
    };
    let has = |number, ty: ValueForm, label| {
        schema.field_by_number(id, number).is_some_and(|id| {
            let field = schema.field(id);
            kind(schema, field.field_type()) == ty && (field.label() == Label::Repeated) == label
        })
    };
    let one = |number, ty| has(number, ty, false);
    let many = |number, ty| has(number, ty, true);
    let message_named = |name| schema.message_by_name(name).map(ValueForm::Message);
    let value = message_named("google.protobuf.Value");
    let (shape, fits) = match name {
        "Any" => (MessageForm::Any, one(1, ValueForm::String) && one(2, ValueForm::Bytes)),
        "Timestamp" => {
            (MessageForm::Timestamp, one(1, ValueForm::Int64) && one(2, ValueForm::Int32))
        }
        "Duration" => (MessageForm::Duration, one(1, ValueForm::Int64) && one(2, ValueForm::Int32)),
        "FieldMask" => (MessageForm::FieldMask, many(1, ValueForm::String)),
        "Struct" => {
            let entry = message_named("google.protobuf.Struct.FieldsEntry");
            (MessageForm::Struct, entry.is_some_and(|entry| many(1, entry)) && value.is_some())
        }
        "ListValue" => (MessageForm::ListValue, value.is_some_and(|value| many(1, value))),
        "Value" => {
            let (inner, list) = (
                message_named("google.protobuf.Struct"),
                message_named("google.protobuf.ListValue"),
            );
            let scalars = one(1, ValueForm::Null)
                && one(2, ValueForm::Double)
                && one(3, ValueForm::String)
                && one(4, ValueForm::Bool);
            let messages =
                inner.is_some_and(|inner| one(5, inner)) && list.is_some_and(|list| one(6, list));
            (MessageForm::Value, scalars && messages)
        }
        "DoubleValue" => (MessageForm::Wrapper, one(1, ValueForm::Double)),
        "FloatValue" => (MessageForm::Wrapper, one(1, ValueForm::Float)),
        "Int64Value" => (MessageForm::Wrapper, one(1, ValueForm::Int64)),
        "UInt64Value" => (MessageForm::Wrapper, one(1, ValueForm::Uint64)),
        "Int32Value" => (MessageForm::Wrapper, one(1, ValueForm::Int32)),
        "UInt32Value" => (MessageForm::Wrapper, one(1, ValueForm::Uint32)),
        "BoolValue" => (MessageForm::Wrapper, one(1, ValueForm::Bool)),
        "StringValue" => (MessageForm::Wrapper, one(1, ValueForm::String)),
        "BytesValue" => (MessageForm::Wrapper, one(1, ValueForm::Bytes)),
        _ => return MessageForm::Plain,
    };
    if fits { shape } else { MessageForm::Plain }
}
