//! The compiler: from the tree of a program to its plan.
//!
//! ```text
//! tree -> check -> rules over relations -> rewrite -> localise, stratify -> lower -> plan
//! ```
//! Each stage collects diagnostics; rules with errors are left out of later stages, so that one run
//! finds all that it can.

use std::path::Path;
use std::sync::Arc;
use tidemill_stdx::sort;

use tidemill_diag::{Diagnostic, Sources, Span, has_errors};
use tidemill_relation::plan::{Plan, RelationId, Rule as PlanRule, RuleId, Stratum, ViewRule};

use crate::ast::{Name, Program, Source, Stage, Statement};
use crate::check::rule::name_of;
use crate::check::{self, Checked, symbols, system};
use crate::exports;
use crate::global;
use crate::ir::Catalog;
use crate::lower;
use crate::node::Stages;
use crate::options::Options;
use crate::program::{Compiled, Fact, Query, SinkUse, StageUse, Watch, WorkedBy, Written};
use crate::rewrite::{self, Parts, View};
use crate::stage::{Registry, Works};
use crate::stratify::{self, Group};
use crate::traces::{Around, Traces};
use crate::translate;

/// Compiles a program.
///
/// Returns the program unless there is an error among the diagnostics.
pub fn compile(
    program: &Program,
    sources: &Sources,
    options: &Options,
) -> (Option<Compiled>, Vec<Diagnostic>) {
    let Some(split) = global::split(program) else {
        return compile_rules(program, sources, options);
    };
    let (mut compiled, mut diagnostics) = compile_rules(&split.local, sources, options);
    let symbols = symbols::collect(&split.local, options, &mut Vec::new());
    let (global, found) = split.compile(&symbols, compiled.as_ref(), sources, compile_rules);
    diagnostics.extend(found);
    sort::by_key(&mut diagnostics, |found| (found.span.file, found.span.start));
    if let Some(compiled) = &mut compiled {
        compiled.global = global.map(Box::new);
    }
    (compiled.filter(|_| !has_errors(&diagnostics)), diagnostics)
}

/// The same for a program without rules at `@SIM`.
fn compile_rules(
    program: &Program,
    sources: &Sources,
    options: &Options,
) -> (Option<Compiled>, Vec<Diagnostic>) {
    let mut diagnostics = Vec::new();
    let checked = check::check(program, options, &mut diagnostics);
    let mut catalog = translate::catalog(program, &checked);
    let mut compiled = Compiled {
        package: package(program, sources),
        ..statements(program, sources, &catalog, &options.operators)
    };
    let mut parts = rewrite_rules(&checked, &mut catalog, &mut diagnostics);
    rewrite::trails(&mut parts, &mut catalog);
    let exported = exports::exported(program, options);
    exports::allow(&exported, &mut catalog);
    exports::refuse_reserved(&checked.rules, &mut catalog, &mut diagnostics);
    rewrite::candidates(&mut parts, &compiled.facts, &mut catalog);
    let groups = match stratify::stratify(&parts.views, &catalog) {
        Ok(groups) => groups,
        Err(mut errors) => {
            diagnostics.append(&mut errors);
            Vec::new()
        }
    };
    program.note_macros(&mut diagnostics);
    sort::by_key(&mut diagnostics, |found| (found.span.file, found.span.start));
    if has_errors(&diagnostics) {
        return (None, diagnostics);
    }
    let strata = strata(&parts.views, &groups, &mut catalog);
    compiled.written = Arc::new(written(program, sources));
    compiled.exports = parts.exports;
    compiled.wire = wire(&catalog);
    compiled.arrivals = std::mem::take(&mut catalog.arrivals);
    compiled.plan = Plan {
        rules: rules(program, sources),
        strands: parts.strands,
        strata,
        relations: catalog.into_relations(),
    };
    debug_assert_eq!(tidemill_relation::plan::verify(&compiled.plan), Ok(()));
    trace(program, &mut compiled, &mut diagnostics);
    (Some(compiled), diagnostics)
}

