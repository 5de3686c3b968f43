//! Sequential objects written as rules, with which histories are compared.
//!
//! ```text
//! initial(0).
//! step(State, "read", _, State, State).
//! step(State, "add", N, _, State + N) :- N > 0.
//! ```
//! `step(State, Operation, Argument, Result, Next)` says that in State an operation may have this
//! result and lead to Next. The first three are given; a Result that is bound nowhere is any. The
//! rules become a program of one node, whose views answer inserted questions:
//!
//! ```text
//! answer(@N, Id, false, State, State) :- question(@N, Id, State, "read", _).
//! answer(@N, Id, true, null, State + N) :- question(@N, Id, State, "add", N), N > 0.
//! ```

use tidemill_diag::{Diagnostic, Sources, Span, has_errors};
use tidemill_relation::plan::RelationId;

use crate::ast::{Arg, Expr, ExprKind, Fact, Functor, Literal, Materialize, Name, Predicate};
use crate::ast::{Program, Rule, Statement, Term};
use crate::check::rule::unlabelled;
use crate::compile;
use crate::options::Options;
use crate::program::Compiled;

/// The relation of its rules.
const STEP: &str = "step";
/// The columns of that.
const STEP_COLUMNS: usize = 5;
/// The relation of its first state.
const INITIAL: &str = "initial";

/// The tables of the program that it becomes. No program can have these names.
const QUESTION: &str = "step#question";
const ANSWER: &str = "step#answer";
const START: &str = "step#initial";

/// The variables of the location and of a question's number. No program can have these names.
const NODE: &str = "#Node";
const ID: &str = "#Id";

/// The address of its node.
pub const ADDRESS: &str = "model";

const HELP: &str = "a model has rules `step(State, Operation, Argument, Result, Next)`, whose \
                    bodies are conditions and assignments, and perhaps a fact `initial(State)`";

/// A sequential object, as the program of one node.
#[derive(Clone, PartialEq, Debug)]
pub struct Sequential {
    /// The program.
    pub compiled: Compiled,
    /// The table of questions: the location, a number, a state, an operation and its argument.
    pub question: RelationId,
    /// The view of answers: the location, the number, whether any result fits, the result, and the
    /// next state.
    pub answer: RelationId,
    /// The table of the first state, which is its second column; null if there is no row.
    pub start: RelationId,
    /// The operations that may change the state, `None` for any.
    pub changing: Vec<Option<String>>,
}

/// Compiles the rules of a sequential object, which come from a file.
///
/// Returns it unless there is an error among the diagnostics.
pub fn compile_sequential(
    program: &Program,
    sources: &Sources,
) -> (Option<Sequential>, Vec<Diagnostic>) {
    let Some(&file) = program.files.first() else { return (None, Vec::new()) };
    let span = Span { file, start: 0, end: 0 };
    let statements = declarations(span);
    let (found, changing) = (Vec::new(), Vec::new());
    let mut rewriting = Rewriting { statements, found, start: None, changing };
    for (position, statement) in program.flat().enumerate() {
        rewriting.add(statement, position);
    }
    let Rewriting { statements, mut found, changing, .. } = rewriting;
    let is_step = |statement: &Statement| matches!(statement, Statement::Rule(_));
    if !has_errors(&found) && !statements.iter().any(is_step) {
        found.push(Diagnostic::error("model", span, "the model has no `step`").help(HELP));
    }
    // What has no error yet may have errors of its own.
    let (files, macro_uses) = (program.files.clone(), program.macro_uses.clone());
    let program = Program { files, statements, macro_uses };
    let (compiled, more) = compile(&program, sources, &Options::default());
    found.extend(more);
    let sequential = compiled.and_then(|compiled| {
        let find = |name| compiled.plan.find(name);
        let (question, answer, start) = (find(QUESTION)?, find(ANSWER)?, find(START)?);
        Some(Sequential { compiled, question, answer, start, changing })
    });
    (sequential.filter(|_| !has_errors(&found)), found)
}

