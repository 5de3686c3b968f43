//! From the checked tree to rules over relations: names become ids, variables become numbers.

use tidemill_relation::aggregate::Aggregate;
use tidemill_relation::expr::{End, Expr, Reg};
use tidemill_relation::function::FunctionId;
use tidemill_relation::plan::{Action, HeadColumn, Pattern, Relation, RelationId, RuleId, Storage};
use tidemill_relation::table::{Key, TableSpec};
use tidemill_relation::{TypeSet, Value};
use tidemill_stdx::sorted::SortedMap;

use crate::ast::{
    self, AggregateOver, Arg, BinaryOp, ExprKind, Functor, Index, Materialize, Program, Statement,
    Term as AstTerm,
};
use crate::check::literals::{self, literal_value};
use crate::check::rule::CheckedRule;
use crate::check::symbols::{Symbol, Symbols};
use crate::check::{Checked, expressions, system};
use crate::ir::{AggregateTerm, Atom, Catalog, Head, Rule, Term, Var, whole_row};
use crate::traces;

/// The relations of a program: those of `symbols`, in their order, and the timer.
pub(crate) fn catalog(program: &Program, checked: &Checked<'_>) -> Catalog {
    let mut catalog = Catalog::default();
    for (symbol, columns) in checked.symbols.iter().zip(&checked.types.columns) {
        let id = catalog.add(Relation {
            name: symbol.name.clone(),
            columns: if symbol.is_open() { Vec::new() } else { columns.clone() },
            location: symbol.location() as u32,
            storage: storage(symbol),
            hidden: symbol.system.is_some(),
            candidates: None,
        });
        if symbol.is_moving() {
            catalog.mark_moving(id, symbol.locations());
        }
    }
    let mut timed = false;
    for statement in program.flat() {
        match statement {
            Statement::Index(index) => {
                if let Some(id) = catalog.find(system::canonical(&index.name.resolved)) {
                    let constant = catalog.constant_column(id);
                    add_index(catalog.relation_mut(id), constant, index);
                }
            }
            Statement::Rule(rule) => timed |= rule.body.iter().any(is_timer),
            Statement::Watch(watch) => timed |= watch.name.resolved == system::PERIODIC,
            Statement::WatchMod(watch) => timed |= watch.name.resolved == system::PERIODIC,
            _ => {}
        }
    }
    if timed {
        let name = system::PERIODIC.to_owned();
        catalog.hidden_event(name, system::PERIODIC_COLUMNS.to_vec(), 0);
    }
    catalog
}

fn is_timer(term: &AstTerm) -> bool {
    matches!(term, AstTerm::Predicate(it) if it.functor.name.resolved == system::PERIODIC)
}

fn storage(symbol: &Symbol<'_>) -> Storage {
    let arity = symbol.columns() as u32;
    // By the ids of tuples, as origins are looked up when they are recorded.
    let indexes =
        if symbol.name == system::TUPLE { vec![traces::TUPLE_INDEX.to_vec()] } else { Vec::new() };
    if let (Some(table), None) = (symbol.system, symbol.declared) {
        let key = Key::Columns(table.key.to_vec());
        let size_max = table.is_recorded().then_some(system::RECORDS_MAX);
        let spec =
            TableSpec { arity, key, lifetime_ns: None, size_max, indexes, ordered: Vec::new() };
        return Storage::Table { spec, soft: false };
    }
    if let Some(table) = symbol.foreign {
        let key = Key::Columns(table.key.clone());
        let spec = TableSpec {
            arity,
            key,
            lifetime_ns: None,
            size_max: None,
            indexes,
            ordered: Vec::new(),
        };
        return Storage::Table { spec, soft: false };
    }
    let Some(declared) = symbol.declared else { return Storage::Event };
    let lifetime_ns = declared.lifetime.map(|seconds| (seconds * 1e9) as u64);
    let spec = TableSpec {
        arity,
        key: key(declared, arity),
        lifetime_ns,
        size_max: declared.size,
        indexes,
        ordered: Vec::new(),
    };
    Storage::Table { spec, soft: lifetime_ns.is_some() }
}

