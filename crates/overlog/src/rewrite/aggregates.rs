//! Aggregates over tables become hidden tables with one row per group.
//!
//! ```text
//! r best(@N, D, a_MIN<C>) :- path(@N, D, P, C).
//!
//! r!agg(@N, D, a_MIN<C>) :- path(@N, D, P, C).       grouped, keyed by N and D
//! best(@N, D, C) :- r!agg(@N, D, C).
//! ```
//! The hidden table has the location of the body. It is kept up to date for hard and soft state;
//! over soft state it passes refreshes on.
//!
//! A MIN or MAX keeps the columns of the row that wins if the key of its table lacks them:
//! ```text
//! best(@N, D, a_MIN<C>, P) :- path(@N, D, P, C).          keys(1, 2)
//!
//! r!agg(@N, D, a_MIN<[C, P]>) :- path(@N, D, P, C).
//! best(@N, D, C, P) :- r!agg(@N, D, [C, P]).
//! ```
//! Of equal values the least row wins: the least list for MIN, ARGMAX for MAX.

use tidemill_diag::Diagnostic;
use tidemill_relation::TypeSet;
use tidemill_relation::aggregate::Aggregate;
use tidemill_relation::expr::{Expr, Reg};
use tidemill_relation::plan::{Action, HeadColumn, Pattern, RelationId, ViewKind};
use tidemill_relation::table::Key;
use tidemill_stdx::sorted::SortedSet;

use super::parts::{Parts, View, locations, tables, type_of_expr};
use super::table_rules;
use crate::ir::{AggregateTerm, Atom, Catalog, Head, Location, Rule, Term, Var, whole_row};
use crate::localise::type_of;
use crate::lower::home;

/// Replaces aggregates in the body by predicates of hidden tables.
pub(super) fn extract_terms(mut rule: Rule, catalog: &mut Catalog, parts: &mut Parts) -> Rule {
    for at in 0..rule.body.len() {
        if let Term::Aggregate(term) = &rule.body[at] {
            let term = term.clone();
            rule.body[at] = Term::Atom(extract(&rule, term, catalog, parts));
        }
    }
    rule
}

fn extract(rule: &Rule, term: AggregateTerm, catalog: &mut Catalog, parts: &mut Parts) -> Atom {
    let location = term.of.location(catalog);
    let grouped = match location {
        Location::Var(reg) => term.group.iter().position(|one| *one == reg),
        Location::Fixed(_) => None,
    };
    // The location first, unless the group has it.
    let mut exprs: Vec<Expr> = Vec::new();
    if grouped.is_none() {
        exprs.push(location.expr());
    }
    exprs.extend(term.group.iter().map(|reg| Expr::Reg(*reg)));
    let mut types: Vec<TypeSet> = exprs.iter().map(|expr| type_of_expr(rule, expr)).collect();
    types.push(type_of(rule, term.result));
    let at = grouped.unwrap_or(0) as u32;
    types[at as usize] = TypeSet::TEXT;
    let key = whole_row(exprs.len());
    let softness = catalog.softness(std::iter::once(term.of.relation));
    let name = catalog.marked(&rule.name, "agg");
    let relation = catalog.hidden_view(name, types, at, key, softness);

    let mut columns: Vec<HeadColumn> = exprs.iter().cloned().map(HeadColumn::Value).collect();
    columns
        .push(HeadColumn::Aggregate { function: term.function, input: term.input.map(Expr::Reg) });
    let inner = Rule {
        head: Head { relation, columns, place: None, action: Action::Insert },
        body: vec![Term::Atom(term.of.clone())],
        ..rule.clone()
    };
    parts.views.push(View { rule: inner, kind: ViewKind::Grouped });
    catalog.mark_exact(relation);

    let pattern = |expr: &Expr| match expr {
        Expr::Reg(reg) => Pattern::Reg(*reg),
        other => Pattern::Equal(other.clone()),
    };
    let mut columns: Vec<Pattern> = exprs.iter().map(pattern).collect();
    columns.push(Pattern::Reg(term.result));
    Atom { relation, negated: false, columns, place: None, span: term.of.span }
}

