//! What a strand derives into: a search for one row, a buffer; and what takes its failures.

use crate::eval::EvalError;
use crate::flat::TupleBuf;
use crate::plan::{Output, RuleId};
use crate::strand::Sink;
use crate::table::{RowId, Table};
use crate::value::Value;

/// Receives derivations that were dropped.
pub trait Failures {
    /// A derivation of `rule` failed.
    fn failed(&mut self, rule: RuleId, error: EvalError);
}

/// Looks for a derivation of a row; the first is enough.
pub(super) struct Find<'s> {
    pub(super) table: &'s Table,
    pub(super) row: RowId,
    pub(super) found: bool,
    pub(super) looked: u64,
}

impl Sink for Find<'_> {
    fn derive(&mut self, _: &Output, columns: &[Value<'_>], _: u64) {
        let mut values = (0..).zip(columns);
        self.found |= values.all(|(column, value)| self.table.value(self.row, column).equal(value));
    }

    fn failed(&mut self, _: RuleId, _: EvalError) {}

    fn looked(&mut self, rows: u32) {
        self.looked += u64::from(rows);
    }

    fn is_full(&self) -> bool {
        self.found
    }
}

/// Takes derivations into a buffer.
pub(super) struct Collect<'s> {
    pub(super) derived: &'s mut TupleBuf<()>,
    pub(super) failures: Option<&'s mut dyn Failures>,
    /// Its capacity; `Views::exceeded` is set if there are more.
    pub(super) most: u64,
    /// Rows examined, those that started the strand included.
    pub(super) looked: u64,
}

impl Collect<'_> {
    /// Rows that look-ups have examined for these.
    pub(super) fn probes(&self, started: &[RowId]) -> u64 {
        self.looked.saturating_sub(started.len() as u64)
    }

    pub(super) fn is_over(&self) -> bool {
        self.derived.len() as u64 > self.most
    }
}

impl Sink for Collect<'_> {
    fn derive(&mut self, _: &Output, columns: &[Value<'_>], _: u64) {
        self.derived.push((), columns);
    }

    fn failed(&mut self, rule: RuleId, error: EvalError) {
        if let Some(failures) = &mut self.failures {
            failures.failed(rule, error);
        }
    }

    fn looked(&mut self, rows: u32) {
        self.looked += u64::from(rows);
    }

    fn is_full(&self) -> bool {
        self.is_over()
    }
}
