//! Executions of rules at `@SIM`, in terms of the source: they join rows of nodes.

use tidemill_overlog::global::head_of;
use tidemill_overlog::node::{Execution, GivenUp, Named, Observer, Sighting};
use tidemill_relation::Value;
use tidemill_relation::tuple_id::Naming;

/// Passes executions of rules at `@SIM` to another observer.
pub(crate) struct GlobalObserver<'o>(pub(crate) &'o mut dyn Observer);

impl Observer for GlobalObserver<'_> {
    fn sighted(&mut self, sighting: Sighting<'_>) {
        self.0.sighted(sighting);
    }

    fn violated(&mut self, sighting: Sighting<'_>) {
        self.0.violated(sighting);
    }

    fn recorded(&mut self, sighting: Sighting<'_>) {
        self.0.recorded(sighting);
    }

    fn rule_failed(&mut self, node: &str, rule: &str, place: &str, reason: &str) {
        self.0.rule_failed(node, rule, place, reason);
    }

    fn given_up(&mut self, given_up: GivenUp<'_>) {
        self.0.given_up(given_up);
    }

    fn executed(&mut self, execution: Execution<'_>) {
        let head = head_of(execution.output.relation);
        let output = named(head, &execution.output.columns, execution.output);
        let inputs = execution.inputs.iter().map(|it| match it.columns.as_slice() {
            // The node of the row, and the location of all nodes, are columns of their own.
            [columns @ .., holder, _] if !it.is_part => {
                Named { holder: holder.as_str(), ..named(it.relation, columns, it) }
            }
            _ => it.clone(),
        });
        let inputs: Vec<Named<'_>> = inputs.collect();
        self.0.executed(Execution { output: &output, inputs: &inputs, ..execution });
    }
}

fn named<'a>(relation: &'a str, columns: &[Value<'a>], of: &Named<'a>) -> Named<'a> {
    let id = Naming::new(relation).id(columns.iter().copied());
    let columns = columns.to_vec();
    Named { id, relation, columns, ..of.clone() }
}
