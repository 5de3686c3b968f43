//! The shape of rules: what may be an event, a table, a head, a location, a negation.

use tidemill_diag::Diagnostic;

use super::symbols::Symbols;
use super::{expressions, system};
use crate::ast::{
    AggView, Arg, Expr, ExprKind, Functor, Literal, Name, Predicate, Rule, Term, UnaryOp,
};

/// The most terms of one body: ordering joins is quadratic.
const TERMS_MAX: usize = 200;
/// The most columns of all predicates of one rule: each may be a variable with a register of its
/// own.
const COLUMNS_MAX: usize = 10_000;

/// Checks the shape of a rule.
pub(crate) fn check(rule: &Rule, symbols: &Symbols<'_>, found: &mut Vec<Diagnostic>) {
    let mut shape = Shape { symbols, found };
    shape.size(rule);
    shape.head(rule);
    shape.events(rule);
    shape.partial_aggregate(rule);
    shape.soft_absence(rule);
    for term in &rule.body {
        match term {
            Term::Predicate(predicate) => shape.predicate(predicate),
            Term::AggView(view) => shape.aggregate_view(view),
            Term::Assign(assign) => shape.no_pattern(&assign.expr),
            Term::Condition(condition) => shape.no_pattern(condition),
        }
    }
}

/// The predicates of a body that are events: not stored, not negated.
pub(crate) fn events<'r>(
    rule: &'r Rule,
    symbols: &Symbols<'_>,
) -> impl Iterator<Item = &'r Predicate> {
    rule.body.iter().filter_map(|term| match term {
        Term::Predicate(predicate)
            if !predicate.negated && !symbols.is_table(&predicate.functor) =>
        {
            Some(predicate)
        }
        _ => None,
    })
}

/// The help for two events, one of which may be a table of a file that was not given.
fn missing(name: &Name) -> String {
    let written = &name.written;
    format!(
        "nothing declares or derives `{written}`: if it is a table, is its file missing? \
         Else materialize one of the two"
    )
}

struct Shape<'a, 'd> {
    symbols: &'a Symbols<'a>,
    found: &'d mut Vec<Diagnostic>,
}

impl Shape<'_, '_> {
    fn report(&mut self, diagnostic: Diagnostic) {
        self.found.push(diagnostic);
    }

    fn size(&mut self, rule: &Rule) {
        let mut columns = rule.head.args.len();
        for term in &rule.body {
            columns += match term {
                Term::Predicate(predicate) => variables(&predicate.functor),
                Term::AggView(view) => variables(&view.of),
                Term::Assign(_) | Term::Condition(_) => 1,
            };
        }
        if rule.body.len() > TERMS_MAX || columns > COLUMNS_MAX {
            let message = format!(
                "this rule is too large: {} terms with {columns} columns; {TERMS_MAX} and \
                 {COLUMNS_MAX} are the most",
                rule.body.len()
            );
            self.report(
                Diagnostic::error("rule-size", rule.head.span, message)
                    .help("split it: derive what some of its terms say in a rule of their own"),
            );
        }
    }

    fn head(&mut self, rule: &Rule) {
        let name = &rule.head.name;
        if name.resolved == system::PERIODIC {
            self.report(
                Diagnostic::error("periodic-head", name.span, "`periodic` is a timer, no head")
                    .help("derive an event of another name"),
            );
        } else if system::find(&name.resolved).is_some_and(|table| !table.is_written_by_rules()) {
            let message = format!("`{}` is filled by the system", name.written);
            self.report(
                Diagnostic::error("system-relation", name.span, message)
                    .help("derive a relation of another name"),
            );
        } else if let Some(found) = self.symbols.filled_by_another(name) {
            self.report(found);
        } else if rule.delete && !self.symbols.is_table(&rule.head) {
            let message = format!("`{}` is an event: there is nothing to delete", name.written);
            let help = format!("materialize `{}`, or leave out `delete`", name.written);
            self.report(Diagnostic::error("delete-event", name.span, message).help(help));
        }
        let location = self.symbols.location_of(&rule.head);
        for (column, arg) in rule.head.args.iter().enumerate() {
            let Arg::Expr(expr) = arg else { continue };
            match &expr.kind {
                ExprKind::Fresh if rule.delete && self.is_free_to_delete(rule, column) => {}
                ExprKind::Fresh if rule.delete => {
                    let message = "`_` stands for a column of the key, which says what to delete";
                    self.report(
                        Diagnostic::error("fresh-in-head", expr.span, message)
                            .help("give the column a value that the body binds"),
                    );
                }
                _ => self.no_pattern(expr),
            }
            if column == location {
                self.head_location(expr);
            }
        }
    }

