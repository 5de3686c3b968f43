//! Evaluating a query: a program of its own over copies of the tables that it mentions.
//!
//! The rule is compiled as a view of a small program whose tables are declared like the node's
//! and filled with the node's rows. So a query means what a rule means, and nothing of it can
//! touch the node. The price is a copy of the tables it reads.

use std::cmp::Ordering;

use tidemill_relation::database::Database;
use tidemill_relation::expr::{Ambient, EvalError, Param, Scope};
use tidemill_relation::function::closest;
use tidemill_relation::plan::{Plan, Relation, RuleId};
use tidemill_relation::table::{Access, Key, Visible};
use tidemill_relation::view::{Failures, Progress, Views};
use tidemill_relation::{Seq, TupleBuf, Value};
use tidemill_stdx::diag::{Diagnostic, FileId, Sources, Span, has_errors};
use tidemill_stdx::region::Bump;

use crate::ast::{
    Arg, Assign, BinaryOp, Expr, ExprKind, Functor, Keys, Materialize, Name, Program, Rule,
    Statement, Term, Variable,
};
use crate::compile::compile;
use crate::node::{Identity, Node, node_id};
use crate::parse::parse_text;
use crate::pre::{MemoryFiles, Options};

/// Rows that the tables a query reads, and its answer, may have.
const ROWS_MAX: usize = 4_000_000;
/// Bytes that an answer may have.
const BYTES_MAX: usize = 64 << 20;
/// Rounds of evaluation, for queries whose rules do not come to rest.
const ROUNDS_MAX: usize = 1_000_000;

/// The head of the small program; no program can write such a name.
const HEAD: &str = "query!answer";

/// The answer to a query.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The name of the table, or of the rule's head.
    pub name: String,
    rows: TupleBuf<()>,
    order: Vec<usize>,
}

impl Answer {
    /// The rows, sorted by their columns.
    pub fn rows(&self) -> impl Iterator<Item = Seq<'_>> {
        self.order.iter().filter_map(|&index| Some(self.rows.get(index)?.1))
    }

    fn new(name: &str, rows: TupleBuf<()>) -> Answer {
        let mut order: Vec<usize> = (0..rows.len()).collect();
        let columns = |index| rows.get(index).map_or(Seq::EMPTY, |row: ((), Seq<'_>)| row.1);
        order.sort_by(|&a, &b| compare(columns(a), columns(b)));
        Answer { name: name.to_owned(), rows, order }
    }
}

fn compare(a: Seq<'_>, b: Seq<'_>) -> Ordering {
    let differs = a.iter().zip(b.iter()).map(|(a, b)| a.total_order(&b));
    differs.into_iter().find(|order| order.is_ne()).unwrap_or(a.len().cmp(&b.len()))
}

/// Answers a query from the tables of a node.
///
/// # Errors
/// What is wrong with the query, as lines that name its places.
pub fn evaluate(node: &Node, text: &str) -> Result<Answer, String> {
    let plan = node.program().plan();
    let text = text.trim();
    if !text.contains(":-") {
        return whole_table(node, text.trim_end_matches('.').trim_end());
    }
    let mut sources = Sources::new();
    let text = if text.ends_with('.') { text.to_owned() } else { format!("{text}.") };
    let render = |sources: &Sources, found: &[Diagnostic]| -> String {
        let errors = found.iter().filter(|one| one.is_error());
        errors.map(|one| sources.render(one)).collect::<String>().trim_end().to_owned()
    };
    let files = MemoryFiles::default();
    let (tree, found) = parse_text("query", &text, &Options::default(), &files, &mut sources);
    if has_errors(&found) {
        return Err(render(&sources, &found));
    }
    let (small, name) = small_program(plan, tree).map_err(|found| render(&sources, &[found]))?;
    let (compiled, found) = compile(&small, &sources, &Default::default());
    let Some(compiled) = compiled.filter(|_| !has_errors(&found)) else {
        return Err(render(&sources, &found));
    };
    if !compiled.plan.strands.is_empty() {
        return Err("a query cannot call functions that depend on time or chance".to_owned());
    }
    let rows = run(node, &compiled.plan)?;
    Ok(Answer::new(&name, rows))
}

/// The table of the node that a query names.
fn table<'p>(plan: &'p Plan, name: &str) -> Result<&'p Relation, String> {
    let found = plan.relations.iter().filter(is_visible).find(|relation| relation.name == name);
    match found {
        Some(relation) if relation.table().is_some() => Ok(relation),
        Some(_) => Err(format!("`{name}` is an event, whose tuples do not stay")),
        None => {
            let tables =
                plan.relations.iter().filter(is_visible).filter(|one| one.table().is_some());
            let similar = closest(name, tables.map(|one| one.name.as_str()));
            let hint = similar.first().map(|one| format!("; is `{one}` meant?"));
            Err(format!("there is no table `{name}`{}", hint.unwrap_or_default()))
        }
    }
}

/// Tables of the system are hidden from schemas, not from queries.
fn is_visible(relation: &&Relation) -> bool {
    let name = &relation.name;
    !relation.hidden || name.starts_with("sys::") || name.starts_with("sim::")
}

fn whole_table(node: &Node, name: &str) -> Result<Answer, String> {
    let plan = node.program().plan();
    let name = name.trim_start_matches("::");
    table(plan, name)?;
    let Some(relation) = plan.find(name) else { return Err(format!("no table `{name}`")) };
    let mut rows = TupleBuf::new();
    node.rows(relation, |columns| {
        if rows.bytes() <= BYTES_MAX && rows.len() <= ROWS_MAX {
            rows.push((), columns);
        }
    });
    within_limits(&rows)?;
    Ok(Answer::new(name, rows))
}

