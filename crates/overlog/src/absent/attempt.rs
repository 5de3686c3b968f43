//! The progress of one rule towards a tuple.

use tidemill_relation::OwnedValue;
use tidemill_stdx::sorted::{SortedMap, SortedSet};

use super::answer::{Attempt, Skipped, TermKind, Verdict, Wanted};
use super::known::Known;
use super::made::expr;
use super::rules::Named;
use super::terms::{
    TermStep, at_node, filled, is_predicate, literal, order, relation, shown, valued, variables,
};
use crate::ast::{Arg, BinaryOp, Expr, ExprKind, Literal, Source, Term};
use crate::query::Failure;

/// The variable that has a column of the tuple for which the head has an expression.
const COLUMN: &str = "Column!";

/// A rule prepared for the search for a tuple.
struct Ready<'r> {
    rule: &'r Named,
    /// The terms that bind variables to columns of the tuple.
    given: Vec<Term>,
    /// The values of these variables.
    values: SortedMap<String, OwnedValue>,
    /// The terms of the body, then those that compare expressions of the head.
    terms: Vec<Term>,
    /// The number of terms of its body.
    count: usize,
}

impl<'r> Ready<'r> {
    /// `None` if its head does not match.
    fn new(known: &mut Known, rule: &'r Named, wanted: &Wanted) -> Option<Ready<'r>> {
        let head = &rule.rule.head;
        if head.args.len() != wanted.columns.len() {
            return None;
        }
        let question = known.ask(wanted);
        let (mut given, mut values) = (Vec::new(), SortedMap::new());
        let places = rule.rule.body.iter().filter(|it| is_predicate(it)).filter_map(Term::functor);
        let mut places = places.chain([head]).filter_map(|it| it.location_arg()?.as_expr());
        let address = places.find(|it| it.as_var().is_some());
        let place = |term: &Term| address.map_or_else(|| term.clone(), |it| at_node(term, it));
        let mut terms: Vec<Term> = rule.rule.body.iter().map(place).collect();
        let count = terms.len();
        for (column, (arg, value)) in head.args.iter().zip(&wanted.columns).enumerate() {
            let (Some(it), Some(value)) = (arg.as_expr(), value) else { continue };
            match (&it.kind, literal(it)) {
                (_, Some(own)) if !own.get().equal(&value.get()) => return None,
                (_, Some(_)) => {}
                (ExprKind::Var(name), _) => {
                    given.push(Known::given(question, column, name));
                    let other = values.insert(name.clone(), value.clone());
                    // A variable that is in the head twice has one value.
                    if other.is_some_and(|other: OwnedValue| !other.get().equal(&value.get())) {
                        return None;
                    }
                }
                _ => {
                    let name = format!("{COLUMN}{column}");
                    given.push(Known::given(question, column, &name));
                    values.insert(name.clone(), value.clone());
                    let own = Box::new(expr(ExprKind::Var(name)));
                    let equal = ExprKind::Binary(BinaryOp::Eq, Box::new(it.clone()), own);
                    terms.push(place(&Term::Condition(expr(equal))));
                }
            }
        }
        Some(Ready { rule, given, values, terms, count })
    }

    /// Values for which all of these steps hold.
    fn probe(
        &self,
        known: &Known,
        steps: &[TermStep],
    ) -> Result<Option<SortedMap<String, OwnedValue>>, Failure> {
        let is_empty =
            |step: &TermStep| relation(&step.probed).is_some_and(|it| known.is_empty(it));
        // An aggregate over an empty table has no group.
        let has_rows =
            |step: &TermStep| is_predicate(&step.probed) || matches!(step.probed, Term::AggView(_));
        if steps.iter().any(|it| has_rows(it) && is_empty(it)) {
            return Ok(None);
        }
        let looked_at = steps.iter().filter(|it| !is_empty(it));
        let terms: Vec<Term> =
            self.given.iter().chain(looked_at.map(|it| &it.probed)).cloned().collect();
        let names: SortedSet<String> = terms.iter().flat_map(valued).collect();
        let one = expr(ExprKind::Literal(Literal::Int(1)));
        let head = names.iter().map(|name| expr(ExprKind::Var(name.clone())));
        let head: Vec<Arg> = head.chain([one]).map(Arg::Expr).collect();
        let row = known.probe(&terms, &head)?;
        Ok(row.map(|row| names.into_iter().zip(row).collect()))
    }

    /// The variables that have values before any term.
    fn bound(&self) -> SortedSet<String> {
        self.values.keys().cloned().collect()
    }

    /// Steps for its terms without some; `None` if others then lack a variable.
    fn without(&self, left_out: &[usize]) -> Option<Vec<TermStep>> {
        let mut bound = self.bound();
        let terms = self.terms.iter().enumerate().filter(|(at, _)| !left_out.contains(at));
        let (steps, open) = order(terms, &mut bound);
        open.is_empty().then_some(steps)
    }

    /// A term for display, with the value that the head requires.
    fn show(&self, at: usize, values: &SortedMap<String, OwnedValue>) -> String {
        let term = if at < self.count { &self.rule.rule.body[at] } else { &self.terms[at] };
        if at >= self.count
            && let Term::Condition(Expr { kind: ExprKind::Binary(_, own, column), .. }) = term
            && let Some(value) = column.as_var().and_then(|name| values.get(name))
        {
            return format!("{} == {}", Source(&**own), value.get());
        }
        Source(term).to_string()
    }
}

/// The progress of a rule, and a row that it lacks; `None` if its head does not match.
pub(super) fn attempt(
    known: &mut Known,
    named: &Named,
    wanted: &Wanted,
) -> Option<(Attempt, Option<Wanted>)> {
    let ready = Ready::new(known, named, wanted)?;
    let Probed { held, mut values, failed, skipped } = ready.probe_terms(known);
    let in_body = |step: &&TermStep| step.term < ready.count;
    let mut held_count = held.iter().filter(in_body).count();
    let mut lacks = None;
    let verdict = match failed {
        None => ready.differs(known, wanted, &held).unwrap_or(Verdict::Holds),
        Some(term) => {
            let blamed = ready.blamed(known, term, &held, &skipped);
            let (term, is_alone) = match blamed {
                Some((other, others)) => {
                    values = others;
                    (other, true)
                }
                None => (term, false),
            };
            if is_alone {
                let left = skipped.iter().filter(|(at, _)| *at < ready.count).count();
                held_count = ready.count - left - usize::from(term < ready.count);
            }
            let (verdict, missing) = fails(&ready, term, &values, is_alone);
            lacks = missing;
            verdict
        }
    };
    // If only an event is missing, searches why that is absent.
    if verdict == Verdict::Holds
        && let Some((at, _)) = skipped.iter().find(|(_, why)| *why == Skipped::Event)
        && is_predicate(&ready.terms[*at])
    {
        lacks = ready.terms[*at].functor().map(|it| filled(it, &values));
    }
    let skipped = skipped.into_iter().map(|(at, why)| (ready.show(at, &values), why)).collect();
    let Named { name, place, rule } = ready.rule;
    let attempt = Attempt {
        rule: name.clone(),
        place: place.clone(),
        is_deleting: rule.delete,
        terms: ready.count,
        held: held_count,
        skipped,
        verdict,
        below: None,
    };
    Some((attempt, lacks))
}

/// The result of evaluating terms one after the other.
struct Probed {
    /// Steps that hold together.
    held: Vec<TermStep>,
    /// Values for which they hold.
    values: SortedMap<String, OwnedValue>,
    /// The term that does not hold with them.
    failed: Option<usize>,
    skipped: Vec<(usize, Skipped)>,
}

impl Ready<'_> {
    /// Evaluates one term more each time, until one fails.
    fn probe_terms(&self, known: &Known) -> Probed {
        let is_silent = |term: &Term| relation(term).is_some_and(|it| !known.knows(it));
        let (silent, asked): (Vec<_>, Vec<_>) =
            self.terms.iter().enumerate().partition(|(_, term)| is_silent(term));
        let mut skipped: Vec<(usize, Skipped)> =
            silent.into_iter().map(|(at, _)| (at, Skipped::Event)).collect();
        let (steps, open) = order(asked.into_iter(), &mut self.bound());
        skipped.extend(open.into_iter().map(|at| (at, Skipped::Open)));
        let (mut held, mut values) = (Vec::new(), self.values.clone());
        for step in steps {
            let term = step.term;
            held.push(step);
            let why = match self.probe(known, &held) {
                Ok(Some(found)) => {
                    values = found;
                    continue;
                }
                Ok(None) => {
                    held.pop();
                    return Probed { held, values, failed: Some(term), skipped };
                }
                Err(Failure::Limit(_)) => Skipped::Long,
                Err(Failure::Wrong(_)) => Skipped::Open,
            };
            held.pop();
            skipped.push((term, why));
        }
        Probed { held, values, failed: None, skipped }
    }

