//! Whether a program does more with random values than copy and compare them.
//!
//! A search takes each random value for one that equals no other. That is all there is to know of
//! values that rules only pass on, store, group by and compare for equality. Where a rule orders
//! one, or computes with it, the result depends on the value, and only one of many was tried.
//!
//! Columns that may hold such values are found by following them through the plan, from the columns
//! of `periodic` and calls of the functions below to heads and the rules that read these, until no
//! column is added.

use tidemill_overlog::program::Compiled;
use tidemill_relation::aggregate::Aggregate;
use tidemill_relation::expr::{Expr, Reg};
use tidemill_relation::operator::Binary;
use tidemill_relation::plan::{
    Bind, Bound, HeadColumn, Lookup, On, Pattern, Plan, RelationId, Rule, RuleId, Step, Strand,
    ViewKind, ViewRule,
};

/// Functions whose results are symbols.
pub(super) const SYMBOLS: [&str; 2] = ["rand", "idgen"];

/// A rule that orders a symbol or computes with it, of the nodes or at `@SIM`.
pub(super) fn computing(rules: &Compiled) -> Option<&Rule> {
    let mut columns = Columns::new(&rules.plan);
    if let Err(Computes(rule)) = columns.follow(&rules.plan) {
        return rules.plan.rules.get(rule.index());
    }
    let global = rules.global.as_deref()?;
    let plan = &global.compiled.plan;
    let mut of_all = Columns::new(plan);
    for read in &global.reads {
        // Rows have more columns there, after the same ones.
        let here = columns.0[read.here.index()].iter().enumerate();
        here.for_each(|(at, is_symbol)| of_all.0[read.there.index()][at] |= is_symbol);
    }
    let Computes(rule) = of_all.follow(plan).err()?;
    plan.rules.get(rule.index())
}

/// A rule that does.
struct Computes(RuleId);

/// By relation and column, whether it may hold a symbol.
struct Columns(Vec<Vec<bool>>);

/// What became of an expression: whether its value may be a symbol, or have one in it.
type Flow = Result<bool, Ordered>;

/// A symbol is ordered or computed with.
struct Ordered;

impl Columns {
    fn new(plan: &Plan) -> Columns {
        Columns(plan.relations.iter().map(|it| vec![false; it.arity()]).collect())
    }

    /// Adds the columns that symbols get into.
    fn follow(&mut self, plan: &Plan) -> Result<(), Computes> {
        loop {
            let before = self.count();
            for strand in &plan.strands {
                self.strand(strand, None)?;
            }
            for rule in plan.strata.iter().flat_map(|stratum| &stratum.rules) {
                self.view(rule)?;
            }
            for (at, relation) in plan.relations.iter().enumerate() {
                let Some(candidates) = relation.candidates else { continue };
                // Their first column is the number of a rule.
                for column in 0..relation.arity() {
                    let is_symbol =
                        self.0[candidates.index()].get(column + 1).is_some_and(|it| *it);
                    self.0[at][column] |= is_symbol;
                }
            }
            if self.count() == before {
                return Ok(());
            }
        }
    }

    fn count(&self) -> usize {
        self.0.iter().flatten().filter(|is_symbol| **is_symbol).count()
    }

    fn view(&mut self, rule: &ViewRule) -> Result<(), Computes> {
        // The other strands of a group give the inputs of its aggregates instead of these.
        let groups = rule.check.as_ref().filter(|_| rule.kind == ViewKind::Grouped);
        let groups = groups.map(|check| &check.output.columns[..]);
        self.strand(&rule.scan, groups)?;
        for delta in &rule.deltas {
            self.strand(delta, groups)?;
        }
        rule.check.iter().try_for_each(|check| self.strand(check, None))
    }

    /// Follows symbols through a strand. Columns that are aggregates in `groups` are left out.
    fn strand(&mut self, strand: &Strand, groups: Option<&[HeadColumn]>) -> Result<(), Computes> {
        let computes = |Ordered| Computes(strand.rule);
        let symbols = self.registers(strand).map_err(computes)?;
        let head = &mut self.0[strand.output.relation.index()];
        for (at, column) in strand.output.columns.iter().enumerate() {
            let is_aggregate = |groups: &[HeadColumn]| {
                matches!(groups.get(at), Some(HeadColumn::Aggregate { .. }))
            };
            let is_symbol = column_of_head(column, &symbols).map_err(computes)?;
            if let Some(into) = head.get_mut(at).filter(|_| !groups.is_some_and(is_aggregate)) {
                *into |= is_symbol;
            }
        }
        Ok(())
    }