fn within_limits(rows: &TupleBuf<()>) -> Result<(), String> {
    match rows.bytes() > BYTES_MAX || rows.len() > ROWS_MAX {
        true => Err(format!("the answer has over {BYTES_MAX} bytes or {ROWS_MAX} rows")),
        false => Ok(()),
    }
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

/// Makes all predicates of a rule speak of this node, gives its head a location before its
/// columns, and gathers the tables that it mentions.
fn locate_here<'p>(
    plan: &'p Plan,
    rule: &mut Rule,
    mentioned: &mut Vec<&'p Relation>,
) -> Result<(), Diagnostic> {
    let mut equal = Vec::new();
    for term in &mut rule.body {
        let functor = match term {
            Term::Predicate(predicate) => &mut predicate.functor,
            Term::AggView(view) => &mut view.of,
            Term::Assign(_) | Term::Condition(_) => continue,
        };
        let relation = table(plan, &functor.name.resolved)
            .map_err(|message| Diagnostic::error("query-table", functor.name.span, message))?;
        if functor.args.len() != relation.arity() {
            let (name, columns) = (&relation.name, relation.arity());
            let given = functor.args.len();
            let message = format!("`{name}` has {columns} columns, location included, not {given}");
            return Err(Diagnostic::error("query-table", functor.span, message));
        }
        if mentioned.iter().all(|known| known.name != relation.name) {
            mentioned.push(relation);
        }
        equal.extend(replace_location(functor, relation));
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

/// Puts `NODE` into the location column of a predicate; gives back what stood there.
fn replace_location(functor: &mut Functor, relation: &Relation) -> Option<Expr> {
    let place = relation.location as usize;
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

/// A declaration of a table like the node's, without end.
fn declaration(relation: &Relation, span: Span) -> Statement {
    let columns = match relation.table().map(|spec| &spec.key) {
        Some(Key::Columns(columns)) => columns.iter().map(|column| column + 1).collect(),
        Some(Key::Bag) | None => Vec::new(),
    };
    Statement::Materialize(Materialize {
        name: Name { written: relation.name.clone(), resolved: relation.name.clone(), span },
        lifetime: None,
        size: None,
        keys: Keys { columns, span },
        lifetime_span: span,
        size_span: span,
        span,
    })
}

/// What a query knows of the node.
struct Here<'n> {
    identity: &'n Identity,
}

impl Ambient for Here<'_> {
    /// Functions that would ask are refused before.
    fn now_ns(&self) -> i64 {
        0
    }

    fn random(&self) -> u64 {
        0
    }

    fn param(&self, param: Param) -> Value<'_> {
        match param {
            Param::Node => Value::Str(&self.identity.address),
            Param::NodeIndex => Value::Int(self.identity.index.into()),
            Param::NodeCount => Value::Int(self.identity.count.into()),
            Param::NodeId => Value::Id(node_id(&self.identity.address)),
            Param::Landmark => Value::Str(&self.identity.landmark),
        }
    }
}

/// Keeps the first reason why a derivation was dropped.
#[derive(Default)]
struct FirstFailure(Option<EvalError>);

impl Failures for FirstFailure {
    fn failed(&mut self, _: RuleId, error: EvalError) {
        self.0.get_or_insert(error);
    }
}

/// Fills the tables of the small program and evaluates it.
fn run(node: &Node, plan: &Plan) -> Result<TupleBuf<()>, String> {
    let (mut views, mut database) = (Views::new(plan), Database::new(plan));
    let theirs = node.program().plan();
    let mut rows_read = 0;
    for relation in plan.relations.iter().filter(is_visible) {
        let Some((from, into)) = theirs.find(&relation.name).zip(plan.find(&relation.name)) else {
            continue;
        };
        if theirs.relation(from).arity() != relation.arity() {
            return Err(format!("`{}` has another number of columns", relation.name));
        }
        node.rows(from, |columns| {
            rows_read += 1;
            if rows_read <= ROWS_MAX {
                views.insert(plan, &mut database, into, columns, 0);
            }
        });
    }
    if rows_read > ROWS_MAX {
        return Err(format!("the tables that it reads have over {ROWS_MAX} rows"));
    }
    let (scratch, here) = (Bump::new(), Here { identity: node.identity() });
    let scope = Scope { scratch: &scratch, ambient: &here };
    let mut failure = FirstFailure::default();
    let mut rounds = 0..ROUNDS_MAX;
    loop {
        match views.step(plan, &mut database, scope, 0, &mut failure) {
            Progress::More if rounds.next().is_some() => {}
            Progress::Done => break,
            _ => return Err("the query derives too much".to_owned()),
        }
    }
    if let FirstFailure(Some(error)) = failure {
        return Err(error.to_string());
    }
    let mut rows = TupleBuf::new();
    let head = plan.find(HEAD).and_then(|head| database.get(head));
    let mut columns = Vec::new();
    for row in head
        .into_iter()
        .flat_map(|head| head.rows(Access::Scan, &[], Visible::Live).map(move |row| (head, row)))
    {
        columns.clear();
        row.0.read_row(row.1, &mut columns);
        if rows.bytes() <= BYTES_MAX && rows.len() <= ROWS_MAX {
            rows.push((), &columns[1..]);
        }
    }
    within_limits(&rows)?;
    Ok(rows)
}