/// Rewrites a rule without an event whose head has aggregates.
pub(super) fn rewrite_head(
    rule: Rule,
    catalog: &mut Catalog,
    parts: &mut Parts,
) -> Result<(), Diagnostic> {
    let rule = match locations(&rule, catalog).len() {
        0 | 1 => rule,
        _ => gather(rule, catalog, parts)?,
    };
    let home = home(&rule, catalog);
    let beside = beside_key(&rule, catalog);
    if let Some(winner) = winner(&rule, &beside) {
        return keep_columns(rule, &winner, &beside, catalog, parts);
    }
    if let Some(first) = beside.first() {
        parts.warnings.push(lost_group(&rule, *first, catalog));
    }
    let location = rule.head.location_column(catalog);
    let mut columns = rule.head.columns.clone();
    let at_home = rule.head_location(catalog).is_some_and(|head| head == home);
    if !at_home {
        columns.insert(0, HeadColumn::Value(home.expr()));
    }
    let types: Vec<TypeSet> = columns.iter().map(|column| type_of_column(&rule, column)).collect();
    let value = |column: &HeadColumn| matches!(column, HeadColumn::Value(_));
    let key = (0u32..).zip(&columns).filter(|(_, column)| value(column)).map(|(at, _)| at);
    let key = Key::Columns(key.collect());
    let softness = catalog.softness(tables(&rule));
    let name = catalog.marked(&rule.name, "agg");
    let at = if at_home { location } else { 0 };
    let relation = catalog.hidden_view(name, types.clone(), at, key, softness);
    let copy = copy(&rule, relation, &types, usize::from(!at_home));
    let head = Head { relation, columns, place: None, action: Action::Insert };
    parts.views.push(View { rule: Rule { head, ..rule }, kind: ViewKind::Grouped });
    catalog.mark_exact(relation);
    table_rules::rewrite(copy, catalog, parts)
}

/// Columns of the head that neither the key of its table has nor its other columns determine.
fn beside_key(rule: &Rule, catalog: &Catalog) -> Vec<usize> {
    let relation = catalog.relation(rule.head.relation);
    let Some(Key::Columns(key)) = relation.table().map(|spec| &spec.key) else {
        return Vec::new();
    };
    let location = rule.head.location_column(catalog) as usize;
    let in_key = |at: usize| key.contains(&(at as u32)) || at == location;
    let mut known = SortedSet::new();
    for (at, column) in rule.head.columns.iter().enumerate() {
        if let HeadColumn::Value(Expr::Reg(reg)) = column
            && in_key(at)
        {
            known.insert(*reg);
        }
    }
    let determined = |expr: &Expr| {
        let mut all = true;
        expr.for_each_reg(&mut |reg| all &= known.contains(&reg));
        all
    };
    let columns = rule.head.columns.iter().enumerate();
    let beside = columns.filter(|(at, column)| match column {
        HeadColumn::Value(expr) => !in_key(*at) && !determined(expr),
        HeadColumn::Aggregate { .. } => false,
    });
    beside.map(|(at, _)| at).collect()
}

/// The MIN or MAX that keeps columns, as an aggregate over lists of its value and those.
fn winner(rule: &Rule, beside: &[usize]) -> Option<HeadColumn> {
    let mut aggregates = rule.head.columns.iter().filter_map(|column| match column {
        HeadColumn::Aggregate { function, input } => Some((*function, input)),
        HeadColumn::Value(_) => None,
    });
    let (function, input) = aggregates.next()?;
    let value = input.clone()?;
    let function = match function {
        Aggregate::Min => Aggregate::Min,
        Aggregate::Max => Aggregate::ArgMax,
        _ => return None,
    };
    if beside.is_empty() || aggregates.next().is_some() {
        return None;
    }
    let mut row = vec![value];
    row.extend(beside.iter().filter_map(|&at| match &rule.head.columns[at] {
        HeadColumn::Value(expr) => Some(expr.clone()),
        HeadColumn::Aggregate { .. } => None,
    }));
    Some(HeadColumn::Aggregate { function, input: Some(Expr::List(row)) })
}

