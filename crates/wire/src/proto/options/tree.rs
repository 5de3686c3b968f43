//! The value of an options message while it is put together: fields by number.

use std::collections::BTreeMap;

use crate::schema::draft::Draft;
use crate::schema::features::RepeatedEncoding;
use crate::schema::raw::{self, put_length, put_tag};
use crate::schema::{FieldId, FieldType, WireType};
use crate::varint;

/// One value.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Varint(u64),
    Fixed32(u32),
    Fixed64(u64),
    Bytes(Vec<u8>),
    Message(Tree),
}

/// The values of one field, one unless it is repeated.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) field: FieldId,
    pub(super) values: Vec<Value>,
}

/// A message.
#[derive(Clone, Default, Debug)]
pub(super) struct Tree {
    pub(super) fields: BTreeMap<u32, Entry>,
}

/// Which fields are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Keep {
    /// All.
    All,
    /// Without those that only readers of the source see.
    RunTime,
}

const RETENTION: u32 = 17;
const RETENTION_SOURCE: u64 = 2;

impl Tree {
    pub(super) fn get(&self, draft: &Draft, field: FieldId) -> Option<&Entry> {
        self.fields.get(&(draft.field(field).number as u32))
    }

    pub(super) fn entry(&mut self, draft: &Draft, field: FieldId) -> &mut Entry {
        let number = draft.field(field).number as u32;
        self.fields.entry(number).or_insert(Entry { field, values: Vec::new() })
    }

    /// The message in a field, made if it is not there.
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

    /// Serializes the fields ascending by number.
    pub(super) fn write(&self, draft: &Draft, keep: Keep, out: &mut Vec<u8>) {
        for (&number, entry) in &self.fields {
            let field = draft.field(entry.field);
            let options = field.options.as_ref().map_or(&[][..], |options| &options.bytes);
            let source_only = raw::last_varint(options, RETENTION) == Some(RETENTION_SOURCE);
            if source_only && keep == Keep::RunTime {
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
            let group = matches!(field.ty, Some(FieldType::Group(_)));
            for value in &entry.values {
                write_value(draft, keep, number, value, group, out);
            }
        }
    }
}

fn write_bare(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Varint(value) => varint::write(out, *value),
        Value::Fixed32(value) => out.extend_from_slice(&value.to_le_bytes()),
        Value::Fixed64(value) => out.extend_from_slice(&value.to_le_bytes()),
        Value::Bytes(_) | Value::Message(_) => {}
    }
}

fn write_value(
    draft: &Draft,
    keep: Keep,
    number: u32,
    value: &Value,
    group: bool,
    out: &mut Vec<u8>,
) {
    let wire_type = match value {
        Value::Varint(_) => WireType::Varint,
        Value::Fixed32(_) => WireType::Fixed32,
        Value::Fixed64(_) => WireType::Fixed64,
        Value::Bytes(bytes) => return put_length(out, number, bytes),
        Value::Message(tree) if group => {
            put_tag(out, number, WireType::StartGroup);
            tree.write(draft, keep, out);
            return put_tag(out, number, WireType::EndGroup);
        }
        Value::Message(tree) => {
            let mut inner = Vec::new();
            tree.write(draft, keep, &mut inner);
            return put_length(out, number, &inner);
        }
    };
    put_tag(out, number, wire_type);
    write_bare(value, out);
}
