//! The relations of a program: columns, locations and declaration of each.

use tidemill_diag::{Diagnostic, Span};
use tidemill_relation::TypeSet;
use tidemill_stdx::sorted::SortedMap;

use super::system::{self, PERIODIC, SystemTable};
use crate::ast::{Functor, Materialize, Name, Program, Stage, Statement, Term};
use crate::options::{ForeignTable, Options};
use crate::stage::Declaration;

/// The relations of a program, in the order in which they first occur.
#[derive(Default)]
pub(crate) struct Symbols<'a> {
    list: Vec<Symbol<'a>>,
    by_name: SortedMap<String, usize>,
    foreign: &'a [ForeignTable],
}

/// One relation as its uses describe it.
pub(crate) struct Symbol<'a> {
    /// The qualified, canonical name.
    pub name: String,
    /// The number of columns, and the first use that determines it.
    pub arity: Option<(usize, Span)>,
    /// The columns (from 0) marked as the location, in the order in which they are first.
    marks: Vec<usize>,
    /// A `watch` or `watchmod` names it.
    pub watched: bool,
    /// Its `materialize`.
    pub declared: Option<&'a Materialize>,
    /// The system's description, where it is the system's.
    pub system: Option<&'static SystemTable>,
    /// The declaration by another part of the program, whose table it is.
    pub foreign: Option<&'a ForeignTable>,
    /// A rule, fact or stage of the program yields it.
    pub derived: bool,
}

impl Symbol<'_> {
    /// True if it is stored.
    pub fn is_table(&self) -> bool {
        self.declared.is_some() || self.system.is_some() || self.foreign.is_some()
    }

    /// The column that holds the location where a use marks none: the first of those marked, or
    /// the first of all if that is among them.
    pub fn location(&self) -> usize {
        if self.marks.contains(&0) { 0 } else { self.marks.first().copied().unwrap_or(0) }
    }

    /// The columns that uses mark as the location.
    pub fn locations(&self) -> Vec<u32> {
        self.marks.iter().map(|&column| column as u32).collect()
    }

    /// True if uses mark different columns as the location.
    pub fn is_moving(&self) -> bool {
        self.marks.len() > 1
    }

    /// True if the number of its columns is unknown: its tuples are only watched.
    pub fn is_open(&self) -> bool {
        self.watched && self.arity.is_none() && !self.is_table()
    }

    /// Number of columns; of relations that are never applied, one more than the greatest key.
    pub fn columns(&self) -> usize {
        if let Some(columns) = self.known_columns() {
            return columns.len();
        }
        let by_key = || {
            let keys = self.declared.map(|declared| &declared.keys.columns);
            keys.into_iter().flatten().max().map_or(1, |&column| column as usize)
        };
        self.arity.map_or_else(by_key, |(arity, _)| arity)
    }
}

impl Symbol<'_> {
    /// Whether it is a table that another part of the program fills.
    pub fn is_filled(&self) -> bool {
        self.foreign.is_some_and(|table| table.filled_by.is_some())
    }

    /// The types of its columns, if the system or another part of the program declares them.
    pub fn known_columns(&self) -> Option<&[TypeSet]> {
        let of_system = self.system.map(|table| table.columns);
        of_system.or(self.foreign.map(|table| table.columns.as_slice()))
    }
}

impl<'a> Symbols<'a> {
    /// A relation by its qualified name.
    pub fn get(&self, name: &str) -> Option<&Symbol<'a>> {
        self.by_name.get(system::canonical(name)).map(|&index| &self.list[index])
    }

    /// The position of a relation among all.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.by_name.get(system::canonical(name)).copied()
    }

    /// True if a functor names a stored relation.
    pub fn is_table(&self, functor: &Functor) -> bool {
        self.get(&functor.name.resolved).is_some_and(Symbol::is_table)
    }

    /// The relation at a position.
    pub fn at(&self, position: usize) -> Option<&Symbol<'a>> {
        self.list.get(position)
    }

    /// All relations.
    pub fn iter(&self) -> impl Iterator<Item = &Symbol<'a>> {
        self.list.iter()
    }

    /// The error that another part of the program fills this table, so that rules may not.
    pub fn filled_by_another(&self, name: &Name) -> Option<Diagnostic> {
        let table = self.get(&name.resolved)?.foreign?;
        let filled_by = table.filled_by.as_ref()?;
        let message = format!("{filled_by} writes `{}`, and rules only read it", name.written);
        let found = Diagnostic::error("foreign-table", name.span, message);
        let found = found.label(table.span, "declared here");
        Some(found.help("declare it with `writer program;`, or name a relation of your own"))
    }

    /// The column of a functor that holds its location.
    pub fn location_of(&self, functor: &Functor) -> usize {
        let symbol = self.get(&functor.name.resolved);
        functor.location.unwrap_or_else(|| symbol.map_or(0, Symbol::location))
    }

    fn enter(&mut self, name: &Name) -> &mut Symbol<'a> {
        self.enter_named(system::canonical(&name.resolved))
    }

    fn enter_named(&mut self, name: &str) -> &mut Symbol<'a> {
        let index = match self.by_name.get(name) {
            Some(&index) => index,
            None => {
                let system = system::find(name);
                let foreign = self.foreign.iter().find(|table| table.relation == name);
                self.list.push(Symbol {
                    name: name.to_owned(),
                    arity: None,
                    marks: Vec::new(),
                    watched: false,
                    declared: None,
                    system,
                    foreign,
                    derived: false,
                });
                self.by_name.insert(name.to_owned(), self.list.len() - 1);
                self.list.len() - 1
            }
        };
        &mut self.list[index]
    }
}