    /// Whether a column of a `delete` head does not select the row.
    fn is_free_to_delete(&self, rule: &Rule, column: usize) -> bool {
        let Some(symbol) = self.symbols.get(&rule.head.name.resolved) else { return false };
        let is_key = match (symbol.declared, symbol.system) {
            (Some(declared), _) => {
                let keys = &declared.keys.columns;
                keys.is_empty() || keys.contains(&(column as u32 + 1))
            }
            (None, Some(table)) => table.key.contains(&(column as u32)),
            (None, None) => true,
        };
        !is_key && column != self.symbols.location_of(&rule.head)
    }

    fn head_location(&mut self, expr: &Expr) {
        if matches!(expr.kind, ExprKind::Fresh) {
            return; // reported already
        }
        if matches!(
            expr.kind,
            ExprKind::Literal(
                Literal::Int(_) | Literal::Double(_) | Literal::Bool(_) | Literal::Id(_)
            )
        ) {
            let message = "a location is an address, a string `host:port`";
            self.report(
                Diagnostic::error("bad-location", expr.span, message)
                    .help("name the location with a variable or a string"),
            );
        }
    }

    /// Whether nothing declares or yields a relation, which then counts as an event from outside.
    fn is_unknown(&self, predicate: &Predicate) -> bool {
        let name = &predicate.functor.name.resolved;
        let symbol = self.symbols.get(name);
        name != system::PERIODIC && !symbol.is_some_and(|it| it.derived || it.is_table())
    }

    /// At most one event, not negated; at least one positive term.
    fn events(&mut self, rule: &Rule) {
        let mut events = events(rule, self.symbols);
        let first = events.next();
        let others: Vec<_> = events.collect();
        if let Some(first) = first {
            let written = &first.functor.name.written;
            for other in others {
                let message = format!(
                    "two events in one rule: `{written}` and `{}` never happen at once",
                    other.functor.name.written
                );
                let help = match (self.is_unknown(first), self.is_unknown(other)) {
                    (false, true) => missing(&other.functor.name),
                    (true, false) => missing(&first.functor.name),
                    _ => format!(
                        "materialize one of them, or keep what `{written}` brings in a table"
                    ),
                };
                self.report(
                    Diagnostic::error("two-events", other.functor.span, message)
                        .label(first.functor.span, "the first event")
                        .help(help),
                );
            }
        }
        let holds = rule.body.iter().any(|term| match term {
            Term::Predicate(predicate) => !predicate.negated,
            Term::AggView(_) => true,
            Term::Assign(_) | Term::Condition(_) => false,
        });
        if !holds {
            let message = "nothing starts this rule: its body has no predicate that is not negated";
            self.report(
                Diagnostic::error("no-predicate", rule.head.span, message)
                    .help("write a fact, or start from an event such as `periodic(@N, E, 0, 1)`"),
            );
        }
    }

    /// An aggregate view aggregates where its body is. If its head is elsewhere, and the key does
    /// not say where a row comes from, rows of several locations replace each other.
    fn partial_aggregate(&mut self, rule: &Rule) {
        let aggregate = rule.head.args.iter().find_map(|arg| match arg {
            Arg::Aggregate(aggregate) => Some(aggregate),
            Arg::Expr(_) => None,
        });
        let symbol = self.symbols.get(&rule.head.name.resolved);
        let declared = symbol.and_then(|symbol| symbol.declared);
        let (Some(aggregate), Some(declared)) = (aggregate, declared) else { return };
        if events(rule, self.symbols).next().is_some() || declared.keys.columns.is_empty() {
            return;
        }
        let head = rule.head.args.get(self.symbols.location_of(&rule.head));
        let head = head.and_then(Arg::as_expr).and_then(Expr::as_var);
        let places: Vec<&str> = rule.body.iter().filter_map(|term| self.place_of(term)).collect();
        let Some(&home) = places.first() else { return };
        let is_key = |(column, arg): (u32, &Arg)| {
            declared.keys.columns.contains(&column)
                && arg.as_expr().and_then(Expr::as_var) == Some(home)
        };
        let gathered = head.is_some_and(|head| places.contains(&head));
        if gathered || (1..).zip(&rule.head.args).any(is_key) {
            return;
        }
        let (name, function) = (&rule.head.name.written, &aggregate.func.text);
        let message = format!(
            "this {function} is taken at each `{home}` alone: rows of several locations have the \
             same key in `{name}` and replace each other"
        );
        self.report(Diagnostic::warning("partial-aggregate", rule.head.span, message).help(
            format!("make `{home}` a column of the key, or gather the rows at one location first"),
        ));
    }

