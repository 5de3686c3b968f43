//! Which relations a program has: columns, location and declaration of each.

use std::collections::BTreeMap;

use tidemill_stdx::diag::{Diagnostic, Span};

use super::system::{self, PERIODIC, SystemTable};
use crate::ast::{Functor, Materialize, Name, Program, Statement, Term};
use crate::stage::Registry;

/// The relations of a program, in the order in which they first occur.
#[derive(Default)]
pub(crate) struct Symbols<'a> {
    list: Vec<Symbol<'a>>,
    by_name: BTreeMap<String, usize>,
}

/// One relation as its uses describe it.
pub(crate) struct Symbol<'a> {
    /// Qualified, and as the system calls it.
    pub name: String,
    /// Number of columns, and the use that says so first.
    pub arity: Option<(usize, Span)>,
    /// The column (from 0) marked as the location, and where.
    mark: Option<(usize, Span)>,
    /// Its `materialize`.
    pub declared: Option<&'a Materialize>,
    /// The system's description, where it is the system's.
    pub system: Option<&'static SystemTable>,
    /// A rule, fact or stage of the program yields it.
    pub derived: bool,
}

impl Symbol<'_> {
    /// True if it is stored.
    pub fn is_table(&self) -> bool {
        self.declared.is_some() || self.system.is_some()
    }

    /// The column that holds the location.
    pub fn location(&self) -> usize {
        self.mark.map_or(0, |(column, _)| column)
    }

    /// Number of columns; of relations that are never applied, one more than the greatest key.
    pub fn columns(&self) -> usize {
        if let Some(table) = self.system {
            return table.columns.len();
        }
        let by_key = || {
            let keys = self.declared.map(|declared| &declared.keys.columns);
            keys.into_iter().flatten().max().map_or(1, |&column| column as usize)
        };
        self.arity.map_or_else(by_key, |(arity, _)| arity)
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

    /// True if a functor stands for a stored relation.
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

    /// The column of a functor that holds its location.
    pub fn location_of(&self, functor: &Functor) -> usize {
        self.get(&functor.name.resolved).map_or(0, Symbol::location)
    }

    fn enter(&mut self, name: &Name) -> &mut Symbol<'a> {
        let name = system::canonical(&name.resolved);
        let index = match self.by_name.get(name) {
            Some(&index) => index,
            None => {
                let system = system::find(name);
                self.list.push(Symbol {
                    name: name.to_owned(),
                    arity: None,
                    mark: None,
                    declared: None,
                    system,
                    derived: false,
                });
                self.by_name.insert(name.to_owned(), self.list.len() - 1);
                self.list.len() - 1
            }
        };
        &mut self.list[index]
    }
}

/// Whether a use is a fact, in which an unwritten mark cannot be told from one at the first column.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    Fact,
    Other,
}

/// Gathers all relations; reports uses that disagree.
pub(crate) fn collect<'a>(
    program: &'a Program,
    operators: &Registry,
    diagnostics: &mut Vec<Diagnostic>,
) -> Symbols<'a> {
    let mut collect = Collect { symbols: Symbols::default(), diagnostics };
    for statement in program.flat() {
        collect.statement(statement);
    }
    for statement in program.flat() {
        let Statement::Stage(stage) = statement else { continue };
        if let Some(operator) = operators.find(&stage.operator.text) {
            collect.settle(&stage.input, Some(operator.input_arity()));
            collect.settle(&stage.output, operator.output_arity());
        }
    }
    for statement in program.flat() {
        let Statement::Query(query) = statement else { continue };
        if collect.symbols.get(&query.pattern.name.resolved).is_some() {
            collect.functor(&query.pattern, Use::Other);
        }
    }
    collect.symbols
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
            | Statement::Query(_)
            | Statement::Watch(_)
            | Statement::WatchMod(_)
            | Statement::Trace(_)
            | Statement::TraceTable(_)
            | Statement::Namespace(_) => {}
        }
    }

    /// A relation that no functor shows has as many columns as its stage says.
    fn settle(&mut self, name: &Name, arity: Option<usize>) {
        let symbol = self.symbols.enter(name);
        symbol.arity = symbol.arity.or(arity.map(|arity| (arity, name.span)));
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
        } else if symbol.system.is_some() {
            let message = format!("`{}` is a table of the system already", name.written);
            Diagnostic::warning("system-relation", name.span, message)
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
        let given = functor.args.len();
        let written = &functor.name.written;
        let expected = symbol.system.map(|table| table.columns.len());
        if given == 0 {
            let message = format!("`{written}` has no columns, so it lies nowhere");
            let found = Diagnostic::error("no-location", functor.span, message)
                .help(format!("give it a location: `{written}(@N)`"));
            self.diagnostics.push(found);
            return;
        }
        if let Some(expected) = expected.filter(|&expected| expected != given) {
            let message = format!("`{written}` has {expected} columns, not {given}");
            let found = Diagnostic::error("arity", functor.span, message)
                .help(format!("give it {expected} arguments; it is a table of the system"));
            self.diagnostics.push(found);
            return;
        }
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
        match symbol.mark {
            None => symbol.mark = Some((column, functor.span)),
            Some((marked, first)) if marked != column => {
                let message = format!(
                    "`{written}` has its location in column {} and in column {}",
                    column + 1,
                    marked + 1
                );
                let found = Diagnostic::error("location-conflict", functor.span, message)
                    .label(first, format!("in column {} here", marked + 1))
                    .help("mark the same column with `@` everywhere");
                self.diagnostics.push(found);
            }
            Some(_) => {}
        }
    }
}
