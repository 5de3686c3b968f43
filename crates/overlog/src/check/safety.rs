//! Safety: every variable of a rule gets its value from somewhere.
//!
//! A variable is bound by a predicate that is not negated, by an aggregate over a table, or by an
//! assignment whose own variables are bound. The order of terms does not matter for that, but an
//! assignment may not name a variable that stands in a predicate before it. Variables that occur in
//! one `notin` alone match anything.

use tidemill_diag::{Diagnostic, Span};
use tidemill_stdx::sorted::{SortedMap, SortedSet};

use super::expressions;
use super::shape::events;
use super::symbols::Symbols;
use crate::ast::{
    AggView, Aggregate, AggregateOver, Arg, Assign, BinaryOp, Expr, ExprKind, Functor, Rule, Term,
};

/// Checks that all variables of a rule are bound.
pub(crate) fn check(rule: &Rule, symbols: &Symbols<'_>, found: &mut Vec<Diagnostic>) {
    let mut safety = Safety {
        rule,
        symbols,
        bound: bound_by_body(rule, symbols),
        reported: SortedSet::new(),
        found,
    };
    safety.assignments();
    rule.body.iter().for_each(|term| safety.term(term));
    rule.head.args.iter().for_each(|arg| safety.head(arg));
    safety.aggregates();
}

/// All variables that get a value in the body.
fn bound_by_body<'r>(rule: &'r Rule, symbols: &Symbols<'_>) -> SortedSet<&'r str> {
    let mut bound = SortedSet::new();
    for term in &rule.body {
        match term {
            Term::Predicate(predicate) if !predicate.negated => {
                bind_functor(&predicate.functor, &mut bound);
            }
            Term::AggView(view) => {
                let all = view.group.iter().chain(&view.result).filter_map(Expr::as_var);
                bound.extend(all);
                bound.extend(location_var(&view.of, symbols));
            }
            _ => {}
        }
    }
    close(rule, &mut bound);
    bound
}

/// The variable that a functor marks as its location.
fn location_var<'r>(functor: &'r Functor, symbols: &Symbols<'_>) -> Option<&'r str> {
    let column = symbols.location_of(functor);
    functor.args.get(column).and_then(Arg::as_expr).and_then(Expr::as_var)
}

fn bind_functor<'r>(functor: &'r Functor, bound: &mut SortedSet<&'r str>) {
    for expr in functor.args.iter().filter_map(Arg::as_expr) {
        bind_pattern(expr, bound);
    }
}

fn bind_pattern<'r>(expr: &'r Expr, bound: &mut SortedSet<&'r str>) {
    match &expr.kind {
        ExprKind::Var(name) => {
            bound.insert(name);
        }
        ExprKind::List(elements) => elements.iter().for_each(|one| bind_pattern(one, bound)),
        ExprKind::ListPattern(elements, tail) => {
            elements.iter().for_each(|one| bind_pattern(one, bound));
            bind_pattern(tail, bound);
        }
        _ => {}
    }
}

/// Adds what assignments can compute.
fn close<'r>(rule: &'r Rule, bound: &mut SortedSet<&'r str>) {
    loop {
        let before = bound.len();
        for term in &rule.body {
            let Term::Assign(Assign { var, expr, .. }) = term else { continue };
            if unbound(expr, bound).is_none() {
                bound.insert(&var.name);
            }
        }
        if bound.len() == before {
            return;
        }
    }
}

/// The first variable of an expression that is not bound.
fn unbound<'e>(expr: &'e Expr, bound: &SortedSet<&str>) -> Option<(&'e str, Span)> {
    let mut first = None;
    expr.walk(&mut |inner| {
        if let ExprKind::Var(name) = &inner.kind
            && !bound.contains(name.as_str())
            && expressions::param(name).is_none()
        {
            first = first.or(Some((name.as_str(), inner.span)));
        }
    });
    first
}

struct Safety<'r, 'd> {
    rule: &'r Rule,
    symbols: &'r Symbols<'r>,
    bound: SortedSet<&'r str>,
    reported: SortedSet<String>,
    found: &'d mut Vec<Diagnostic>,
}

