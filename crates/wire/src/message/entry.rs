//! Values of cells, and entries of maps that lack a key or value.

use super::arena::Arena;
use super::layout::{Cell, RecordLayout};
use super::record::Record;
use super::slots::{Slot, View};
use crate::schema::{FieldType, Schema};

/// The value of a cell.
#[derive(Clone, Copy)]
pub(super) enum CellValue {
    Byte(u8),
    Word32(u32),
    Word64(u64),
    View(View),
    Record(Record),
}

impl CellValue {
    /// Stores it in a cell of its type.
    pub(super) fn store(self, at: Slot) {
        // SAFETY: the caller has made the cell for a value of this kind.
        unsafe {
            match self {
                CellValue::Byte(value) => at.write(value),
                CellValue::Word32(value) => at.cast().write(value),
                CellValue::Word64(value) => at.cast().write(value),
                CellValue::View(value) => at.cast().write(value),
                CellValue::Record(value) => at.cast().write(value),
            }
        }
    }
}

/// Adds a zero or empty key or value to an entry that lacks it; `None` at the arena's limit.
pub(crate) fn complete_entry(
    schema: &Schema,
    arena: &mut Arena,
    of: &RecordLayout,
    entry: Record,
) -> Option<()> {
    for &id in &of.fields {
        let layout = schema.layouts().field(id);
        if entry.bit(layout) {
            continue;
        }
        let value = match (layout.cell, layout.ty) {
            (Cell::Record, ty) => {
                let of = schema.layouts().record(ty.message()?);
                CellValue::Record(Record::new(arena, of)?)
            }
            (_, FieldType::Enum(of)) => {
                let first = schema.enum_def(of).values().first();
                CellValue::Word32(first.map_or(0, |value| value.number()) as u32)
            }
            (Cell::Bool, _) => CellValue::Byte(0),
            (Cell::Word32, _) => CellValue::Word32(0),
            (Cell::Word64, _) => CellValue::Word64(0),
            (Cell::View, _) => CellValue::View(View::EMPTY),
        };
        let (slot, _) = entry.make_slot(arena, of, id.0, layout)?;
        value.store(slot);
    }
    Some(())
}
