//! The traced variant of a strand's sink: it also notes what came of what.

use tidemill_relation::Value;
use tidemill_relation::database::Database;
use tidemill_relation::expr::EvalError;
use tidemill_relation::plan::{Action, Output, RuleId};
use tidemill_relation::strand::{JoinedRow, Premises, Sink};

use super::deriving::Deriving;
use super::records::{Executed, Records, Role};
use crate::traces::Traces;

/// Derives, and records.
pub(super) struct Recording<'n, 'd> {
    pub(super) inner: Deriving<'n>,
    pub(super) traces: &'d Traces,
    pub(super) database: &'d Database,
    pub(super) records: &'d mut Records,
    pub(super) premises: Premises,
    /// The tuple that started the strand.
    pub(super) trigger: i64,
    /// As rules see the time.
    pub(super) at_ns: i64,
}

impl Sink for Recording<'_, '_> {
    fn derive(&mut self, output: &Output, columns: &[Value<'_>], _: u64) {
        let Some(local) = self.inner.take(output, columns) else { return };
        if output.action == Action::Delete {
            return;
        }
        let id = self.traces.id(output.relation, columns.iter().copied());
        let (rule, at_ns) = (self.inner.rule, self.at_ns);
        let executed = Executed { rule, output: id, remote: !local, at_ns };
        self.records.input(executed, self.trigger, Role::Event);
        for premise in self.premises.of_result() {
            let values = self.database.table(premise.relation).values(premise.row);
            let input = self.traces.id(premise.relation, values);
            self.records.input(executed, input, Role::Precondition);
        }
    }

    fn failed(&mut self, rule: RuleId, error: EvalError) {
        self.inner.failed(rule, error);
    }

    fn gathered(&mut self, inputs: &[Value<'_>]) {
        self.premises.gathered(inputs);
    }

    fn looked(&mut self, rows: u32) {
        self.inner.looked(rows);
    }

    fn is_full(&self) -> bool {
        self.inner.is_full()
    }

    fn joined(&mut self, rule: RuleId, rows: &[JoinedRow]) {
        self.premises.joined(rows);
        self.inner.joined(rule, rows);
    }
}
