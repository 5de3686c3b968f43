//! From field number to what the decoder must know, per message.
//!
//! ```text
//! dense:  [ 0 | 1 | 2 | - | 4 ... ]        while at least about every fourth number is used
//! sparse: [ (1000, slot), (536870911, slot) ]   the rest, by binary search
//! ```

use super::{Field, FieldId, FieldType, Label, MessageId, Scalar};

/// What the decoder does at a field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SlotKind {
    Scalar(Scalar),
    Message(MessageId),
}

/// One field as the decoder sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Slot {
    pub(crate) field: FieldId,
    pub(crate) kind: SlotKind,
    /// Values may come under one common length.
    pub(crate) packable: bool,
}

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct FieldTable {
    dense: Box<[Option<Slot>]>,
    /// Ascending by number.
    sparse: Box<[(u32, Slot)]>,
}

impl FieldTable {
    /// `fields` ascend by number.
    pub(crate) fn new<'a>(fields: impl Iterator<Item = (FieldId, &'a Field)>) -> FieldTable {
        let mut dense: Vec<Option<Slot>> = Vec::new();
        let mut sparse = Vec::new();
        for (count, (id, field)) in fields.enumerate() {
            let slot = slot(id, field);
            let number = field.number as usize;
            if sparse.is_empty() && number <= 4 * count + 16 {
                dense.resize(number, None);
                dense.push(Some(slot));
            } else {
                sparse.push((field.number, slot));
            }
        }
        FieldTable { dense: dense.into(), sparse: sparse.into() }
    }

    #[inline]
    pub(crate) fn find(&self, number: u32) -> Option<Slot> {
        match self.dense.get(number as usize) {
            Some(&slot) => slot,
            None => {
                let at = self.sparse.binary_search_by_key(&number, |&(number, _)| number).ok()?;
                Some(self.sparse[at].1)
            }
        }
    }
}

fn slot(field: FieldId, def: &Field) -> Slot {
    let (kind, packable) = match def.ty {
        FieldType::Scalar(scalar) => {
            (SlotKind::Scalar(scalar), def.label == Label::Repeated && scalar.is_packable())
        }
        FieldType::Message(message) => (SlotKind::Message(message), false),
    };
    Slot { field, kind, packable }
}
