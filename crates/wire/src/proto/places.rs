//! The positions of elements in their texts.

use crate::schema::problem::{ElementId, Part};
use crate::schema::uninterpreted::TextRange;

/// The parts of one element, each a range of bytes in its file.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Ranges {
    pub(super) name: TextRange,
    pub(super) number: TextRange,
    pub(super) ty: TextRange,
    pub(super) other: TextRange,
}

/// By [`ElementId`].
#[derive(Clone, Default, Debug)]
pub(super) struct Places(Vec<Ranges>);

impl Places {
    pub(super) fn push(&mut self, ranges: Ranges) -> ElementId {
        self.0.push(ranges);
        ElementId(self.0.len() as u32 - 1)
    }

    /// The range of a part; for a part that the element lacks, the range of its name.
    pub(super) fn range(&self, place: ElementId, part: Part) -> TextRange {
        let Some(ranges) = self.0.get(place.0 as usize) else {
            return match part {
                Part::Range(start, end) => (start, end),
                _ => (0, 0),
            };
        };
        let range = match part {
            Part::Name => ranges.name,
            Part::Number => ranges.number,
            Part::Type => ranges.ty,
            Part::Other => ranges.other,
            Part::Range(start, end) => (start, end),
        };
        if range == (0, 0) { ranges.name } else { range }
    }
}

impl Places {
    /// Sets the range of the type; of a file, that of its package.
    pub(super) fn set_type(&mut self, place: ElementId, range: TextRange) {
        if let Some(ranges) = self.0.get_mut(place.0 as usize) {
            ranges.ty = range;
        }
    }
}
