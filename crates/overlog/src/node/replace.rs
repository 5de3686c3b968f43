//! Replacing the program of a node.
//!
//! The tables of the new program are filled beside those of the old one: tables that both declare
//! alike keep their asserted rows, except those of removed facts, and views are evaluated over
//! them. If that fails the old program is kept. Else the new one takes its place, between two
//! turns, and the differences of its views from the old ones are queued, shown and shipped like the
//! changes of a commit.

use std::sync::Arc;

use tidemill_relation::database::Database;
use tidemill_relation::expr::Scope;
use tidemill_relation::plan::{Relation, RelationId};
use tidemill_relation::table::{RowId, Table};
use tidemill_relation::view::{ASSERTED, Change, ChangeKind, Progress, Views};
use tidemill_relation::{SeqBuilder, TupleBuf, Value};
use tidemill_stdx::region::Bump;
use tidemill_stdx::sorted::{SortedMap, SortedSet};

use super::Node;
use super::counters::Counters;
use super::event::{Event, Periodic, Traced};
use super::failing::Failing;
use super::kept::Kept;
use super::program::Program;
use super::recorder::Recorder;
use super::tuples::Send;
use super::turn::Turn;
use super::watch::Observer;
use crate::program::Export;

/// The result of a replacement.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Replaced {
    /// Events that were queued, beside those that waited.
    pub follows: usize,
    /// Waiting events that were dropped.
    pub dropped: usize,
    /// For each periodic of the new program, the one of the old whose phase it keeps.
    pub timers: Vec<Option<usize>>,
}

/// The state of a node for another program, prepared beside its present state.
pub struct Replacement {
    program: Arc<Program>,
    database: Database,
    views: Views,
    counters: Counters,
    reported: Vec<bool>,
    /// New facts.
    facts: Vec<Event>,
    /// The differences of tables.
    changes: TupleBuf<Change>,
}

impl Node {
    /// Retracts rows that views have shipped and that the new program does not have. The sends use
    /// the messages of the old program: to be [taken](Node::take_sends) before [`Node::replace`].
    /// Returns the number of events queued for such rows here.
    pub fn retire(&mut self, new: &Replacement) -> usize {
        let (program, new) = (self.program.clone(), &*new.program);
        let mut here = 0;
        for export in &program.compiled.exports {
            if counterpart(&program, new, *export).is_some() {
                continue;
            }
            let mut rows = TupleBuf::new();
            self.rows(export.out, |row| rows.push((), row));
            let location = program.plan().relation(export.into).location;
            for (_, row) in rows.iter() {
                let (relation, delete) = (export.into, true);
                let address = row.get(location as usize);
                if address.and_then(|it| it.as_str()) == Some(&self.identity.address) {
                    let row = row.iter().collect();
                    self.enqueue(Event::Tuple { relation, row, delete, received: false });
                    here += 1;
                } else {
                    let row: Vec<Value<'_>> = row.iter().collect();
                    self.turn.sends.push(Send { relation, delete, view: true, location }, &row);
                }
            }
        }
        here
    }

    /// Prepares the state for another program; the node is unchanged but for the
    /// [rows of its record](Node::write_record).
    ///
    /// # Errors
    /// Why its program must be kept.
    pub fn prepare(
        &mut self,
        program: &Arc<Program>,
        now_ns: u64,
        observer: &mut dyn Observer,
    ) -> Result<Replacement, Kept> {
        if self.inbox.running().is_some() || !self.staging.waiting.is_empty() {
            return Err(Kept::Busy);
        }
        while self.write_record(now_ns) {}
        let gone = self.facts_without(program, &self.program);
        let plan = program.plan();
        let secret = *self.database.secret();
        let mut new = Replacement {
            program: program.clone(),
            database: Database::new(plan, secret),
            views: Views::new(plan, secret),
            counters: self.counters.carried_to(&self.program, program),
            reported: vec![false; plan.rules.len()],
            facts: self.facts_without(&self.program, program),
            changes: TupleBuf::new(),
        };
        program.observed.iter().for_each(|&relation| new.views.observe(relation));
        program.trace(&mut new.views);
        self.carry(&mut new);
        self.take_out(&gone, &mut new);
        self.refine_new(&mut new, now_ns, observer)?;
        self.continue_counts(&mut new);
        new.changes = self.differences(program, &new.database);
        Ok(new)
    }

