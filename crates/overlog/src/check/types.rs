//! Types by inference: what each column of each relation, and each variable of a rule, can hold.
//!
//! A column holds what facts, heads, stages and other parts put there; what comes from outside the
//! program alone can be anything. Starting from nothing, rules are applied to sets of types until
//! these no longer grow; then operators and functions are held against what their operands can be.
//! Only what can never apply is an error: a column may hold values of several types.

use tidemill_diag::{Diagnostic, Span};
use tidemill_relation::aggregate::Aggregate;
use tidemill_relation::function::{FunctionId, Misuse};
use tidemill_relation::value::Type;
use tidemill_relation::{TypeSet, Value};
use tidemill_stdx::sorted::SortedMap;

use super::literals::{binary, literal_type, literal_value, param_type, unary};
use super::origins::{Origin, Origins};
use super::rule::CheckedRule;
use super::symbols::{Symbol, Symbols};
use super::{expressions, stages, system};
use crate::ast::{
    AggView, AggregateOver, Arg, BinaryOp, Expr, ExprKind, Functor, Literal, Program, Rule,
    Statement, Term,
};
use crate::exports;
use crate::options::{Given, Options};

/// The inferred types.
#[derive(Default)]
pub(crate) struct Types {
    /// By position among the symbols, by column.
    pub columns: Vec<Vec<TypeSet>>,
    /// By position among the checked rules.
    pub variables: Vec<SortedMap<String, TypeSet>>,
}

/// Infers the types of a program; reports what can never apply.
pub(crate) fn infer(
    program: &Program,
    symbols: &Symbols<'_>,
    rules: &[CheckedRule<'_>],
    options: &Options,
    diagnostics: &mut Vec<Diagnostic>,
) -> Types {
    let columns = start(symbols, &filled(program, options));
    let origins = Origins::new(columns.iter().map(Vec::len));
    let mut infer = Infer { symbols, columns, origins };
    options.given.iter().for_each(|given| infer.given(given));
    infer.facts(program);
    let stages = stages::named(program, symbols, &options.operators);
    loop {
        loop {
            let grown = rules.iter().fold(false, |grown, rule| infer.apply(rule.ast) | grown);
            let yielded = stages.iter().fold(false, |grown, stage| infer.stage(stage) | grown);
            if !grown && !yielded {
                break;
            }
        }
        // Columns that nothing in the program fills may come from outside.
        if !infer.open_empty() {
            break;
        }
    }
    let mut variables = Vec::new();
    for rule in rules {
        let mut judge = Judge {
            found: Some((diagnostics, &infer.origins)),
            vars: SortedMap::new(),
            places: SortedMap::new(),
        };
        let types = infer.rule(rule.ast, &mut judge);
        infer.judge_foreign(&rule.ast.head, &types, &mut judge);
        variables
            .push(judge.vars.into_iter().map(|(name, types)| (name.to_owned(), types)).collect());
    }
    infer.judge_facts(program, diagnostics);
    stages.iter().for_each(|stage| stage.judge(&infer.columns, &infer.origins, diagnostics));
    Types { columns: infer.columns, variables }
}

/// Relations that other parts fill and other nodes do not.
fn filled<'o>(program: &Program, options: &'o Options) -> SortedMap<&'o str, &'o [TypeSet]> {
    let exported = exports::exported(program, options);
    let filled = options.filled.iter().filter(|(name, _)| !exported.contains_key(*name));
    filled.map(|(name, types)| (name.as_str(), types.as_slice())).collect()
}

