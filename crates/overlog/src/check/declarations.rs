//! Checking statements that are not rules.

use tidemill_diag::{Diagnostic, Span, nearest};

use super::symbols::{Symbol, Symbols};
use super::{expressions, system};
use crate::arrivals;
use crate::ast::{
    Arg, Export, ExprKind, Fact, Functor, Ident, Keys, Literal, Name, Program, Query, Sink, Stage,
    Statement, Watch, WatchMod,
};
use crate::net::address::is_address;
use crate::node::Stages;
use crate::options::Options;
use crate::stage::{Declaration, Missing, Works};

/// Checks all statements but rules.
pub(crate) fn check(
    program: &Program,
    symbols: &Symbols<'_>,
    options: &Options,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let mut check = Check { symbols, options, diagnostics };
    for statement in program.flat() {
        match statement {
            Statement::Materialize(it) => check.keys(&it.name, &it.keys),
            Statement::Index(it) => {
                check.table(&it.name, "an index belongs to a table");
                check.keys(&it.name, &it.keys);
                check.hint(&it.hint);
            }
            Statement::Watch(it) => check.watched(&it.name),
            Statement::Trace(it) => check.traced(it),
            Statement::TraceTable(it) => {
                check.table(&it.name, "`traceTable` follows the changes of a table");
                check.traced(it);
            }
            Statement::WatchMod(it) => check.watchmod(it),
            Statement::Export(it) => check.export(it),
            Statement::Stage(it) => check.stage(it),
            Statement::Sink(it) => check.sink(it),
            Statement::Fact(it) => check.fact(it),
            Statement::Query(it) => check.query(it),
            Statement::Namespace(_) | Statement::Rule(_) => {}
        }
    }
    let is_trace = |it: &Statement| matches!(it, Statement::Trace(_) | Statement::TraceTable(_));
    if !program.flat().any(is_trace) {
        for symbol in symbols.iter() {
            if let (Some(table), Some((_, used))) = (symbol.system, symbol.arity)
                && table.is_recorded()
            {
                check.untraced(table.name, used);
            }
        }
    }
}

struct Check<'a, 'd> {
    symbols: &'a Symbols<'a>,
    options: &'a Options,
    diagnostics: &'d mut Vec<Diagnostic>,
}

impl Check<'_, '_> {
    fn report(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }

    /// A relation may be used by `watch` alone, unless its name looks like a misspelling.
    fn watched(&mut self, name: &Name) {
        let Some(symbol) = self.symbols.get(&name.resolved).filter(|it| it.is_open()) else {
            return;
        };
        if symbol.derived {
            return;
        }
        let others = self.symbols.iter().filter(|one| !one.is_open());
        if let Some(close) = nearest(&name.resolved, others.map(|one| one.name.as_str())) {
            let message = format!("nothing but this is called `{}`", name.written);
            let found = Diagnostic::warning("undefined-relation", name.span, message)
                .help(format!("there is `{close}`"));
            self.report(found);
        }
    }

    /// Warns of names that nothing else mentions: a relation may still come from outside.
    fn known(&mut self, name: &Name) {
        if name.resolved == system::PERIODIC || self.symbols.get(&name.resolved).is_some() {
            return;
        }
        let message = format!("nothing in this program is called `{}`", name.written);
        let found = Diagnostic::warning("undefined-relation", name.span, message);
        self.report(self.suggest(found, name));
    }

    /// Checks the trace of the rules that derive and use a relation.
    fn traced(&mut self, trace: &Watch) {
        self.known(&trace.name);
        let recorded = system::find(&trace.name.resolved).is_some_and(|it| it.is_recorded());
        if recorded {
            let message = format!("`{}` is the record, and not recorded", trace.name.written);
            let found = Diagnostic::warning("trace", trace.name.span, message);
            self.report(found.help("trace the relations whose derivations are wanted"));
        }
    }

