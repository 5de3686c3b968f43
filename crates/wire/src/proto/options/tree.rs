//! The value of an options message under construction: fields by number.

use crate::schema::draft::{Cardinality, Draft, FieldDraft, MessageDraft};
use crate::schema::features::{Presence, RepeatedEncoding};
use crate::schema::raw::{self, put_length, put_tag, put_varint};
use crate::schema::{FieldId, FieldType, MessageId, WireType};
use crate::varint;

/// One value.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Varint(u64),
    Fixed32(u32),
    Fixed64(u64),
    Bytes(Vec<u8>),
    Message(Tree),
    /// The bytes of a message of that type, as in an `Any`.
    Content(MessageId, Tree),
}

/// The values of one field, one unless it is repeated.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) number: u32,
    pub(super) field: FieldId,
    pub(super) values: Vec<Value>,
}

/// A message.
#[derive(Clone, Default, Debug)]
pub(super) struct Tree {
    /// Ascending by number: mostly one, and seldom more than a few.
    pub(super) fields: Vec<Entry>,
}

/// The fields to write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Keep {
    /// All fields.
    All,
    /// Without the fields with source retention.
    RunTime,
}

/// Number of a field of `google.protobuf.MessageOptions`.
const MESSAGE_SET: u32 = 1;
/// Number of a field of `google.protobuf.FieldOptions`.
const RETENTION: u32 = 17;
const RETENTION_SOURCE: u64 = 2;

impl Tree {
    pub(super) fn get(&self, draft: &Draft, field: FieldId) -> Option<&Entry> {
        self.find(draft.field(field).number as u32).ok().map(|at| &self.fields[at])
    }

    pub(super) fn entry(&mut self, draft: &Draft, field: FieldId) -> &mut Entry {
        let number = draft.field(field).number as u32;
        let at = self.find(number).unwrap_or_else(|at| {
            if self.fields.is_empty() {
                self.fields.reserve_exact(1);
            }
            self.fields.insert(at, Entry { number, field, values: Vec::with_capacity(1) });
            at
        });
        &mut self.fields[at]
    }

    fn find(&self, number: u32) -> Result<usize, usize> {
        self.fields.binary_search_by_key(&number, |entry| entry.number)
    }

    /// True if its bytes do not depend on features, and all of them are kept.
    pub(super) fn is_plain(&self, draft: &Draft) -> bool {
        self.fields.iter().all(|entry| {
            let field = draft.field(entry.field);
            let has_message = |one: &Value| matches!(one, Value::Message(_) | Value::Content(..));
            let has_message = entry.values.iter().any(has_message);
            !field.is_repeated() && !has_message && !is_for_source(field)
        })
    }

    /// The message in a field, created if absent.
    pub(super) fn sub(&mut self, draft: &Draft, field: FieldId) -> Option<&mut Tree> {
        let values = &mut self.entry(draft, field).values;
        if values.is_empty() {
            values.push(Value::Message(Tree::default()));
        }
        match values.first_mut() {
            Some(Value::Message(tree)) => Some(tree),
            _ => None,
        }
    }

    /// Clears the other members of the field's oneof: the last one wins.
    pub(super) fn clear_oneof(&mut self, draft: &Draft, field: FieldId) {
        let Some(oneof) = draft.field(field).oneof else { return };
        self.fields.retain(|one| one.field == field || draft.field(one.field).oneof != Some(oneof));
    }

    /// The path of a missing required field, in a message of type `ty` or one inside.
    pub(super) fn missing_required(&self, draft: &Draft, ty: MessageId) -> Option<String> {
        let missing = draft.message(ty).fields.iter().map(|&id| (id, draft.field(id)));
        let missing = missing.filter(|(_, field)| is_required(field));
        for (id, field) in missing {
            if self.get(draft, id).is_none() {
                return Some(field.name.to_string());
            }
        }
        self.fields.iter().find_map(|entry| {
            let field = draft.field(entry.field);
            let inside = |value: &Value| match value {
                Value::Message(tree) => tree.missing_required(draft, inner(field)?),
                _ => None,
            };
            let path = entry.values.iter().find_map(inside)?;
            Some(format!("{}.{path}", field.name))
        })
    }

    /// Serializes the fields of a message of type `ty`, ascending by number.
    pub(super) fn write(&self, draft: &Draft, ty: MessageId, keep: Keep, out: &mut Vec<u8>) {
        let message = draft.message(ty);
        if message.map_entry {
            return self.write_entry(draft, message, keep, out);
        }
        let is_set = is_message_set(message);
        for entry in &self.fields {
            let (number, field) = (entry.number, draft.field(entry.field));
            if keep == Keep::RunTime && is_for_source(field) || entry.is_absent(field) {
                continue;
            }
            if let (true, [Value::Message(tree)], Some(ty)) = (is_set, &*entry.values, inner(field))
            {
                write_item(draft, keep, number, (ty, tree), out);
                continue;
            }
            let packed = field.is_repeated()
                && field.features.repeated_encoding == RepeatedEncoding::Packed
                && field.ty.is_some_and(FieldType::is_packable);
            if packed {
                let mut inner = Vec::new();
                entry.values.iter().for_each(|value| write_bare(value, &mut inner));
                put_length(out, number, &inner);
                continue;
            }
            for value in &entry.values {
                write_value(draft, keep, field, value, out);
            }
        }
    }