/// The types before any rule: none for derived relations; for others those that other parts
/// declare, or else any.
fn start(symbols: &Symbols<'_>, given: &SortedMap<&str, &[TypeSet]>) -> Vec<Vec<TypeSet>> {
    let column = |derived: bool| if derived { TypeSet::NONE } else { TypeSet::ANY };
    let columns = symbols.iter().map(|symbol| match symbol.known_columns() {
        Some(columns) => columns.to_vec(),
        None => {
            let mut columns = vec![column(symbol.derived); symbol.columns()];
            let given = given.get(symbol.name.as_str()).filter(|_| !symbol.derived);
            if let Some(given) = given.filter(|given| given.len() + 1 == columns.len()) {
                columns = given.to_vec();
                columns.insert(symbol.location().min(given.len()), TypeSet::ANY);
            }
            if let Some(location) = fixed_location(symbol).and_then(|at| columns.get_mut(at)) {
                *location = TypeSet::TEXT;
            }
            columns
        }
    });
    columns.collect()
}

/// The column that is the location in every use, if there is one.
fn fixed_location(symbol: &Symbol<'_>) -> Option<usize> {
    (!symbol.is_moving()).then(|| symbol.location())
}

/// Whether values of two types can ever be equal in a join.
fn comparable(one: Type, other: Type) -> bool {
    let family = TypeSet::NUMERIC.union(TypeSet::ID);
    one == other || family.contains(one) && family.contains(other)
}

/// The types of a variable that must equal values of both sets.
fn meet(one: TypeSet, other: TypeSet) -> TypeSet {
    let fits = |set: TypeSet, t: Type| set.iter().any(|other| comparable(t, other));
    one.union(other).iter().filter(|&t| fits(one, t) && fits(other, t)).collect()
}

struct Infer<'a> {
    symbols: &'a Symbols<'a>,
    columns: Vec<Vec<TypeSet>>,
    origins: Origins,
}

/// The types of a rule's variables, and where findings go once types no longer grow.
#[derive(Default)]
struct Judge<'r, 'd> {
    found: Option<(&'d mut Vec<Diagnostic>, &'d Origins)>,
    vars: SortedMap<&'r str, TypeSet>,
    /// The column that a variable is first taken from.
    places: SortedMap<&'r str, Origin<'r>>,
}