    /// The term without which all others hold, and values for that: the one that failed first, or
    /// else another.
    fn blamed(
        &self,
        known: &Known,
        failed: usize,
        held: &[TermStep],
        skipped: &[(usize, Skipped)],
    ) -> Option<(usize, SortedMap<String, OwnedValue>)> {
        let before = held.iter().rev().map(|it| it.term).filter(|it| *it < self.count);
        for term in std::iter::once(failed).chain(before) {
            let left_out: Vec<usize> = skipped.iter().map(|(at, _)| *at).chain([term]).collect();
            let Some(steps) = self.without(&left_out) else { continue };
            if let Ok(Some(values)) = self.probe(known, &steps) {
                return Some((term, values));
            }
        }
        None
    }

    /// The value of the head's aggregate, if it differs from the required one.
    fn differs(&self, known: &Known, wanted: &Wanted, held: &[TermStep]) -> Option<Verdict> {
        let head = &self.rule.rule.head;
        let mut aggregates = head.args.iter().zip(&wanted.columns).enumerate();
        let (column, value) = aggregates.find_map(|(column, (arg, value))| match (arg, value) {
            (Arg::Aggregate(_), Some(value)) => Some((column, value)),
            _ => None,
        })?;
        let terms: Vec<Term> =
            self.given.iter().chain(held.iter().map(|it| &it.probed)).cloned().collect();
        let row = known.probe(&terms, &head.args).ok()??;
        let found = row.get(column)?;
        let Arg::Aggregate(aggregate) = &head.args[column] else { return None };
        let text = Source(aggregate).to_string();
        let differs = !found.get().equal(&value.get());
        differs.then(|| Verdict::Differs { column: column + 1, text, value: found.clone() })
    }
}

/// Describes a term that does not hold, and the row that it needs.
fn fails(
    ready: &Ready<'_>,
    at: usize,
    values: &SortedMap<String, OwnedValue>,
    is_alone: bool,
) -> (Verdict, Option<Wanted>) {
    let term = &ready.terms[at];
    let (text, kind, missing) = match term {
        Term::Predicate(it) => {
            let wanted = filled(&it.functor, values);
            let kind = if it.negated { TermKind::Row } else { TermKind::NoRow };
            (shown(&it.functor, values), kind, (!it.negated).then_some(wanted))
        }
        _ => (ready.show(at, values), TermKind::Condition, None),
    };
    let mut named: Vec<(String, OwnedValue)> = Vec::new();
    if kind == TermKind::Condition {
        let all = variables(term).into_iter();
        let all = all.filter(|name| !name.starts_with(COLUMN));
        named.extend(all.filter_map(|name| Some((name.clone(), values.get(&name)?.clone()))));
    }
    (Verdict::Fails { term: text, kind, values: named, is_alone }, missing)
}