fn name(written: &str, resolved: &str, span: Span) -> Name {
    Name { written: written.to_owned(), resolved: resolved.to_owned(), span }
}

/// The declarations of the tables.
fn declarations(span: Span) -> Vec<Statement> {
    let table = |resolved: &str, key: u32| {
        let name = name(resolved, resolved, span);
        Statement::Materialize(Materialize::endless(name, (1..=key).collect()))
    };
    vec![table(QUESTION, 2), table(ANSWER, 5), table(START, 1)]
}

struct Rewriting {
    statements: Vec<Statement>,
    found: Vec<Diagnostic>,
    /// Where the first state is given.
    start: Option<Span>,
    /// The operations of rules that do not repeat the state.
    changing: Vec<Option<String>>,
}

impl Rewriting {
    fn add(&mut self, statement: &Statement, position: usize) {
        match statement {
            Statement::Rule(rule) if rule.head.name.resolved == STEP => self.step(rule, position),
            Statement::Fact(fact) if fact.tuple.name.resolved == STEP => {
                let Fact { label, tuple, span } = fact.clone();
                let rule = Rule { label, delete: false, head: tuple, body: Vec::new(), span };
                self.step(&rule, position);
            }
            Statement::Fact(fact) if fact.tuple.name.resolved == INITIAL => self.initial(fact),
            Statement::Namespace(_) => {}
            other => self.refuse(other.span(), "this is not part of a model"),
        }
    }

    fn refuse(&mut self, span: Span, message: &str) {
        self.found.push(Diagnostic::error("model", span, message).help(HELP));
    }

    /// The first state.
    fn initial(&mut self, fact: &Fact) {
        let span = fact.span;
        if let Some(first) = self.start.replace(span) {
            let again = Diagnostic::error("model", span, "a model has one `initial` state");
            self.found.push(again.label(first, "as here"));
        }
        let [state] = &fact.tuple.args[..] else {
            return self.refuse(fact.tuple.span, "`initial` has one column");
        };
        let node = Expr { kind: ExprKind::Var("NODE".to_owned()), span };
        let args = vec![Arg::Expr(node), state.clone()];
        let tuple = Functor::new(name(INITIAL, START, span), Some(0), args, span);
        self.statements.push(Statement::Fact(Fact { label: None, tuple, span }));
    }

    fn step(&mut self, rule: &Rule, position: usize) {
        let Rule { head, span, .. } = rule;
        if head.args.len() != STEP_COLUMNS {
            return self.refuse(head.span, "`step` has five columns");
        }
        if rule.delete {
            return self.refuse(*span, "a model deletes nothing");
        }
        let before = self.found.len();
        for term in rule.body.iter().filter(|term| term.functor().is_some()) {
            self.refuse(term.span(), "the rules of a model read no relations");
        }
        let columns: Vec<&Expr> = head.args.iter().filter_map(Arg::as_expr).collect();
        let [state, operation, argument, result, next] = columns[..] else {
            return self.refuse(head.span, "`step` has no aggregates");
        };
        if self.found.len() > before {
            return;
        }
        if state.as_var().is_none_or(|state| next.as_var() != Some(state)) {
            self.changing.push(match &operation.kind {
                ExprKind::Literal(Literal::Str(name)) => Some(name.clone()),
                _ => None,
            });
        }
        let given = [state, operation, argument];
        let is_any = is_any(result, &given, &rule.body);
        let literal = |literal| Expr { kind: ExprKind::Literal(literal), span: head.span };
        let variable = |name: &str| Expr { kind: ExprKind::Var(name.to_owned()), span: head.span };
        let functor = |written: &str, resolved: &str, columns: Vec<Expr>| {
            let place = [variable(NODE), variable(ID)];
            let args = place.into_iter().chain(columns).map(Arg::Expr).collect();
            Functor::new(name(written, resolved, head.name.span), Some(0), args, head.span)
        };
        let question = functor(STEP, QUESTION, given.map(Expr::clone).to_vec());
        let result = if is_any { literal(Literal::Null) } else { result.clone() };
        let answer = vec![literal(Literal::Bool(is_any)), result, next.clone()];
        let (negated, functor) = (false, functor(STEP, ANSWER, answer));
        let asked = Term::Predicate(Predicate { negated, functor: question, span: head.span });
        let label = rule.label.clone().unwrap_or_else(|| {
            let label = unlabelled(position);
            name(&label, &label, head.span)
        });
        self.statements.push(Statement::Rule(Rule {
            label: Some(label),
            delete: false,
            head: functor,
            body: [asked].into_iter().chain(rule.body.iter().cloned()).collect(),
            span: *span,
        }));
    }
}

