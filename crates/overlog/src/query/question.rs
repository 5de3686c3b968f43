//! The compiled query: a table of the node, its rows that match a pattern, or a program of its own
//! over copies of the tables that it mentions.
//!
//! The rule is compiled as a view of a small program whose tables are declared like the node's.
//! So a query means what a rule means, and nothing of it can touch the node.

use std::fmt;
use std::sync::Arc;

use tidemill_diag::{Diagnostic, FileId, Sources, Span, has_errors, nearest};
use tidemill_relation::expr::Param;
use tidemill_relation::plan::{Plan, Relation};
use tidemill_relation::table::Key;
use tidemill_relation::text::{Pattern, TextError, parse_pattern_of_variables};

use super::failure::Failure;
use crate::ast::{
    Arg, Assign, BinaryOp, Expr, ExprKind, Functor, Keys, Materialize, Name, Program, Rule,
    Statement, Term, Variable,
};
use crate::check::system::{self, SystemTable};
use crate::compile::compile;
use crate::options::Options;
use crate::parse::parse_text;
use crate::pre::{self, MemoryFiles};
use crate::stage::Registry;

/// The head of the small program; no program can write such a name.
pub(super) const HEAD: &str = "query!answer";

/// Terms that the rule of a query may have: it is planned in one step, while others wait.
const TERMS_MAX: usize = 64;

/// A compiled query.
#[derive(Clone, Debug)]
pub(super) enum Question {
    /// The rows of a table, those that match a pattern if there is one.
    Table { name: String, pattern: Option<Pattern> },
    /// A rule.
    Rule { name: String, plan: Plan },
}

impl Question {
    /// Compiles `text` for a node that runs `plan`.
    pub(super) fn read(
        plan: &Plan,
        operators: &Arc<Registry>,
        text: &str,
    ) -> Result<Question, Failure> {
        let text = text.trim();
        if text.contains(":-") {
            return read_rule(plan, operators, text);
        }
        let text = text.trim_end_matches('.').trim_end();
        let pattern = if text.contains('(') { Some(read_pattern(text)?) } else { None };
        let name = pattern.as_ref().map_or(text, |pattern| &pattern.name);
        let name = system::canonical(name.trim_start_matches("::")).to_owned();
        let columns = table(plan, &name).map_err(Failure::wrong)?.arity;
        if let Some(given) = pattern.as_ref().map(|pattern| pattern.terms.len())
            && given != columns
        {
            let reason = format!("`{name}` has {columns} columns, location included, not {given}");
            return Err(Failure::wrong(reason));
        }
        Ok(Question::Table { name, pattern })
    }

    /// Compiles a rule given as a tree, such as part of another.
    pub(super) fn of_rule(
        plan: &Plan,
        operators: &Arc<Registry>,
        rule: Rule,
    ) -> Result<Question, Failure> {
        let mut sources = Sources::new();
        let files = vec![sources.add("query", "")];
        let statements = vec![Statement::Rule(rule)];
        let tree = Program { files, statements, ..Default::default() };
        compiled(plan, operators, tree, &sources)
    }
}

/// Reads the pattern of the rows of a table.
fn read_pattern(text: &str) -> Result<Pattern, Failure> {
    parse_pattern_of_variables(text).map_err(|TextError { offset, message }| {
        let column = text.get(..offset).map_or(0, |before| before.chars().count()) + 1;
        Failure::wrong(format!(
            "query:1:{column}: {message}; a query is the name of a table, a pattern \
             `table(X, 3, _)`, or `head(...) :- body.`"
        ))
    })
}

fn read_rule(plan: &Plan, operators: &Arc<Registry>, text: &str) -> Result<Question, Failure> {
    let mut sources = Sources::new();
    let text = if text.ends_with('.') { text.to_owned() } else { format!("{text}.") };
    let files = MemoryFiles::default();
    let (tree, found) = parse_text("query", &text, &pre::Options::default(), &files, &mut sources);
    if has_errors(&found) {
        return Err(wrong(&sources, &found));
    }
    compiled(plan, operators, tree, &sources)
}

/// The errors among what was found, as lines.
fn wrong(sources: &Sources, found: &[Diagnostic]) -> Failure {
    let errors = found.iter().filter(|one| one.is_error());
    let lines: String = errors.map(|one| sources.render(one)).collect();
    Failure::wrong(lines.trim_end())
}