    /// The tables with rows that nothing but this program has, and that the new one declares
    /// otherwise: they start anew.
    pub fn emptied(&self, new: &Replacement) -> Vec<Emptied> {
        let (old, plan) = (&*self.program, new.program.plan());
        let relations = (0..).map(RelationId).zip(&old.plan().relations);
        let emptied = relations.filter_map(|(id, relation)| {
            let of_system = ["sys::", "sim::"].iter().any(|it| relation.name.starts_with(it));
            let is_declared = relation.table().is_some() && !relation.hidden && !of_system;
            if !is_declared || same(old, &new.program, id).is_some() {
                return None;
            }
            let next = new.program.find(&relation.name);
            // Facts of the new program are inserted again.
            let is_fact = |event: &&Event| match event {
                Event::Tuple { relation, .. } => Some(*relation) == next,
                _ => false,
            };
            let facts = new.facts.iter().filter(is_fact).count();
            let table = self.database.table(relation.candidates.unwrap_or(id));
            let asserted = table.by_age();
            let asserted = asserted.iter().filter(|(row, _)| stands(relation, table, *row)).count();
            let other = OtherTable::of(relation, next.map(|next| plan.relation(next)));
            (asserted > facts).then(|| Emptied { table: relation.name.clone(), other })
        });
        emptied.collect()
    }

    /// Switches to another program, for which this node has [prepared](Node::prepare) since its
    /// last turn.
    pub fn replace(
        &mut self,
        new: Replacement,
        now_ns: u64,
        observer: &mut dyn Observer,
    ) -> Replaced {
        let Replacement { program, database, views, counters, reported, facts, changes } = new;
        let timers = same_timers(&self.program, &program);
        self.profiler.start_over(&self.program.compiled);
        (self.database, self.views) = (database, views);
        self.views.measure(self.profiler.clock());
        (self.counters, self.reported) = (counters, reported);
        self.recorder = Recorder::default();
        let dropped = self.take_over(&program, &timers, now_ns);
        let mut follows = self.ship(&program, &changes);
        for (change, columns) in changes.iter() {
            follows += usize::from(self.announce_one(&program, change, columns, observer));
        }
        let facts = self.together(facts);
        follows += facts.len();
        facts.into_iter().for_each(|event| self.enqueue(event));
        Replaced { follows, dropped, timers }
    }

    /// The facts of `of` that `other` does not state, or of a relation that it declares otherwise,
    /// as events of `of`.
    fn facts_without(&self, other: &Program, of: &Program) -> Vec<Event> {
        let stated = |program: &Program| -> Vec<(String, SeqBuilder, Event)> {
            let facts = program.compiled.facts.iter();
            let event = |fact: &crate::program::Fact| {
                let event = self.tuple(fact.relation, &fact.columns, fact.location).ok()??;
                let Event::Tuple { row, .. } = &event else { return None };
                let name = program.plan().relation(fact.relation).name.clone();
                Some((name, row.clone(), event))
            };
            facts.filter_map(event).collect()
        };
        let mut known: SortedMap<String, Vec<SeqBuilder>> = SortedMap::new();
        for (name, row, _) in stated(other) {
            known.entry(name).or_default().push(row);
        }
        let is_new = |(name, row, event): &(String, SeqBuilder, Event)| {
            let Event::Tuple { relation, .. } = event else { return false };
            let is_stated = known.get(name.as_str()).is_some_and(|rows| rows.contains(row));
            !is_stated || same(of, other, *relation).is_none()
        };
        stated(of).into_iter().filter(is_new).map(|(_, _, event)| event).collect()
    }

    /// Removes the rows of facts that are gone.
    fn take_out(&self, gone: &[Event], new: &mut Replacement) {
        for event in gone {
            let Event::Tuple { relation, row, .. } = event else { continue };
            let Some(here) = same(&self.program, &new.program, *relation) else { continue };
            let row: Vec<Value<'_>> = row.as_seq().iter().collect();
            let is_there = |table: &Table| table.find_equal(&row).is_some();
            if new.database.get(here).is_some_and(is_there) {
                new.views.delete(new.program.plan(), &mut new.database, here, &row);
            }
        }
    }

    /// Brings the new views to their fixed point.
    fn refine_new(
        &self,
        new: &mut Replacement,
        now_ns: u64,
        observer: &mut dyn Observer,
    ) -> Result<(), Kept> {
        let Replacement { program, database, views, counters, reported, .. } = new;
        let scratch = Bump::new();
        loop {
            let mut failures = Failing {
                program,
                node: &self.identity.address,
                ambient: &self.ambient,
                counters,
                reported,
                observer: &mut *observer,
            };
            let scope = Scope { scratch: &scratch, ambient: &self.ambient };
            match views.step(program.plan(), database, scope, now_ns, &mut failures) {
                Progress::More => {}
                Progress::Done => break,
                Progress::Exceeded => return Err(Kept::TooMuch),
            }
        }
        views.settle(database);
        Ok(())
    }

