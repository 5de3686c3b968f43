//! The receiver of derivations.

use super::joined::JoinedRow;
use crate::eval::EvalError;
use crate::plan::{Output, RuleId};
use crate::value::Value;

/// Receives what a strand derives.
pub trait Sink {
    /// A tuple of the head. `results`: how many results an aggregate has taken in, else 1.
    fn derive(&mut self, output: &Output, columns: &[Value<'_>], results: u64);

    /// A derivation was dropped.
    fn failed(&mut self, rule: RuleId, error: EvalError);

    /// An aggregate has taken in a result: the value for each of its columns.
    fn gathered(&mut self, inputs: &[Value<'_>]) {
        let _ = inputs;
    }

    /// Joins have examined `rows` rows since the last call; the last call is when the strand has
    /// run.
    fn looked(&mut self, rows: u32) {
        let _ = rows;
    }

    /// True if it holds more than it may: the strand ends where it is, and its derivations are
    /// discarded.
    fn is_full(&self) -> bool {
        false
    }

    /// A result has passed all joins; called only by strands run with
    /// [`Reading::traced`](super::Reading::traced), before its derivation. `rows` are those that
    /// were joined, of strands that [remember](super::run_traced) them.
    fn joined(&mut self, rule: RuleId, rows: &[JoinedRow]) {
        let _ = (rule, rows);
    }
}