fn compiled(
    plan: &Plan,
    operators: &Arc<Registry>,
    tree: Program,
    sources: &Sources,
) -> Result<Question, Failure> {
    let (small, name) = small_program(plan, tree).map_err(|found| wrong(sources, &[found]))?;
    let options = Options { operators: operators.clone(), ..Default::default() };
    let (compiled, found) = compile(&small, sources, &options);
    let Some(compiled) = compiled.filter(|_| !has_errors(&found)) else {
        return Err(wrong(sources, &found));
    };
    if !compiled.plan.strands.is_empty() {
        let reason = "a query cannot call functions that depend on time or chance";
        return Err(Failure::wrong(reason));
    }
    Ok(Question::Rule { name, plan: compiled.plan })
}

/// Why a name is that of no table.
#[derive(Clone, PartialEq, Eq, Debug)]
enum NoTable {
    /// It is that of an event.
    Event(String),
    /// It holds what traces record, and the program traces nothing.
    Untraced(String),
    /// There is no relation of that name.
    Unknown {
        name: String,
        /// The table with the nearest name.
        similar: Option<String>,
    },
}

impl fmt::Display for NoTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoTable::Event(name) => write!(f, "`{name}` is an event, whose tuples do not stay"),
            NoTable::Untraced(name) => {
                write!(f, "there is no table `{name}`, as the program has no `trace`")
            }
            NoTable::Unknown { name, similar } => {
                write!(f, "there is no table `{name}`")?;
                match similar {
                    Some(similar) => write!(f, "; is `{similar}` meant?"),
                    None => Ok(()),
                }
            }
        }
    }
}

/// The form of a table that a query names.
struct Form<'p> {
    name: &'p str,
    arity: usize,
    /// The column of the location, from 0.
    location: usize,
    /// The columns of its key, from 1; none if equal rows are several.
    key: Vec<u32>,
}

impl<'p> From<&'p Relation> for Form<'p> {
    fn from(relation: &'p Relation) -> Form<'p> {
        let key = match relation.table().map(|spec| &spec.key) {
            Some(Key::Columns(columns)) => columns.iter().map(|column| column + 1).collect(),
            Some(Key::Bag) | None => Vec::new(),
        };
        let (name, location) = (&relation.name, relation.location as usize);
        Form { name, arity: relation.arity(), location, key }
    }
}

impl From<&SystemTable> for Form<'static> {
    fn from(table: &SystemTable) -> Form<'static> {
        let key = table.key.iter().map(|column| column + 1).collect();
        Form { name: table.name, arity: table.columns.len(), location: 0, key }
    }
}

/// The table that a query names: the node's, or one of the system that the node does not keep.
fn table<'p>(plan: &'p Plan, name: &str) -> Result<Form<'p>, NoTable> {
    let name = system::canonical(name);
    let found = plan.relations.iter().filter(is_visible).find(|relation| relation.name == name);
    match (found, system::find(name)) {
        (Some(relation), _) if relation.table().is_some() => Ok(relation.into()),
        (Some(_), _) => Err(NoTable::Event(name.to_owned())),
        (None, Some(table)) if table.is_of_now() => Ok(table.into()),
        (None, Some(table)) if table.is_recorded() => Err(NoTable::Untraced(name.to_owned())),
        (None, _) => {
            let tables = plan.relations.iter().filter(is_visible);
            let tables = tables.filter(|one| one.table().is_some()).map(|one| one.name.as_str());
            let system = system::TABLES.iter().filter(|table| table.is_of_now());
            let similar = nearest(name, tables.chain(system.map(|table| table.name)));
            Err(NoTable::Unknown { name: name.to_owned(), similar: similar.map(str::to_owned) })
        }
    }
}

/// Tables of the system are hidden from schemas, not from queries.
pub(super) fn is_visible(relation: &&Relation) -> bool {
    !relation.hidden || system::find(&relation.name).is_some()
}