/// Whether a use is a fact, in which a missing mark is the same as one at the first column.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    Fact,
    Other,
}

/// Gathers all relations; reports uses that disagree.
pub(crate) fn collect<'a>(
    program: &'a Program,
    options: &'a Options,
    diagnostics: &mut Vec<Diagnostic>,
) -> Symbols<'a> {
    let symbols = Symbols { foreign: &options.foreign, ..Symbols::default() };
    let mut collect = Collect { symbols, diagnostics };
    for statement in program.flat() {
        collect.statement(statement);
    }
    for statement in program.flat() {
        match statement {
            Statement::Watch(watch) => collect.watched(&watch.name),
            Statement::WatchMod(watch) => collect.watched(&watch.name),
            _ => {}
        }
    }
    for statement in program.flat() {
        let Statement::Stage(stage) = statement else { continue };
        if let Some(operator) = options.operators.find(&stage.operator.text) {
            collect.stage(stage, &operator);
        }
    }
    for statement in program.flat() {
        let Statement::Query(query) = statement else { continue };
        if collect.symbols.get(&query.pattern.name.resolved).is_some() {
            collect.functor(&query.pattern, Use::Other);
        }
    }
    if program.flat().any(is_trace) {
        // These are always present, as queries read them, too.
        collect.symbols.enter_named(system::RULE_EXEC);
        collect.symbols.enter_named(system::TUPLE);
        collect.symbols.enter_named(system::CONTENT);
    }
    for table in &options.filled_from_outside {
        collect.symbols.enter_named(table);
    }
    collect.symbols
}

fn is_trace(statement: &Statement) -> bool {
    matches!(statement, Statement::Trace(_) | Statement::TraceTable(_))
}

struct Collect<'a, 'd> {
    symbols: Symbols<'a>,
    diagnostics: &'d mut Vec<Diagnostic>,
}