/// Puts the columns of the row that wins beside its value.
fn keep_columns(
    rule: Rule,
    winner: &HeadColumn,
    beside: &[usize],
    catalog: &mut Catalog,
    parts: &mut Parts,
) -> Result<(), Diagnostic> {
    let home = home(&rule, catalog);
    let location = rule.head.location_column(catalog) as usize;
    let at_home = rule.head_location(catalog).is_some_and(|head| head == home);
    let heads = rule.head.columns.iter().enumerate();
    let groups: Vec<usize> = heads
        .filter(|(at, head)| matches!(head, HeadColumn::Value(_)) && !beside.contains(at))
        .map(|(at, _)| at)
        .collect();
    let mut columns: Vec<HeadColumn> = Vec::new();
    if !at_home {
        columns.push(HeadColumn::Value(home.expr()));
    }
    columns.extend(groups.iter().map(|&at| rule.head.columns[at].clone()));
    let key = whole_row(columns.len());
    let mut types: Vec<TypeSet> =
        columns.iter().map(|column| type_of_column(&rule, column)).collect();
    types.push(TypeSet::LIST);
    columns.push(winner.clone());
    let at =
        if at_home { groups.iter().position(|&at| at == location).unwrap_or(0) as u32 } else { 0 };
    let softness = catalog.softness(tables(&rule));
    let name = catalog.marked(&rule.name, "agg");
    let relation = catalog.hidden_view(name, types, at, key, softness);

    let copy = copy_of_winners(&rule, relation, (at_home, &groups, beside));
    let head = Head { relation, columns, place: None, action: Action::Insert };
    parts.views.push(View { rule: Rule { head, ..rule }, kind: ViewKind::Grouped });
    catalog.mark_exact(relation);
    table_rules::rewrite(copy, catalog, parts)
}

/// The rule that copies the rows of the hidden view to the head: each column of the head is a
/// variable, and the list of the view has the winner's first.
fn copy_of_winners(
    rule: &Rule,
    relation: RelationId,
    (at_home, groups, beside): (bool, &[usize], &[usize]),
) -> Rule {
    let heads = rule.head.columns.iter();
    let mut vars: Vec<Var> = heads
        .map(|head| Var { name: rule.name.clone(), types: type_of_column(rule, head) })
        .collect();
    let reg = |at: usize| Reg(at as u16);
    let mut patterns = Vec::new();
    if !at_home {
        patterns.push(Pattern::Reg(reg(vars.len())));
        vars.push(Var { name: rule.name.clone(), types: TypeSet::TEXT });
    }
    patterns.extend(groups.iter().map(|&at| Pattern::Reg(reg(at))));
    let value = |head: &HeadColumn| matches!(head, HeadColumn::Aggregate { .. });
    let value = rule.head.columns.iter().position(value).unwrap_or(0);
    let elements = std::iter::once(value).chain(beside.iter().copied());
    let elements = elements.map(|at| Pattern::Reg(reg(at))).collect();
    patterns.push(Pattern::List { elements, tail: None });
    let atom = Atom { relation, negated: false, columns: patterns, place: None, span: rule.span };
    let all = (0..rule.head.columns.len()).map(|at| HeadColumn::Value(Expr::Reg(reg(at))));
    Rule {
        id: rule.id,
        name: rule.name.clone(),
        span: rule.span,
        vars,
        head: Head { columns: all.collect(), ..rule.head.clone() },
        body: vec![Term::Atom(atom)],
    }
}