/// The program that evaluates one rule, and the name of the rule's head.
fn small_program(plan: &Plan, tree: Program) -> Result<(Program, String), Diagnostic> {
    let file = tree.files.first().copied().unwrap_or(FileId(0));
    let span = tree.statements.first().map_or(Span { file, start: 0, end: 0 }, Statement::span);
    let mut statements = tree.statements.into_iter();
    let mut rule = match (statements.next(), statements.next()) {
        (Some(Statement::Rule(rule)), None) if !rule.delete => rule,
        _ => {
            let message = "a query is one rule `head(...) :- body.`";
            return Err(Diagnostic::error("query-form", span, message));
        }
    };
    if rule.body.len() > TERMS_MAX {
        let message = format!("a query has at most {TERMS_MAX} terms");
        return Err(Diagnostic::error("query-size", rule.span, message));
    }
    let name = rule.head.name.written.clone();
    let mut mentioned = Vec::new();
    locate_here(plan, &mut rule, &mut mentioned)?;
    let span = rule.span;
    let mut statements: Vec<Statement> =
        mentioned.iter().map(|relation| declaration(relation, span)).collect();
    statements.push(Statement::Materialize(Materialize {
        name: rule.head.name.clone(),
        lifetime: None,
        size: None,
        keys: Keys { columns: (1..=rule.head.args.len() as u32).collect(), span },
        lifetime_span: span,
        size_span: span,
        span,
    }));
    statements.push(Statement::Rule(rule));
    let program = Program { files: tree.files, statements, macro_uses: tree.macro_uses };
    Ok((program, name))
}

/// Locates all predicates of a rule at this node, gives its head a location before its columns, and
/// collects the tables that it mentions.
fn locate_here<'p>(
    plan: &'p Plan,
    rule: &mut Rule,
    mentioned: &mut Vec<Form<'p>>,
) -> Result<(), Diagnostic> {
    let mut equal = Vec::new();
    for term in &mut rule.body {
        let Some(functor) = term.functor_mut() else { continue };
        let relation = table(plan, &functor.name.resolved).map_err(|none| {
            Diagnostic::error("query-table", functor.name.span, none.to_string())
        })?;
        if functor.args.len() != relation.arity {
            let (name, columns) = (relation.name, relation.arity);
            let given = functor.args.len();
            let message = format!("`{name}` has {columns} columns, location included, not {given}");
            return Err(Diagnostic::error("query-table", functor.span, message));
        }
        equal.extend(replace_location(functor, relation.location));
        if mentioned.iter().all(|known| known.name != relation.name) {
            mentioned.push(relation);
        }
    }
    // A location variable is a name for this node; a constant must be its address.
    let mut named: Vec<String> = Vec::new();
    for place in equal.into_iter().rev() {
        let span = place.span;
        let term = match place.kind {
            ExprKind::Fresh => continue,
            ExprKind::Var(name) if name == Param::Node.name() || named.contains(&name) => continue,
            ExprKind::Var(name) => {
                named.push(name.clone());
                Term::Assign(Assign { var: Variable { name, span }, expr: here(span), span })
            }
            kind => {
                let sides = (Box::new(Expr { kind, span }), Box::new(here(span)));
                let kind = ExprKind::Binary(BinaryOp::Eq, sides.0, sides.1);
                Term::Condition(Expr { kind, span })
            }
        };
        rule.body.insert(0, term);
    }
    let head = &mut rule.head;
    let span = head.span;
    head.args.insert(0, Arg::Expr(here(span)));
    head.location = Some(0);
    head.name = Name { written: HEAD.to_owned(), resolved: HEAD.to_owned(), span };
    Ok(())
}

/// Puts `NODE` into the location column of a predicate, the one marked with `@` if the relation
/// has its location there in some rules; returns the old location.
fn replace_location(functor: &mut Functor, location: usize) -> Option<Expr> {
    let place = functor.location.unwrap_or(location);
    functor.location = Some(place);
    match functor.args.get_mut(place)? {
        Arg::Expr(expr) => {
            let span = expr.span;
            Some(std::mem::replace(expr, here(span)))
        }
        Arg::Aggregate(_) => None,
    }
}

fn here(span: Span) -> Expr {
    Expr { kind: ExprKind::Var(Param::Node.name().to_owned()), span }
}

/// A declaration of a table like the node's, without lifetime.
fn declaration(table: &Form<'_>, span: Span) -> Statement {
    let name = Name { written: table.name.to_owned(), resolved: table.name.to_owned(), span };
    Statement::Materialize(Materialize::endless(name, table.key.clone()))
}