/// Decides what is traced; warns if that is nothing.
fn trace(program: &Program, compiled: &mut Compiled, diagnostics: &mut Vec<Diagnostic>) {
    let plan = &compiled.plan;
    let statements = program.flat().filter_map(|statement| match statement {
        Statement::Trace(it) | Statement::TraceTable(it) => Some(&it.name),
        _ => None,
    });
    let found = |name: &Name| plan.find(system::canonical(&name.resolved));
    let traced: Vec<(&Name, RelationId)> =
        statements.filter_map(|name| Some((name, found(name)?))).collect();
    let relations: Vec<RelationId> = traced.iter().map(|(_, relation)| *relation).collect();
    let operators: Vec<_> = compiled.stages.iter().map(|it| (it.input, it.output)).collect();
    let shipped: Vec<_> = compiled.exports.iter().map(|it| (it.out, it.into)).collect();
    let around = Around { operators: &operators, shipped: &shipped };
    let Some(traces) = Traces::new(plan, around, &relations) else { return };
    for (name, relation) in traced {
        if !traces.is_record(relation) && traces.is_from_record(relation) {
            let message = format!("`{}` follows from the record itself", name.written);
            let found = Diagnostic::warning("trace", name.span, message);
            diagnostics.push(found.help("what it starts is not recorded, or it would never end"));
        }
    }
    sort::by_key(diagnostics, |found| (found.span.file, found.span.start));
    compiled.traces = (!relations.is_empty()).then_some(traces);
}

fn rewrite_rules(
    checked: &Checked<'_>,
    catalog: &mut Catalog,
    diagnostics: &mut Vec<Diagnostic>,
) -> Parts {
    let mut parts = Parts::default();
    for (rule, types) in checked.rules.iter().zip(&checked.types.variables) {
        let id = RuleId(rule.position as u32);
        let rule = translate::rule(rule, id, types, &checked.symbols, catalog);
        if let Err(error) = rewrite::rewrite(rule, catalog, &mut parts) {
            diagnostics.push(error);
        }
    }
    diagnostics.append(&mut parts.warnings);
    parts
}

fn strata(views: &[View], groups: &[Group], catalog: &mut Catalog) -> Vec<Stratum> {
    let mut strata = Vec::new();
    for group in groups {
        let (heads, selected) = (group.heads.clone(), group.selected.clone());
        catalog.recursive = heads.iter().chain(&selected).copied().collect();
        let rules: Vec<ViewRule> = group
            .rules
            .iter()
            .map(|&rule| lower::view(&views[rule].rule, views[rule].kind, catalog))
            .collect();
        strata.push(Stratum { heads, rules, selected });
    }
    strata
}

/// The rules of the program for reports, by number.
fn rules(program: &Program, sources: &Sources) -> Vec<PlanRule> {
    let rules = program.flat().filter_map(|statement| match statement {
        Statement::Rule(rule) => Some(rule),
        _ => None,
    });
    rules
        .enumerate()
        .map(|(position, rule)| PlanRule {
            name: name_of(rule, position),
            place: place(sources, rule.head.span),
        })
        .collect()
}

/// Its rules, and the declarations of its tables, as sources.
fn written(program: &Program, sources: &Sources) -> Vec<Written> {
    let mut rules = 0..;
    let written = program.flat().filter_map(|statement| match statement {
        Statement::Rule(rule) => {
            let (name, place) = (name_of(rule, rules.next()?), place(sources, rule.head.span));
            Some(Written { name, place, text: Source(rule).to_string() })
        }
        Statement::Materialize(it) => {
            let (name, place) = (it.name.resolved.clone(), place(sources, it.span));
            Some(Written { name, place, text: Source(it).to_string() })
        }
        _ => None,
    });
    written.collect()
}

/// `file:line:column`.
fn place(sources: &Sources, span: Span) -> String {
    let place = sources.place(span);
    format!("{}:{}:{}", sources.name(span.file), place.line, place.column)
}

