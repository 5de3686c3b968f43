//! Components that stages name, checked when the program is loaded.

use tidemill_diag::{Diagnostic, FileId, Span};
use tidemill_overlog::exports::first_use;
use tidemill_overlog::program::WorkedBy;

use super::border::StageBorder;
use super::operators::{PREFIX, parameters};
use crate::program::Program;

/// What is derived when an instance fails, and its columns.
const FAULT: &str = "stage::fault";
const FAULT_COLUMNS: usize = 4;

impl Program {
    /// The events of instances that fail.
    pub(in crate::borders) fn events_of_stages(&self) -> impl Iterator<Item = String> {
        let is_used = !self.made_by_rules.is_empty();
        is_used.then(|| FAULT.to_owned()).into_iter()
    }

    /// Takes over the stages of components, whose two sides have been checked with the rules.
    pub(in crate::borders) fn check_stage_borders(&mut self) {
        match self.stage_borders() {
            Ok(stages) => self.borders.components = stages,
            Err(error) => self.diagnostics.push(error),
        }
    }

    fn stage_borders(&self) -> Result<Vec<StageBorder>, Diagnostic> {
        let Some(rules) = &self.rules.program else { return Ok(Vec::new()) };
        let fault = rules.plan.find(FAULT).map(|id| (id, rules.plan.relation(id)));
        if let Some((_, relation)) = fault
            && (!relation.takes(FAULT_COLUMNS) || relation.table().is_some())
        {
            let message = format!("`{FAULT}` is an event of {FAULT_COLUMNS} columns");
            let nowhere = Span { file: FileId(0), start: 0, end: 0 };
            let place = first_use(&self.rules.tree, FAULT).unwrap_or(nowhere);
            let help = format!("it is `{FAULT}(@N, Component, Key, Reason)`");
            return Err(Diagnostic::error("border", place, message).help(help));
        }
        let fault = fault.map(|(id, relation)| (id, relation.location as usize));
        let stages = rules.stages.iter().filter_map(|stage| {
            let WorkedBy::Outside { keys } = &stage.by else { return None };
            let component = stage.operator.strip_prefix(PREFIX)?;
            let offered = self.operators.find(component).ok()?;
            let (input, output) = (stage.input, stage.output);
            let (from, to) = (rules.plan.relation(input), rules.plan.relation(output));
            Some(StageBorder {
                component: component.to_owned(),
                input,
                output,
                keys: keys.clone(),
                talk: offered.talk,
                inputs: parameters(&offered.inputs, from),
                outputs: parameters(&offered.outputs, to),
                locations: (from.location as usize, to.location as usize),
                reads_table: from.table().is_some(),
                fault,
            })
        });
        Ok(stages.collect())
    }
}
