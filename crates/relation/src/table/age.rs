//! The order in which rows of a bounded table were inserted or refreshed, for expiry and eviction.

use std::collections::VecDeque;

use super::row::RowId;

/// One insertion or refresh.
#[derive(Clone, Copy, Debug)]
struct Touch {
    row: RowId,
    sequence: u64,
    at_ns: u64,
}

/// The last touch of a row.
#[derive(Clone, Copy, Debug, Default)]
struct Last {
    sequence: u64,
    at_ns: u64,
    /// The row is in the table. A removed row may be inserted again in the same commit, as old as
    /// it was.
    present: bool,
}

impl Last {
    fn is(&self, touch: &Touch) -> bool {
        self.present && self.sequence == touch.sequence
    }
}

/// Touches in order; a later touch of the same row makes the earlier one void.
#[derive(Clone, Debug, Default)]
pub(super) struct Ages {
    touches: VecDeque<Touch>,
    /// Per row.
    last: Vec<Last>,
    sequence: u64,
}

impl Ages {
    pub(super) fn touch(&mut self, row: RowId, at_ns: u64, live_rows: usize) {
        self.sequence += 1;
        let sequence = self.sequence;
        *self.last_mut(row) = Last { sequence, at_ns, present: true };
        self.touches.push_back(Touch { row, sequence, at_ns });
        // Void touches must not pile up when few rows are refreshed often.
        if self.touches.len() > 2 * live_rows + 64 {
            let last = &self.last;
            self.touches.retain(|touch| last[touch.row.0 as usize].is(touch));
        }
    }

    fn last_mut(&mut self, row: RowId) -> &mut Last {
        let index = row.0 as usize;
        if self.last.len() <= index {
            self.last.resize(index + 1, Last::default());
        }
        &mut self.last[index]
    }

    /// When a row was touched last, and its place among all touches.
    pub(super) fn last(&self, row: RowId) -> (u64, u64) {
        self.last.get(row.0 as usize).map_or((0, 0), |last| (last.at_ns, last.sequence))
    }

    /// `row` has left the table.
    pub(super) fn remove(&mut self, row: RowId) {
        if let Some(last) = self.last.get_mut(row.0 as usize) {
            last.present = false;
        }
    }

    /// `row` is in the table after all, as old as before it was removed.
    pub(super) fn restore(&mut self, row: RowId) {
        let last = self.last_mut(row);
        if std::mem::replace(&mut last.present, true) || last.sequence == 0 {
            return;
        }
        let Last { sequence, at_ns, .. } = *last;
        if let Err(at) = self.touches.binary_search_by_key(&sequence, |touch| touch.sequence) {
            self.touches.insert(at, Touch { row, sequence, at_ns });
        }
    }

    /// The row that was touched longest ago, and when.
    pub(super) fn oldest(&mut self) -> Option<(RowId, u64)> {
        while let Some(touch) = self.touches.front() {
            if self.last[touch.row.0 as usize].is(touch) {
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
            if !old.last[touch.row.0 as usize].is(&touch) {
                continue;
            }
            let Some(row) = new_id(touch.row) else { continue };
            let Touch { sequence, at_ns, .. } = touch;
            *self.last_mut(row) = Last { sequence, at_ns, present: true };
            self.touches.push_back(Touch { row, ..touch });
        }
    }
}