/// Statements other than rules and tables.
fn statements(
    program: &Program,
    sources: &Sources,
    catalog: &Catalog,
    operators: &Registry,
) -> Compiled {
    let mut compiled = Compiled::default();
    let find = |name: &Name| catalog.find(system::canonical(&name.resolved));
    for statement in program.flat() {
        match statement {
            Statement::Fact(fact) => {
                compiled.facts.extend(find(&fact.tuple.name).map(|relation| {
                    let columns = translate::fact(&fact.tuple);
                    let location = translate::fact_location(&fact.tuple, relation, catalog);
                    Fact { relation, columns, location, place: place(sources, fact.tuple.span) }
                }))
            }
            Statement::Watch(watch) => compiled
                .watches
                .extend(find(&watch.name).map(|relation| Watch { relation, stages: Stages::ALL })),
            Statement::WatchMod(watch) => {
                let stages = Stages::parse(&watch.modes.text).unwrap_or_default();
                let relation = find(&watch.name);
                compiled.watches.extend(relation.map(|relation| Watch { relation, stages }));
            }
            Statement::Query(query) => {
                compiled.queries.extend(find(&query.pattern.name).map(|relation| Query {
                    relation,
                    columns: translate::query(&query.pattern),
                    place: place(sources, query.pattern.span),
                }));
            }
            Statement::Stage(stage) => {
                if let (Some(input), Some(output)) = (find(&stage.input), find(&stage.output)) {
                    let operator = stage.operator.text.clone();
                    let place = place(sources, stage.span);
                    let by = worked_by(stage, operators);
                    compiled.stages.push(StageUse { operator, input, output, by, place });
                }
            }
            Statement::Sink(sink) => {
                let place = place(sources, sink.span);
                let file = sink.file.text.clone();
                let relation = find(&sink.name);
                compiled.sinks.extend(relation.map(|relation| SinkUse { file, relation, place }));
            }
            Statement::Materialize(_)
            | Statement::Index(_)
            | Statement::Trace(_)
            | Statement::TraceTable(_)
            | Statement::Export(_)
            | Statement::Namespace(_)
            | Statement::Rule(_) => {}
        }
    }
    compiled
}

/// The operator of a stage.
fn worked_by(stage: &Stage, operators: &Registry) -> WorkedBy {
    match operators.find(&stage.operator.text) {
        Some(declared) if declared.works == Works::Outside => {
            let columns = stage.keys.iter().flat_map(|keys| &keys.columns);
            WorkedBy::Outside { keys: columns.map(|&column| column as usize - 1).collect() }
        }
        _ => WorkedBy::Node,
    }
}

/// The relations that can cross the network, by name.
fn wire(catalog: &Catalog) -> Vec<RelationId> {
    let crosses = |id: &RelationId| !catalog.relation(*id).hidden || catalog.shipped.contains(id);
    let mut wire: Vec<RelationId> = catalog.iter().map(|(id, _)| id).filter(crosses).collect();
    sort::by(&mut wire, |a, b| catalog.relation(*a).name.cmp(&catalog.relation(*b).name));
    wire
}

/// The first file's name without folder and ending, as a package name.
fn package(program: &Program, sources: &Sources) -> String {
    let file = program.files.first().map_or("", |file| sources.name(*file));
    let stem = Path::new(file).file_stem().and_then(|stem| stem.to_str()).unwrap_or("");
    let fits = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let name: String = stem.chars().map(fits).collect();
    match name.chars().next() {
        None => "program".to_owned(),
        Some('0'..='9') => format!("_{name}"),
        Some(_) => name,
    }
}

/// Compiling texts, for the tests of the stages.
#[cfg(test)]
pub(crate) mod testing {
    use tidemill_diag::{Diagnostic, Sources, has_errors};

    use crate::parse::parse_text;
    use crate::pre::{self, MemoryFiles};
    use crate::program::Compiled;

    fn compile(text: &str) -> (Option<Compiled>, Vec<Diagnostic>) {
        let mut sources = Sources::new();
        let files = MemoryFiles::default();
        let options = pre::Options::default();
        let (program, found) = parse_text("test.olg", text, &options, &files, &mut sources);
        assert!(!has_errors(&found), "{found:?}");
        super::compile(&program, &sources, &super::Options::default())
    }

    /// A program that must compile.
    pub(crate) fn compiled(text: &str) -> Compiled {
        let (compiled, found) = compile(text);
        compiled.unwrap_or_else(|| panic!("{found:?}"))
    }

    /// The errors of a program.
    pub(crate) fn errors(text: &str) -> Vec<Diagnostic> {
        compile(text).1.into_iter().filter(Diagnostic::is_error).collect()
    }
}