impl Infer<'_> {
    fn facts(&mut self, program: &Program) {
        for statement in program.flat() {
            let Statement::Fact(fact) = statement else { continue };
            let functor = &fact.tuple;
            let mut judge = Judge::default();
            let args = functor.args.iter().filter_map(Arg::as_expr);
            let types: Vec<TypeSet> = args.clone().map(|arg| judge.expr(arg)).collect();
            let spans: Vec<Span> = args.map(|arg| arg.span).collect();
            if let Some(at) = self.symbols.position(&functor.name.resolved) {
                self.add(at, &types, &spans);
            }
        }
    }

    /// Takes the types that another part declares for an event that it alone fills. For others the
    /// border checks that both sides agree.
    fn given(&mut self, given: &Given) {
        let Some(at) = self.symbols.position(&given.relation) else { return };
        let fits = |symbol: &Symbol<'_>| {
            !symbol.derived && !symbol.is_table() && symbol.columns() == given.columns.len()
        };
        if self.symbols.at(at).is_some_and(fits) {
            let location = self.symbols.at(at).and_then(fixed_location);
            for (column, types) in self.columns[at].iter_mut().enumerate() {
                if Some(column) != location {
                    *types = TypeSet::NONE;
                }
            }
            let (types, spans): (Vec<_>, Vec<_>) = given.columns.iter().copied().unzip();
            self.add(at, &types, &spans);
        }
    }

    /// Adds what a stage yields; true if the types of its output grew.
    fn stage(&mut self, stage: &stages::Named<'_>) -> bool {
        let (types, spans) = stage.yields(&self.columns, &self.origins);
        self.add(stage.output, &types, &spans)
    }

    /// Checks operators and functions in facts against the types of their operands.
    fn judge_facts(&self, program: &Program, diagnostics: &mut Vec<Diagnostic>) {
        let found = Some((diagnostics, &self.origins));
        let mut judge = Judge { found, ..Judge::default() };
        for statement in program.flat() {
            if let Statement::Fact(fact) = statement {
                let args = fact.tuple.args.iter().filter_map(Arg::as_expr);
                let types: Vec<TypeSet> = args.map(|arg| judge.expr(arg)).collect();
                self.judge_foreign(&fact.tuple, &types, &mut judge);
            }
        }
    }

    /// Checks what is written to a table of another part against its declaration.
    fn judge_foreign(&self, functor: &Functor, types: &[TypeSet], judge: &mut Judge<'_, '_>) {
        let symbol = self.symbols.get(&functor.name.resolved);
        let Some(table) = symbol.and_then(|symbol| symbol.foreign) else { return };
        let name = &functor.name.written;
        let columns = functor.args.iter().zip(types).zip(&table.columns).enumerate().skip(1);
        for (at, ((arg, types), known)) in columns {
            if known.meets(*types) || types.is_empty() {
                continue;
            }
            let message = format!("column {} of `{name}` is {known}, and this is {types}", at + 1);
            let help = if known.meets(TypeSet::BYTES) && types.meets(TypeSet::TEXT) {
                "`f_ip` and `f_mac` make the bytes of an address of its text".to_owned()
            } else {
                format!("it is {}", table.form)
            };
            judge.report(|| {
                let found = Diagnostic::error("foreign-table", arg.span(), message);
                found.label(table.span, "declared here").help(help)
            });
        }
    }

    /// Adds types, which come from these places, to the columns of a relation; true if they grew.
    fn add(&mut self, at: usize, types: &[TypeSet], spans: &[Span]) -> bool {
        if self.symbols.at(at).is_some_and(|symbol| symbol.foreign.is_some()) {
            return false; // its declaration gives its types
        }
        let location = self.symbols.at(at).and_then(fixed_location);
        let mut grown = false;
        let given = types.iter().zip(spans);
        for (column, (known, (types, span))) in self.columns[at].iter_mut().zip(given).enumerate() {
            if Some(column) == location {
                continue; // a value that is no address is never shipped
            }
            let all = known.union(*types);
            if all != *known {
                grown = true;
                *known = all;
                self.origins.note(at, column, *span);
            }
        }
        grown
    }

    /// Derives the head's types from the body's; true if they grew.
    fn apply(&mut self, rule: &Rule) -> bool {
        let mut judge = Judge::default();
        let types = self.rule(rule, &mut judge);
        match self.symbols.position(&rule.head.name.resolved) {
            Some(at) if !rule.delete => {
                let source = |arg: &Arg| {
                    let name = arg.as_expr().and_then(Expr::as_var);
                    let place = name.and_then(|name| judge.places.get(name));
                    place.and_then(|it| self.origins.of(it.at?, it.column)).unwrap_or(arg.span())
                };
                let spans: Vec<Span> = rule.head.args.iter().map(source).collect();
                self.add(at, &types, &spans)
            }
            _ => false,
        }
    }

    /// Opens columns that nothing fills; true if there were any.
    fn open_empty(&mut self) -> bool {
        let mut any = false;
        for types in self.columns.iter_mut().flatten().filter(|types| types.is_empty()) {
            *types = TypeSet::ANY;
            any = true;
        }
        any
    }

    fn columns_of(&self, functor: &Functor) -> Vec<TypeSet> {
        if functor.name.resolved == system::PERIODIC {
            return system::PERIODIC_COLUMNS.to_vec();
        }
        let at = self.symbols.position(&functor.name.resolved);
        at.map_or_else(Vec::new, |at| self.columns[at].clone())
    }

    /// The types of the head's columns.
    fn rule<'r>(&self, rule: &'r Rule, judge: &mut Judge<'r, '_>) -> Vec<TypeSet> {
        for term in &rule.body {
            match term {
                Term::Predicate(predicate) if !predicate.negated => {
                    self.bind(&predicate.functor, judge);
                }
                Term::AggView(view) => self.aggregate_view(view, judge),
                _ => {}
            }
        }
        judge.assign(rule);
        for term in &rule.body {
            self.judge_term(term, judge);
        }
        let event = rule.body.iter().any(|term| {
            matches!(term, Term::Predicate(predicate)
            if !predicate.negated && !self.symbols.is_table(&predicate.functor))
        });
        rule.head.args.iter().map(|arg| judge.head(arg, event)).collect()
    }

    /// Variables of a predicate hold what its columns hold.
    fn bind<'r>(&self, functor: &'r Functor, judge: &mut Judge<'r, '_>) {
        let columns = self.columns_of(functor);
        let relation = functor.name.written.as_str();
        let at = self.symbols.position(&functor.name.resolved);
        let args = functor.args.iter().filter_map(Arg::as_expr).zip(columns);
        for (column, (arg, types)) in args.enumerate() {
            judge.bind(arg, types);
            if let Some(name) = arg.as_var() {
                let place = Origin { relation, at, column, span: arg.span };
                judge.places.entry(name).or_insert(place);
            }
        }
    }

    fn aggregate_view<'r>(&self, view: &'r AggView, judge: &mut Judge<'r, '_>) {
        let mut inside = Judge::default();
        self.bind(&view.of, &mut inside);
        for expr in &view.group {
            if let Some(name) = expr.as_var()
                && let Some(types) = inside.vars.get(name)
            {
                judge.bind(expr, *types);
            }
        }
        let location = self.symbols.location_of(&view.of);
        if let Some(Arg::Expr(expr)) = view.of.args.get(location) {
            judge.bind(expr, TypeSet::TEXT);
        }
        let (Some(input), Some(result)) = (view.result.first(), view.result.last()) else { return };
        let values = input.as_var().and_then(|name| inside.vars.get(name).copied());
        let result_types = judge.aggregate(&view.func, values, view.span, false);
        judge.bind(result, result_types);
    }

    /// Checks columns and conditions against their uses.
    fn judge_term<'r>(&self, term: &'r Term, judge: &mut Judge<'r, '_>) {
        match term {
            Term::Predicate(predicate) => {
                let columns = self.columns_of(&predicate.functor);
                let args = predicate.functor.args.iter().filter_map(Arg::as_expr);
                for (column, (arg, types)) in args.zip(columns).enumerate() {
                    judge.column(arg, types, &predicate.functor, column);
                }
            }
            Term::Assign(assign) => {
                judge.expr(&assign.expr);
            }
            Term::Condition(condition) => judge.condition(condition),
            Term::AggView(_) => {}
        }
    }
}