    /// Writes the entry of a map, always with key and value.
    fn write_entry(&self, draft: &Draft, message: &MessageDraft, keep: Keep, out: &mut Vec<u8>) {
        for &id in &message.fields {
            let field = draft.field(id);
            match self.get(draft, id).and_then(|entry| entry.values.first()) {
                Some(value) => write_value(draft, keep, field, value, out),
                None => write_value(draft, keep, field, &default_of(draft, field), out),
            }
        }
    }
}

impl Entry {
    /// True for zero if that means absence.
    fn is_absent(&self, field: &FieldDraft) -> bool {
        let implicit = field.features.presence == Presence::Implicit
            && !field.is_repeated()
            && !field.is_extension()
            && field.oneof.is_none();
        implicit && self.values.iter().all(Value::is_zero)
    }
}

impl Value {
    fn is_zero(&self) -> bool {
        match self {
            Value::Varint(value) | Value::Fixed64(value) => *value == 0,
            Value::Fixed32(value) => *value == 0,
            Value::Bytes(bytes) => bytes.is_empty(),
            Value::Message(_) | Value::Content(..) => false,
        }
    }
}

/// Features are not resolved yet: the label of proto2, or the option of editions.
pub(super) fn is_required(field: &FieldDraft) -> bool {
    field.cardinality == Cardinality::Required || field.features.presence == Presence::Required
}

fn inner(field: &FieldDraft) -> Option<MessageId> {
    field.ty.and_then(FieldType::message)
}

/// The default of a part of a map's entry.
fn default_of(draft: &Draft, field: &FieldDraft) -> Value {
    match field.ty {
        Some(FieldType::Enum(id)) => {
            let first = draft.enum_(id).values.first().map_or(0, |value| value.number);
            Value::Varint(i64::from(first) as u64)
        }
        Some(FieldType::Message(_) | FieldType::Group(_)) => Value::Message(Tree::default()),
        Some(ty) => match ty.wire_type() {
            WireType::Fixed32 => Value::Fixed32(0),
            WireType::Fixed64 => Value::Fixed64(0),
            WireType::Length => Value::Bytes(Vec::new()),
            _ => Value::Varint(0),
        },
        None => Value::Varint(0),
    }
}

fn is_message_set(message: &MessageDraft) -> bool {
    let options = message.options.as_ref().map_or(&[][..], |options| &options.bytes);
    raw::last_varint(options, MESSAGE_SET) == Some(1)
}

/// A message of a set: a group of its number and its content.
fn write_item(
    draft: &Draft,
    keep: Keep,
    number: u32,
    (ty, tree): (MessageId, &Tree),
    out: &mut Vec<u8>,
) {
    let mut content = Vec::new();
    tree.write(draft, ty, keep, &mut content);
    put_tag(out, 1, WireType::StartGroup);
    put_varint(out, 2, number.into());
    put_length(out, 3, &content);
    put_tag(out, 1, WireType::EndGroup);
}

/// True for a field with source retention.
fn is_for_source(field: &FieldDraft) -> bool {
    let options = field.options.as_ref().map_or(&[][..], |options| &options.bytes);
    raw::last_varint(options, RETENTION) == Some(RETENTION_SOURCE)
}

fn write_bare(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Varint(value) => varint::write(out, *value),
        Value::Fixed32(value) => out.extend_from_slice(&value.to_le_bytes()),
        Value::Fixed64(value) => out.extend_from_slice(&value.to_le_bytes()),
        Value::Bytes(_) | Value::Message(_) | Value::Content(..) => {}
    }
}

fn write_value(draft: &Draft, keep: Keep, field: &FieldDraft, value: &Value, out: &mut Vec<u8>) {
    let number = field.number as u32;
    let wire_type = match value {
        Value::Varint(_) => WireType::Varint,
        Value::Fixed32(_) => WireType::Fixed32,
        Value::Fixed64(_) => WireType::Fixed64,
        Value::Bytes(bytes) => return put_length(out, number, bytes),
        Value::Message(tree) => {
            let mut content = Vec::new();
            match field.ty {
                Some(FieldType::Group(ty)) => {
                    put_tag(out, number, WireType::StartGroup);
                    tree.write(draft, ty, keep, out);
                    return put_tag(out, number, WireType::EndGroup);
                }
                Some(FieldType::Message(ty)) => tree.write(draft, ty, keep, &mut content),
                _ => {}
            }
            return put_length(out, number, &content);
        }
        Value::Content(ty, tree) => {
            let mut content = Vec::new();
            tree.write(draft, *ty, Keep::All, &mut content);
            return put_length(out, number, &content);
        }
    };
    put_tag(out, number, wire_type);
    write_bare(value, out);
}