    /// Rules over soft state only insert. So rows of hard state that were derived from the absence
    /// of a soft row stay when there is one.
    fn soft_absence(&mut self, rule: &Rule) {
        let symbol = |functor: &Functor| self.symbols.get(&functor.name.resolved);
        let is_soft = |functor: &Functor| {
            symbol(functor).and_then(|it| it.declared).is_some_and(|it| it.lifetime.is_some())
        };
        let head = &rule.head;
        let derives_hard = self.symbols.is_table(head) && !is_soft(head) && !rule.delete;
        if !derives_hard || events(rule, self.symbols).next().is_some() {
            return;
        }
        let absent = rule.body.iter().find_map(|term| match term {
            Term::Predicate(it) if it.negated && is_soft(&it.functor) => Some(it),
            _ => None,
        });
        let Some(absent) = absent else { return };
        let (kept, soft) = (&head.name.written, &absent.functor.name.written);
        let message = format!(
            "rows of `{kept}` stay when rows of `{soft}` come: `{soft}` is soft state, and \
             `{kept}` is not"
        );
        self.report(Diagnostic::warning("soft-absence", absent.span, message).help(format!(
            "give `{kept}` a lifetime, or `{soft}` an infinite one and rules that delete its rows"
        )));
    }

    /// The variable with the location of a term of a body.
    fn place_of<'r>(&self, term: &'r Term) -> Option<&'r str> {
        let functor = match term {
            Term::Predicate(predicate) => &predicate.functor,
            Term::AggView(view) => &view.of,
            Term::Assign(_) | Term::Condition(_) => return None,
        };
        functor.args.get(self.symbols.location_of(functor))?.as_expr()?.as_var()
    }

    fn predicate(&mut self, predicate: &Predicate) {
        let functor = &predicate.functor;
        let name = &functor.name;
        if name.resolved == system::PERIODIC {
            self.periodic(predicate);
        } else if predicate.negated && !self.symbols.is_table(functor) {
            let message = format!("`{}` is an event, which cannot be absent", name.written);
            self.report(
                Diagnostic::error("negated-event", predicate.span, message)
                    .help(format!("materialize `{}`", name.written)),
            );
        }
        self.body_location(functor);
        for arg in functor.args.iter().filter_map(Arg::as_expr) {
            if predicate.negated { self.negated_column(arg) } else { self.pattern(arg) }
        }
    }

    /// A column of a predicate: a variable, a list of such, or a value to compare with.
    fn pattern(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Fresh => {}
            ExprKind::List(elements) => elements.iter().for_each(|one| self.pattern(one)),
            ExprKind::ListPattern(elements, tail) => {
                elements.iter().for_each(|one| self.pattern(one));
                self.pattern(tail);
            }
            _ => self.no_pattern(expr),
        }
    }

    fn negated_column(&mut self, expr: &Expr) {
        if matches!(expr.kind, ExprKind::Fresh) {
            return;
        }
        let mut apart = false;
        expr.walk(&mut |inner| {
            apart |= matches!(inner.kind, ExprKind::Fresh | ExprKind::ListPattern(..));
        });
        if apart {
            self.report(
                Diagnostic::error("negated-pattern", expr.span, "`notin` takes no list apart")
                    .help("compare with a list made before: `L := f_cons(H, T), notin p(@N, L)`"),
            );
        }
    }

    /// In a body a location is a variable or a value that every node can compute.
    fn body_location(&mut self, functor: &Functor) {
        let column = self.symbols.location_of(functor);
        let Some(expr) = functor.args.get(column).and_then(Arg::as_expr) else { return };
        let fits = match &expr.kind {
            ExprKind::Var(_) | ExprKind::Literal(Literal::Str(_)) => true,
            ExprKind::Fresh | ExprKind::List(_) | ExprKind::ListPattern(..) => false,
            ExprKind::Literal(_) => false,
            _ => is_constant(expr),
        };
        if !fits {
            let message = format!(
                "column {} of `{}` is its location: a variable or an address",
                column + 1,
                functor.name.written
            );
            self.report(
                Diagnostic::error("bad-location", expr.span, message)
                    .help("put a variable there and compare it in a condition"),
            );
        }
    }

    fn periodic(&mut self, predicate: &Predicate) {
        let functor = &predicate.functor;
        if predicate.negated {
            self.report(
                Diagnostic::error("negated-event", predicate.span, "a timer cannot be absent")
                    .help("leave out `notin`"),
            );
        }
        if !(3..=4).contains(&functor.args.len()) {
            let message = format!("`periodic` takes 3 or 4 arguments, not {}", functor.args.len());
            self.report(
                Diagnostic::error("arity", functor.span, message)
                    .help("`periodic(@N, E, SECONDS)` or `periodic(@N, E, SECONDS, COUNT)`"),
            );
            return;
        }
        if functor.location.is_some_and(|column| column != 0) {
            self.report(
                Diagnostic::error("location-conflict", functor.span, "a timer's location is first")
                    .help("`periodic(@N, E, SECONDS)`"),
            );
        }
        for arg in functor.args[2..].iter().filter_map(Arg::as_expr) {
            if !is_constant(arg) {
                let message = "a timer is set when the node starts: no variable has a value then";
                self.report(
                    Diagnostic::error("periodic-argument", arg.span, message)
                        .help("write a number, or an expression of numbers and NODE_INDEX"),
                );
            } else if matches!(&arg.kind, ExprKind::Literal(literal) if !is_number(literal)) {
                self.report(
                    Diagnostic::error("periodic-argument", arg.span, "a timer takes numbers")
                        .help("`periodic(@N, E, SECONDS)` or `periodic(@N, E, SECONDS, COUNT)`"),
                );
            } else if is_negative(arg) {
                self.report(
                    Diagnostic::error("periodic-argument", arg.span, "a timer counts from 0 up")
                        .help("write a number that is not negative"),
                );
            }
        }
    }

    fn aggregate_view(&mut self, view: &AggView) {
        if !self.symbols.is_table(&view.of) {
            let name = &view.of.name.written;
            let message = format!("an aggregate ranges over a table, but `{name}` is an event");
            self.report(
                Diagnostic::error("aggregate-event", view.of.span, message)
                    .help(format!("materialize `{name}`")),
            );
        }
        self.body_location(&view.of);
        for expr in view.group.iter().chain(&view.result) {
            let variable = matches!(&expr.kind, ExprKind::Var(name)
                if expressions::param(name).is_none());
            if !variable {
                self.report(
                    Diagnostic::error("aggregate", expr.span, "only variables may stand here")
                        .help("`a_MIN((X), (C), p(@N, X, C))`: group by X, the least C"),
                );
            }
        }
        if !(1..=2).contains(&view.result.len()) {
            self.report(
                Diagnostic::error("aggregate", view.span, "an aggregate has one result")
                    .help("`a_MIN((X), (C), p(@N, X, C))`: group by X, the least C"),
            );
        }
    }

    /// Values are required here: `_` and lists with tails are patterns.
    fn no_pattern(&mut self, expr: &Expr) {
        let mut patterns = Vec::new();
        expr.walk(&mut |inner| match inner.kind {
            ExprKind::Fresh => patterns.push((inner.span, "`_` has no value")),
            ExprKind::ListPattern(..) => {
                patterns.push((inner.span, "a list with a tail is a pattern, not a value"));
            }
            _ => {}
        });
        for (span, message) in patterns {
            self.report(
                Diagnostic::error("fresh-in-head", span, message)
                    .help("name the value, or make the list with f_cons"),
            );
        }
    }
}

/// The columns of a predicate and the elements of lists in it.
fn variables(functor: &Functor) -> usize {
    let mut count = 0;
    for expr in functor.args.iter().filter_map(Arg::as_expr) {
        expr.walk(&mut |_| count += 1);
    }
    count
}

/// True if an expression reads nothing but constants and node parameters.
pub(crate) fn is_constant(expr: &Expr) -> bool {
    let mut constant = true;
    expr.walk(&mut |inner| match &inner.kind {
        ExprKind::Var(name) => constant &= expressions::param(name).is_some(),
        ExprKind::Fresh | ExprKind::ListPattern(..) => constant = false,
        _ => {}
    });
    constant
}

fn is_number(literal: &Literal) -> bool {
    matches!(literal, Literal::Int(_) | Literal::Double(_) | Literal::Infinity)
}

fn is_negative(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Literal(Literal::Int(value)) => *value < 0,
        ExprKind::Literal(Literal::Double(value)) => *value < 0.0,
        ExprKind::Unary(UnaryOp::Neg, inner) => {
            matches!(&inner.kind, ExprKind::Literal(Literal::Int(1..)))
        }
        _ => false,
    }
}
