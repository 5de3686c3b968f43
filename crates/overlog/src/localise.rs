//! Localisation: a rule that an event, a timer or a change starts becomes strands that each run
//! at one location.
//!
//! ```text
//! r x(@Z, C) :- e(@X, Y), p(@X, Z), q(@Y, A), s(@Z, A, C).
//!
//! at X: e(@X, Y), p(@X, Z)         -> r::1(@Y, Z)
//! at Y: r::1(@Y, Z), q(@Y, A)      -> r::2(@Z, A)
//! at Z: r::2(@Z, A), s(@Z, A, C)   -> x(@Z, C)
//! ```
//! Each strand joins all predicates at its location, then ships the variables that are still needed
//! to the next location whose address is known. The head comes last; the node sends it.

#[cfg(test)]
mod tests;

use tidemill_diag::Diagnostic;
use tidemill_relation::TypeSet;
use tidemill_relation::expr::{Expr, Param, Reg};
use tidemill_relation::plan::{
    Action, Bind, HeadColumn, On, Output, Pattern, RelationId, Strand, Trigger,
};
use tidemill_stdx::sorted::SortedSet;

use crate::ir::{Atom, Catalog, Location, Rule, Term, map_expr};
use crate::lower::{Builder, Indexing, stop_early};

/// The start of a rule: one of its predicates, by its number.
pub(crate) struct Start {
    pub number: u16,
    pub on: On,
}

/// The strands of a rule from one start.
///
/// # Errors
/// Locations that no strand can reach, and aggregates that would be scattered.
pub(crate) fn strands(
    rule: &Rule,
    start: Start,
    catalog: &mut Catalog,
) -> Result<Vec<Strand>, Diagnostic> {
    let mut rule = rule.clone();
    let Some(atom) = rule.atoms().nth(start.number as usize).cloned() else {
        return Ok(Vec::new());
    };
    let here = atom.location(catalog);
    settle_params(&mut rule, start.number, &here, catalog);
    let mut strands = Vec::new();
    let mut builder = Builder::new(&rule, here.clone(), catalog, Indexing::Wanted);
    let mut columns = builder.trigger(start.number);
    if let On::Periodic { .. } = start.on {
        // Period and count are those that the timer was set to.
        columns.iter_mut().skip(2).for_each(|column| *column = Bind::Ignore);
    }
    let mut trigger = Trigger { relation: atom.relation, on: start.on, columns };
    loop {
        let last = builder.open().iter().all(|open| builder.is_local(&open.atom));
        let group_at =
            if rule.aggregates() && last { builder.group(&rule.head.columns) } else { 0 };
        builder.run();
        if builder.is_done() {
            let home = builder.here().clone();
            rule.note_arrival(&home, builder.catalog());
            let output = Output {
                relation: rule.head.relation,
                columns: rule.head.columns.clone(),
                action: rule.head.action,
                location: rule.head.place,
                group_at,
            };
            let mut strand = builder.finish(trigger, output);
            stop_early(&mut strand, catalog.relation(rule.head.relation));
            strands.push(strand);
            return Ok(strands);
        }
        let Some(next) = next_location(&mut builder) else {
            return Err(unroutable(&mut builder, &rule));
        };
        if rule.aggregates() && builder.joins() > 0 {
            return Err(scattered(&rule, &atom));
        }
        let shipped: Vec<Reg> =
            builder.needed(&rule).into_iter().filter(|reg| Location::Var(*reg) != next).collect();
        let relation = ship(&rule, &shipped, builder.catalog());
        let rest = builder.continuation();
        let output = shipment(relation, &next, &shipped);
        strands.push(builder.finish(trigger, output));
        builder = Builder::resume(&rule, next.clone(), catalog, rest);
        trigger = received(&next, &shipped, relation, &mut builder);
    }
}

/// The tuple that carries registers to the next location.
fn shipment(relation: RelationId, next: &Location, shipped: &[Reg]) -> Output {
    let registers = shipped.iter().map(|reg| Expr::Reg(*reg));
    Output {
        relation,
        columns: std::iter::once(next.expr()).chain(registers).map(HeadColumn::Value).collect(),
        action: Action::Emit,
        location: None,
        group_at: 0,
    }
}

/// The next location: that of the first predicate that can be joined somewhere else.
fn next_location(builder: &mut Builder<'_>) -> Option<Location> {
    let open = builder.open().to_vec();
    open.iter().find_map(|open| {
        let location = open.atom.location(builder.catalog());
        let known = match location {
            Location::Var(reg) => builder.is_bound(reg),
            Location::Fixed(_) => true,
        };
        (known && builder.is_ready(&open.atom)).then_some(location)
    })
}

/// The hidden event that carries variables to the next location.
fn ship(rule: &Rule, shipped: &[Reg], catalog: &mut Catalog) -> RelationId {
    let types = shipped.iter().map(|reg| type_of(rule, *reg));
    let columns = std::iter::once(TypeSet::TEXT).chain(types).collect();
    let name = catalog.numbered(&rule.name);
    let relation = catalog.hidden_event(name, columns, 0);
    catalog.shipped.push(relation);
    catalog.arrivals.allow(relation, Action::Emit, 0);
    relation
}