impl<'a> Collect<'a, '_> {
    fn statement(&mut self, statement: &'a Statement) {
        match statement {
            Statement::Materialize(it) => self.materialize(it),
            Statement::Stage(it) => {
                self.symbols.enter(&it.input);
                self.symbols.enter(&it.output).derived = true;
            }
            Statement::Fact(it) => {
                self.functor(&it.tuple, Use::Fact);
                self.derived(&it.tuple);
            }
            Statement::Rule(it) => {
                self.functor(&it.head, Use::Other);
                if !it.delete {
                    self.derived(&it.head);
                }
                for term in &it.body {
                    match term {
                        Term::Predicate(predicate) => {
                            self.functor(&predicate.functor, Use::Other);
                        }
                        Term::AggView(view) => self.functor(&view.of, Use::Other),
                        Term::Assign(_) | Term::Condition(_) => {}
                    }
                }
            }
            Statement::Index(_)
            | Statement::Watch(_)
            | Statement::WatchMod(_)
            | Statement::Query(_)
            | Statement::Trace(_)
            | Statement::TraceTable(_)
            | Statement::Export(_)
            | Statement::Sink(_)
            | Statement::Namespace(_) => {}
        }
    }

    /// Takes the columns of a stage's events from its operator, for relations whose columns no
    /// functor shows.
    fn stage(&mut self, stage: &Stage, operator: &Declaration) {
        let (least, yielded) = (operator.input_arity(), operator.output_arity());
        let arity = |collect: &mut Self, name: &Name| collect.symbols.enter(name).arity;
        // Leading columns are those of the event of which the number is known.
        let of_input = arity(self, &stage.input).map(|(arity, _)| (arity, least));
        let of_output = arity(self, &stage.output).zip(yielded).map(|((arity, _), it)| (arity, it));
        let known = of_input.or(of_output);
        let leading = known.and_then(|(arity, least)| operator.leading_of(arity, least));
        let leading = leading.unwrap_or(0);
        self.settle(&stage.input, Some(least + leading));
        self.settle(&stage.output, yielded.map(|arity| arity + leading));
    }

    fn settle(&mut self, name: &Name, arity: Option<usize>) {
        let symbol = self.symbols.enter(name);
        symbol.arity = symbol.arity.or(arity.map(|arity| (arity, name.span)));
    }

    /// A relation may be used by `watch` alone: its tuples come from outside.
    fn watched(&mut self, name: &Name) {
        if name.resolved != PERIODIC {
            self.symbols.enter(name).watched = true;
        }
    }

    fn derived(&mut self, functor: &Functor) {
        self.symbols.enter(&functor.name).derived = true;
    }

    fn materialize(&mut self, statement: &'a Materialize) {
        let name = &statement.name;
        let symbol = self.symbols.enter(name);
        let found = if name.resolved == PERIODIC {
            Diagnostic::error("periodic-head", name.span, "`periodic` is a timer, not a table")
                .help("choose another name for the table")
        } else if symbol.system.is_some_and(|table| !table.is_recorded()) {
            let message = format!("`{}` is a table of the system already", name.written);
            Diagnostic::warning("system-relation", name.span, message)
                .help("leave this statement out")
        } else if let Some(table) = symbol.foreign {
            let message = format!("`{}` is declared already", name.written);
            Diagnostic::error("foreign-table", name.span, message)
                .label(table.span, "here")
                .help("leave this statement out")
        } else if let Some(first) = symbol.declared {
            let message = format!("`{}` is materialized twice", name.written);
            Diagnostic::error("duplicate-table", statement.span, message)
                .label(first.span, "first here")
                .help("keep one of the two statements")
        } else {
            symbol.declared = Some(statement);
            return;
        };
        self.diagnostics.push(found);
    }

    fn functor(&mut self, functor: &Functor, kind: Use) {
        if functor.name.resolved == PERIODIC {
            return; // its shape is checked where it is used
        }
        let symbol = self.symbols.enter(&functor.name);
        if let Some(found) = wrong_columns(symbol, functor) {
            self.diagnostics.push(found);
            return;
        }
        let given = functor.args.len();
        let written = &functor.name.written;
        match symbol.arity {
            None => symbol.arity = Some((given, functor.span)),
            Some((arity, first)) if arity != given => {
                let message = format!("`{written}` is used with {given} columns and with {arity}");
                let found = Diagnostic::error("arity", functor.span, message)
                    .label(first, format!("with {arity} here"))
                    .help("give both uses the same number of arguments, or rename one of them");
                self.diagnostics.push(found);
                return;
            }
            Some(_) => {}
        }
        if let Some(table) = symbol.foreign
            && functor.args.len() == table.columns.len()
            && functor.location.is_some_and(|column| column != 0)
        {
            let message = format!("the location of `{written}` is its first column");
            let found = Diagnostic::error("location-conflict", functor.span, message)
                .label(table.span, "declared here")
                .help(format!("it is {}", table.form));
            self.diagnostics.push(found);
            return;
        }
        let Some(column) = functor.location else { return };
        if kind == Use::Fact && column == 0 {
            return; // a fact's first argument is its location unless other uses say otherwise
        }
        if symbol.system.is_some() && column != 0 {
            let message = format!("the location of `{written}` is its first column");
            let found = Diagnostic::error("location-conflict", functor.span, message)
                .help("mark the first column with `@`; it is a table of the system");
            self.diagnostics.push(found);
            return;
        }
        if !symbol.marks.contains(&column) {
            symbol.marks.push(column);
        }
    }
}

/// The error of a number of columns that no use of the relation could have.
fn wrong_columns(symbol: &Symbol<'_>, functor: &Functor) -> Option<Diagnostic> {
    let (given, written) = (functor.args.len(), &functor.name.written);
    if given == 0 {
        let message = format!("`{written}` has no columns, so it lies nowhere");
        let found = Diagnostic::error("no-location", functor.span, message);
        return Some(found.help(format!("give it a location: `{written}(@N)`")));
    }
    let wrong = |expected: usize| {
        let message = format!("`{written}` has {expected} columns, not {given}");
        Diagnostic::error("arity", functor.span, message)
    };
    let expected = symbol.system.map(|table| table.columns.len());
    if let Some(expected) = expected.filter(|&expected| expected != given) {
        let help = format!("give it {expected} arguments; it is a table of the system");
        return Some(wrong(expected).help(help));
    }
    let table = symbol.foreign.filter(|table| table.columns.len() != given)?;
    let found = wrong(table.columns.len()).label(table.span, "declared here");
    Some(found.help(format!("it is {}", table.form)))
}