/// Whether the result of a step is any: a variable that neither the given columns nor the body
/// bind, or `_`.
fn is_any(result: &Expr, given: &[&Expr], body: &[Term]) -> bool {
    let Some(variable) = result.as_var() else { return matches!(result.kind, ExprKind::Fresh) };
    let mut is_bound = false;
    for expr in given {
        expr.walk(&mut |part| is_bound |= part.as_var() == Some(variable));
    }
    let assigns = |term: &Term| matches!(term, Term::Assign(it) if it.var.name == variable);
    !is_bound && !body.iter().any(assigns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::parse_text;
    use crate::pre::{self, Disk};

    fn compiled(text: &str) -> (Option<Sequential>, Vec<String>) {
        let mut sources = Sources::default();
        let options = pre::Options::default();
        let (program, mut found) = parse_text("m.olg", text, &options, &Disk, &mut sources);
        let (model, more) = compile_sequential(&program, &sources);
        found.extend(more);
        let shown = |one: &Diagnostic| format!("{}: {}", one.code, one.message);
        (model, found.iter().map(shown).collect())
    }

    #[test]
    fn steps_are_views_over_questions() {
        let text = "initial([]).\n\
                    s1 step(S, \"enqueue\", V, _, f_append(V, S)).\n\
                    step(S, \"dequeue\", A, R, N) :- f_size(S) > 0, R := f_first(S), \
                    N := f_cdr(S).\n\
                    step(S, \"peek\", _, S, S).";
        let (model, found) = compiled(text);
        assert_eq!(found, Vec::<String>::new());
        let model = model.expect("a model");
        assert_eq!(model.compiled.facts.len(), 1);
        let names: Vec<_> = model.compiled.plan.rules.iter().map(|rule| &rule.name[..]).collect();
        assert_eq!(names, ["s1", "rule3", "rule4"]);
        let changing: Vec<_> = model.changing.iter().flatten().map(String::as_str).collect();
        assert_eq!(changing, ["enqueue", "dequeue"]);
    }

    #[test]
    fn what_is_no_model_is_an_error() {
        let cases = [
            ("", "model: the model has no `step`"),
            ("step(S, \"read\", S).", "model: `step` has five columns"),
            ("p(@X, Y) :- q(@X, Y).", "model: this is not part of a model"),
            (
                "initial(1). initial(2). step(S, O, A, R, S).",
                "model: a model has one `initial` state",
            ),
            ("step(S, O, A, R, S) :- p(S).", "model: the rules of a model read no relations"),
            ("step(S, O, A, R, Z).", "unbound-variable: `Z` has no value"),
        ];
        for (text, expected) in cases {
            let (model, found) = compiled(text);
            assert!(model.is_none(), "{text}");
            assert_eq!(found, [expected], "{text}");
        }
        let (model, found) = compiled("initial(1, 2). step(S, O, A, R, Z). step(S).");
        assert!(model.is_none());
        let all = [
            "model: `initial` has one column",
            "model: `step` has five columns",
            "unbound-variable: `Z` has no value",
        ];
        assert_eq!(found, all);
    }
}