    /// Copies asserted rows of the old tables to the new ones, with their ages.
    fn carry(&self, new: &mut Replacement) {
        let (old, program) = (&*self.program, new.program.clone());
        let plan = program.plan();
        let candidates: SortedSet<RelationId> =
            plan.relations.iter().filter_map(|one| one.candidates).collect();
        for (id, relation) in (0..).map(RelationId).zip(&plan.relations) {
            if relation.table().is_none() || candidates.contains(&id) {
                continue;
            }
            let Some(from) = same_table(old, &program, id) else { continue };
            // For a displaced row, only the candidate exists.
            let candidates = old.plan().relation(from).candidates;
            let table = self.database.table(candidates.unwrap_or(from));
            let first = usize::from(candidates.is_some());
            for (row, at_ns) in table.by_age() {
                if stands(old.plan().relation(from), table, row) {
                    let values: Vec<Value<'_>> = table.values(row).skip(first).collect();
                    new.views.insert(plan, &mut new.database, id, &values, at_ns);
                }
            }
        }
    }

    /// Continues the counts of rows of tables that are declared alike.
    fn continue_counts(&self, new: &mut Replacement) {
        for (id, relation) in (0..).map(RelationId).zip(&new.program.plan().relations) {
            let before = same_table(&self.program, &new.program, id);
            if let Some(before) = before.filter(|_| relation.table().is_some()) {
                new.database.table_mut(id).continues(self.database.table(before));
            }
        }
    }

    /// The differences between the observed tables of the new program and the old ones.
    fn differences(&self, program: &Program, database: &Database) -> TupleBuf<Change> {
        let mut changes = TupleBuf::new();
        for &relation in &program.observed {
            let table = database.table(relation);
            let before =
                same_table(&self.program, program, relation).map(|id| self.database.table(id));
            let mut values = Vec::new();
            for (row, _) in before.iter().flat_map(|before| before.by_age()) {
                values.clear();
                before.iter().for_each(|before| before.read_row(row, &mut values));
                if table.find_equal(&values).is_none() {
                    changes.push(Change { relation, row, kind: ChangeKind::Delete }, &values);
                }
            }
            for (row, _) in table.by_age() {
                values.clear();
                table.read_row(row, &mut values);
                if before.is_none_or(|before| before.find_equal(&values).is_none()) {
                    changes.push(Change { relation, row, kind: ChangeKind::Insert }, &values);
                }
            }
        }
        changes
    }

    /// Replaces the old program by the new one; returns the number of waiting events dropped.
    fn take_over(
        &mut self,
        program: &Arc<Program>,
        timers: &[Option<usize>],
        now_ns: u64,
    ) -> usize {
        let old = std::mem::replace(&mut self.program, program.clone());
        let same_stage = |number: usize| {
            let known = &old.compiled.stages[number];
            let same = |relation| same(&old, program, relation);
            program.compiled.stages.iter().position(|new| {
                new.operator == known.operator
                    && same(known.input) == Some(new.input)
                    && same(known.output) == Some(new.output)
            })
        };
        self.staging = std::mem::take(&mut self.staging).carried_to(program, same_stage);
        self.turn = Turn { now_ns, ..Turn::default() };
        self.given_up.clear();
        self.ambient.set_messages(program.registry.messages().cloned());
        let (periodics, firing) = (self.evaluate_periodics(), std::mem::take(&mut self.firing));
        let before = std::mem::replace(&mut self.periodics, periodics);
        self.firing = vec![false; self.periodics.len()];
        for (new, old) in timers.iter().enumerate() {
            if let Some(old) = *old {
                self.periodics[new] = Periodic { left: before[old].left, ..self.periodics[new] };
                self.firing[new] = firing[old];
            }
        }
        let waiting = std::mem::take(&mut self.shipping.waiting);
        for (relation, row) in waiting.iter() {
            if let Some(relation) = same(&old, program, relation) {
                self.shipping.waiting.push_seq(relation, row);
            }
        }
        let translate = |event| translated(event, &old, program, timers);
        let dropped = self.inbox.translate(translate);
        self.counters.dropped_replaced += dropped as u64;
        dropped
    }
}

impl Program {
    /// The relation of another program that is this one: of the same name, with the same number of
    /// columns, and declared alike if it is a table.
    pub fn same_in(&self, other: &Program, relation: RelationId) -> Option<RelationId> {
        same(self, other, relation)
    }
}

/// A table that starts anew with another program.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Emptied {
    /// Its name.
    pub table: String,
    /// What it is in the new program.
    pub other: OtherTable,
}

/// What is in place of a table that another program declares otherwise.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum OtherTable {
    /// No table.
    Nothing,
    /// A table with other columns, or the location in another one.
    Columns,
    /// One with another key.
    Key,
    /// One with another lifetime.
    Lifetime,
    /// One with another maximum size.
    Size,
    /// One whose rows follow from soft state, or no longer do.
    Rules,
}

