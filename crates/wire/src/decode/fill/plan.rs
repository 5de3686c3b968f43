//! The filler's plan for each field: its entry of the tables and its layout in one place.

use crate::message::layout::{Cell, FieldLayout, Layouts, PRESENCE_OFFSET, Shape};
use crate::packed::Numbers;
use crate::schema::{Definitions, FieldType, WireType};

use super::super::nodes::{Action, Entry, NONE, Nodes};

/// The action of the filler at a tag.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(super) enum Op {
    /// The field is left to the walk.
    Leave,
    /// A varint into 4 bytes, into 8, into a truth value.
    Low32,
    Whole64,
    Bool,
    Zigzag32,
    Zigzag64,
    /// A varint that must be in [`Step::first`] and the [`Step::span`] numbers after it.
    Closed,
    Fixed32,
    Fixed64,
    /// Bytes, and those that must be UTF-8.
    Bytes,
    String,
    Message,
    Group,
    Packed,
    /// The same with numbers as of [`Op::Closed`].
    PackedClosed,
    /// A value that is not selected, by its wire type.
    SkipVarint,
    SkipFixed64,
    SkipFixed32,
    SkipLength,
}

/// One field in one node, at the place of its [`Entry`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub(super) tag: u32,
    pub(super) other: u32,
    /// The action at each of the two tags.
    pub(super) op: Op,
    pub(super) other_op: Op,
    pub(super) shape: Shape,
    /// The form of its numbers in packed lists.
    pub(super) numbers: Option<Numbers>,
    /// The entry that probably comes next.
    pub(super) next: u32,
    pub(super) sub: u32,
    pub(super) owner: u32,
    pub(super) field: u32,
    pub(super) offset: u32,
    /// Where the word with its presence bit is, the bit, and those of the rest of its oneof.
    pub(super) presence: u32,
    pub(super) mask: u64,
    pub(super) siblings: u64,
    /// Of a message field: the bytes of its records and of their headers. Of a closed enum: its
    /// first number, and how many more there are.
    pub(super) first: u32,
    pub(super) span: u32,
}

/// A step without a tag: after the last, and for fields that are left to the walk.
const NOWHERE: Step = Step {
    tag: 0,
    other: 0,
    op: Op::Leave,
    other_op: Op::Leave,
    shape: Shape::Single,
    numbers: None,
    next: 0,
    sub: NONE,
    owner: 0,
    field: 0,
    offset: 0,
    presence: PRESENCE_OFFSET,
    mask: 0,
    siblings: 0,
    first: 0,
    span: 0,
};

/// The steps of all entries of some tables; see the module.
#[derive(Debug)]
pub(crate) struct Plan {
    steps: Box<[Step]>,
}

impl Plan {
    /// A plan for tables that were made from this schema, whose layouts are given; `None` where
    /// required fields are checked, which the walk does.
    pub(super) fn new(schema: &Definitions, layouts: &Layouts, tables: &Nodes) -> Option<Plan> {
        if tables.nodes().iter().any(|node| node.required > 0) {
            return None;
        }
        let none = tables.entries().len() as u32;
        let mut steps: Vec<Step> = Vec::with_capacity(tables.entries().len() + 1);
        for entry in tables.entries() {
            let next = entry.next.min(none);
            let step = step(schema, layouts, entry).unwrap_or(NOWHERE);
            steps.push(Step { next, owner: entry.owner, field: entry.field.0, ..step });
        }
        steps.push(Step { next: none, ..NOWHERE });
        Some(Plan { steps: steps.into() })
    }

    /// The steps; the last one is for no entry.
    #[inline]
    pub(super) fn steps(&self) -> &[Step] {
        &self.steps
    }
}

fn step(schema: &Definitions, layouts: &Layouts, entry: &Entry) -> Option<Step> {
    let layout = layouts.field(entry.field);
    let single = entry.single_tag();
    let (tag, other) = (entry.tag, entry.other);
    if entry.action == Action::Skip {
        let skip = |tag: u32| match WireType::from_tag(u64::from(tag)) {
            Some(WireType::Varint) => Op::SkipVarint,
            Some(WireType::Fixed64) => Op::SkipFixed64,
            Some(WireType::Fixed32) => Op::SkipFixed32,
            Some(WireType::Length) => Op::SkipLength,
            _ => Op::Leave,
        };
        return Some(Step { tag, other, op: skip(tag), other_op: skip(other), ..NOWHERE });
    }
    let (presence, mask) = (layout.presence_offset(), layout.presence_mask());
    let word = layout.bit >> 6;
    let mut siblings = 0;
    for &(at, bits) in layouts.record(layout.message).siblings(layout) {
        if at != word {
            return None;
        }
        siblings |= bits & !mask;
    }
    if layout.extension {
        return None;
    }
    let one = op_of_one(entry.action);
    let (first, span) = match (entry.action, layout.record) {
        (Action::ClosedEnum, _) => named(schema, layout)?,
        (_, Some(record)) => {
            let record = layouts.record(record);
            (record.bytes, record.header_bytes)
        }
        _ => (0, 0),
    };
    let packed = match layout.numbers {
        Some(_) if entry.action == Action::ClosedEnum => Op::PackedClosed,
        Some(_) => Op::Packed,
        None => Op::Leave,
    };
    let op = |tag: u32| if tag == single { one } else { packed };
    Some(Step {
        tag,
        other,
        op: op(tag),
        other_op: op(other),
        shape: layout.shape,
        numbers: layout.numbers,
        sub: entry.sub,
        offset: layout.offset,
        presence,
        mask,
        siblings,
        first,
        span,
        ..NOWHERE
    })
}

/// The operation for a single value.
fn op_of_one(action: Action) -> Op {
    match action {
        Action::Double | Action::Fixed64 | Action::Sfixed64 => Op::Fixed64,
        Action::Float | Action::Fixed32 | Action::Sfixed32 => Op::Fixed32,
        Action::Int64 | Action::Uint64 => Op::Whole64,
        Action::Int32 | Action::Uint32 => Op::Low32,
        Action::Bool => Op::Bool,
        Action::Sint32 => Op::Zigzag32,
        Action::Sint64 => Op::Zigzag64,
        Action::ClosedEnum => Op::Closed,
        Action::String => Op::String,
        Action::RawString | Action::Bytes => Op::Bytes,
        Action::Message => Op::Message,
        Action::Group => Op::Group,
        Action::Skip => Op::Leave,
    }
}

/// The numbers of a closed enum without gaps: the first, and how many follow.
fn named(schema: &Definitions, layout: &FieldLayout) -> Option<(u32, u32)> {
    let FieldType::Enum(id) = layout.ty else { return None };
    debug_assert_eq!(layout.cell, Cell::Word32);
    schema.enum_def(id).named().range()
}
