//! Which programs can be explored, and for which of them a search is incomplete.

use tidemill_overlog::program::{Compiled, Global};
use tidemill_relation::aggregate::Aggregate;
use tidemill_relation::expr::{Expr, FunctionId};
use tidemill_relation::plan::{Bind, HeadColumn, On, Plan, Relation, Rule, Strand};

use super::symbols::{self, SYMBOLS};
use crate::history;
use crate::program::{FileKind, Kinds, Program};
use crate::unsettled;

/// The relation in which rules report violations.
pub(super) const VIOLATION: &str = "violation";

/// Why a program cannot be explored; `None` if it can.
pub(super) fn refusal(program: &Program) -> Option<String> {
    let only_rules: Kinds = [FileKind::Rules].into_iter().collect();
    if program.kinds != only_rules {
        let kinds = program.kinds.names();
        return Some(format!("programs of rules alone can be explored, and this has {kinds}"));
    }
    let rules = program.rules.program.as_ref()?;
    let plan = &rules.plan;
    let outside = plan.relations.iter().map(|relation| relation.name.as_str());
    let mut outside = outside.filter(|name| name.starts_with("sys::") || name.starts_with("sim::"));
    if let Some(stage) = rules.stages.first() {
        let (place, operator) = (&stage.place, &stage.operator);
        return Some(format!("{place}: what the operator {operator:?} does is no part of a node"));
    }
    if let Some(sink) = rules.sinks.first() {
        return Some(format!("{}: what is in a file is no part of a node", sink.place));
    }
    if let Some(export) = rules.exports.first() {
        let name = plan.relation(export.out).name.trim_matches(|c: char| !c.is_alphanumeric());
        return Some(format!(
            "a view puts rows into tables of other nodes ({name}): the delivery of views is not \
             explored"
        ));
    }
    if let Some(refusal) = rules.global.as_deref().and_then(is_no_property) {
        return Some(refusal);
    }
    if rules.traces.is_some() {
        return Some("provenance is recorded with times and is not explored".to_owned());
    }
    outside.next().map(|name| format!("{name} says what is no part of a node"))
}

/// Why a rule at `@SIM` derives violations from more than the state of nodes, if one does.
fn is_no_property(global: &Global) -> Option<String> {
    let Global { compiled, heads, .. } = global;
    let plan = &compiled.plan;
    let is_violation = |strand: &&Strand| {
        let head = heads.iter().find(|head| head.relation == strand.output.relation);
        head.is_some_and(|head| head.name == VIOLATION)
    };
    let rule = &plan.rules[plan.strands.iter().find(is_violation)?.rule.index()];
    Some(format!(
        "{}: rule {} says more than what nodes hold: it draws a value or reads the clock",
        rule.place, rule.name
    ))
}

/// Properties of a program that affect the search.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Traits {
    /// It reads the clock.
    pub(super) reads_clock: bool,
    /// Rows of some table have a lifetime.
    pub(super) has_lifetimes: bool,
    /// It uses random values.
    pub(super) uses_symbols: bool,
    /// Its behaviour may depend on the order of rows.
    pub(super) is_ordered: bool,
    /// Why a search may miss runs.
    pub(super) reasons: Vec<String>,
    /// Relations with conditions on a whole run, which a search does not check.
    pub(super) ignored: Vec<String>,
}

/// The traits of a program that can be explored.
pub(super) fn traits(rules: &Compiled) -> Traits {
    let plan = &rules.plan;
    let calling = |name: &str| plan.rule_calling(FunctionId::from_name(name)?);
    let place = |rule: tidemill_relation::plan::RuleId| {
        let rule = &plan.rules[rule.index()];
        format!("rule {} at {}", rule.name, rule.place)
    };
    let is_mortal =
        |relation: &Relation| relation.table().is_some_and(|spec| spec.lifetime_ns.is_some());
    let mut traits = Traits {
        is_ordered: reads_in_order(plan),
        has_lifetimes: plan.relations.iter().any(is_mortal),
        ..Traits::default()
    };
    if let Some(rule) = calling("now") {
        traits.reads_clock = true;
        let reason = "the clock moves with timers only and is read";
        traits.reasons.push(format!("{reason} ({})", place(rule)));
    }
    let drawing = SYMBOLS.into_iter().find_map(calling);
    traits.uses_symbols = drawing.or_else(|| plan.strands.iter().find_map(numbered)).is_some();
    if let Some(rule) = symbols::computing(rules).filter(|_| traits.uses_symbols) {
        let reason = "each random value is taken for one that equals no other, in one order";
        let Rule { name, place, .. } = rule;
        traits.reasons.push(format!("{reason}, and more is made of it (rule {name} at {place})"));
    }
    if let Some(reason) = drawn_at_start(rules) {
        traits.reasons.push(reason);
    }
    if let Some(reason) = rules.global.as_deref().and_then(lists_rows) {
        traits.reasons.push(reason);
    }
    traits.ignored = ignored(rules);
    traits
}

