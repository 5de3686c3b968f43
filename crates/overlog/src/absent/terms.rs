//! The terms of a rule: the variables that they need, and those that they bind.

use tidemill_relation::OwnedValue;
use tidemill_relation::expr::Param;
use tidemill_stdx::sorted::{SortedMap, SortedSet};

use super::answer::Wanted;

use super::made::expr;
use crate::ast::{Arg, BinaryOp, Expr, ExprKind, Functor, Ident, Source, Term};
use crate::check::literals::literal_value;

/// The relation that a term is about.
pub(super) fn relation(term: &Term) -> Option<&str> {
    term.functor().map(|it| it.name.resolved.as_str())
}

/// Whether a term is about rows.
pub(super) fn is_predicate(term: &Term) -> bool {
    matches!(term, Term::Predicate(it) if !it.negated)
}

/// All variables of a term.
pub(super) fn variables(term: &Term) -> SortedSet<String> {
    let mut all = SortedSet::new();
    let mut add = |it: &Expr| it.walk(&mut |it| all.extend(it.as_var().map(str::to_owned)));
    let args = |it: &Functor, add: &mut dyn FnMut(&Expr)| {
        it.args.iter().filter_map(Arg::as_expr).for_each(add);
    };
    match term {
        Term::Predicate(it) => args(&it.functor, &mut add),
        Term::Assign(it) => {
            add(&it.expr);
            all.insert(it.var.name.clone());
        }
        Term::Condition(it) => add(it),
        Term::AggView(it) => {
            it.group.iter().chain(&it.result).for_each(&mut add);
            args(&it.of, &mut add);
        }
    }
    all
}

/// The variables that have values where a term holds: not those that occur only in a negated term,
/// or inside an aggregate.
pub(super) fn valued(term: &Term) -> SortedSet<String> {
    match term {
        Term::Predicate(it) if it.negated => SortedSet::new(),
        Term::AggView(_) => gives(term),
        _ => variables(term),
    }
}

/// The variables that a term binds if they have no value.
fn gives(term: &Term) -> SortedSet<String> {
    let mut all = SortedSet::new();
    match term {
        Term::Predicate(it) if !it.negated => {
            it.functor.args.iter().filter_map(Arg::as_expr).for_each(|it| pattern(it, &mut all));
        }
        Term::Assign(it) => drop(all.insert(it.var.name.clone())),
        Term::AggView(it) => it.group.iter().chain(&it.result).for_each(|it| pattern(it, &mut all)),
        Term::Predicate(_) | Term::Condition(_) => {}
    }
    all
}

/// The variables of a pattern.
fn pattern(it: &Expr, all: &mut SortedSet<String>) {
    match &it.kind {
        ExprKind::Var(name) => drop(all.insert(name.clone())),
        ExprKind::List(items) => items.iter().for_each(|it| pattern(it, all)),
        ExprKind::ListPattern(items, tail) => {
            items.iter().for_each(|it| pattern(it, all));
            pattern(tail, all);
        }
        _ => {}
    }
}

/// Whether a term can be evaluated when some variables have values.
fn is_ready(term: &Term, bound: &SortedSet<String>, is_last: bool) -> bool {
    match term {
        // A variable that only such a term names matches anything.
        Term::Predicate(it) if it.negated => is_last || variables(term).is_subset(bound),
        Term::AggView(_) => is_last || variables(term).iter().any(|it| bound.contains(it)),
        _ => {
            let given = gives(term);
            variables(term).iter().all(|it| given.contains(it) || bound.contains(it))
        }
    }
}

/// A term in which node parameters are replaced by expressions of the node's address.
pub(super) fn at_node(term: &Term, address: &Expr) -> Term {
    let mut term = term.clone();
    let functor = |it: &mut Functor| {
        it.args.iter_mut().for_each(|arg| {
            if let Arg::Expr(it) = arg {
                here(it, address);
            }
        });
    };
    match &mut term {
        Term::Predicate(it) => functor(&mut it.functor),
        Term::Assign(it) => here(&mut it.expr, address),
        Term::Condition(it) => here(it, address),
        Term::AggView(it) => {
            it.group.iter_mut().chain(&mut it.result).for_each(|it| here(it, address));
            functor(&mut it.of);
        }
    }
    term
}

