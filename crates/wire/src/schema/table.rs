//! Tables from field number to the data of the decoder, per message.
//!
//! ```text
//! dense:  [ 0 | 1 | 2 | - | 4 ... ]        while at least about every fourth number is used
//! sparse: [ (1000, slot), (536870911, slot) ]   the rest, by binary search
//! ```
//! Known extensions are included like fields.

use super::{FieldId, FieldType};

/// One field as the decoder sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Slot {
    pub(crate) field: FieldId,
    pub(crate) kind: FieldType,
    /// True if values may come packed under one length.
    pub(crate) packable: bool,
}

/// The table of one message.
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
