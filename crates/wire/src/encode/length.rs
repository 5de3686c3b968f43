//! The encoded length of messages, by a walk that writes nothing.

use super::error::{BYTES_MAX, DEPTH_MAX, EncodeError};
use super::packed::Varints;
use crate::message::layout::{FieldLayout, Layouts, RecordLayout, Shape, cell_at};
use crate::message::map::map_of;
use crate::message::present::Present;
use crate::message::record::{List, Record, Slot, View};
use crate::schema::{FieldType, Scalar, Schema};
use crate::varint;

/// Lengths of messages of a schema.
#[derive(Clone, Copy)]
pub(super) struct Length<'s> {
    schema: &'s Schema,
    layouts: &'s Layouts,
}

impl<'s> Length<'s> {
    pub(super) fn new(schema: &'s Schema) -> Length<'s> {
        Length { schema, layouts: schema.layouts() }
    }

    /// Bytes that a record takes, with `depth` others around it.
    pub(super) fn of(
        self,
        layout: &RecordLayout,
        record: Record,
        depth: usize,
    ) -> Result<usize, EncodeError> {
        if depth > DEPTH_MAX {
            return Err(EncodeError::TooDeep);
        }
        let mut size: usize = record.unknown().iter().map(|view| view.len as usize).sum();
        for (id, field, slot) in Present::of(self.layouts, layout, Some(record)) {
            let wire = self.schema.wire_field(id);
            let tag = wire.tag.as_bytes().len();
            size += match (field.record, field.shape) {
                (Some(of), _) => {
                    let of = self.layouts.record(of);
                    let mut sum = 0;
                    for &inner in records(field, slot) {
                        sum += self.of_sub(layout, field, of, inner, tag, depth)?;
                    }
                    sum
                }
                (None, Shape::Single) => tag + of_cell(field.ty, slot),
                (None, _) if wire.packed => {
                    // SAFETY: the slot of a repeated field that is stored holds a list.
                    let list: List = unsafe { slot.cast().read() };
                    let inner = match Varints::of(field.ty) {
                        // SAFETY: of such numbers.
                        Some(kind) => unsafe { kind.measure(list.start, list.len as usize) },
                        None => list.len as usize * field.cell.bytes() as usize,
                    };
                    tag + varint::len(inner as u64) + inner
                }
                (None, _) => {
                    // SAFETY: the slot of a repeated field that is stored holds a list.
                    let list: List = unsafe { slot.cast().read() };
                    let cell = |index| cell_at(field.cell, &list, index);
                    (0..list.len as usize).map(|index| tag + of_cell(field.ty, cell(index))).sum()
                }
            };
        }
        if size > BYTES_MAX { Err(EncodeError::TooLarge) } else { Ok(size) }
    }

    fn of_sub(
        self,
        outer: &RecordLayout,
        field: &FieldLayout,
        of: &RecordLayout,
        record: Record,
        tag: usize,
        depth: usize,
    ) -> Result<usize, EncodeError> {
        let inner = self.of(of, record, depth + 1)?;
        if let FieldType::Group(_) = field.ty {
            return Ok(2 * tag + inner);
        }
        let around = if outer.message_set { 4 + varint::len(field.number.into()) } else { tag };
        Ok(around + varint::len(inner as u64) + inner)
    }
}

/// The records of a field of messages.
fn records<'m>(field: &FieldLayout, slot: Slot) -> &'m [Record] {
    // SAFETY: the slot is stored and holds what its shape says, while the message lives.
    unsafe {
        match field.shape {
            Shape::Single => slot.cast::<[Record; 1]>().as_ref(),
            Shape::List => slot.cast::<List>().read().values(),
            Shape::Map => map_of(slot).records(),
        }
    }
}

fn of_cell(ty: FieldType, at: Slot) -> usize {
    // SAFETY: a cell that is stored holds what its type says.
    unsafe {
        let signed = || i64::from(at.cast::<i32>().read());
        let number = match ty {
            FieldType::Enum(_) => signed() as u64,
            FieldType::Message(_) | FieldType::Group(_) => return 0,
            FieldType::Scalar(scalar) => match scalar {
                Scalar::Int32 => signed() as u64,
                Scalar::Sint32 => varint::zigzag(signed()),
                Scalar::Uint32 => at.cast::<u32>().read().into(),
                Scalar::Int64 | Scalar::Uint64 => at.cast().read(),
                Scalar::Sint64 => varint::zigzag(at.cast().read()),
                Scalar::Bool => return 1,
                Scalar::Float | Scalar::Fixed32 | Scalar::Sfixed32 => return 4,
                Scalar::Double | Scalar::Fixed64 | Scalar::Sfixed64 => return 8,
                Scalar::String | Scalar::Bytes => {
                    let len = at.cast::<View>().read().len;
                    return varint::len(len.into()) + len as usize;
                }
            },
        };
        varint::len(number)
    }
}
