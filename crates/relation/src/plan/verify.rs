//! Checks the invariants of a plan, so that the engines need not.

use std::fmt::Display;

use tidemill_diag::text::verify::{Findings, Verified};

use super::{
    Action, Bind, Bound, HeadColumn, Lookup, On, Output, Pattern, Plan, Relation, RelationId, Step,
    Strand, ViewKind, ViewRule, conjuncts,
};
use crate::expr::{Expr, Reg};
use crate::table::{Access, Key};
use crate::types::TypeSet;

/// Checks every relation, strand and view rule of `plan`.
///
/// # Errors
/// All errors, in order.
pub fn verify(plan: &Plan) -> Verified {
    let mut verifier =
        Verifier { plan, place: String::new(), instruction: None, findings: Findings::new() };
    verifier.relations();
    for (index, strand) in plan.strands.iter().enumerate() {
        verifier.place = format!("strand {index}");
        let on = &strand.trigger.on;
        verifier.require(
            matches!(on, On::Event | On::Change | On::Periodic { .. }),
            "is started by no event, change or timer",
        );
        verifier.strand(strand);
    }
    verifier.strata();
    verifier.findings.finish()
}

/// Whether one of some steps is a filter that has this bound of the column in `column`.
fn is_among(bound: &Bound, steps: &[Step], column: Reg) -> bool {
    let is = |part: &Expr| Bound::of(part, column, &|_| true).as_ref() == Some(bound);
    steps.iter().any(|step| match step {
        Step::Filter(condition) => conjuncts(condition).into_iter().any(is),
        _ => false,
    })
}

struct Verifier<'p> {
    plan: &'p Plan,
    /// A relation, strand or view rule.
    place: String,
    /// A step or the output of the strand.
    instruction: Option<&'p dyn Display>,
    findings: Findings,
}

impl<'p> Verifier<'p> {
    fn require(&mut self, holds: bool, message: &str) -> bool {
        if !holds {
            match self.instruction {
                Some(instruction) => self.findings.at_instruction(&self.place, instruction),
                None => self.findings.at(&self.place),
            }
            self.findings.fail(message);
        }
        holds
    }

    fn known(&mut self, relation: RelationId) -> bool {
        let known = relation.index() < self.plan.relations.len();
        self.require(known, &format!("names {relation}, which the plan does not have"))
    }

    fn is_table(&mut self, relation: RelationId) -> bool {
        let table = self.known(relation) && self.plan.relation(relation).table().is_some();
        self.require(table, &format!("uses {relation} as a table"))
    }

    fn relations(&mut self) {
        for (index, relation) in self.plan.relations.iter().enumerate() {
            self.place = format!("relation p{index}");
            let arity = relation.arity() as u32;
            let Some(spec) = relation.table() else {
                let located = relation.location < arity.max(1);
                self.require(located, "has no such location column");
                continue;
            };
            self.require(relation.location < arity, "has no such location column");
            self.require(spec.arity == arity, "is declared with another arity");
            let ascending = |columns: &[u32]| {
                columns.windows(2).all(|pair| pair[0] < pair[1])
                    && columns.iter().all(|&column| column < arity)
            };
            if let Key::Columns(columns) = &spec.key {
                self.require(ascending(columns), "has a key of unknown or unordered columns");
            }
            let indexes = spec.indexes.iter().all(|index| !index.is_empty() && ascending(index));
            let shifted = self.is_candidates(index) || indexes;
            self.require(shifted, "has an index of unknown or unordered columns");
            let ordered = spec.ordered.iter().all(|columns| {
                columns.split_last().is_some_and(|(last, prefix)| {
                    *last < arity && ascending(prefix) && !prefix.contains(last)
                })
            });
            self.require(ordered, "has an ordered index of unknown or unordered columns");
            if let Some(candidates) = relation.candidates {
                self.candidates(arity, &spec.key, candidates);
            }
        }
    }

    fn is_candidates(&self, index: usize) -> bool {
        let id = Some(RelationId(index as u32));
        self.plan.relations.iter().any(|relation| relation.candidates == id)
    }

    fn candidates(&mut self, arity: u32, key: &Key, candidates: RelationId) {
        if !self.is_table(candidates) {
            return;
        }
        let Some(spec) = self.plan.relation(candidates).table() else { return };
        let shifted: Vec<u32> = match key {
            Key::Columns(columns) => columns.iter().map(|column| column + 1).collect(),
            Key::Bag => (1..=arity).collect(),
        };
        let fits = spec.arity == arity + 1 && spec.indexes.first() == Some(&shifted);
        self.require(fits, "has candidates of another shape");
    }