fn key(declared: &Materialize, arity: u32) -> Key {
    if declared.keys.columns.is_empty() {
        return Key::Bag;
    }
    Key::Columns(columns(&declared.keys.columns, arity))
}

/// Columns counted from 1 as columns counted from 0, ascending.
fn columns(written: &[u32], arity: u32) -> Vec<u32> {
    let mut columns: Vec<u32> =
        written.iter().filter_map(|column| column.checked_sub(1)).filter(|&c| c < arity).collect();
    columns.sort_unstable();
    columns.dedup();
    columns
}

/// An index as joins ask for it: without the column that is the same in every row. Of an ordered
/// one the last column is that which conditions bound.
fn add_index(relation: &mut Relation, constant: Option<u32>, index: &Index) {
    let Storage::Table { spec, .. } = &mut relation.storage else { return };
    let written = &index.keys.columns;
    let mut wanted = columns(written, spec.arity);
    wanted.retain(|&column| Some(column) != constant);
    if index.hint.text == "ordered" {
        let last = written.last().and_then(|column| column.checked_sub(1));
        let Some(last) = last.filter(|last| wanted.contains(last)) else { return };
        wanted.retain(|&column| column != last);
        wanted.push(last);
        if !spec.ordered.contains(&wanted) {
            spec.ordered.push(wanted);
        }
    } else if !wanted.is_empty() && !spec.indexes.contains(&wanted) {
        spec.indexes.push(wanted);
    }
}

/// A fact's columns.
pub(crate) fn fact(functor: &Functor) -> Vec<Expr> {
    let mut vars = Vars::default();
    functor.args.iter().filter_map(Arg::as_expr).map(|arg| vars.expr(arg)).collect()
}

/// A query's pattern.
pub(crate) fn query(functor: &Functor) -> Vec<Pattern> {
    let mut vars = Vars::default();
    functor.args.iter().filter_map(Arg::as_expr).map(|arg| vars.pattern(arg)).collect()
}

/// One rule; `types` are those of its variables.
pub(crate) fn rule(
    rule: &CheckedRule<'_>,
    id: RuleId,
    types: &SortedMap<String, TypeSet>,
    symbols: &Symbols<'_>,
    catalog: &Catalog,
) -> Rule {
    let mut vars = Vars::default();
    let body = rule.ast.body.iter().map(|term| term_of(term, &mut vars, catalog)).collect();
    let head = head(rule.ast, &mut vars, symbols, catalog);
    let vars = vars
        .names
        .into_iter()
        .map(|name| {
            let types = types.get(&name).copied().filter(|types| !types.is_empty());
            Var { types: types.unwrap_or(TypeSet::ANY), name }
        })
        .collect();
    Rule { id, name: rule.name.clone(), span: rule.ast.head.span, vars, head, body }
}

fn relation(name: &ast::Name, catalog: &Catalog) -> RelationId {
    // The checker has entered every relation that is applied.
    catalog.find(system::canonical(&name.resolved)).unwrap_or(RelationId(0))
}

fn head(rule: &ast::Rule, vars: &mut Vars, symbols: &Symbols<'_>, catalog: &Catalog) -> Head {
    let columns = rule.head.args.iter().map(|arg| match arg {
        Arg::Expr(expr) if matches!(expr.kind, ExprKind::Fresh) => {
            HeadColumn::Value(Expr::constant(Value::Null))
        }
        Arg::Expr(expr) => HeadColumn::Value(vars.expr(expr)),
        Arg::Aggregate(aggregate) => aggregate_column(aggregate, vars),
    });
    let action = match (rule.delete, symbols.is_table(&rule.head)) {
        (true, _) => Action::Delete,
        (false, true) => Action::Insert,
        (false, false) => Action::Emit,
    };
    let columns = columns.collect();
    let relation = relation(&rule.head.name, catalog);
    Head { relation, columns, place: place(&rule.head, relation, catalog), action }
}

