//! The traced variant of a strand's sink: it also records derivations.

use smallvec::SmallVec;
use tidemill_relation::database::Database;
use tidemill_relation::expr::EvalError;
use tidemill_relation::plan::{Action, Output, RelationId, RuleId};
use tidemill_relation::strand::{JoinedRow, Premises, Sink};
use tidemill_relation::{Seq, Value};

use super::deriving::Deriving;
use super::execution::{Execution, Named};
use super::records::{Executed, Records, Role};
use crate::names::Names;

/// Derives, and records.
pub(super) struct Recording<'n, 'd> {
    pub(super) inner: Deriving<'n>,
    pub(super) names: &'d Names,
    pub(super) database: &'d Database,
    /// The records, if it is recorded.
    pub(super) records: Option<&'d mut Records>,
    /// Whether it is reported to the observer.
    pub(super) is_explained: bool,
    pub(super) premises: Premises,
    /// The tuple that started the strand.
    pub(super) trigger: (RelationId, Seq<'d>),
    /// Its position in the record, if it is recorded already.
    pub(super) event: &'d mut Option<u32>,
    /// The premises of the last result with their positions in the record.
    pub(super) recorded: SmallVec<[(JoinedRow, u32); 8]>,
    /// The time as rules see it.
    pub(super) at_ns: i64,
}

impl Recording<'_, '_> {
    fn record(&mut self, output: &Output, columns: &[Value<'_>], remote: bool) {
        let Some(records) = &mut self.records else { return };
        let premises = self.premises.of_result();
        if !records.has_room(1 + premises.len()) {
            return;
        }
        let position = records.tuple(output.relation, columns.iter().copied());
        let (rule, at_ns) = (self.inner.rule, self.at_ns);
        let executed = Executed { rule, output: position, remote, at_ns };
        let (relation, trigger) = self.trigger;
        let event = self.event.get_or_insert_with(|| records.tuple_seq(relation, trigger));
        records.input(executed, *event, Role::Event);
        for (number, premise) in premises.iter().enumerate() {
            // The outer rows of a join are those of the result before.
            let input = match self.recorded.get(number) {
                Some((row, position)) if row == premise => *position,
                _ => {
                    self.recorded.truncate(number);
                    let table = self.database.table(premise.relation);
                    let input = records.tuple(premise.relation, table.values(premise.row));
                    self.recorded.push((*premise, input));
                    input
                }
            };
            records.input(executed, input, Role::Precondition);
        }
    }

    fn explain(&mut self, output: &Output, columns: &[Value<'_>], is_remote: bool) {
        let (names, (relation, trigger)) = (self.names, self.trigger);
        let failing = &mut self.inner.failing;
        let plan = failing.program.plan();
        let mut inputs = vec![Named::new(names, plan, relation, trigger.iter())];
        inputs.extend(self.premises.of_result().iter().map(|premise| {
            let values = self.database.table(premise.relation).values(premise.row);
            Named::new(names, plan, premise.relation, values)
        }));
        let output = Named::new(names, plan, output.relation, columns.iter().copied());
        failing.observer.executed(Execution {
            at_ns: self.inner.now_ns,
            turn: failing.counters.turns,
            is_late: false,
            node: failing.node,
            rule: &plan.rules[self.inner.rule.index()],
            output: &output,
            is_remote,
            inputs: &inputs,
        });
    }
}

impl Sink for Recording<'_, '_> {
    fn derive(&mut self, output: &Output, columns: &[Value<'_>], _: u64) {
        let Some(local) = self.inner.take(output, columns) else { return };
        if output.action == Action::Delete {
            return;
        }
        self.record(output, columns, !local);
        if self.is_explained {
            self.explain(output, columns, !local);
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