    fn strand(&mut self, strand: &'p Strand) {
        let known = (strand.rule.index()) < self.plan.rules.len();
        self.require(known, "belongs to no rule");
        if !self.known(strand.trigger.relation) || !self.known(strand.output.relation) {
            return;
        }
        let mut bound = vec![false; strand.regs as usize];
        self.trigger(strand, &mut bound);
        for (index, step) in strand.steps.iter().enumerate() {
            if index == strand.output.group_at as usize && strand.output.aggregates() {
                self.group_columns(&strand.output, &bound);
            }
            self.instruction = Some(step);
            self.step(step, &mut bound, &strand.steps[index + 1..]);
            self.instruction = None;
        }
        self.instruction = Some(&strand.output);
        self.output(strand, &bound);
        self.instruction = None;
    }

    fn trigger(&mut self, strand: &Strand, bound: &mut [bool]) {
        let trigger = &strand.trigger;
        let arity = self.plan.relation(trigger.relation).arity();
        let given = trigger.columns.len();
        let fits = match trigger.on {
            On::Scan => given == 0,
            On::Periodic { .. } => given <= 4,
            _ => given == arity,
        };
        self.require(fits, "binds another number of columns than its trigger has");
        if matches!(trigger.on, On::Change | On::Delta) {
            self.is_table(trigger.relation);
        }
        if let On::Periodic { period, count } = &trigger.on {
            let nothing = vec![false; bound.len()];
            self.expr(period, &nothing);
            count.iter().for_each(|count| self.expr(count, &nothing));
        }
        self.binds(&trigger.columns, bound);
    }

    fn binds(&mut self, binds: &[Bind], bound: &mut [bool]) {
        for bind in binds {
            match bind {
                Bind::Ignore => {}
                Bind::Reg(reg) => self.bind(*reg, bound),
                Bind::Equal(expr) => self.expr(expr, bound),
            }
        }
    }

    fn bind(&mut self, reg: Reg, bound: &mut [bool]) {
        match bound.get_mut(reg.0 as usize) {
            Some(slot) => *slot = true,
            None => {
                self.require(false, &format!("binds {reg}, which it does not have"));
            }
        }
    }

    fn expr(&mut self, expr: &Expr, bound: &[bool]) {
        let mut unbound = Vec::new();
        expr.for_each_reg(&mut |reg| {
            if !bound.get(reg.0 as usize).copied().unwrap_or(false) {
                unbound.push(reg);
            }
        });
        for reg in unbound {
            self.require(false, &format!("reads {reg} before it is bound"));
        }
    }

    /// Checks a step; `rest` are those after it.
    fn step(&mut self, step: &Step, bound: &mut [bool], rest: &[Step]) {
        match step {
            Step::Join(lookup) => {
                self.bounds(lookup, bound, rest);
                self.lookup(lookup, bound);
            }
            Step::Exists(lookup) | Step::Absent(lookup) => {
                let ordered = matches!(lookup.access, Access::Ordered(_));
                self.require(!ordered, "tests by an ordered index, which may find too much");
                self.lookup(lookup, &mut bound.to_vec());
            }
            Step::Let(reg, expr) => {
                self.expr(expr, bound);
                self.bind(*reg, bound);
            }
            Step::Match(reg, pattern) => {
                self.expr(&Expr::Reg(*reg), bound);
                self.pattern(pattern, bound);
            }
            Step::Filter(condition) => self.expr(condition, bound),
        }
    }

    /// The bounds of a look-up, none but of an ordered one, leave out only rows that a filter among
    /// `rest` leaves out.
    fn bounds(&mut self, lookup: &Lookup, bound: &[bool], rest: &[Step]) {
        let relation = self.plan.relations.get(lookup.relation.index());
        let spec = relation.and_then(Relation::table);
        let (Access::Ordered(number), Some(spec)) = (lookup.access, spec) else {
            self.require(lookup.bounds.is_empty(), "has bounds without an ordered index");
            return;
        };
        let columns = spec.ordered.get(number as usize);
        let Some(&column) = columns.and_then(|columns| columns.last()) else { return };
        let Some(Bind::Reg(reg)) = lookup.columns.get(column as usize) else {
            self.require(false, "does not bind the column that its bounds limit");
            return;
        };
        let type_of = |relation: &Relation| relation.columns[column as usize];
        let is_integer = relation.map(type_of) == Some(TypeSet::INT);
        for limit in &lookup.bounds {
            limit.operands().for_each(|expr| self.expr(expr, bound));
            let repeatable = limit.operands().all(Expr::is_repeatable);
            self.require(repeatable, "has a bound that changes from row to row");
            let exact = matches!(limit, Bound::Compare { added: None, .. } | Bound::Within { .. });
            self.require(exact || is_integer, "adds to a column that may hold no integers");
            self.require(is_among(limit, rest, *reg), "has a bound that no filter requires");
        }
    }

