//! From field number to what the decoder must know, per message.
//!
//! ```text
//! dense:  [ 0 | 1 | 2 | - | 4 ... ]        while at least about every fourth number is used
//! sparse: [ (1000, slot), (536870911, slot) ]   the rest, by binary search
//! ```
//! Extensions that the schema knows are in it like fields.

use tidemill_stdx::hash::Map;

use super::{Field, FieldId, FieldType, Label, MessageId, Schema};

/// One field as the decoder sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Slot {
    pub(crate) field: FieldId,
    pub(crate) kind: FieldType,
    /// Values may come under one common length.
    pub(crate) packable: bool,
}

/// The tables of all messages.
pub(crate) fn tables(schema: &Schema) -> Box<[FieldTable]> {
    let mut extensions_of: Map<MessageId, Vec<&Field>> = Map::default();
    for field in schema.extensions().map(|id| schema.field(id)) {
        extensions_of.entry(field.message()).or_default().push(field);
    }
    let slot = |field: &Field| {
        let packable = field.label() == Label::Repeated && field.field_type().is_packable();
        let slot = Slot { field: field.id(), kind: field.field_type(), packable };
        (field.number(), slot)
    };
    let table = |message: MessageId| {
        let fields = schema.message(message).field_defs().iter();
        let Some(extensions) = extensions_of.get(&message) else {
            return FieldTable::new(fields.map(slot));
        };
        let mut all: Vec<_> = fields.chain(extensions.iter().copied()).map(slot).collect();
        all.sort_by_key(|&(number, _)| number);
        FieldTable::new(all.into_iter())
    };
    schema.messages().map(table).collect()
}

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct FieldTable {
    dense: Box<[Option<Slot>]>,
    /// Ascending by number.
    sparse: Box<[(u32, Slot)]>,
}

impl FieldTable {
    /// `slots` ascend by number.
    pub(crate) fn new(slots: impl Iterator<Item = (u32, Slot)>) -> FieldTable {
        let mut dense: Vec<Option<Slot>> = Vec::new();
        let mut sparse = Vec::new();
        for (count, (number, slot)) in slots.enumerate() {
            if sparse.is_empty() && number as usize <= 4 * count + 16 {
                dense.resize(number as usize, None);
                dense.push(Some(slot));
            } else {
                sparse.push((number, slot));
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
