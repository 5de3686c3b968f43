//! The counters of a node.

use std::ops::AddAssign;

use tidemill_stdx::sorted::SortedMap;

use super::program::Program;
use crate::program::Compiled;

/// Counters of one node; every drop has one.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Turns run.
    pub turns: u64,
    /// Of these, those that did not just continue an earlier one's changes.
    pub external_turns: u64,
    /// Turns whose commit was given up because it derived too much.
    pub turns_abandoned: u64,
    /// Tuples of events that joined a turn.
    pub events: u64,
    /// Tuples sent to other nodes.
    pub sent: u64,
    /// Tuples received from other nodes.
    pub received: u64,
    /// Tuples dropped because their location is null, no node, or no address.
    pub dropped_unaddressed: u64,
    /// Derivations dropped because an expression had no value.
    pub dropped_failed: u64,
    /// Rows refused because a table was full.
    pub dropped_table_full: u64,
    /// Events dropped because too many waited.
    pub dropped_queue_full: u64,
    /// Events dropped because they waited when the program was replaced, and the new one has no
    /// such relation or timer.
    pub dropped_replaced: u64,
    /// Inputs of traced executions that were not recorded, because a turn had too many.
    pub dropped_records: u64,
    /// Tuples dropped because they had the wrong number of columns.
    pub dropped_arity: u64,
    /// Firings of periodics skipped because the one before still waited.
    pub periodics_skipped: u64,
    /// Rows expired.
    pub expired: u64,
    /// Per relation: rows that expired.
    pub expired_rows: Vec<u64>,
    /// Per rule: tuples derived by strands, derivations failed.
    pub rules: Vec<RuleCounters>,
    /// Per stage, in the order of the program.
    pub stages: Vec<StageCounters>,
}

/// The rows of a table that have come and gone; those that are there are the difference.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TableCounters {
    /// Rows that came.
    pub inserted: u64,
    /// Rows that were deleted, replaced, evicted, or no longer derived.
    pub deleted: u64,
    /// Rows that expired.
    pub expired: u64,
}

impl AddAssign for TableCounters {
    fn add_assign(&mut self, other: TableCounters) {
        self.inserted += other.inserted;
        self.deleted += other.deleted;
        self.expired += other.expired;
    }
}

/// Counters of one rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RuleCounters {
    /// Times a strand of it started.
    pub fired: u64,
    /// Tuples its strands derived.
    pub derived: u64,
    /// Derivations dropped.
    pub failed: u64,
}

/// Counters of one stage.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct StageCounters {
    /// Tuples given to the operator.
    pub inputs: u64,
    /// Of these, those refused: wrong columns, or too many at a time.
    pub refused: u64,
    /// Tuples it has yielded.
    pub outputs: u64,
    /// Rows that it could not yield, for example of a malformed file; inputs whose turn was
    /// given up.
    pub failed: u64,
    /// Rows dropped because they had the wrong number of columns.
    pub misfits: u64,
}

impl Counters {
    /// The counters for another program, continued by the names of tables and rules.
    pub(super) fn carried_to(&self, old: &Program, new: &Program) -> Counters {
        let mut counters = Counters::new(&new.compiled);
        for (number, relation) in new.plan().relations.iter().enumerate() {
            if let Some(id) = old.find(&relation.name) {
                counters.expired_rows[number] = self.expired_rows[id.index()];
            }
        }
        // Of rules of one name the first is continued.
        let rules = old.plan().rules.iter().enumerate().rev();
        let known: SortedMap<&str, usize> = rules.map(|(at, rule)| (&*rule.name, at)).collect();
        for (number, rule) in new.plan().rules.iter().enumerate() {
            if let Some(&at) = known.get(&*rule.name) {
                counters.rules[number] = self.rules[at];
            }
        }
        let Counters { expired_rows, rules, stages, .. } = counters;
        Counters { expired_rows, rules, stages, ..self.clone() }
    }

    /// Adds those of another node of the program.
    pub(crate) fn add(&mut self, other: &Counters) {
        self.turns += other.turns;
        self.external_turns += other.external_turns;
        self.turns_abandoned += other.turns_abandoned;
        self.events += other.events;
        self.sent += other.sent;
        self.received += other.received;
        self.dropped_unaddressed += other.dropped_unaddressed;
        self.dropped_failed += other.dropped_failed;
        self.dropped_table_full += other.dropped_table_full;
        self.dropped_queue_full += other.dropped_queue_full;
        self.dropped_replaced += other.dropped_replaced;
        self.dropped_records += other.dropped_records;
        self.dropped_arity += other.dropped_arity;
        self.periodics_skipped += other.periodics_skipped;
        self.expired += other.expired;
        self.add_parts(other);
    }

    /// Adds those of tables, rules and stages.
    fn add_parts(&mut self, other: &Counters) {
        let Counters { expired_rows, rules, stages, .. } = self;
        expired_rows.resize(expired_rows.len().max(other.expired_rows.len()), 0);
        expired_rows.iter_mut().zip(&other.expired_rows).for_each(|(sum, more)| *sum += more);
        rules.resize(rules.len().max(other.rules.len()), RuleCounters::default());
        for (sum, RuleCounters { fired, derived, failed }) in rules.iter_mut().zip(&other.rules) {
            sum.fired += fired;
            sum.derived += derived;
            sum.failed += failed;
        }
        stages.resize(stages.len().max(other.stages.len()), StageCounters::default());
        for (sum, more) in stages.iter_mut().zip(&other.stages) {
            sum.inputs += more.inputs;
            sum.refused += more.refused;
            sum.outputs += more.outputs;
            sum.failed += more.failed;
            sum.misfits += more.misfits;
        }
    }

    pub(super) fn new(compiled: &Compiled) -> Counters {
        Counters {
            expired_rows: vec![0; compiled.plan.relations.len()],
            rules: vec![RuleCounters::default(); compiled.plan.rules.len()],
            stages: vec![StageCounters::default(); compiled.stages.len()],
            ..Counters::default()
        }
    }
}