fn here(it: &mut Expr, address: &Expr) {
    match &mut it.kind {
        ExprKind::Var(name) if name == Param::Node.name() => *it = address.clone(),
        ExprKind::Var(name) if name == Param::NodeId.name() => {
            let function = Ident { text: "f_sha1".to_owned(), span: it.span };
            it.kind = ExprKind::Call(function, vec![address.clone()]);
        }
        ExprKind::Literal(_) | ExprKind::Var(_) | ExprKind::Fresh => {}
        ExprKind::Unary(_, a) => here(a, address),
        ExprKind::Binary(_, a, b) | ExprKind::VectorIndex(a, b) => {
            [a, b].into_iter().for_each(|it| here(it, address));
        }
        ExprKind::In(a, range) => {
            [&mut **a, &mut range.low, &mut range.high]
                .into_iter()
                .for_each(|it| here(it, address));
        }
        ExprKind::Call(_, all) | ExprKind::List(all) => {
            all.iter_mut().for_each(|it| here(it, address));
        }
        ExprKind::Conditional(a, b, c) | ExprKind::MatrixIndex(a, b, c) => {
            [a, b, c].into_iter().for_each(|it| here(it, address));
        }
        ExprKind::ListPattern(all, tail) => {
            all.iter_mut().chain([&mut **tail]).for_each(|it| here(it, address));
        }
        ExprKind::Matrix(rows) => rows.iter_mut().flatten().for_each(|it| here(it, address)),
    }
}

/// A term in the order of evaluation.
#[derive(Clone, Debug)]
pub(super) struct TermStep {
    /// Which of the terms it is.
    pub term: usize,
    /// The term to evaluate.
    pub probed: Term,
}

/// Terms in an order in which each can be evaluated, given the bound variables; and those that
/// never can.
pub(super) fn order<'t>(
    terms: impl Iterator<Item = (usize, &'t Term)>,
    bound: &mut SortedSet<String>,
) -> (Vec<TermStep>, Vec<usize>) {
    let mut waiting: Vec<(usize, &Term)> = terms.collect();
    let mut steps = Vec::with_capacity(waiting.len());
    while !waiting.is_empty() {
        let ready = |is_last: bool| waiting.iter().position(|(_, it)| is_ready(it, bound, is_last));
        let Some(at) = ready(false).or_else(|| ready(true)) else { break };
        let (term, it) = waiting.remove(at);
        // A variable with a value is compared.
        let probed = match it {
            Term::Assign(it) if bound.contains(&it.var.name) => {
                let variable = expr(ExprKind::Var(it.var.name.clone()));
                let sides = (Box::new(variable), Box::new(it.expr.clone()));
                Term::Condition(expr(ExprKind::Binary(BinaryOp::Eq, sides.0, sides.1)))
            }
            it => it.clone(),
        };
        bound.extend(gives(it));
        steps.push(TermStep { term, probed });
    }
    (steps, waiting.into_iter().map(|(term, _)| term).collect())
}

/// The row that a predicate requires, as far as its columns have values.
pub(super) fn filled(functor: &Functor, values: &SortedMap<String, OwnedValue>) -> Wanted {
    let column = |arg: &Arg| match arg.as_expr()? {
        Expr { kind: ExprKind::Var(name), .. } => values.get(name).cloned(),
        it => literal(it),
    };
    Wanted {
        relation: functor.name.resolved.clone(),
        columns: functor.args.iter().map(column).collect(),
    }
}

/// A predicate with the values that its variables have.
pub(super) fn shown(functor: &Functor, values: &SortedMap<String, OwnedValue>) -> String {
    let column = |(arg, value): (&Arg, Option<OwnedValue>)| match (value, arg.as_expr()) {
        (Some(value), _) => value.get().to_string(),
        (None, Some(Expr { kind: ExprKind::Var(_) | ExprKind::Fresh, .. }) | None) => {
            "_".to_owned()
        }
        (None, Some(other)) => Source(other).to_string(),
    };
    let columns = functor.args.iter().zip(filled(functor, values).columns);
    let columns: Vec<String> = columns.map(column).collect();
    format!("{}({})", functor.name.resolved, columns.join(", "))
}

/// The value of a constant.
pub(super) fn literal(it: &Expr) -> Option<OwnedValue> {
    let ExprKind::Literal(it) = &it.kind else { return None };
    Some(OwnedValue::new(literal_value(it)))
}