    /// The registers that may hold symbols when all steps have passed.
    fn registers(&self, strand: &Strand) -> Result<Vec<bool>, Ordered> {
        let mut symbols = vec![false; strand.regs as usize];
        let relation = strand.trigger.relation;
        for (column, bind) in strand.trigger.columns.iter().enumerate() {
            let is_random = column == 1 && matches!(strand.trigger.on, On::Periodic { .. });
            bind_to(bind, is_random || self.holds(relation, column), &mut symbols)?;
        }
        for step in &strand.steps {
            match step {
                Step::Join(lookup) | Step::Exists(lookup) | Step::Absent(lookup) => {
                    self.look_up(lookup, &mut symbols)?;
                }
                Step::Let(reg, expr) => {
                    let is_symbol = flow(expr, &symbols)?;
                    put(*reg, is_symbol, &mut symbols);
                }
                Step::Match(reg, pattern) => {
                    let is_symbol = symbols[reg.0 as usize];
                    match_to(pattern, is_symbol, &mut symbols)?;
                }
                Step::Filter(condition) => plain(condition, &symbols)?,
            }
        }
        Ok(symbols)
    }

    fn holds(&self, relation: RelationId, column: usize) -> bool {
        self.0[relation.index()].get(column).is_some_and(|is_symbol| *is_symbol)
    }

    fn look_up(&self, lookup: &Lookup, symbols: &mut [bool]) -> Result<(), Ordered> {
        for key in &lookup.key {
            flow(key, symbols)?;
        }
        for bound in &lookup.bounds {
            match bound {
                Bound::Compare { added, value, .. } => {
                    added.iter().chain([value]).try_for_each(|it| plain(it, symbols))?;
                }
                Bound::Within { from, to, .. } => {
                    [from, to].into_iter().try_for_each(|it| plain(it, symbols))?;
                }
            }
        }
        for (column, bind) in lookup.columns.iter().enumerate() {
            bind_to(bind, self.holds(lookup.relation, column), symbols)?;
        }
        Ok(())
    }
}

fn put(reg: Reg, is_symbol: bool, symbols: &mut [bool]) {
    symbols[reg.0 as usize] |= is_symbol;
}

fn bind_to(bind: &Bind, is_symbol: bool, symbols: &mut [bool]) -> Result<(), Ordered> {
    match bind {
        Bind::Ignore => {}
        Bind::Reg(reg) => put(*reg, is_symbol, symbols),
        Bind::Equal(expr) => return flow(expr, symbols).map(drop),
    }
    Ok(())
}

fn match_to(pattern: &Pattern, is_symbol: bool, symbols: &mut [bool]) -> Result<(), Ordered> {
    match pattern {
        Pattern::Any => Ok(()),
        Pattern::Reg(reg) => {
            put(*reg, is_symbol, symbols);
            Ok(())
        }
        Pattern::Equal(expr) => flow(expr, symbols).map(drop),
        Pattern::List { elements, tail } => {
            let mut parts = elements.iter().chain(tail.as_deref());
            parts.try_for_each(|part| match_to(part, is_symbol, symbols))
        }
    }
}

fn column_of_head(column: &HeadColumn, symbols: &[bool]) -> Flow {
    match column {
        HeadColumn::Value(expr) => flow(expr, symbols),
        HeadColumn::Aggregate { function: Aggregate::Count | Aggregate::CountDistinct, input } => {
            input.iter().try_for_each(|it| flow(it, symbols).map(drop))?;
            Ok(false)
        }
        HeadColumn::Aggregate { input, .. } => {
            input.iter().try_for_each(|it| plain(it, symbols))?;
            Ok(false)
        }
    }
}

/// An expression whose value must be no symbol.
fn plain(expr: &Expr, symbols: &[bool]) -> Result<(), Ordered> {
    if flow(expr, symbols)? { Err(Ordered) } else { Ok(()) }
}

fn flow(expr: &Expr, symbols: &[bool]) -> Flow {
    let none = |operands: &[Expr]| {
        operands.iter().try_for_each(|operand| plain(operand, symbols)).map(|()| false)
    };
    let any = |operands: &[&Expr]| {
        let mut operands = operands.iter();
        operands.try_fold(false, |any, operand| Ok(flow(operand, symbols)? || any))
    };
    match expr {
        Expr::Const(_) | Expr::Param(_) => Ok(false),
        Expr::Reg(reg) => Ok(symbols[reg.0 as usize]),
        Expr::Binary(Binary::Equal | Binary::NotEqual, sides) => {
            let [left, right] = &**sides;
            any(&[left, right]).map(|_| false)
        }
        Expr::Unary(_, operand) => none(std::slice::from_ref(operand)),
        Expr::Binary(_, operands) | Expr::And(operands) | Expr::Or(operands) => none(&**operands),
        Expr::In { operands, .. } => none(&**operands),
        Expr::If(parts) => {
            let [condition, then, otherwise] = &**parts;
            plain(condition, symbols)?;
            any(&[then, otherwise])
        }
        Expr::Call(function, arguments) => {
            let is_symbol = SYMBOLS.contains(&function.name());
            none(arguments).map(|_| is_symbol)
        }
        Expr::List(operands) => any(&operands.iter().collect::<Vec<_>>()),
        Expr::Matrix(rows) => any(&rows.iter().flatten().collect::<Vec<_>>()),
    }
}
