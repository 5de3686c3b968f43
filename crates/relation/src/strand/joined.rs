//! Recording of the rows that a running strand has joined.
//!
//! Only provenance needs them. So the interpreter is compiled twice: the normal one, where
//! recording is a no-op, and the *traced* one, where each join records the row that it has found
//! while the steps after it run.

use smallvec::SmallVec;

use crate::plan::RelationId;
use crate::table::RowId;

/// A row that took part in a derivation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct JoinedRow {
    /// Its table.
    pub relation: RelationId,
    /// The row, valid as long as the tables do not change.
    pub row: RowId,
}

/// A recorder of the rows that a run has joined.
pub(crate) trait Joins: Default {
    /// The number of rows.
    fn depth(&self) -> usize;
    /// A join has found a row, and the steps after it run.
    fn enter(&mut self, relation: RelationId, row: RowId);
    /// They have run: rows beyond `depth` are dropped.
    fn leave(&mut self, depth: usize);
    /// The rows, in the order of the joins.
    fn rows(&self) -> &[JoinedRow];
}

/// Records nothing, at no cost.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Unrecorded;

impl Joins for Unrecorded {
    #[inline(always)]
    fn depth(&self) -> usize {
        0
    }

    #[inline(always)]
    fn enter(&mut self, _: RelationId, _: RowId) {}

    #[inline(always)]
    fn leave(&mut self, _: usize) {}

    #[inline(always)]
    fn rows(&self) -> &[JoinedRow] {
        &[]
    }
}

/// Records all of them.
#[derive(Clone, Default, Debug)]
pub(crate) struct Recorded(SmallVec<[JoinedRow; 8]>);

impl Joins for Recorded {
    fn depth(&self) -> usize {
        self.0.len()
    }

    fn enter(&mut self, relation: RelationId, row: RowId) {
        self.0.push(JoinedRow { relation, row });
    }

    fn leave(&mut self, depth: usize) {
        self.0.truncate(depth);
    }

    fn rows(&self) -> &[JoinedRow] {
        &self.0
    }
}