    /// Warns of a table of traces that is read although nothing is traced.
    fn untraced(&mut self, name: &str, used: Span) {
        let message = format!("`{name}` stays empty: nothing is traced");
        let found = Diagnostic::warning("trace", used, message);
        self.report(found.help("add `trace(p).` for each relation `p` whose derivations it shows"));
    }

    fn suggest(&self, diagnostic: Diagnostic, name: &Name) -> Diagnostic {
        let names = self.symbols.iter().map(|symbol| symbol.name.as_str());
        match nearest(&name.resolved, names) {
            Some(close) => diagnostic.help(format!("there is `{close}`")),
            None => diagnostic.help("use it in a rule, or take this statement out"),
        }
    }

    fn table(&mut self, name: &Name, why: &str) {
        if self.symbols.get(&name.resolved).is_some_and(Symbol::is_table) {
            return;
        }
        let message = format!("`{}` is no table: {why}", name.written);
        let found = Diagnostic::error("undefined-relation", name.span, message)
            .help(format!("add `materialize({}, infinity, infinity, keys(1)).`", name.written));
        self.report(found);
    }

    fn keys(&mut self, name: &Name, keys: &Keys) {
        let Some(symbol) = self.symbols.get(&name.resolved) else { return };
        let Some((arity, used)) = symbol.arity else { return };
        for &column in &keys.columns {
            if column as usize > arity {
                let message =
                    format!("there is no column {column}: `{}` has {arity}", name.written);
                let found = Diagnostic::error("key-column", keys.span, message)
                    .label(used, format!("with {arity} columns here"))
                    .help("columns count from 1");
                self.report(found);
            }
        }
        let mut sorted = keys.columns.clone();
        sorted.sort_unstable();
        if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            let message = format!("column {} stands here twice", pair[0]);
            self.report(
                Diagnostic::warning("key-column", keys.span, message).help("once is enough"),
            );
        }
    }

    fn hint(&mut self, hint: &Ident) {
        if !matches!(hint.text.as_str(), "hash" | "ordered" | "") {
            let message = format!("there is no kind of index `{}`", hint.text);
            let found = Diagnostic::warning("index-hint", hint.span, message)
                .help("write \"hash\", or \"ordered\" for a range of the last column");
            self.report(found);
        }
    }

    fn watchmod(&mut self, watch: &WatchMod) {
        self.watched(&watch.name);
        if let Err(letter) = Stages::parse(&watch.modes.text) {
            let message = format!("`{letter}` is no stage in the life of a tuple");
            let found = Diagnostic::error("watch-letter", watch.modes.span, message).help(
                "i inserted, r refreshed, d deleted, c received, p periodic, a about to be \
                 added, z about to be deleted, s sent, b before and j after a join, h head",
            );
            self.report(found);
        }
    }

    fn stage(&mut self, stage: &Stage) {
        let name = stage.operator.text.as_str();
        let operator = self.options.operators.find(name);
        let works = operator.as_ref().map(|operator| operator.works).unwrap_or_default();
        for (name, side) in [(&stage.input, "input"), (&stage.output, "output")] {
            let may_be_table = works == Works::Outside && side == "input";
            if !may_be_table && self.symbols.get(&name.resolved).is_some_and(Symbol::is_table) {
                let message =
                    format!("the {side} of a stage is an event, but `{}` is a table", name.written);
                let found = Diagnostic::error("stage-table", name.span, message)
                    .help("name an event, and move tuples between it and the table by a rule");
                self.report(found);
            }
        }
        let Some(operator) = operator else {
            return self.unknown_operator(&stage.operator);
        };
        match (&stage.keys, works) {
            (Some(keys), Works::Outside) => self.keys(&stage.input, keys),
            (Some(keys), Works::Inside) => {
                let message = format!("\"{name}\" has one instance, whatever the key");
                let found = Diagnostic::error("stage-keys", keys.span, message)
                    .help("leave it out: components, `cl:Component`, have an instance for each");
                self.report(found);
            }
            (None, _) => {}
        }
        let leading = self.stage_columns(&stage.input, Some(operator.input_arity()), &operator);
        let yielded = operator.output_arity().map(|arity| arity + leading);
        if self.stage_columns(&stage.output, yielded, &operator) > 0 {
            let name = &stage.output;
            self.stage_arity(name, yielded.unwrap_or_default(), &operator);
        }
    }

    fn unknown_operator(&mut self, operator: &Ident) {
        let quoted = |name: &str| format!("\"{name}\"");
        let registry = &self.options.operators;
        if let Some(Missing { message, help }) = registry.missing(&operator.text) {
            let mut found = Diagnostic::error("unknown-stage", operator.span, message).help(help);
            if let Some(source) = registry.source(&operator.text) {
                found = found.label(source, "declared here");
            }
            return self.report(found);
        }
        let help = match registry.nearest(&operator.text) {
            Some(close) => format!("there is {}", quoted(close)),
            None => {
                let names: Vec<_> =
                    registry.declarations().map(|known| quoted(&known.name)).collect();
                format!("there are {}", names.join(", "))
            }
        };
        let message = format!("there is no operator {}", quoted(&operator.text));
        self.report(Diagnostic::error("unknown-stage", operator.span, message).help(help));
    }

    /// Checks the columns of an event against an operator; returns the number of leading ones.
    fn stage_columns(
        &mut self,
        name: &Name,
        expected: Option<usize>,
        operator: &Declaration,
    ) -> usize {
        let symbol = self.symbols.get(&name.resolved);
        if symbol.is_some_and(Symbol::is_open) && expected.is_none() {
            return 0; // its output is printed, so any columns are allowed
        }
        let Some((given, _)) = symbol.and_then(|symbol| symbol.arity) else {
            let message = format!("nothing says how many columns `{}` has", name.written);
            let found = Diagnostic::error("arity", name.span, message)
                .help("use it in the body of a rule, or watch it");
            self.report(found);
            return 0;
        };
        let Some(expected) = expected else { return 0 };
        let leading = operator.leading_of(given, expected);
        if leading.is_none() {
            self.stage_arity(name, expected, operator);
        }
        leading.unwrap_or(0)
    }

    /// An event of a stage has the wrong number of columns.
    fn stage_arity(&mut self, name: &Name, expected: usize, operator: &Declaration) {
        let symbol = self.symbols.get(&name.resolved);
        let Some((given, used)) = symbol.and_then(|symbol| symbol.arity) else { return };
        let message = format!(
            "\"{}\" needs {expected} columns here, but `{}` has {given}",
            operator.name, name.written
        );
        let mut found = Diagnostic::error("arity", name.span, message)
            .label(used, format!("with {given} here"))
            .help(format!("the operator is {operator}"));
        if let Some(source) = operator.source {
            found = found.label(source, "declared here");
        }
        self.report(found);
    }

    fn fact(&mut self, fact: &Fact) {
        let name = &fact.tuple.name;
        let mut found = Vec::new();
        expressions::functor(&fact.tuple, &mut found);
        if name.resolved == system::PERIODIC {
            found.push(
                Diagnostic::error("periodic-head", name.span, "`periodic` is a timer, not a fact")
                    .help("use it in the body of a rule"),
            );
        }
        if system::find(&name.resolved).is_some_and(|table| !table.is_written_by_rules()) {
            let message = format!("`{}` is filled by the system", name.written);
            found.push(
                Diagnostic::error("system-relation", name.span, message)
                    .help("choose another name"),
            );
        }
        found.extend(self.symbols.filled_by_another(name));
        found.extend(nowhere(&fact.tuple));
        for arg in fact.tuple.args.iter().filter_map(Arg::as_expr) {
            arg.walk(&mut |inner| {
                let text = match &inner.kind {
                    ExprKind::Var(name) if expressions::param(name).is_none() => name.as_str(),
                    ExprKind::Fresh => "_",
                    ExprKind::ListPattern(..) => "a list with a tail",
                    _ => return,
                };
                let message = format!("a fact has values, but `{text}` has none");
                found.push(Diagnostic::error("fact-variable", inner.span, message).help(
                    "write a constant, or NODE, NODE_INDEX, NODE_COUNT, NODE_ID or LANDMARK",
                ));
            });
        }
        self.diagnostics.append(&mut found);
    }

    fn export(&mut self, export: &Export) {
        let name = &export.name;
        if arrivals::is_reserved(system::canonical(&name.resolved)) {
            let message = format!("tuples of `{}` are never taken from the network", name.written);
            self.report(
                Diagnostic::error("system-relation", name.span, message)
                    .help("the system gives them a meaning; export a relation of your own"),
            );
        } else if self.symbols.get(&name.resolved).is_none() {
            let message = format!("nothing in this program is called `{}`", name.written);
            let found = Diagnostic::error("undefined-relation", name.span, message);
            self.report(self.suggest(found, name));
        } else if let Some(found) = self.symbols.filled_by_another(name) {
            self.report(found);
        } else {
            if export.delete {
                self.table(name, "only rows of tables can be deleted");
            }
            self.exported_columns(name);
        }
    }

    /// Warns of an exported table of which only the key is known: rows from other nodes must have
    /// the number of its columns.
    fn exported_columns(&mut self, name: &Name) {
        let Some(symbol) = self.symbols.get(&name.resolved) else { return };
        let is_guessed = symbol.arity.is_none() && symbol.known_columns().is_none();
        if !is_guessed || symbol.declared.is_none() {
            return;
        }
        let guessed = symbol.columns();
        let message = format!(
            "nothing says how many columns `{}` has: by its key {guessed}, and rows of others that \
             have another number are dropped (bad_arity)",
            name.written
        );
        let found = Diagnostic::warning("arity", name.span, message);
        self.report(found.help("use it with all its columns in a rule or a fact"));
    }

    /// Checks a sink: the columns of its relation must be known.
    fn sink(&mut self, sink: &Sink) {
        let name = &sink.name;
        let symbol = self.symbols.get(&name.resolved);
        let is_of_the_system =
            name.resolved == system::PERIODIC || symbol.is_some_and(|it| it.system.is_some());
        if is_of_the_system {
            let message = format!("`{}` is the system's, and goes to no file", name.written);
            let found = Diagnostic::error("system-relation", name.span, message);
            self.report(found.help("have a rule derive an event from it, and name that"));
        } else if symbol.is_none() {
            let message = format!("nothing in this program is called `{}`", name.written);
            let found = Diagnostic::error("undefined-relation", name.span, message);
            self.report(self.suggest(found, name));
        } else if symbol.is_some_and(Symbol::is_open) {
            let message = format!("nothing says how many columns `{}` has", name.written);
            let found = Diagnostic::error("arity", name.span, message);
            self.report(found.help("use it in a rule"));
        }
    }

    fn query(&mut self, query: &Query) {
        let name = &query.pattern.name;
        if self.symbols.get(&name.resolved).is_none() {
            let message = format!("nothing in this program is called `{}`", name.written);
            let found = Diagnostic::error("undefined-relation", name.span, message);
            self.report(self.suggest(found, name));
        }
        expressions::functor(&query.pattern, self.diagnostics);
    }
}

/// The warning about a fact that no node has, as its location is no address.
fn nowhere(tuple: &Functor) -> Option<Diagnostic> {
    let location = tuple.args.get(tuple.location.unwrap_or(0))?.as_expr()?;
    let ExprKind::Literal(literal) = &location.kind else { return None };
    if matches!(literal, Literal::Str(text) if is_address(text)) {
        return None;
    }
    let name = &tuple.name.written;
    let message = format!("no node has this fact: the location of `{name}` is no address");
    let warning = Diagnostic::warning("fact-nowhere", location.span, message);
    let help = "the first column, or the one with `@`, says at which node a tuple is: write \
                `NODE` there for each node, or an address \"host:port\"";
    Some(warning.help(help))
}