impl<'r> Judge<'r, '_> {
    fn report(&mut self, diagnostic: impl FnOnce() -> Diagnostic) {
        if let Some((found, _)) = &mut self.found {
            found.push(diagnostic());
        }
    }

    /// Reports a finding about operands, with the places where variables among them come from.
    fn report_of<'e>(
        &mut self,
        operands: impl IntoIterator<Item = (&'e Expr, TypeSet)>,
        diagnostic: impl FnOnce() -> Diagnostic,
    ) {
        let Some((found, origins)) = &mut self.found else { return };
        let mut explained = diagnostic();
        for (operand, types) in operands {
            let place = operand.as_var().and_then(|name| self.places.get(name));
            if let Some(place) = place {
                explained = origins.explain(explained, *place, types);
            }
        }
        found.push(explained);
    }

    fn bind(&mut self, pattern: &'r Expr, types: TypeSet) {
        match &pattern.kind {
            ExprKind::Var(name) if expressions::param(name).is_none() => {
                let known = self.vars.get(name.as_str()).copied();
                let both = known.map_or(types, |known| meet(known, types));
                if both.is_empty() && !types.is_empty() && known.is_some_and(|k| !k.is_empty()) {
                    let known = known.unwrap_or_default();
                    let text = format!(
                        "`{name}` is {types} here and {known} before: they are never equal"
                    );
                    self.report(|| {
                        Diagnostic::warning("never-equal", pattern.span, text)
                            .help("use another variable, or convert one of the two")
                    });
                }
                self.vars.insert(name, both);
            }
            ExprKind::List(elements) => {
                elements.iter().for_each(|one| self.bind(one, TypeSet::ANY));
            }
            ExprKind::ListPattern(elements, tail) => {
                elements.iter().for_each(|one| self.bind(one, TypeSet::ANY));
                self.bind(tail, TypeSet::LIST);
            }
            _ => {}
        }
    }

    /// Gives assigned variables their types, whatever the order of assignments.
    fn assign(&mut self, rule: &'r Rule) {
        let found = self.found.take();
        for _ in 0..=rule.body.len() {
            let mut grown = false;
            for term in &rule.body {
                let Term::Assign(assign) = term else { continue };
                let known = self.vars.get(assign.var.name.as_str()).copied().unwrap_or_default();
                let all = known.union(self.expr(&assign.expr));
                grown |= all != known;
                self.vars.insert(&assign.var.name, all);
            }
            if !grown {
                break;
            }
        }
        self.found = found;
    }

    fn head(&mut self, arg: &'r Arg, event: bool) -> TypeSet {
        match arg {
            Arg::Expr(expr) => match expr.kind {
                ExprKind::Fresh => TypeSet::of(Type::Null),
                _ => self.expr(expr),
            },
            Arg::Aggregate(aggregate) => {
                let values = match &aggregate.over {
                    AggregateOver::Star => None,
                    AggregateOver::Var(var) => Some(self.var(&var.name)),
                };
                let values = match aggregate.limit {
                    Some(_) => Some(TypeSet::LIST),
                    None => values,
                };
                self.aggregate(&aggregate.func, values, aggregate.span, event)
            }
        }
    }

    fn aggregate(
        &mut self,
        name: &crate::ast::Ident,
        values: Option<TypeSet>,
        span: Span,
        may_be_empty: bool,
    ) -> TypeSet {
        let Some(function) = Aggregate::from_name(&name.text) else { return TypeSet::ANY };
        let values = values.unwrap_or(TypeSet::ANY);
        if values.is_empty() {
            return TypeSet::NONE;
        }
        let result = if may_be_empty {
            function.result_type(values)
        } else {
            function.declaration().result_of_rows(values)
        };
        result.unwrap_or_else(|| {
            let text = format!("{function} cannot take {values}");
            self.report(|| {
                Diagnostic::error("type", span, text)
                    .help(format!("it is {}", function.declaration()))
            });
            TypeSet::ANY
        })
    }

    fn column(&mut self, arg: &'r Expr, types: TypeSet, functor: &Functor, column: usize) {
        match &arg.kind {
            ExprKind::Var(_) | ExprKind::Fresh => {}
            ExprKind::List(_) | ExprKind::ListPattern(..) => {
                if !types.is_empty() && !types.meets(TypeSet::SEQUENCE) {
                    self.never(arg.span, TypeSet::LIST, types, functor, column, None);
                }
            }
            _ => {
                let given = self.expr(arg);
                if !given.is_empty() && !types.is_empty() && meet(given, types).is_empty() {
                    let address = address_help(arg, types);
                    self.never(arg.span, given, types, functor, column, address);
                }
            }
        }
    }

    fn never(
        &mut self,
        span: Span,
        given: TypeSet,
        types: TypeSet,
        functor: &Functor,
        column: usize,
        address: Option<String>,
    ) {
        let text = format!(
            "column {} of `{}` holds {types}, which never equals {given}",
            column + 1,
            functor.name.written
        );
        let help = "no row will be found; compare with a value of the column's type";
        let help = address.unwrap_or_else(|| help.to_owned());
        self.report(|| Diagnostic::warning("never-equal", span, text).help(help));
    }

    fn condition(&mut self, condition: &'r Expr) {
        let types = self.expr(condition);
        if !types.is_empty() && !types.meets(TypeSet::WHOLE) {
            self.report(|| {
                let text = format!("a condition is true or false, but this is {types}");
                Diagnostic::error("type", condition.span, text).help("compare it with something")
            });
        }
    }

    fn var(&self, name: &str) -> TypeSet {
        match expressions::param(name) {
            Some(param) => param_type(param),
            None => self.vars.get(name).copied().unwrap_or(TypeSet::NONE),
        }
    }

    /// The types of an expression; none while its operands have none yet.
    fn expr(&mut self, expr: &'r Expr) -> TypeSet {
        match &expr.kind {
            ExprKind::Literal(literal) => literal_type(literal),
            ExprKind::Var(name) => self.var(name),
            ExprKind::Fresh => TypeSet::ANY,
            ExprKind::Unary(op, operand) => {
                let types = self.expr(operand);
                let unary = unary(*op);
                let operands = [(&**operand, types)];
                self.judged(expr.span, unary.symbol(), &operands, || unary.result_type(types))
            }
            ExprKind::Binary(op, left, right) => self.binary(expr.span, *op, left, right),
            ExprKind::In(value, range) => {
                self.expr(value);
                self.expr(&range.low);
                self.expr(&range.high);
                TypeSet::BOOL
            }
            ExprKind::Call(name, arguments) => {
                let types: Vec<TypeSet> = arguments.iter().map(|one| self.expr(one)).collect();
                self.call(expr, name, arguments, &types)
            }
            ExprKind::Conditional(condition, then, otherwise) => {
                self.condition(condition);
                let then = self.expr(then);
                then.union(self.expr(otherwise))
            }
            ExprKind::List(elements) => {
                elements.iter().for_each(|one| {
                    self.expr(one);
                });
                TypeSet::LIST
            }
            ExprKind::ListPattern(..) => TypeSet::LIST,
            ExprKind::Matrix(rows) => {
                rows.iter().flatten().for_each(|one| {
                    self.expr(one);
                });
                TypeSet::MATRIX
            }
            ExprKind::VectorIndex(vector, index) => {
                let operands = [(&**vector, self.expr(vector)), (&**index, self.expr(index))];
                self.built_in(expr.span, "getVectorOffset", "[]", &operands)
            }
            ExprKind::MatrixIndex(matrix, row, column) => {
                let operands =
                    [matrix, row, column].map(|operand| (&**operand, self.expr(operand)));
                self.built_in(expr.span, "getMatrixOffset", "{}", &operands)
            }
        }
    }

    fn built_in(
        &mut self,
        span: Span,
        function: &str,
        symbol: &str,
        operands: &[(&Expr, TypeSet)],
    ) -> TypeSet {
        let Some(function) = FunctionId::from_name(function) else { return TypeSet::ANY };
        let types: Vec<TypeSet> = operands.iter().map(|(_, types)| *types).collect();
        self.judged(span, symbol, operands, || function.result_type(&types).ok())
    }

    fn binary(&mut self, span: Span, op: BinaryOp, left: &'r Expr, right: &'r Expr) -> TypeSet {
        if let BinaryOp::And | BinaryOp::Or = op {
            self.condition(left);
            self.condition(right);
            return TypeSet::BOOL;
        }
        let (a, b) = (self.expr(left), self.expr(right));
        let Some(binary) = binary(op) else { return TypeSet::BOOL };
        if let BinaryOp::Eq | BinaryOp::Ne = op
            && !a.is_empty()
            && !b.is_empty()
            && meet(a, b).is_empty()
            && !seconds(a, b)
        {
            let text = format!("{a} never equals {b}");
            let help = address_help(left, b).or_else(|| address_help(right, a));
            let help = help.unwrap_or_else(|| {
                "convert one of the two, or leave the comparison out".to_owned()
            });
            self.report_of([(left, a), (right, b)], || {
                Diagnostic::warning("never-equal", span, text).help(help)
            });
        }
        let operands = [(left, a), (right, b)];
        self.judged(span, binary.symbol(), &operands, || binary.result_type(a, b))
    }

    /// The result of an operator, or an error if it can never apply.
    fn judged(
        &mut self,
        span: Span,
        symbol: &str,
        operands: &[(&Expr, TypeSet)],
        result: impl FnOnce() -> Option<TypeSet>,
    ) -> TypeSet {
        if operands.iter().any(|(_, types)| types.is_empty()) {
            return TypeSet::NONE;
        }
        result().unwrap_or_else(|| {
            let given: Vec<String> = operands.iter().map(|(_, types)| types.to_string()).collect();
            let text = format!("`{symbol}` cannot apply to {}", given.join(" and "));
            self.report_of(operands.iter().copied(), || {
                Diagnostic::error("type", span, text)
                    .help("`tidemill functions` lists what each operator takes")
            });
            TypeSet::ANY
        })
    }

    fn call(
        &mut self,
        call: &Expr,
        name: &crate::ast::Ident,
        arguments: &[Expr],
        types: &[TypeSet],
    ) -> TypeSet {
        let Some(function) = expressions::function(name) else { return TypeSet::ANY };
        if types.iter().any(|types| types.is_empty()) {
            return TypeSet::NONE;
        }
        match function.result_type(types) {
            Ok(result) => {
                if let Some(reason) = always_fails(function, arguments) {
                    let text = format!("this call has no result: {reason}");
                    self.report(|| {
                        Diagnostic::warning("no-result", call.span, text)
                            .help("what is derived by it is dropped, each time")
                    });
                }
                result
            }
            Err(Misuse::Arity { .. }) => TypeSet::ANY,
            Err(Misuse::Argument { index, expected }) => {
                let span = arguments.get(index).map_or(call.span, |argument| argument.span);
                let given = types.get(index).copied().unwrap_or_default();
                let text = format!("`{}` takes {expected} here, not {given}", name.text);
                let declared = function.function();
                let help = match declared.instead(types) {
                    Some(other) => format!("it is {declared}; {other} takes {given}"),
                    None => format!("it is {declared}"),
                };
                let operand = arguments.get(index).map(|argument| (argument, given));
                self.report_of(operand, || Diagnostic::error("type", span, text).help(help));
                TypeSet::ANY
            }
        }
    }
}

