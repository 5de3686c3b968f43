//! The strands of a view rule: one over everything, one per predicate, one from the head.

use tidemill_relation::Value;
use tidemill_relation::expr::{Expr, Param};
use tidemill_relation::operator::Binary;
use tidemill_relation::plan::{
    Action, Atom as BodyAtom, Bind, HeadColumn, On, Output, Strand, Trigger, ViewKind, ViewRule,
};

use super::{Builder, Indexing, Pending, Work, stop_early};
use crate::ir::{Catalog, Location, Rule};

/// A rule whose body and head are tables of one node.
pub(crate) fn view(rule: &Rule, kind: ViewKind, catalog: &mut Catalog) -> ViewRule {
    let body: Vec<BodyAtom> = rule
        .atoms()
        .map(|atom| BodyAtom { relation: atom.relation, negated: atom.negated })
        .collect();
    let here = home(rule, catalog);
    let deltas = (0..body.len() as u16).map(|number| delta(rule, number, &here, catalog)).collect();
    let check = match kind {
        ViewKind::Plain => None,
        ViewKind::Maintained | ViewKind::Grouped => Some(check(rule, &here, catalog)),
    };
    // Last, as it adds no index of its own.
    let scan = scan(rule, &here, catalog);
    let head = rule.head.relation;
    let mut view = ViewRule { rule: rule.id, kind, head, body, scan, deltas, check };
    if kind != ViewKind::Grouped {
        let strands = view.deltas.iter_mut().chain([&mut view.scan]).chain(&mut view.check);
        strands.for_each(|strand| stop_early(strand, catalog.relation(head)));
    }
    view
}

/// The location of the body.
pub(crate) fn home(rule: &Rule, catalog: &Catalog) -> Location {
    let mut locations = rule.atoms().map(|atom| atom.location(catalog));
    let first = locations.next();
    let named = locations.find(|location| !location.is_here());
    match first {
        Some(first) if !first.is_here() => first,
        first => named.or(first).unwrap_or(Location::Fixed(Expr::constant(Value::Null))),
    }
}

/// One output per binding, with the inputs of aggregates.
fn plain_output(rule: &Rule) -> Output {
    let column = |column: &HeadColumn| match column {
        HeadColumn::Value(expr) => HeadColumn::Value(expr.clone()),
        HeadColumn::Aggregate { input, .. } => {
            let input = input.clone().unwrap_or_else(|| Expr::constant(Value::Null));
            HeadColumn::Value(input)
        }
    };
    let columns = rule.head.columns.iter().map(column).collect();
    let (relation, action) = (rule.head.relation, Action::Insert);
    Output { relation, columns, action, location: rule.head.place, group_at: 0 }
}

fn scan(rule: &Rule, here: &Location, catalog: &mut Catalog) -> Strand {
    let mut builder = Builder::new(rule, here.clone(), catalog, Indexing::Existing);
    builder.run();
    debug_assert!(builder.is_done(), "checked: the body of {} can be evaluated", rule.name);
    let trigger = Trigger { relation: rule.head.relation, on: On::Scan, columns: Vec::new() };
    builder.finish(trigger, plain_output(rule))
}

fn delta(rule: &Rule, number: u16, here: &Location, catalog: &mut Catalog) -> Strand {
    let mut builder = Builder::new(rule, here.clone(), catalog, Indexing::Wanted);
    let relation = builder.open()[number as usize].atom.relation;
    let columns = builder.trigger(number);
    builder.run();
    debug_assert!(builder.is_done(), "checked: the body of {} can be evaluated", rule.name);
    builder.finish(Trigger { relation, on: On::Delta, columns }, plain_output(rule))
}

/// Starts from a row of the head: finds its derivations, or the aggregate of its group.
fn check(rule: &Rule, here: &Location, catalog: &mut Catalog) -> Strand {
    let mut builder = Builder::new(rule, here.clone(), catalog, Indexing::Wanted);
    let mut binds = Vec::new();
    let mut columns = Vec::new();
    for column in &rule.head.columns {
        let (bind, output) = match column {
            HeadColumn::Aggregate { .. } => (Bind::Ignore, column.clone()),
            HeadColumn::Value(expr) => {
                let (bind, group) = builder.given(expr);
                (bind, HeadColumn::Value(group))
            }
        };
        binds.push(bind);
        columns.push(output);
    }
    if let Some(location) = rule.head_location(builder.catalog)
        && location == *here
    {
        builder.head_lies_at_home(rule, location);
    }
    builder.run();
    debug_assert!(builder.is_done(), "checked: the body of {} can be evaluated", rule.name);
    let relation = rule.head.relation;
    let columns = if rule.aggregates() { columns } else { rule.head.columns.clone() };
    let (action, location) = (Action::Insert, rule.head.place);
    let output = Output { relation, columns, action, location, group_at: 0 };
    builder.finish(Trigger { relation, on: On::Head, columns: binds }, output)
}

impl Builder<'_> {
    /// The given row of the head is stored at the location of the body, so its location column has
    /// that address, unless its relation is moving: then it must be compared.
    fn head_lies_at_home(&mut self, rule: &Rule, location: Location) {
        if self.catalog.is_moving(rule.head.relation) {
            let operands = Box::new([location.expr(), Expr::Param(Param::Node)]);
            let work = Work::Filter(Expr::Binary(Binary::Equal, operands));
            self.pending.push(Pending { position: usize::MAX, work });
        }
        self.compared = true;
    }

    /// Binds a given column of the head; returns the binding, and the expression that yields the
    /// column from then on.
    fn given(&mut self, expr: &Expr) -> (Bind, Expr) {
        match expr {
            Expr::Reg(reg) => (self.receive(*reg), Expr::Reg(*reg)),
            expr if self.can_evaluate(expr) => (Bind::Equal(expr.clone()), expr.clone()),
            expr => {
                let reg = self.temporary(self.type_of(expr));
                let operands = Box::new([Expr::Reg(reg), expr.clone()]);
                let work = Work::Filter(Expr::Binary(Binary::Equal, operands));
                self.pending.push(Pending { position: usize::MAX, work });
                (Bind::Reg(reg), Expr::Reg(reg))
            }
        }
    }
}
