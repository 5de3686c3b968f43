//! The order in which rows of a bounded table were inserted or refreshed, for expiry and eviction.

use std::collections::VecDeque;

use super::RowId;

/// One insertion or refresh.
#[derive(Clone, Copy, Debug)]
struct Touch {
    row: RowId,
    sequence: u64,
    at_ns: u64,
}

/// Touches in order; a later touch of the same row makes the earlier one void.
#[derive(Clone, Debug, Default)]
pub(super) struct Ages {
    touches: VecDeque<Touch>,
    /// Per row, the sequence number of its last touch.
    last: Vec<u64>,
    sequence: u64,
}

impl Ages {
    pub(super) fn touch(&mut self, row: RowId, at_ns: u64, live_rows: usize) {
        self.sequence += 1;
        let index = row.0 as usize;
        if self.last.len() <= index {
            self.last.resize(index + 1, 0);
        }
        self.last[index] = self.sequence;
        self.touches.push_back(Touch { row, sequence: self.sequence, at_ns });
        // Void touches must not pile up when few rows are refreshed often.
        if self.touches.len() > 2 * live_rows + 64 {
            let last = &self.last;
            self.touches.retain(|touch| last[touch.row.0 as usize] == touch.sequence);
        }
    }

    /// Forgets `row`.
    pub(super) fn remove(&mut self, row: RowId) {
        if let Some(last) = self.last.get_mut(row.0 as usize) {
            *last = 0;
        }
    }

    /// The row that was touched longest ago, and when.
    pub(super) fn oldest(&mut self) -> Option<(RowId, u64)> {
        while let Some(touch) = self.touches.front() {
            if self.last[touch.row.0 as usize] == touch.sequence {
                return Some((touch.row, touch.at_ns));
            }
            self.touches.pop_front();
        }
        None
    }

    /// Gives rows their new ids after a compaction.
    pub(super) fn renumber(&mut self, new_id: impl Fn(RowId) -> Option<RowId>) {
        let old = std::mem::take(self);
        self.sequence = old.sequence;
        for touch in old.touches {
            if old.last[touch.row.0 as usize] != touch.sequence {
                continue;
            }
            let Some(row) = new_id(touch.row) else { continue };
            let index = row.0 as usize;
            if self.last.len() <= index {
                self.last.resize(index + 1, 0);
            }
            self.last[index] = touch.sequence;
            self.touches.push_back(Touch { row, ..touch });
        }
    }
}