/// Functions with an argument, given by its index, of which no valid value fails, and such a value.
const NEVER_AT_FAULT: [(&str, usize, Value<'_>); 3] = [
    ("match", 1, Value::Str("")),
    ("formatTime", 0, Value::Time(0)),
    ("inNet", 0, Value::Bytes(&[0; 4])),
];

/// Why a call always fails, if it does: one of literals, or one that fails by its literals.
fn always_fails(function: FunctionId, arguments: &[Expr]) -> Option<String> {
    let name = function.function().name;
    let mut literals = Vec::with_capacity(arguments.len());
    for (index, argument) in arguments.iter().enumerate() {
        let mut harmless = NEVER_AT_FAULT.iter().filter(|it| (it.0, it.1) == (name, index));
        literals.push(match &argument.kind {
            ExprKind::Literal(literal) => literal_value(literal),
            _ => harmless.next()?.2,
        });
    }
    let result = function.constant(&literals)?;
    result.err().map(|reason| reason.to_string())
}

/// The help for a text that is an address, beside an operand of bytes.
fn address_help(text: &Expr, beside: TypeSet) -> Option<String> {
    let ExprKind::Literal(Literal::Str(text)) = &text.kind else { return None };
    let is_mac = || text.split([':', '-']).filter(|group| group.len() == 2).count() == 6;
    let function = match text.parse::<std::net::IpAddr>() {
        Ok(_) => "f_ip",
        Err(_) if is_mac() => "f_mac",
        Err(_) => return None,
    };
    let help = format!("an address is bytes: write {function}(\"{text}\")");
    beside.contains(Type::Bytes).then_some(help)
}

/// Whether an interval is compared with a number of seconds.
fn seconds(a: TypeSet, b: TypeSet) -> bool {
    let both = |a: TypeSet, b: TypeSet| a.meets(TypeSet::INTERVAL) && b.meets(TypeSet::NUMERIC);
    both(a, b) || both(b, a)
}
