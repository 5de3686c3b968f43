//! Sinks, checked when the program is loaded.

use tidemill_diag::{Diagnostic, Span};
use tidemill_overlog::ast::{self, Statement};
use tidemill_overlog::exports::first_use;
use tidemill_overlog::program::{Compiled, SinkUse};
use tidemill_relation::plan::Relation;
use tidemill_relation::{Type, TypeSet};

use super::border::SinkBorder;
use crate::borders::files::{BadName, Column, FileForm, FileName};
use crate::program::Program;

/// The sinks of a program.
///
/// # Errors
/// An invalid file name, as text; never, if the program was checked with all its borders.
pub fn sinks_of(rules: &Compiled) -> Result<Vec<SinkBorder>, String> {
    let sink = |sink: &SinkUse| {
        let SinkUse { file, relation, place } = sink;
        let file = FileName::parse(file).map_err(|wrong| format!("{place}: {}", wrong.message))?;
        let (relation, plan) = (*relation, &rules.plan);
        let (name, columns) =
            (plan.relation(relation).name.clone(), columns(plan.relation(relation)));
        Ok(SinkBorder { file, relation, name, columns, place: place.clone() })
    };
    rules.sinks.iter().map(sink).collect()
}

/// The columns of a relation, named as in its message.
fn columns(relation: &Relation) -> Vec<Column> {
    let column = |(at, types): (usize, &TypeSet)| Column { name: format!("a{at}"), types: *types };
    (1..).zip(&relation.columns).map(column).collect()
}

impl Program {
    /// Checks the sinks of the rules, as far as these were parsed.
    pub(crate) fn check_sinks(&mut self) {
        let sinks = self.rules.tree.flat().filter_map(|statement| match statement {
            Statement::Sink(sink) => Some(sink),
            _ => None,
        });
        let sinks: Vec<&ast::Sink> = sinks.collect();
        let mut found = Vec::new();
        let mut named: Vec<(FileName, Span)> = Vec::new();
        for sink in sinks {
            match file_name(&sink.file.text, sink.file.span, "sink") {
                Ok(name) => {
                    if let Some((_, first)) = named.iter().find(|(other, _)| other.is(&name)) {
                        let message = format!("`{name}` is written by two sinks");
                        let error = Diagnostic::error("sink", sink.file.span, message);
                        found.push(
                            error.label(*first, "first here").help(
                                "give each a file of its own, or have both derive one relation",
                            ),
                        );
                    }
                    found.extend(self.frames_error(sink, &name));
                    named.push((name, sink.file.span));
                }
                Err(error) => found.push(*error),
            }
        }
        self.diagnostics.extend(found);
        if let Some(rules) = &self.rules.program
            && let Ok(sinks) = sinks_of(rules)
        {
            self.borders.sinks = sinks;
        }
    }

    /// Why the tuples of a relation cannot be frames.
    fn frames_error(&self, sink: &ast::Sink, name: &FileName) -> Option<Diagnostic> {
        let rules = self.rules.program.as_ref()?;
        let relation = rules.plan.relation(rules.plan.find(&sink.name.resolved)?);
        let last = *relation.columns.last()?;
        let is_frame =
            last.without(TypeSet::of(Type::Null)).is_empty() || last.meets(TypeSet::BYTES);
        if name.form() != FileForm::Pcap || is_frame {
            return None;
        }
        let message = format!(
            "the last column of `{}` is {last}, and that of frames for `{name}` is bytes",
            relation.name
        );
        let error = Diagnostic::error("sink", sink.name.span, message);
        let error = match first_use(&self.rules.tree, &sink.name.resolved) {
            Some(place) if place != sink.name.span => error.label(place, "used here"),
            _ => error,
        };
        Some(error.help("put the bytes of the whole frame, Ethernet header included, last"))
    }
}

/// Parses the file name of a sink or app.
pub(crate) fn file_name(
    text: &str,
    span: Span,
    code: &'static str,
) -> Result<FileName, Box<Diagnostic>> {
    let name = FileName::parse(text).map_err(|BadName { message, help }| {
        Box::new(Diagnostic::error(code, span, message).help(help))
    })?;
    if !name.form().is_built() {
        let message = format!("`{text}` is Parquet, which this program was built without");
        let help = "build it with `--features arrow`, or write `.jsonl` or `.csv`";
        return Err(Box::new(Diagnostic::error(code, span, message).help(help)));
    }
    Ok(name)
}
