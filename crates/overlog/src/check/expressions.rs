//! Names in expressions: functions, aggregates and reserved variables.

use tidemill_diag::{Diagnostic, nearest};
use tidemill_relation::aggregate::Aggregate;
use tidemill_relation::expr::Param;
use tidemill_relation::function::{FunctionId, catalogue};

use crate::ast::{self, AggregateOver, Arg, Expr, ExprKind, Functor, Ident, Rule, Term};

/// The node parameter of that name.
pub(crate) fn param(name: &str) -> Option<Param> {
    Param::ALL.into_iter().find(|param| param.name() == name)
}

/// The function that a call names.
pub(crate) fn function(name: &Ident) -> Option<FunctionId> {
    let bare = name.text.strip_prefix("f_").unwrap_or(&name.text);
    FunctionId::from_name(bare)
}

/// Checks the names in a rule.
pub(crate) fn check_rule(rule: &Rule, found: &mut Vec<Diagnostic>) {
    functor(&rule.head, found);
    for term in &rule.body {
        match term {
            Term::Predicate(predicate) => functor(&predicate.functor, found),
            Term::Assign(assign) => {
                if let Some(param) = param(&assign.var.name) {
                    let name = param.name();
                    let message = format!("`{name}` is what the node knows of itself");
                    found.push(
                        Diagnostic::error("reserved-variable", assign.var.span, message)
                            .help("assign to a variable of another name"),
                    );
                }
                expr(&assign.expr, found);
            }
            Term::Condition(condition) => expr(condition, found),
            Term::AggView(view) => {
                aggregate_name(&view.func, found);
                functor(&view.of, found);
            }
        }
    }
}

/// Checks the names in the arguments of a functor.
pub(crate) fn functor(functor: &Functor, found: &mut Vec<Diagnostic>) {
    for arg in &functor.args {
        match arg {
            Arg::Expr(arg) => expr(arg, found),
            Arg::Aggregate(arg) => aggregate(arg, found),
        }
    }
}

fn aggregate(aggregate: &ast::Aggregate, found: &mut Vec<Diagnostic>) {
    let Some(function) = aggregate_name(&aggregate.func, found) else { return };
    if aggregate.over == AggregateOver::Star && !function.takes_star() {
        let message = format!("{function} needs a variable, not `*`");
        found.push(
            Diagnostic::error("aggregate", aggregate.span, message)
                .help(format!("write `a_{function}<X>`; only a_COUNT takes `*`")),
        );
    }
    if let Some(limit) = &aggregate.limit {
        expr(limit, found);
        if function != Aggregate::TopK {
            let message = format!("{function} takes one variable");
            found.push(
                Diagnostic::error("aggregate", limit.span, message)
                    .help("only a_TOPK<X, K> takes a second argument"),
            );
        }
    }
}

fn aggregate_name(name: &Ident, found: &mut Vec<Diagnostic>) -> Option<Aggregate> {
    let aggregate = Aggregate::from_name(&name.text);
    if aggregate.is_none() {
        let names = Aggregate::ALL.iter().map(|aggregate| aggregate.name());
        let help = match nearest(&name.text, names.clone()) {
            Some(close) => format!("there is a_{close}"),
            None => format!("there are {}", names.collect::<Vec<_>>().join(", ")),
        };
        let message = format!("there is no aggregate `{}`", name.text);
        found.push(Diagnostic::error("unknown-aggregate", name.span, message).help(help));
    }
    aggregate
}

/// Checks the names in an expression.
pub(crate) fn expr(expr: &Expr, found: &mut Vec<Diagnostic>) {
    expr.walk(&mut |inner| {
        let ExprKind::Call(name, arguments) = &inner.kind else { return };
        let bare = name.text.strip_prefix("f_").unwrap_or(&name.text);
        let Some(id) = FunctionId::from_name(bare) else {
            let help = match nearest(bare, catalogue().iter().map(|function| function.name)) {
                Some(close) => format!("there is f_{close}"),
                None => "`tidemill functions` lists all functions".to_owned(),
            };
            let message = format!("there is no function `{}`", name.text);
            found.push(Diagnostic::error("unknown-function", name.span, message).help(help));
            return;
        };
        let declared = id.function();
        let given = arguments.len();
        let most = declared.arity_max();
        if given < declared.arity_min() || most.is_some_and(|most| given > most) {
            let message = format!("`{}` cannot take {given} arguments", name.text);
            found.push(
                Diagnostic::error("argument-count", inner.span, message)
                    .help(format!("it is {declared}")),
            );
        }
    });
}