/// The column of the location, if it is another than the relation's.
fn place(functor: &Functor, relation: RelationId, catalog: &Catalog) -> Option<u32> {
    let column = functor.location? as u32;
    (column != catalog.relation(relation).location).then_some(column)
}

/// The column that says where a fact lies. Its first column stands marked even where it is not
/// in the source, so it counts only if it is the relation's location.
pub(crate) fn fact_location(functor: &Functor, relation: RelationId, catalog: &Catalog) -> u32 {
    let own = functor.location.filter(|&column| column > 0).map(|column| column as u32);
    own.unwrap_or(catalog.relation(relation).location)
}

fn aggregate_column(aggregate: &ast::Aggregate, vars: &mut Vars) -> HeadColumn {
    let function = Aggregate::from_name(&aggregate.func.text).unwrap_or(Aggregate::Count);
    let input = match &aggregate.over {
        AggregateOver::Star => None,
        AggregateOver::Var(var) => {
            let value = vars.var(&var.name);
            Some(match &aggregate.limit {
                // TOPK takes pairs of how many and what.
                Some(limit) => Expr::List(vec![vars.expr(limit), value]),
                None => value,
            })
        }
    };
    HeadColumn::Aggregate { function, input }
}

fn term_of(term: &AstTerm, vars: &mut Vars, catalog: &Catalog) -> Term {
    match term {
        AstTerm::Predicate(it) => Term::Atom(vars.atom(&it.functor, it.negated, catalog)),
        AstTerm::Assign(it) => {
            let value = vars.expr(&it.expr);
            Term::Let(vars.reg(&it.var.name), value)
        }
        AstTerm::Condition(it) => Term::Filter(vars.expr(it)),
        AstTerm::AggView(view) => {
            let function = Aggregate::from_name(&view.func.text).unwrap_or(Aggregate::Count);
            let of = vars.atom(&view.of, false, catalog);
            let mut all = |exprs: &[ast::Expr]| -> Vec<Reg> {
                exprs.iter().filter_map(ast::Expr::as_var).map(|name| vars.reg(name)).collect()
            };
            let (group, result) = (all(&view.group), all(&view.result));
            let mut inside = false;
            let input = result.first().copied();
            of.for_each_reg(&mut |reg| inside |= Some(reg) == input);
            Term::Aggregate(AggregateTerm {
                function,
                group,
                input: input.filter(|_| inside),
                result: result.last().copied().unwrap_or(Reg(0)),
                of,
            })
        }
    }
}

/// The variables of one rule by number.
#[derive(Default)]
struct Vars {
    names: Vec<String>,
    numbers: SortedMap<String, Reg>,
}

impl Vars {
    fn reg(&mut self, name: &str) -> Reg {
        if let Some(&reg) = self.numbers.get(name) {
            return reg;
        }
        let reg = Reg(u16::try_from(self.names.len()).unwrap_or(u16::MAX));
        self.names.push(name.to_owned());
        self.numbers.insert(name.to_owned(), reg);
        reg
    }

    fn var(&mut self, name: &str) -> Expr {
        match expressions::param(name) {
            Some(param) => Expr::Param(param),
            None => Expr::Reg(self.reg(name)),
        }
    }

    fn atom(&mut self, functor: &Functor, negated: bool, catalog: &Catalog) -> Atom {
        let args = functor.args.iter().filter_map(Arg::as_expr);
        let columns = args.map(|arg| self.pattern(arg)).collect();
        let relation = relation(&functor.name, catalog);
        let place = place(functor, relation, catalog);
        Atom { relation, negated, columns, place, span: functor.span }
    }

    fn pattern(&mut self, expr: &ast::Expr) -> Pattern {
        match &expr.kind {
            ExprKind::Fresh => Pattern::Any,
            ExprKind::List(elements) if elements.iter().any(|one| !is_literal(one)) => {
                let elements = elements.iter().map(|one| self.pattern(one)).collect();
                Pattern::List { elements, tail: None }
            }
            ExprKind::ListPattern(elements, tail) => {
                let elements = elements.iter().map(|one| self.pattern(one)).collect();
                Pattern::List { elements, tail: Some(Box::new(self.pattern(tail))) }
            }
            _ => match self.expr(expr) {
                Expr::Reg(reg) => Pattern::Reg(reg),
                value => Pattern::Equal(value),
            },
        }
    }

