//! The relations of rules that install rules, checked when the program is loaded.

use tidemill_diag::{Diagnostic, FileId, Span};
use tidemill_overlog::exports::first_use;

use super::border::ProgramsBorder;
use crate::program::Program;

/// The table of rules to install, the event of those that are refused, and its columns.
const RULES: &str = "program::rules";
const REFUSED: &str = "program::refused";
const REFUSED_COLUMNS: usize = 3;

impl Program {
    /// The event of rules that are refused.
    pub(crate) fn events_of_programs(&self) -> impl Iterator<Item = String> {
        [REFUSED.to_owned()].into_iter()
    }

    /// Checks the relations by which rules install rules.
    pub(crate) fn check_programs_border(&mut self) {
        let Some(program) = &self.rules.program else { return };
        let Some(rules) = program.plan.find(RULES) else { return };
        let refused = program.plan.find(REFUSED);
        if let Some(id) = refused
            && !program.plan.relation(id).takes(REFUSED_COLUMNS)
        {
            let nowhere = Span { file: FileId(0), start: 0, end: 0 };
            let span = first_use(&self.rules.tree, REFUSED).unwrap_or(nowhere);
            let message = format!("`{REFUSED}` has {REFUSED_COLUMNS} columns");
            let help = format!("it is `{REFUSED}(@N, Name, Reason)`");
            self.diagnostics.push(Diagnostic::error("border", span, message).help(help));
            return;
        }
        self.borders.programs = Some(ProgramsBorder { rules, refused });
    }
}