    fn lookup(&mut self, lookup: &Lookup, bound: &mut [bool]) {
        if !self.is_table(lookup.relation) {
            return;
        }
        let relation = self.plan.relation(lookup.relation);
        let Some(spec) = relation.table() else { return };
        let columns = match (lookup.access, &spec.key) {
            (Access::Scan, _) => Some(0),
            (Access::Primary, Key::Columns(columns)) => Some(columns.len()),
            (Access::Primary, Key::Bag) => None,
            (Access::Index(number), _) => spec.indexes.get(number as usize).map(Vec::len),
            (Access::Ordered(number), _) => {
                spec.ordered.get(number as usize).map(|columns| columns.len().saturating_sub(1))
            }
        };
        self.require(columns == Some(lookup.key.len()), "looks up by no such key or index");
        let fits = lookup.columns.len() == relation.arity();
        self.require(fits, "binds another number of columns than the table has");
        lookup.key.iter().for_each(|expr| self.expr(expr, bound));
        self.binds(&lookup.columns, bound);
    }

    fn pattern(&mut self, pattern: &Pattern, bound: &mut [bool]) {
        match pattern {
            Pattern::Any => {}
            Pattern::Reg(reg) => self.bind(*reg, bound),
            Pattern::Equal(expr) => self.expr(expr, bound),
            Pattern::List { elements, tail } => {
                elements.iter().for_each(|element| self.pattern(element, bound));
                tail.iter().for_each(|tail| self.pattern(tail, bound));
            }
        }
    }

    fn group_columns(&mut self, output: &Output, bound: &[bool]) {
        for column in &output.columns {
            if let HeadColumn::Value(expr) = column {
                self.expr(expr, bound);
            }
        }
    }

    fn output(&mut self, strand: &Strand, bound: &[bool]) {
        let output = &strand.output;
        let relation = self.plan.relation(output.relation);
        let fits = relation.arity() == output.columns.len();
        self.require(fits, "derives another number of columns than its head has");
        let placed = output.location.is_none_or(|column| (column as usize) < relation.arity());
        self.require(placed, "goes where no column says");
        let stored = relation.table().is_some();
        self.require(
            stored == (output.action != Action::Emit),
            "treats its head as what it is not",
        );
        for column in &output.columns {
            match column {
                HeadColumn::Value(expr) if !output.aggregates() => self.expr(expr, bound),
                HeadColumn::Aggregate { input: Some(input), .. } => self.expr(input, bound),
                _ => {}
            }
        }
        let prefix = strand.steps.get(..output.group_at as usize);
        let simple = |steps: &[Step]| {
            steps.iter().all(|step| matches!(step, Step::Let(..) | Step::Match(..)))
        };
        self.require(prefix.is_some_and(simple), "does more than compute before its group");
        if output.aggregates() && output.group_at as usize == strand.steps.len() {
            self.group_columns(output, bound);
        }
    }

    fn strata(&mut self) {
        let plan = self.plan;
        for (number, stratum) in plan.strata.iter().enumerate() {
            for (index, rule) in stratum.rules.iter().enumerate() {
                self.place = format!("stratum {number}, view {index}");
                let ours = stratum.heads.contains(&rule.head);
                self.require(ours, "fills a head of another stratum");
                self.view(rule);
            }
        }
    }

    fn view(&mut self, rule: &'p ViewRule) {
        if !self.is_table(rule.head) || !rule.body.iter().all(|atom| self.is_table(atom.relation)) {
            return;
        }
        self.require(rule.scan.trigger.on == On::Scan, "has a scan with a trigger");
        self.strand(&rule.scan);
        let one_each = rule.deltas.len() == rule.body.len();
        self.require(one_each, "has not one delta for each atom of its body");
        for (delta, atom) in rule.deltas.iter().zip(&rule.body) {
            let fits = delta.trigger.on == On::Delta && delta.trigger.relation == atom.relation;
            self.require(fits, "has a delta of another atom");
            self.strand(delta);
        }
        let checked = rule.check.is_some() == (rule.kind != ViewKind::Plain);
        self.require(checked, "has no check, or one without need");
        if let Some(check) = &rule.check {
            let fits = check.trigger.on == On::Head && check.trigger.relation == rule.head;
            self.require(fits, "has a check that does not start from its head");
            let aggregates = check.output.aggregates() == (rule.kind == ViewKind::Grouped);
            self.require(aggregates, "aggregates where it should not, or does not");
            self.strand(check);
        }
        let outputs = rule.deltas.iter().chain([&rule.scan]).chain(&rule.check);
        let same = outputs.clone().all(|strand| {
            strand.output.relation == rule.head && strand.output.action == Action::Insert
        });
        self.require(same, "derives something other than its head");
    }
}