    fn all(&mut self, exprs: &[ast::Expr]) -> Vec<Expr> {
        exprs.iter().map(|one| self.expr(one)).collect()
    }

    fn expr(&mut self, expr: &ast::Expr) -> Expr {
        match &expr.kind {
            ExprKind::Literal(literal) => Expr::constant(literal_value(literal)),
            ExprKind::Var(name) => self.var(name),
            // The checker admits these in patterns alone.
            ExprKind::Fresh | ExprKind::ListPattern(..) => Expr::constant(Value::Null),
            ExprKind::Unary(op, operand) => {
                Expr::Unary(literals::unary(*op), Box::new(self.expr(operand)))
            }
            ExprKind::Binary(op, left, right) => {
                let operands = Box::new([self.expr(left), self.expr(right)]);
                match (literals::binary(*op), op) {
                    (Some(binary), _) => Expr::Binary(binary, operands),
                    (None, BinaryOp::Or) => Expr::Or(operands),
                    (None, _) => Expr::And(operands),
                }
            }
            ExprKind::In(value, range) => {
                let operands = [self.expr(value), self.expr(&range.low), self.expr(&range.high)];
                let end = |closed| if closed { End::Closed } else { End::Open };
                Expr::In {
                    operands: Box::new(operands),
                    low: end(range.low_closed),
                    high: end(range.high_closed),
                }
            }
            ExprKind::Call(name, arguments) => {
                let arguments = self.all(arguments);
                call(expressions::function(name), arguments)
            }
            ExprKind::Conditional(condition, then, otherwise) => {
                let branches = [self.expr(condition), self.expr(then), self.expr(otherwise)];
                Expr::If(Box::new(branches))
            }
            ExprKind::List(elements) => Expr::List(self.all(elements)),
            ExprKind::Matrix(rows) => Expr::Matrix(rows.iter().map(|row| self.all(row)).collect()),
            ExprKind::VectorIndex(vector, index) => {
                let arguments = vec![self.expr(vector), self.expr(index)];
                call(FunctionId::from_name("getVectorOffset"), arguments)
            }
            ExprKind::MatrixIndex(matrix, row, column) => {
                let arguments = vec![self.expr(matrix), self.expr(row), self.expr(column)];
                call(FunctionId::from_name("getMatrixOffset"), arguments)
            }
        }
    }
}

/// The checker knows every function that is called. What gives the same each time is called here.
fn call(function: Option<FunctionId>, arguments: Vec<Expr>) -> Expr {
    let Some(function) = function else { return Expr::constant(Value::Null) };
    let constants = arguments.iter().map(|argument| match argument {
        Expr::Const(value) => Some(value.get()),
        _ => None,
    });
    let constants: Option<Vec<Value<'_>>> = constants.collect();
    match constants.and_then(|constants| function.constant(&constants)) {
        Some(Ok(value)) => Expr::Const(value),
        // A failure repeats for each tuple, and is counted.
        Some(Err(_)) | None => Expr::Call(function, arguments),
    }
}

fn is_literal(expr: &ast::Expr) -> bool {
    match &expr.kind {
        ExprKind::Literal(_) => true,
        ExprKind::List(elements) => elements.iter().all(is_literal),
        _ => false,
    }
}

/// The whole row as a key where equal rows would be counted.
///
/// Views derive sets: a table without a key that rules keep up to date holds each row once.
pub(crate) fn count_once(catalog: &mut Catalog, relation: RelationId) {
    if let Storage::Table { spec, .. } = &mut catalog.relation_mut(relation).storage
        && spec.key == Key::Bag
    {
        spec.key = whole_row(spec.arity as usize);
    }
}
