//! The value of an options message while it is put together: fields by number.

use crate::schema::draft::{Draft, FieldDraft};
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

    /// True if its bytes are the same whatever features say, and all of them are kept.
    pub(super) fn is_plain(&self, draft: &Draft) -> bool {
        self.fields.iter().all(|entry| {
            let field = draft.field(entry.field);
            let has_message = entry.values.iter().any(|one| matches!(one, Value::Message(_)));
            !field.is_repeated() && !has_message && !is_for_source(field)
        })
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
        for entry in &self.fields {
            let (number, field) = (entry.number, draft.field(entry.field));
            if keep == Keep::RunTime && is_for_source(field) {
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

/// True for a field that only readers of the source see.
fn is_for_source(field: &FieldDraft) -> bool {
    let options = field.options.as_ref().map_or(&[][..], |options| &options.bytes);
    raw::last_varint(options, RETENTION) == Some(RETENTION_SOURCE)
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
