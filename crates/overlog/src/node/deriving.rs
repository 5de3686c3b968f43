//! Taking the tuples that strands derive.

use tidemill_relation::expr::EvalError;
use tidemill_relation::plan::{Action, Output, RelationId, RuleId};
use tidemill_relation::strand::{JoinedRow, Sink};
use tidemill_relation::view::Failures;
use tidemill_relation::{Seq, TupleBuf, Value};
use tidemill_stdx::log::Level;
use tidemill_stdx::say;

use super::allowances::{TURN_CHANGES_MAX, Taken};
use super::failing::Failing;
use super::stages::Stage;
use super::tuples::{Columns, Derived, Send, TupleOrigin};
use super::turn::Turn;
use super::untaken::Untaken;
use super::watch::Sighting;
use crate::net::address::is_address;

/// The most verbose level of this file's log lines.
const CEILING: Level = Level::Debug;

/// The sink of a node's strands.
pub(super) struct Deriving<'n> {
    pub(super) failing: Failing<'n>,
    pub(super) now_ns: u64,
    pub(super) queue: &'n mut TupleBuf<Derived>,
    pub(super) changes: &'n mut TupleBuf<Derived>,
    pub(super) sends: &'n mut TupleBuf<Send>,
    /// Of a short turn: takes event tuples, all of which start nothing.
    pub(super) untaken: Option<&'n mut Untaken>,
    /// The trigger, for watches of its joins.
    pub(super) trigger: Option<(RelationId, Seq<'n>)>,
    pub(super) rule: RuleId,
    /// Event tuples that the turn may still derive.
    pub(super) tuples_left: usize,
    /// Rows that joins have examined.
    pub(super) looked: u64,
    /// The consumption of a cycle, if the trigger was derived by a cycle of rules.
    pub(super) cycle: Option<Cycle<'n>>,
}

/// The consumption of a cycle of rules.
pub(super) struct Cycle<'n> {
    pub(super) taken: &'n mut Taken,
    pub(super) tuples_max: u64,
    pub(super) rows_max: u64,
}

impl Cycle<'_> {
    fn is_over(&self) -> bool {
        self.taken.cycle_tuples > self.tuples_max || self.taken.cycle_rows > self.rows_max
    }
}

impl<'n> Deriving<'n> {
    /// Of a strand of a short turn that takes one tuple of it at most.
    pub(super) fn new(failing: Failing<'n>, turn: &'n mut Turn, rule: RuleId) -> Deriving<'n> {
        Deriving {
            failing,
            now_ns: turn.now_ns,
            queue: &mut turn.queue,
            changes: &mut turn.changes,
            sends: &mut turn.sends,
            untaken: Some(&mut turn.untaken),
            trigger: None,
            rule,
            tuples_left: usize::MAX,
            looked: 0,
            cycle: None,
        }
    }
}

impl Deriving<'_> {
    fn sight(&mut self, relation: RelationId, stage: Stage, columns: &[Value<'_>]) {
        let failing = &mut self.failing;
        if failing.program.watching.shows(relation, stage, columns, failing.ambient) {
            let plan = failing.program.plan();
            failing.observer.sighted(Sighting {
                at_ns: self.now_ns,
                node: failing.node,
                stage,
                rule: Some(&plan.rules[self.rule.index()].name),
                relation: &plan.relation(relation).name,
                columns,
            });
        }
    }

    /// Whether a tuple stays here; `None` if it has no valid location.
    fn is_local(&self, location: u32, columns: &[Value<'_>]) -> Option<bool> {
        let address = columns.get(location as usize)?.as_str()?;
        if address == self.failing.node {
            return Some(true);
        }
        is_address(address).then_some(false)
    }
}

impl Deriving<'_> {
    /// Takes a tuple; returns whether it stays here, or `None` if it has no valid location.
    #[inline]
    pub(super) fn take(&mut self, output: &Output, columns: &[Value<'_>]) -> Option<bool> {
        let relation = output.relation;
        let watched = self.failing.program.watching.any;
        if watched {
            self.sight(relation, Stage::Head, columns);
        }
        self.failing.counters.rules[self.rule.index()].derived += 1;
        if let Some(cycle) = &mut self.cycle {
            cycle.taken.cycle_tuples += 1;
        }
        let derived =
            Derived { relation, origin: TupleOrigin::Rule(self.rule), action: output.action };
        let location = output
            .location
            .unwrap_or_else(|| self.failing.program.plan().relation(relation).location);
        let Some(local) = self.is_local(location, columns) else {
            self.failing.counters.dropped_unaddressed += 1;
            let (node, name) =
                (self.failing.node, &self.failing.program.plan().relation(relation).name);
            say!(Debug, "node", "{node}: a tuple of {name} has no place to go");
            return None;
        };
        if watched && (!local || output.action == Action::Emit) {
            self.sight(relation, Stage::Sent, columns);
        }
        match (local, output.action) {
            (true, Action::Emit) => {
                let untaken = self.untaken.as_deref_mut();
                if !untaken.is_some_and(|untaken| untaken.take(&derived)) {
                    self.queue.push(derived, columns);
                }
            }
            (true, Action::Insert | Action::Delete) => self.changes.push(derived, columns),
            (false, action) => {
                let delete = action == Action::Delete;
                self.sends.push(Send { relation, delete, view: false, location }, columns);
            }
        }
        Some(local)
    }
}

impl Sink for Deriving<'_> {
    fn derive(&mut self, output: &Output, columns: &[Value<'_>], _: u64) {
        self.take(output, columns);
    }

    fn failed(&mut self, rule: RuleId, error: EvalError) {
        self.failing.failed(rule, error);
    }

    fn looked(&mut self, rows: u32) {
        self.looked += u64::from(rows);
        if let Some(cycle) = &mut self.cycle {
            cycle.taken.cycle_rows += u64::from(rows);
        }
    }

    fn is_full(&self) -> bool {
        let untaken = self.untaken.as_ref().map_or(0, |untaken| untaken.count as usize);
        self.queue.len() + untaken > self.tuples_left
            || self.cycle.as_ref().is_some_and(Cycle::is_over)
            || self.changes.len() + self.sends.len() > TURN_CHANGES_MAX
    }

    fn joined(&mut self, _: RuleId, _: &[JoinedRow]) {
        if let Some((relation, columns)) = self.trigger {
            let columns: Columns<'_> = columns.iter().collect();
            self.sight(relation, Stage::AfterJoin, &columns);
        }
    }
}
