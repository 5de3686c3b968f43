//! The pass of the table encoder over one message, from its last field to its first.

use super::back::{self, At, Back, TagWord};
use super::error::{DEPTH_MAX, EncodeError};
use super::packed::Varints;
use super::steps::{Op, Step, Steps};
use crate::message::map::{MapOrder, map_of, sorted_entries};
use crate::message::present::Backwards;
use crate::message::record::Record;
use crate::message::slots::{List, Slot, View};
use crate::schema::{FieldId, MessageId, Schema, WireType};
use crate::varint::zigzag;

/// The record to write, with `depth` others around it.
#[derive(Clone, Copy)]
pub(super) struct Whole<'s> {
    pub(super) schema: &'s Schema,
    pub(super) order: MapOrder,
    pub(super) message: MessageId,
    pub(super) record: Record,
    pub(super) depth: usize,
}

impl Whole<'_> {
    /// Writes it.
    pub(super) fn write<'b>(self, out: Back<'b>, at: At<'b>) -> (Back<'b>, At<'b>) {
        let mut walk = Walk::new(self.schema, self.order, self.depth, out);
        let at = walk.message(self.message, self.record, at);
        (walk.out, at)
    }
}

/// An entry of a map whose value its closed enum does not have, as an unknown field of the message
/// with the map: its stored parts, then its own unknown fields.
pub(crate) fn odd_entry(
    schema: &Schema,
    map: FieldId,
    entry: Record,
) -> Result<Vec<u8>, EncodeError> {
    let mut raw = Vec::new();
    back::append(&mut raw, |back, at| {
        let mut walk = Walk::new(schema, MapOrder::Stored, 0, back);
        let at = walk.sub(walk.steps.step(map, schema.layouts().field(map)), entry, at);
        (walk.out, at)
    })?;
    Ok(raw)
}

/// See the module.
struct Walk<'s, 'b> {
    schema: &'s Schema,
    steps: &'s Steps,
    order: MapOrder,
    /// The levels of messages left.
    levels_left: usize,
    out: Back<'b>,
}

impl<'s, 'b> Walk<'s, 'b> {
    fn new(schema: &'s Schema, order: MapOrder, depth: usize, out: Back<'b>) -> Walk<'s, 'b> {
        let levels_left = (DEPTH_MAX + 1).saturating_sub(depth);
        Walk { schema, steps: schema.encoding(), order, levels_left, out }
    }

