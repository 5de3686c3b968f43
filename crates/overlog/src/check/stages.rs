//! Types of the events of stages: the columns that operators read, keep and yield.

use std::sync::Arc;

use tidemill_diag::{Diagnostic, Span};
use tidemill_relation::TypeSet;

use super::origins::Origins;
use super::symbols::Symbols;
use crate::ast::{Program, Stage, Statement};
use crate::stage::{Columns, Declaration, Registry, Works};

/// A stage whose operator and events are known.
pub(super) struct Named<'a> {
    stage: &'a Stage,
    operator: Arc<Declaration>,
    /// The positions of its events among the symbols, and their locations.
    input: usize,
    input_location: usize,
    pub output: usize,
    output_location: usize,
}

/// The stages of a program, without those that have been found wrong.
pub(super) fn named<'a>(
    program: &'a Program,
    symbols: &Symbols<'_>,
    operators: &Registry,
) -> Vec<Named<'a>> {
    let stages = program.flat().filter_map(|statement| match statement {
        Statement::Stage(stage) => Some(stage),
        _ => None,
    });
    let named = |stage: &'a Stage| {
        let place = |name: &str| {
            let at = symbols.position(name)?;
            Some((at, symbols.at(at)?.location()))
        };
        let (input, input_location) = place(&stage.input.resolved)?;
        let (output, output_location) = place(&stage.output.resolved)?;
        let operator = operators.find(&stage.operator.text)?;
        Some(Named { stage, operator, input, input_location, output, output_location })
    };
    stages.filter_map(named).collect()
}

impl Named<'_> {
    /// The columns of the input without its location: the leading ones, then the operator's.
    fn inputs(&self, columns: &[Vec<TypeSet>]) -> (Vec<usize>, Vec<usize>) {
        let arity = columns[self.input].len();
        let leading = self.operator.leading_of(arity, self.operator.input_arity());
        let mut all: Vec<usize> = (0..arity).filter(|&it| it != self.input_location).collect();
        let own = all.split_off(leading.unwrap_or(0).min(all.len()));
        (all, own)
    }

    /// The types of the columns of the output, and their origins.
    pub fn yields(&self, columns: &[Vec<TypeSet>], origins: &Origins) -> (Vec<TypeSet>, Vec<Span>) {
        let Named { stage, operator, .. } = self;
        let arity = columns[self.output].len();
        let (leading, _) = self.inputs(columns);
        let types: Vec<TypeSet> = leading.iter().map(|&it| columns[self.input][it]).collect();
        let types = operator.output_types(&types, self.output_location, arity);
        let kept = leading.iter().map(|&it| origins.of(self.input, it));
        let mut spans: Vec<Span> = kept.map(|span| span.unwrap_or(stage.span)).collect();
        if let Columns::Fixed(own) = &operator.outputs {
            spans.extend(own.iter().map(|column| column.source.unwrap_or(stage.span)));
        }
        spans.insert(self.output_location.min(spans.len()), stage.span);
        spans.resize(arity, stage.span);
        (types, spans)
    }

    /// Whether a column may be what the operator takes. Values from outside the program can be
    /// anything, and are checked at run time.
    fn fits(&self, given: TypeSet, taken: TypeSet) -> bool {
        match self.operator.works {
            Works::Inside => given.is_empty() || given.meets(taken),
            Works::Outside => given == TypeSet::ANY || given.without(taken).is_empty(),
        }
    }

    /// Reports columns of the input that never hold what the operator takes, or, for one that works
    /// outside, may hold something else.
    pub fn judge(
        &self,
        columns: &[Vec<TypeSet>],
        origins: &Origins,
        diagnostics: &mut Vec<Diagnostic>,
    ) {
        let (_, own) = self.inputs(columns);
        for (taken, at) in self.operator.inputs.iter().zip(own) {
            let given = columns[self.input][at];
            if self.fits(given, taken.types) {
                continue;
            }
            let (name, operator) = (&self.stage.input, &self.operator);
            let mut text = format!(
                "\"{}\" takes `{}: {}` from column {} of `{}`, which holds {given}",
                operator.name,
                taken.name,
                taken.types,
                at + 1,
                name.written
            );
            if given.meets(taken.types) {
                text += " and is mixed";
            }
            let mut found = Diagnostic::error("type", name.span, text)
                .help(format!("the operator is {operator}"));
            if let Some(origin) = origins.of(self.input, at) {
                found = found.label(origin, "the column has its type from here");
            }
            if let Some(source) = taken.source {
                found = found.label(source, "declared here");
            }
            diagnostics.push(found);
        }
    }
}
