//! The table encoder's steps for each field, in one place.

use super::back::TagWord;
use crate::message::layout::{FieldLayout, Layouts, RecordLayout, Shape};
use crate::schema::{Definitions, FieldId, FieldType, Label, MessageId, Scalar};

/// The way to write a slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(super) enum Op {
    /// A number as a varint, by its form in memory.
    Bool,
    Int32,
    Uint32,
    Sint32,
    Whole64,
    Sint64,
    Fixed32,
    Fixed64,
    /// A string or bytes.
    Bytes,
    Message,
    Group,
    /// An extension of a set of messages.
    Item,
    /// All values of a list, each with its tag, by [`Step::each`].
    List,
    /// Those of a packed list, by [`Step::each`].
    Packed,
    Map,
}

impl Op {
    fn of(ty: FieldType) -> Op {
        match ty {
            FieldType::Message(_) => Op::Message,
            FieldType::Group(_) => Op::Group,
            FieldType::Enum(_) => Op::Int32,
            FieldType::Scalar(scalar) => match scalar {
                Scalar::Bool => Op::Bool,
                Scalar::Int32 => Op::Int32,
                Scalar::Uint32 => Op::Uint32,
                Scalar::Sint32 => Op::Sint32,
                Scalar::Int64 | Scalar::Uint64 => Op::Whole64,
                Scalar::Sint64 => Op::Sint64,
                Scalar::Float | Scalar::Fixed32 | Scalar::Sfixed32 => Op::Fixed32,
                Scalar::Double | Scalar::Fixed64 | Scalar::Sfixed64 => Op::Fixed64,
                Scalar::String | Scalar::Bytes => Op::Bytes,
            },
        }
    }
}

/// One field.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub(super) tag: TagWord,
    pub(super) number: u32,
    /// The offset of its slot in the record.
    pub(super) offset: u32,
    /// The message that it holds, of a map the entry; else the message that it is in.
    pub(super) of: MessageId,
    pub(super) op: Op,
    /// The way to write each value; for single fields the same.
    pub(super) each: Op,
    /// Bytes of each value in memory.
    pub(super) cell_bytes: u8,
    /// It is not written where it is zero or empty.
    pub(super) is_implicit: bool,
}

impl Step {
    fn new(schema: &Definitions, layouts: &Layouts, id: FieldId) -> Step {
        let (wire, field) = (schema.wire_field(id), layouts.field(id));
        let in_record = layouts.record(field.message);
        let each = if in_record.message_set { Op::Item } else { Op::of(field.ty) };
        let op = match field.shape {
            Shape::Single => each,
            Shape::List if wire.packed => Op::Packed,
            Shape::List => Op::List,
            Shape::Map => Op::Map,
        };
        Step {
            tag: TagWord::of(&wire.tag),
            number: field.number,
            offset: field.offset,
            of: field.record.unwrap_or(field.message),
            op,
            each,
            cell_bytes: field.cell.bytes() as u8,
            // Entries of maps have key and value always.
            is_implicit: field.label == Label::Implicit && !in_record.map_entry,
        }
    }
}

/// The steps of one message, by presence bit.
#[derive(Clone, Copy, Debug)]
struct Fields {
    first: u32,
    count: u32,
}

/// The steps of all messages of a schema; a schema makes them once.
#[derive(Debug)]
pub(crate) struct Steps {
    steps: Box<[Step]>,
    /// By message.
    fields: Box<[Fields]>,
    /// Ascending by field, with the place of its step.
    extensions: Box<[(FieldId, u32)]>,
}

impl Steps {
    pub(crate) fn new(schema: &Definitions, layouts: &Layouts) -> Steps {
        let mut steps = Vec::with_capacity(schema.field_count());
        let mut in_order = |record: &RecordLayout| {
            let first = steps.len() as u32;
            steps.extend(record.fields.iter().map(|&id| Step::new(schema, layouts, id)));
            Fields { first, count: record.fields.len() as u32 }
        };
        let fields = schema.messages().map(|id| in_order(layouts.record(id))).collect();
        let mut extensions = Vec::new();
        for id in (0..schema.field_count() as u32).map(FieldId) {
            if layouts.field(id).extension {
                extensions.push((id, steps.len() as u32));
                steps.push(Step::new(schema, layouts, id));
            }
        }
        Steps { steps: steps.into(), fields, extensions: extensions.into() }
    }

    /// Those of a message.
    #[inline(always)]
    pub(super) fn of(&self, message: MessageId) -> &[Step] {
        let Fields { first, count } = self.fields[message.index()];
        &self.steps[first as usize..][..count as usize]
    }

    /// That of a field or extension.
    pub(super) fn step(&self, id: FieldId, field: &FieldLayout) -> &Step {
        let of_extension = self.extensions.binary_search_by_key(&id, |&(id, _)| id);
        match of_extension {
            Ok(at) => &self.steps[self.extensions[at].1 as usize],
            Err(_) => &self.of(field.message)[field.bit as usize],
        }
    }
}