/// Of several groups with one key a single row stays.
fn lost_group(rule: &Rule, at: usize, catalog: &Catalog) -> Diagnostic {
    let relation = catalog.relation(rule.head.relation);
    let column = at + 1;
    let name = match &rule.head.columns[at] {
        HeadColumn::Value(Expr::Reg(reg)) => match rule.vars.get(reg.0 as usize) {
            Some(var) => format!("`{}`", var.name),
            None => format!("column {column}"),
        },
        _ => format!("column {column}"),
    };
    let table = &relation.name;
    let message = format!("the key of `{table}` lacks {name}, by which this aggregate is grouped");
    Diagnostic::warning("aggregate-key", rule.span, message).help(format!(
        "of several groups with one key a single row stays: add column {column} to the keys of \
         `{table}`"
    ))
}

/// The rule that copies rows of a hidden table without the first `skip` columns.
fn copy(rule: &Rule, from: RelationId, types: &[TypeSet], skip: usize) -> Rule {
    let vars: Vec<Var> =
        types.iter().map(|types| Var { name: rule.name.clone(), types: *types }).collect();
    let all = (0..vars.len() as u16).map(Reg);
    let columns = all.clone().map(Pattern::Reg).collect();
    let atom = Atom { relation: from, negated: false, columns, place: None, span: rule.span };
    let columns = all.skip(skip).map(|reg| HeadColumn::Value(Expr::Reg(reg))).collect();
    Rule {
        id: rule.id,
        name: rule.name.clone(),
        span: rule.span,
        vars,
        head: Head { columns, ..rule.head.clone() },
        body: vec![Term::Atom(atom)],
    }
}

/// Joins a body of several locations in a hidden table first; the remaining rule ranges over that.
fn gather(rule: Rule, catalog: &mut Catalog, parts: &mut Parts) -> Result<Rule, Diagnostic> {
    let mut vars = SortedSet::new();
    for term in &rule.body {
        match term {
            Term::Atom(atom) if atom.negated => {}
            term => term.for_each_reg(&mut |reg| {
                vars.insert(reg);
            }),
        }
    }
    let places = locations(&rule, catalog);
    let wanted = rule.head_location(catalog).filter(|head| places.contains(head));
    let Some(place) = wanted.or_else(|| places.into_iter().next()) else { return Ok(rule) };
    let vars: Vec<Reg> = vars.into_iter().filter(|reg| Location::Var(*reg) != place).collect();
    let types = std::iter::once(TypeSet::TEXT).chain(vars.iter().map(|reg| type_of(&rule, *reg)));
    let types: Vec<TypeSet> = types.collect();
    let softness = catalog.softness(tables(&rule));
    let key = whole_row(types.len());
    let name = catalog.marked(&rule.name, "join");
    let relation = catalog.hidden_table(name, types, 0, key, softness);
    let exprs = std::iter::once(place.expr()).chain(vars.iter().map(|reg| Expr::Reg(*reg)));
    let columns = exprs.map(HeadColumn::Value).collect();
    let head = Head { relation, columns, place: None, action: Action::Insert };
    table_rules::rewrite(Rule { head, ..rule.clone() }, catalog, parts)?;
    let first = match place {
        Location::Var(reg) => Pattern::Reg(reg),
        Location::Fixed(expr) => Pattern::Equal(expr),
    };
    let columns = std::iter::once(first).chain(vars.into_iter().map(Pattern::Reg)).collect();
    let atom = Atom { relation, negated: false, columns, place: None, span: rule.span };
    Ok(Rule { body: vec![Term::Atom(atom)], ..rule })
}

fn type_of_column(rule: &Rule, column: &HeadColumn) -> TypeSet {
    match column {
        HeadColumn::Value(expr) => type_of_expr(rule, expr),
        HeadColumn::Aggregate { function, input } => {
            let values = input.as_ref().map_or(TypeSet::ANY, |input| type_of_expr(rule, input));
            function.declaration().result_of_rows(values).unwrap_or(TypeSet::ANY)
        }
    }
}