impl<'r> Safety<'r, '_> {
    fn unbound(&mut self, name: &str, span: Span, help: String) {
        if self.reported.insert(name.to_owned()) {
            let message = format!("`{name}` has no value");
            self.found.push(Diagnostic::error("unbound-variable", span, message).help(help));
        }
    }

    fn uses(&mut self, expr: &Expr) {
        if let Some((name, span)) = unbound(expr, &self.bound) {
            let help = format!("let a predicate of the body bind `{name}`, or assign it with `:=`");
            self.unbound(name, span, help);
        }
    }

    fn head(&mut self, arg: &Arg) {
        match arg {
            Arg::Expr(expr) => self.uses(expr),
            Arg::Aggregate(aggregate) => {
                if let AggregateOver::Var(var) = &aggregate.over
                    && !self.bound.contains(var.name.as_str())
                    && expressions::param(&var.name).is_none()
                {
                    let help = "an aggregate ranges over a variable of the body".to_owned();
                    self.unbound(&var.name, var.span, help);
                }
                aggregate.limit.iter().for_each(|limit| self.uses(limit));
            }
        }
    }

    fn term(&mut self, term: &'r Term) {
        match term {
            Term::Predicate(predicate) => {
                for expr in predicate.functor.args.iter().filter_map(Arg::as_expr) {
                    match predicate.negated {
                        true if expr.as_var().is_some() => {}
                        true => self.uses(expr),
                        false => self.pattern(expr),
                    }
                }
                if predicate.negated {
                    self.negated_location(&predicate.functor);
                }
            }
            Term::Assign(assign) => self.uses(&assign.expr),
            Term::Condition(condition) => self.condition(condition),
            Term::AggView(view) => self.aggregate_view(view),
        }
    }

    /// Variables of a pattern are bound by it; those inside an expression are not.
    fn pattern(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Var(_) | ExprKind::Fresh => {}
            ExprKind::List(elements) => elements.iter().for_each(|one| self.pattern(one)),
            ExprKind::ListPattern(elements, tail) => {
                elements.iter().for_each(|one| self.pattern(one));
                self.pattern(tail);
            }
            _ => self.uses(expr),
        }
    }

    fn negated_location(&mut self, functor: &Functor) {
        let column = self.symbols.location_of(functor);
        if let Some(expr) = functor.args.get(column).and_then(Arg::as_expr) {
            self.uses(expr);
        }
    }

    fn condition(&mut self, condition: &Expr) {
        if let ExprKind::Binary(BinaryOp::Eq, left, right) = &condition.kind {
            for (var, other) in [(left, right), (right, left)] {
                let Some(name) = var.as_var() else { continue };
                let free = !self.bound.contains(name) && expressions::param(name).is_none();
                if free && unbound(other, &self.bound).is_none() {
                    let help = format!("`==` compares; to give `{name}` a value write `:=`");
                    self.unbound(name, var.span, help);
                }
            }
        }
        self.uses(condition);
    }

    /// The group and the value come from the table; its other variables are local.
    fn aggregate_view(&mut self, view: &AggView) {
        let mut inside = SortedSet::new();
        bind_functor(&view.of, &mut inside);
        for expr in &view.group {
            let Some(name) = expr.as_var() else { continue };
            if !inside.contains(name) {
                let message = format!("`{name}` is no variable of `{}`", view.of.name.written);
                self.found.push(
                    Diagnostic::error("aggregate", expr.span, message)
                        .help("groups are made of the variables of the table"),
                );
            }
        }
        let input = view.result.first().and_then(Expr::as_var);
        let counts = matches!(view.func.text.to_ascii_uppercase().as_str(), "COUNT" | "A_COUNT");
        if let (Some(name), Some(first)) = (input, view.result.first())
            && !inside.contains(name)
            && !(counts && view.result.len() == 1)
        {
            let message = format!("`{name}` is no variable of `{}`", view.of.name.written);
            self.found.push(
                Diagnostic::error("aggregate", first.span, message)
                    .help("name the column that is aggregated by the variable of the result"),
            );
        }
        self.aggregate_locals(view, &inside);
    }

    /// A variable of the table that is neither group nor value, but occurs elsewhere in the rule,
    /// looks like a join and is none.
    fn aggregate_locals(&mut self, view: &AggView, inside: &SortedSet<&str>) {
        let known: SortedSet<&str> = view
            .group
            .iter()
            .chain(&view.result)
            .filter_map(Expr::as_var)
            .chain(location_var(&view.of, self.symbols))
            .collect();
        let elsewhere = variables_outside(self.rule, view);
        for &name in inside {
            if known.contains(name) || expressions::param(name).is_some() {
                continue;
            }
            if let Some(&span) = elsewhere.get(name) {
                let message =
                    format!("`{name}` means one thing inside this aggregate and another outside");
                self.found.push(
                    Diagnostic::error("aggregate", view.of.span, message)
                        .label(span, "used here too")
                        .help(format!("add `{name}` to the group, or rename it")),
                );
            }
        }
    }

    /// Reports assignments to variables that have a value already.
    fn assignments(&mut self) {
        let mut seen: SortedSet<&str> = SortedSet::new();
        for term in &self.rule.body {
            match term {
                Term::Predicate(predicate) if !predicate.negated => {
                    bind_functor(&predicate.functor, &mut seen);
                }
                Term::AggView(view) => {
                    seen.extend(view.group.iter().chain(&view.result).filter_map(Expr::as_var));
                }
                Term::Assign(assign) => {
                    let name = assign.var.name.as_str();
                    if !seen.insert(name) && expressions::param(name).is_none() {
                        let message = format!("`{name}` has a value already");
                        self.found.push(
                            Diagnostic::error("rebound-variable", assign.var.span, message)
                                .help("compare with `==`, or assign to another variable"),
                        );
                    }
                }
                _ => {}
            }
        }
    }

    /// With an event, what an aggregate is grouped by must come from the event.
    fn aggregates(&mut self) {
        let aggregates = self.rule.head.args.iter().any(|arg| matches!(arg, Arg::Aggregate(_)));
        if !aggregates {
            return;
        }
        let Some(event) = events(self.rule, self.symbols).next() else {
            self.pure_aggregate();
            return;
        };
        let mut known = SortedSet::new();
        bind_functor(&event.functor, &mut known);
        close(self.rule, &mut known);
        for expr in self.rule.head.args.iter().filter_map(Arg::as_expr) {
            let Some((name, span)) = unbound(expr, &known) else { continue };
            if !self.bound.contains(name) {
                continue;
            }
            let label = self.rule.label.as_ref();
            let rule =
                label.map_or("this rule".to_owned(), |name| format!("rule {}", name.written));
            let message = format!(
                "{rule} makes one aggregate for each `{}`, which does not say what `{name}` is",
                event.functor.name.written
            );
            self.found.push(
                Diagnostic::error("aggregate-group", span, message)
                    .label(event.functor.span, "the event")
                    .help(self.instead_of_group(name)),
            );
        }
    }

    /// The help for a head that has `name` beside an aggregate for each event.
    fn instead_of_group(&self, name: &str) -> String {
        let least = self.rule.head.args.iter().find_map(|arg| match arg {
            Arg::Aggregate(Aggregate { func, over: AggregateOver::Var(over), .. })
                if ["MIN", "MAX"].iter().any(|it| func.text.eq_ignore_ascii_case(it)) =>
            {
                Some((&func.text, &over.name))
            }
            _ => None,
        });
        match least {
            Some((func, over)) => format!(
                "let the event bring `{name}`; for the `{name}` of the {func} aggregate lists, \
                 which sort by their first element: `L := [{over}, {name}]`, `a_{func}<L>`, and \
                 take `{name}` from the list in a second rule"
            ),
            None => format!("let the event bring `{name}`, or derive it in a second rule"),
        }
    }

    fn pure_aggregate(&mut self) {
        let mut impure = None;
        let mut note = |inner: &Expr| {
            if let ExprKind::Call(name, _) = &inner.kind
                && expressions::function(name).is_some_and(|function| !function.is_pure())
            {
                impure = impure.or(Some(inner.span));
            }
        };
        for term in &self.rule.body {
            match term {
                Term::Assign(assign) => assign.expr.walk(&mut note),
                Term::Condition(condition) => condition.walk(&mut note),
                Term::Predicate(predicate) => {
                    let args = predicate.functor.args.iter().filter_map(Arg::as_expr);
                    args.for_each(|arg| arg.walk(&mut note));
                }
                Term::AggView(_) => {}
            }
        }
        self.rule.head.args.iter().filter_map(Arg::as_expr).for_each(|arg| arg.walk(&mut note));
        if let Some(span) = impure {
            let message = "an aggregate over tables cannot depend on time or chance";
            self.found.push(
                Diagnostic::error("impure-aggregate", span, message)
                    .help("start the rule from an event, such as `periodic(@N, E, 1)`"),
            );
        }
    }
}