    /// The fields of a message.
    fn message(&mut self, message: MessageId, record: Record, at: At<'b>) -> At<'b> {
        if self.levels_left == 0 {
            self.out.fail(EncodeError::TooDeep);
            return at;
        }
        self.levels_left -= 1;
        let mut at = at;
        if record.extra().is_some() {
            at = self.unknown(record, at);
        }
        if record.extensions().is_empty() {
            at = self.fields(message, record, at);
        } else {
            at = self.with_extensions(message, record, at);
        }
        self.levels_left += 1;
        at
    }

    #[inline(always)]
    fn fields(&mut self, message: MessageId, record: Record, at: At<'b>) -> At<'b> {
        let mut at = at;
        let steps = self.steps.of(message);
        for (word, steps) in steps.chunks(64).enumerate().rev() {
            let mut bits = record.presence_word(word as u32);
            while bits != 0 {
                let bit = bits.ilog2();
                bits ^= 1 << bit;
                let step = &steps[bit as usize];
                // SAFETY: a field of this message.
                let slot = unsafe { record.at(step.offset) };
                at = self.field(step, slot, at);
            }
        }
        at
    }

    #[cold]
    fn unknown(&mut self, record: Record, at: At<'b>) -> At<'b> {
        let mut at = at;
        for view in record.unknown().iter().rev() {
            // SAFETY: views live as long as the message.
            at = self.out.bytes(at, unsafe { view.bytes() }).at();
        }
        at
    }

    /// Fields and extensions in the order of their numbers.
    #[inline(never)]
    fn with_extensions(&mut self, message: MessageId, record: Record, at: At<'b>) -> At<'b> {
        let mut at = at;
        let layouts = self.schema.layouts();
        for (id, field, slot) in Backwards::of(layouts, layouts.record(message), record) {
            at = self.field(self.steps.step(id, field), slot, at);
        }
        at
    }

    /// The value in the slot of a field.
    #[inline(always)]
    fn field(&mut self, step: &'s Step, slot: Slot, at: At<'b>) -> At<'b> {
        match step.op {
            Op::List => self.list(step, slot, at),
            Op::Packed => self.packed(step, slot, at),
            Op::Map => self.map(step, slot, at),
            op => self.value(op, step, slot, at),
        }
    }

    /// One value with its tag: that of a single field, or an element of a list.
    #[inline(always)]
    fn value(&mut self, op: Op, step: &'s Step, cell: Slot, at: At<'b>) -> At<'b> {
        // SAFETY: a cell that is stored holds what its step says.
        unsafe {
            let signed = || i64::from(cell.cast::<i32>().read());
            match op {
                Op::Bool => self.varint(step, cell.read().into(), at),
                Op::Int32 => self.varint(step, signed() as u64, at),
                Op::Uint32 => self.varint(step, cell.cast::<u32>().read().into(), at),
                Op::Sint32 => self.varint(step, zigzag(signed()), at),
                Op::Whole64 => self.varint(step, cell.cast().read(), at),
                Op::Sint64 => self.varint(step, zigzag(cell.cast().read()), at),
                Op::Fixed32 => match cell.cast().read() {
                    0 if step.is_implicit => at,
                    value => self.out.room(at).fixed32(value, step.tag),
                },
                Op::Fixed64 => match cell.cast().read() {
                    0 if step.is_implicit => at,
                    value => self.out.room(at).fixed64(value, step.tag),
                },
                Op::Bytes => self.bytes(step, cell.cast::<View>().read().bytes(), at),
                Op::Message => self.sub(step, cell.cast().read(), at),
                Op::Group => self.group(step, cell.cast().read(), at),
                Op::Item => self.item(step, cell.cast().read(), at),
                // No lists in lists.
                Op::List | Op::Packed | Op::Map => at,
            }
        }
    }

    #[inline(always)]
    fn varint(&mut self, step: &Step, value: u64, at: At<'b>) -> At<'b> {
        match value {
            0 if step.is_implicit => at,
            value => self.out.room(at).varint(value, step.tag),
        }
    }

    #[inline(always)]
    fn bytes(&mut self, step: &Step, bytes: &[u8], at: At<'b>) -> At<'b> {
        match bytes {
            [] if step.is_implicit => at,
            bytes => self.out.bytes(at, bytes).varint(bytes.len() as u64, step.tag),
        }
    }

    /// A message with its length.
    #[inline(always)]
    fn sub(&mut self, step: &Step, record: Record, at: At<'b>) -> At<'b> {
        let before = self.out.written(&at);
        let at = self.message(step.of, record, at);
        // After an error there may be less.
        let length = self.out.written(&at).wrapping_sub(before);
        self.out.room(at).varint(length as u64, step.tag)
    }

    fn group(&mut self, step: &Step, record: Record, at: At<'b>) -> At<'b> {
        let end = TagWord::new(step.number, WireType::EndGroup);
        let at = self.out.room(at).tag(end);
        let at = self.message(step.of, record, at);
        self.out.room(at).tag(step.tag)
    }

    /// `group Item = 1 { required uint32 type_id = 2; required bytes message = 3; }`
    fn item(&mut self, step: &Step, record: Record, at: At<'b>) -> At<'b> {
        let at = self.out.room(at).tag(TagWord::new(1, WireType::EndGroup));
        let message = Step { tag: TagWord::new(3, WireType::Length), ..*step };
        let at = self.sub(&message, record, at);
        let type_id = TagWord::new(2, WireType::Varint);
        let at = self.out.room(at).varint(step.number.into(), type_id);
        self.out.room(at).tag(TagWord::new(1, WireType::StartGroup))
    }

    fn list(&mut self, step: &'s Step, slot: Slot, at: At<'b>) -> At<'b> {
        let mut at = at;
        // SAFETY: the slot of a repeated field that is stored holds a list.
        let list: List = unsafe { slot.cast().read() };
        for cell in cells(&list, step.cell_bytes).rev() {
            at = self.value(step.each, step, cell, at);
        }
        at
    }

    fn packed(&mut self, step: &Step, slot: Slot, at: At<'b>) -> At<'b> {
        // SAFETY: the slot of a repeated field that is stored holds a list.
        let list: List = unsafe { slot.cast().read() };
        if list.len == 0 {
            return at;
        }
        let before = self.out.written(&at);
        let varints = match step.each {
            Op::Int32 => Some(Varints::Int32),
            Op::Uint32 => Some(Varints::Uint32),
            Op::Sint32 => Some(Varints::Sint32),
            Op::Whole64 => Some(Varints::Whole64),
            Op::Sint64 => Some(Varints::Sint64),
            _ => None,
        };
        let at = match varints {
            // SAFETY: the list has such numbers.
            Some(kind) => unsafe { self.out.varints(at, kind, list.start, list.len as usize) },
            None => self.as_they_lie(step, &list, at),
        };
        let length = self.out.written(&at).wrapping_sub(before);
        self.out.room(at).varint(length as u64, step.tag)
    }

    /// The numbers of a packed list whose bytes in memory are those on the wire.
    fn as_they_lie(&mut self, step: &Step, list: &List, at: At<'b>) -> At<'b> {
        let width = usize::from(step.cell_bytes);
        // SAFETY: the list has such cells, and lives as long as the message.
        let bytes = unsafe { std::slice::from_raw_parts(list.start, list.len as usize * width) };
        if cfg!(target_endian = "little") {
            return self.out.bytes(at, bytes).at();
        }
        let mut at = at;
        for cell in bytes.rchunks(width) {
            let mut number = [0; 8];
            number[..width].copy_from_slice(cell);
            number[..width].reverse();
            at = self.out.bytes(at, &number[..width]).at();
        }
        at
    }

    fn map(&mut self, step: &Step, slot: Slot, at: At<'b>) -> At<'b> {
        // SAFETY: the slot of a map that is stored holds its address.
        let entries = unsafe { map_of(slot) }.records();
        let mut at = at;
        if self.order == MapOrder::Stored {
            for &entry in entries.iter().rev() {
                at = self.sub(step, entry, at);
            }
            return at;
        }
        let layouts = self.schema.layouts();
        let key = layouts.field(layouts.record(step.of).fields[0]);
        for &entry in sorted_entries(entries, key).iter().rev() {
            at = self.sub(step, entry, at);
        }
        at
    }
}

/// The cells of a list, of `bytes` bytes each.
#[inline(always)]
fn cells(list: &List, bytes: u8) -> impl DoubleEndedIterator<Item = Slot> + use<> {
    let start = list.start;
    let place = move |index: u32| start.wrapping_add(index as usize * usize::from(bytes));
    let some = "a list that is not empty is somewhere";
    (0..list.len).map(move |index| Slot::new(place(index)).expect(some))
}