/// The types of a variable; temporaries may hold any.
pub(crate) fn type_of(rule: &Rule, reg: Reg) -> TypeSet {
    rule.vars.get(reg.0 as usize).map_or(TypeSet::ANY, |var| var.types)
}

fn received(
    location: &Location,
    shipped: &[Reg],
    relation: RelationId,
    builder: &mut Builder<'_>,
) -> Trigger {
    let first = match location {
        Location::Var(reg) => builder.receive(*reg),
        Location::Fixed(_) => Bind::Ignore,
    };
    let rest: Vec<Bind> = shipped.iter().map(|reg| builder.receive(*reg)).collect();
    let columns = std::iter::once(first).chain(rest).collect();
    Trigger { relation, on: On::Event, columns }
}

/// In a rule that visits several locations, node parameters mean those of the node on which it
/// starts.
pub(crate) fn settle_params(rule: &mut Rule, start: u16, here: &Location, catalog: &Catalog) {
    let elsewhere = |atom: &Atom| {
        let location = atom.location(catalog);
        location != *here && !location.is_here()
    };
    if !rule.atoms().any(elsewhere) {
        return;
    }
    let mut params = SortedSet::new();
    let mut note = |expr: &mut Expr| {
        if let Expr::Param(param) = expr {
            params.insert(*param);
        }
    };
    for_each_expr(rule, start, catalog, &mut note);
    let mut values = Vec::new();
    let mut added = Vec::new();
    for param in params {
        let reg = match (param, here) {
            (Param::Node, Location::Var(reg)) => *reg,
            _ => {
                let reg = rule.fresh(param.name(), TypeSet::ANY);
                added.push(Term::Let(reg, Expr::Param(param)));
                reg
            }
        };
        values.push((param, reg));
    }
    for_each_expr(rule, start, catalog, &mut |expr| {
        if let Expr::Param(param) = expr
            && let Some((_, reg)) = values.iter().find(|(one, _)| one == param)
        {
            *expr = Expr::Reg(*reg);
        }
    });
    rule.body.append(&mut added);
}

/// Calls `f` on every expression of a rule but the location of the predicate that starts it.
fn for_each_expr(rule: &mut Rule, start: u16, catalog: &Catalog, f: &mut impl FnMut(&mut Expr)) {
    let mut number = 0;
    for term in &mut rule.body {
        match term {
            Term::Let(_, expr) | Term::Filter(expr) => map_expr(expr, f),
            Term::Aggregate(_) => {}
            Term::Atom(atom) => {
                let location = atom.location_column(catalog) as usize;
                let keep = (number == start).then_some(location);
                number += 1;
                for (column, pattern) in atom.columns.iter_mut().enumerate() {
                    if Some(column) != keep {
                        map_pattern(pattern, f);
                    }
                }
            }
        }
    }
    for column in &mut rule.head.columns {
        match column {
            HeadColumn::Value(expr) => map_expr(expr, f),
            HeadColumn::Aggregate { input, .. } => {
                input.iter_mut().for_each(|input| map_expr(input, f));
            }
        }
    }
}

fn map_pattern(pattern: &mut Pattern, f: &mut impl FnMut(&mut Expr)) {
    match pattern {
        Pattern::Any | Pattern::Reg(_) => {}
        Pattern::Equal(expr) => {
            map_expr(expr, f);
            if let Expr::Reg(reg) = expr {
                *pattern = Pattern::Reg(*reg);
            }
        }
        Pattern::List { elements, tail } => {
            elements.iter_mut().for_each(|element| map_pattern(element, f));
            tail.iter_mut().for_each(|tail| map_pattern(tail, f));
        }
    }
}

/// The error that no strand can continue: the addresses of the other predicates are unknown.
fn unroutable(builder: &mut Builder<'_>, rule: &Rule) -> Diagnostic {
    let open = builder.open().to_vec();
    let mut names = SortedSet::new();
    let mut places = Vec::new();
    for open in &open {
        if let Location::Var(reg) = open.atom.location(builder.catalog())
            && !builder.is_bound(reg)
            && let Some(var) = rule.vars.get(reg.0 as usize)
            && names.insert(format!("`{}`", var.name))
        {
            places.push((open.atom.span, var.name.clone()));
        }
    }
    unroutable_at(rule, names, places)
}

/// The error for locations that cannot be reached.
pub(crate) fn unroutable_at(
    rule: &Rule,
    names: SortedSet<String>,
    places: Vec<(tidemill_diag::Span, String)>,
) -> Diagnostic {
    let names: Vec<String> = names.into_iter().collect();
    let message = format!(
        "this rule cannot be routed: where it starts, nothing says what {} {}",
        names.join(" and "),
        if names.len() == 1 { "is" } else { "are" }
    );
    let error = Diagnostic::error("unroutable", rule.span, message)
        .help("let a predicate at a location that is known bring the address of the next one");
    places
        .into_iter()
        .fold(error, |error, (span, name)| error.label(span, format!("lies at `{name}`")))
}

/// The error that an aggregate would be scattered over several nodes.
fn scattered(rule: &Rule, event: &Atom) -> Diagnostic {
    let message = "this aggregate would be taken over rows of several nodes";
    Diagnostic::error("aggregate-location", rule.span, message)
        .label(event.span, "the event is shipped once for each row joined here")
        .help("gather the rows in a table of one node first, and aggregate there")
}