/// Variables of a rule but for those of one aggregate term, each with a place.
fn variables_outside<'r>(rule: &'r Rule, except: &AggView) -> SortedMap<&'r str, Span> {
    let mut all = SortedMap::new();
    let mut note = |expr: &'r Expr| {
        expr.walk(&mut |inner| {
            if let ExprKind::Var(name) = &inner.kind {
                all.entry(name.as_str()).or_insert(inner.span);
            }
        });
    };
    rule.head.args.iter().filter_map(Arg::as_expr).for_each(&mut note);
    for term in &rule.body {
        match term {
            Term::Predicate(predicate) => {
                predicate.functor.args.iter().filter_map(Arg::as_expr).for_each(&mut note);
            }
            Term::Assign(assign) => note(&assign.expr),
            Term::Condition(condition) => note(condition),
            Term::AggView(view) if std::ptr::eq(view, except) => {}
            Term::AggView(view) => {
                view.group.iter().chain(&view.result).for_each(&mut note);
                view.of.args.iter().filter_map(Arg::as_expr).for_each(&mut note);
            }
        }
    }
    for arg in &rule.head.args {
        if let Arg::Aggregate(aggregate) = arg
            && let AggregateOver::Var(var) = &aggregate.over
        {
            all.entry(var.name.as_str()).or_insert(var.span);
        }
    }
    all
}
