//! Removal and re-insertion of rows, and eviction by age and by the size limit.

use super::row::RowId;
use super::state::Table;

impl Table {
    /// Makes a dying row live again, with the newest rank.
    pub fn revive(&mut self, row: RowId) {
        self.restore(row);
        self.ranks.renew(row, self.rows);
    }

    /// Makes a dying row live again, as if it had not been removed.
    pub(crate) fn restore(&mut self, row: RowId) {
        debug_assert!(self.is_dying(row));
        self.dying.clear_bit(row.0);
        self.live.set(row.0);
        self.live_rows += 1;
        if let Some(ages) = &mut self.ages {
            ages.restore(row);
        }
    }

    /// Deletes a live row; it is dying until the table settles.
    pub fn remove(&mut self, row: RowId) {
        if !self.live.get(row.0) {
            return;
        }
        self.link();
        self.pairs = None;
        self.live.clear_bit(row.0);
        self.asserted.clear_bit(row.0);
        self.live_rows -= 1;
        self.dying.set(row.0);
        self.dying_rows.push(row);
        if let Some(ages) = &mut self.ages {
            ages.remove(row);
        }
    }

    #[inline]
    pub(super) fn touch(&mut self, row: RowId, now_ns: u64) {
        let live_rows = self.live_rows as usize;
        if let Some(ages) = &mut self.ages {
            ages.touch(row, now_ns, live_rows);
        }
    }

    /// The live rows, the one first that was inserted or refreshed longest ago, and when that was:
    /// 0 in a table without lifetime and bound.
    pub fn by_age(&self) -> Vec<(RowId, u64)> {
        let age = |row| self.ages.as_ref().map_or((0, 0), |ages| ages.last(row));
        let rows = (0..self.rows).map(RowId).filter(|row| self.live.get(row.0));
        let mut rows: Vec<(RowId, (u64, u64))> = rows.map(|row| (row, age(row))).collect();
        rows.sort_unstable_by_key(|&(row, (_, sequence))| (sequence, row));
        rows.into_iter().map(|(row, (at_ns, _))| (row, at_ns)).collect()
    }

    /// A live row to evict, if there are more than `size_max`.
    pub fn over_size(&mut self) -> Option<RowId> {
        if self.live_rows as u64 <= self.spec.size_max? {
            return None;
        }
        self.ages.as_mut()?.oldest().map(|(row, _)| row)
    }

    /// When the next row expires, on the clock of the insertions; `None` for hard state.
    pub fn next_expiry_ns(&mut self) -> Option<u64> {
        let lifetime = self.spec.lifetime_ns?;
        let (_, at) = self.ages.as_mut()?.oldest()?;
        Some(at.saturating_add(lifetime))
    }

    /// A live row that has expired at `now_ns`, if there is one.
    pub fn expired(&mut self, now_ns: u64) -> Option<RowId> {
        if self.next_expiry_ns()? > now_ns {
            return None;
        }
        self.ages.as_mut()?.oldest().map(|(row, _)| row)
    }
}