/// A property of all nodes that depends on the order of rows, which projections do not keep.
fn lists_rows(global: &Global) -> Option<String> {
    let Global { compiled, heads, .. } = global;
    let plan = &compiled.plan;
    let lists = |column: &HeadColumn| {
        matches!(column, HeadColumn::Aggregate { function: Aggregate::MkList, .. })
    };
    let violations = || heads.iter().filter(|head| head.name == VIOLATION);
    let mut views = plan.strata.iter().flat_map(|stratum| &stratum.rules);
    let listing = views.find_map(|view| {
        let rule = &plan.rules[view.rule.index()];
        let is_looked_at = violations().any(|head| head.rule == rule.name);
        let mut strands = view.deltas.iter().chain(&view.check);
        let is_list = strands.any(|strand| strand.output.columns.iter().any(lists));
        (is_looked_at && is_list).then_some(rule)
    })?;
    let (name, place) = (&listing.name, &listing.place);
    Some(format!("a list has the rows of all nodes in one order of many (rule {name} at {place})"))
}

/// The relations `unsettled` and `history`, if a program has them.
fn ignored(rules: &Compiled) -> Vec<String> {
    let heads = rules.global.iter().flat_map(|global| &global.heads);
    let has_history =
        history::is_recorded(rules) || heads.into_iter().any(|head| head.name == history::RELATION);
    let names =
        [(unsettled::TABLE, unsettled::is_derived(rules)), (history::RELATION, has_history)];
    let ignored = names.into_iter().filter(|(_, is_here)| *is_here);
    ignored.map(|(name, _)| name.to_owned()).collect()
}

/// A fact or period that differs from run to run.
fn drawn_at_start(rules: &Compiled) -> Option<String> {
    let fact = rules.facts.iter().find(|fact| !fact.columns.iter().all(Expr::is_pure));
    if let Some(fact) = fact {
        return Some(format!("a fact has one of many values (at {})", fact.place));
    }
    let is_drawn = |strand: &&Strand| match &strand.trigger.on {
        On::Periodic { period, count } => {
            !period.is_pure() || !count.as_ref().is_none_or(Expr::is_pure)
        }
        _ => false,
    };
    let rule = &rules.plan.strands.iter().find(is_drawn)?.rule;
    let rule = &rules.plan.rules[rule.index()];
    Some(format!("a period has one of many values (rule {} at {})", rule.name, rule.place))
}

/// The rule of a strand that uses the random integer of a periodic.
fn numbered(strand: &Strand) -> Option<tidemill_relation::plan::RuleId> {
    let is_periodic = matches!(strand.trigger.on, On::Periodic { .. });
    let is_used = strand.trigger.columns.get(1).is_some_and(|bind| *bind != Bind::Ignore);
    (is_periodic && is_used).then_some(strand.rule)
}

/// Whether a plan has an operation whose result depends on the order of rows.
fn reads_in_order(plan: &Plan) -> bool {
    let lists = |strand: &Strand| {
        strand.output.columns.iter().any(|column| match column {
            HeadColumn::Aggregate { function, .. } => !matches!(
                function,
                Aggregate::Count
                    | Aggregate::CountDistinct
                    | Aggregate::Min
                    | Aggregate::Max
                    | Aggregate::MkSet
                    | Aggregate::ArgMax
            ),
            HeadColumn::Value(_) => false,
        })
    };
    let views = plan.strata.iter().flat_map(|stratum| &stratum.rules);
    let views = views.flat_map(|rule| rule.deltas.iter().chain(&rule.check));
    let is_bounded =
        |relation: &Relation| relation.table().is_some_and(|spec| spec.size_max.is_some());
    plan.strands.iter().chain(views).any(lists)
        || plan.relations.iter().any(is_bounded)
        // One of several derivations with the key of a row is selected.
        || plan.strata.iter().any(|stratum| !stratum.selected.is_empty())
}
