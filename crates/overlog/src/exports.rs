//! `export(p).`, and relations that a program reads but nothing derives or inserts.

use tidemill_diag::{Diagnostic, Span};
use tidemill_relation::plan::Action;
use tidemill_stdx::sorted::{SortedMap, SortedSet};

use crate::arrivals::is_reserved;
use crate::ast::{Name, Program, Statement, Term};
use crate::check::rule::CheckedRule;
use crate::check::symbols::{self, Symbols};
use crate::check::system;
use crate::ir::Catalog;
use crate::options::Options;

/// A relation that is exported, and whether its deletions are, too.
pub(crate) type Exported = SortedMap<String, bool>;

/// The exports of the program and the options, by name.
pub(crate) fn exported(program: &Program, options: &Options) -> Exported {
    let mut exported: Exported = options.exports.iter().map(|name| (name.clone(), false)).collect();
    for statement in program.flat() {
        if let Statement::Export(it) = statement {
            *exported.entry(it.name.resolved.clone()).or_default() |= it.delete;
        }
    }
    exported
}

/// Adds exported relations to those that other nodes may send.
pub(crate) fn allow(exported: &Exported, catalog: &mut Catalog) {
    for (name, &delete) in exported {
        let Some(id) = catalog.find(name).filter(|_| !is_reserved(name)) else { continue };
        for location in catalog.locations(id) {
            catalog.arrivals.allow(id, Action::Insert, location);
            if delete {
                catalog.arrivals.allow(id, Action::Delete, location);
            }
        }
    }
}

/// Removes the system's relations from those that other nodes may send; warns of rules that ship
/// them.
pub(crate) fn refuse_reserved(
    rules: &[CheckedRule<'_>],
    catalog: &mut Catalog,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let mut reserved = SortedSet::new();
    for rule in rules {
        let name = &rule.ast.head.name;
        let relation = system::canonical(&name.resolved);
        let Some(id) = catalog.find(relation).filter(|_| is_reserved(relation)) else { continue };
        if catalog.arrivals.get(id).is_some() {
            reserved.insert(id);
            let message = format!("tuples of `{}` are never taken from the network", name.written);
            let found = Diagnostic::warning("system-relation", rule.ast.head.span, message);
            diagnostics.push(found.help("derive it where the body is, or ship another relation"));
        }
    }
    reserved.into_iter().for_each(|id| catalog.arrivals.refuse(id));
}

/// Refuses exports of relations that do not exist, or are the system's.
pub(crate) fn check_options(
    program: &Program,
    symbols: &Symbols<'_>,
    options: &Options,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let Some(&file) = program.files.first() else { return };
    let span = Span { file, start: 0, end: 0 };
    for name in &options.exports {
        let why = match symbols.get(name) {
            _ if is_reserved(name) => "its tuples are never taken from the network",
            None => "nothing in this program is called so",
            Some(symbol) if symbol.is_filled() => "another part of the program fills it",
            Some(_) => continue,
        };
        let message = format!("`{name}` cannot be exported: {why}");
        diagnostics.push(Diagnostic::error("undefined-relation", span, message));
    }
}

/// Warnings of relations that are read or watched and have no source: no rule, fact or stage yields
/// them, the program does not export them, and `injected` does not name them.
pub fn no_source(
    program: &Program,
    options: &Options,
    injected: &SortedSet<String>,
) -> Vec<Diagnostic> {
    let symbols = symbols::collect(program, options, &mut Vec::new());
    let mut diagnostics = Vec::new();
    let exported = exported(program, options);
    let mut seen = SortedSet::new();
    for_each_use(program, &mut |name| {
        let relation = system::canonical(&name.resolved);
        let is_from_outside = |relation: &str| {
            relation == system::PERIODIC
                || exported.contains_key(relation)
                || injected.contains(relation)
        };
        let Some(symbol) = symbols.get(relation) else { return };
        let has_source = symbol.derived || symbol.system.is_some() || symbol.foreign.is_some();
        if has_source || is_from_outside(relation) {
            return;
        }
        if seen.insert(relation.to_owned()) {
            let message = format!("nothing in this program derives or inserts `{}`", name.written);
            let help = format!(
                "`export({}).` lets other nodes send it; `--fact`, `--inject`, scripts insert it",
                name.written
            );
            diagnostics.push(Diagnostic::warning("no-source", name.span, message).help(help));
        }
    });
    diagnostics
}

/// Where a program uses a relation first: its declaration, or what reads, watches or derives it.
pub fn first_use(program: &Program, relation: &str) -> Option<Span> {
    let mut first = None;
    let mut note = |name: &Name| {
        if name.resolved == relation {
            first.get_or_insert(name.span);
        }
    };
    for statement in program.flat() {
        match statement {
            Statement::Materialize(it) => note(&it.name),
            Statement::Rule(it) => note(&it.head.name),
            Statement::Fact(it) => note(&it.tuple.name),
            _ => {}
        }
    }
    for_each_use(program, &mut note);
    first
}

/// Calls `see` with each name of a relation that is read or watched, in the order of the text.
fn for_each_use<'a>(program: &'a Program, see: &mut impl FnMut(&'a Name)) {
    for statement in program.flat() {
        match statement {
            Statement::Watch(it) => see(&it.name),
            Statement::WatchMod(it) => see(&it.name),
            Statement::Query(it) => see(&it.pattern.name),
            Statement::Stage(it) => see(&it.input),
            Statement::Sink(it) => see(&it.name),
            Statement::Rule(it) => it.body.iter().for_each(|term| match term {
                Term::Predicate(predicate) => see(&predicate.functor.name),
                Term::AggView(view) => see(&view.of.name),
                Term::Assign(_) | Term::Condition(_) => {}
            }),
            _ => {}
        }
    }
}