impl OtherTable {
    fn of(old: &Relation, new: Option<&Relation>) -> OtherTable {
        let both = new.and_then(|new| Some((new, old.table()?, new.table()?)));
        let Some((new, one, other)) = both else { return OtherTable::Nothing };
        if (one.arity, old.location) != (other.arity, new.location) {
            OtherTable::Columns
        } else if one.key != other.key {
            OtherTable::Key
        } else if one.lifetime_ns != other.lifetime_ns {
            OtherTable::Lifetime
        } else if one.size_max != other.size_max {
            OtherTable::Size
        } else {
            OtherTable::Rules
        }
    }
}

/// Whether a row of a table, or of its candidates if it has some, is asserted.
fn stands(relation: &Relation, table: &Table, row: RowId) -> bool {
    match relation.candidates {
        None => table.is_asserted(row),
        Some(_) => table.value(row, 0).equal(&Value::Int(ASSERTED)),
    }
}

/// An event that waits, as one of the new program.
fn translated(
    event: Event,
    old: &Program,
    new: &Program,
    timers: &[Option<usize>],
) -> Option<Event> {
    Some(match event {
        Event::Tuple { relation, row, delete, received } => {
            Event::Tuple { relation: same(old, new, relation)?, row, delete, received }
        }
        Event::Traced(mut traced) => match &mut *traced {
            Traced::Received(it) => {
                it.relation = same(old, new, it.relation)?;
                Event::Traced(traced)
            }
            // Records of the old program name its rules by number.
            Traced::Recorded(_) => return None,
        },
        Event::Change { relation, row, link } => {
            let relation = same(old, new, relation)?;
            Event::Change { relation, row, link }
        }
        Event::Periodic { timer } => {
            Event::Periodic { timer: timers.iter().position(|old| *old == Some(timer))? }
        }
        Event::Facts { tuples } => {
            let tuples = tuples.into_iter();
            let tuple = |(relation, row)| Some((same(old, new, relation)?, row));
            Event::Facts { tuples: tuples.filter_map(tuple).collect() }
        }
        Event::Rows { rows } => {
            let rows = rows.into_iter();
            let row = |(relation, delete, row)| Some((same(old, new, relation)?, delete, row));
            Event::Rows { rows: rows.filter_map(row).collect() }
        }
        Event::Everywhere { relation, rows } => {
            Event::Everywhere { relation: same(old, new, relation)?, rows }
        }
        Event::Resume => return None,
        Event::Expiry | Event::Release | Event::Lost { .. } | Event::Forgotten { .. } => event,
    })
}

/// The relation of the new program that is declared as one of the old.
fn same(old: &Program, new: &Program, relation: RelationId) -> Option<RelationId> {
    let known = old.plan().relation(relation);
    let id = new.find(&known.name)?;
    let other = new.plan().relation(id);
    let is_same = match (known.table(), other.table()) {
        (Some(_), Some(_)) => are_same_tables(known, other),
        (None, None) => other.arity() == known.arity(),
        _ => false,
    };
    is_same.then_some(id)
}

/// The table of the old program that is declared as one of the new.
fn same_table(old: &Program, new: &Program, relation: RelationId) -> Option<RelationId> {
    let description = new.plan().relation(relation);
    let id = old.find(&description.name)?;
    are_same_tables(old.plan().relation(id), description).then_some(id)
}

/// Whether two tables of the same name are declared alike: columns, key, lifetime and size.
fn are_same_tables(known: &Relation, other: &Relation) -> bool {
    let both = known.table().zip(other.table());
    both.is_some_and(|(one, two)| {
        known.location == other.location
            && known.is_soft() == other.is_soft()
            && known.hidden == other.hidden
            && (one.arity, &one.key, one.lifetime_ns, one.size_max)
                == (two.arity, &two.key, two.lifetime_ns, two.size_max)
    })
}

/// The export of the new program with the same destination as one of the old.
fn counterpart(old: &Program, new: &Program, export: Export) -> Option<Export> {
    let out = same(old, new, export.out)?;
    let into = same(old, new, export.into)?;
    let mut exports = new.compiled.exports.iter();
    exports.find(|one| one.out == out && one.into == into && one.trail == export.trail).copied()
}

/// For each periodic of the new program, that of the same rule with the same period and count.
fn same_timers(old: &Program, new: &Program) -> Vec<Option<usize>> {
    let of = |program: &Program, timer: &u32| {
        let strand = &program.plan().strands[*timer as usize];
        let rule = program.plan().rules[strand.rule.index()].name.clone();
        (rule, strand.trigger.on.clone())
    };
    let before: Vec<_> = old.dispatch.periodics.iter().map(|timer| of(old, timer)).collect();
    let periodics = new.dispatch.periodics.iter();
    periodics.map(|timer| before.iter().position(|one| *one == of(new, timer))).collect()
}
