//! The rules of a program.

use std::sync::Arc;

use tidemill_diag::{Diagnostic, has_errors};
use tidemill_overlog::ast;
use tidemill_overlog::exports::no_source;
use tidemill_overlog::mutants::{Mutant, mutants};
use tidemill_overlog::parse::parse_text;
use tidemill_overlog::pre::Disk;
use tidemill_overlog::stage::Registry;
use tidemill_overlog::{Options, compile};

use super::{FileKind, LoadOptions, Program};
use crate::borders::components::named;
use crate::borders::settings::CONFIG;

impl Program {
    /// Parses a text of rules, which determine the uses of other parts.
    pub(super) fn parse_rules_text(
        &mut self,
        name: &str,
        text: &str,
        options: &LoadOptions,
    ) -> (ast::Program, Vec<Diagnostic>) {
        let parsed = parse_text(name, text, &options.rules(), &Disk, &mut self.sources);
        self.made_by_rules = named(&parsed.0);
        parsed
    }

    /// Plans the rules of a tree, unless there are errors in it.
    pub(super) fn plan_rules(
        &mut self,
        mut tree: ast::Program,
        mut found: Vec<Diagnostic>,
        options: &LoadOptions,
    ) {
        options.mutant.iter().for_each(|mutant| mutant.apply(&mut tree));
        let mut operators = Registry::clone(&options.operators);
        if self.border.is_some() {
            operators.set_messages(Arc::new(self.border.clone()));
        }
        operators.add_family(Arc::new(self.border.clone()));
        operators.add_family(Arc::new(self.operators.clone()));
        self.rules.operators = Arc::new(operators);
        // Without the schemas and components that have errors their names are unknown; the latter
        // matters to stages.
        let has_schemas = self.schema.is_some() || !self.kinds.has(FileKind::Schemas);
        let has_components = self.components.program.is_some()
            || !self.kinds.has(FileKind::Components)
            || self.made_by_rules.is_empty();
        if has_schemas && has_components && !has_errors(&found) {
            let injected = &options.injected;
            let operators = self.rules.operators.clone();
            let (exports, given) = (options.exports.clone(), self.given_events());
            let mut filled = self.given_by_components();
            filled.retain(|name, _| injected.iter().all(|injected| !injected.contains(name)));
            let foreign = self.tables_of_apps();
            let is_predeclared = |name: &&String| {
                let is_config = *name == CONFIG && self.packets.is_some();
                is_config || foreign.iter().any(|table| table.relation == **name)
            };
            let from_outside = injected.iter().flatten().filter(is_predeclared);
            let filled_from_outside = from_outside.cloned().collect();
            let options =
                Options { operators, exports, given, filled, foreign, filled_from_outside };
            let (program, planned) = compile(&tree, &self.sources, &options);
            found.extend(planned);
            // Without a graph or components that have errors the events that they put are unknown.
            let is_known = (self.packets.is_some() || !self.kinds.has(FileKind::Packets))
                && (self.components.program.is_some() || !self.kinds.has(FileKind::Components));
            if let Some(injected) = injected.as_ref().filter(|_| is_known) {
                let injected = &(injected | &self.events_of_others());
                let mut unsourced = no_source(&tree, &options, injected);
                // A likely misspelling has its warning already.
                unsourced.retain(|one| found.iter().all(|it| it.span != one.span));
                found.extend(unsourced);
            }
            self.rules.program = program.filter(|_| !has_errors(&found));
        }
        self.diagnostics.extend(found);
        self.rules.tree = tree;
    }

    /// Mutants of its rules, with `file:line:column` of the rule.
    pub fn mutants(&self) -> Vec<(Mutant, String)> {
        let all = mutants(&self.rules.tree).into_iter();
        all.map(|mutant| {
            let (name, place) =
                (self.sources.name(mutant.span.file), self.sources.place(mutant.span));
            let place = format!("{name}:{}:{}", place.line, place.column);
            (mutant, place)
        })
        .collect()
    }
}
