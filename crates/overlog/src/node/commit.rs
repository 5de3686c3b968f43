//! The last parts of a turn: table changes, views, and announcing the net changes.

use tidemill_relation::expr::Scope;
use tidemill_relation::plan::Action;
use tidemill_relation::view::{Change, ChangeKind, Progress};
use tidemill_relation::{Seq, TupleBuf};
use tidemill_stdx::log::Level;
use tidemill_stdx::say;

use super::Node;
use super::costs::Engine;
use super::event::{Event, Link};
use super::failing::Failing;
use super::program::Program;
use super::stages::Stage;
use super::tuples::{Columns, Crossing, CrossingKind, Derived, Send};
use super::turn::Turn;
use super::watch::Observer;

/// The most verbose level of this file's log lines.
const CEILING: Level = Level::Trace;

impl Node {
    /// Applies the table changes of the turn, in the order in which they were derived.
    pub fn commit(&mut self, observer: &mut dyn Observer) {
        match self.profiler.is_on() {
            true => self.measured(Engine::Commit, |node| node.commit_all(observer)),
            false if self.turn.changes_nothing() && self.recorder.open.is_idle() => {}
            false => self.commit_all(observer),
        }
    }

    fn commit_all(&mut self, observer: &mut dyn Observer) {
        if std::mem::take(&mut self.turn.expiry) {
            self.expire();
        }
        self.record();
        if self.turn.changes.is_empty() && self.turn.sends.is_empty() {
            return;
        }
        let changes = std::mem::take(&mut self.turn.changes);
        let (node, count, sends) = (&self.identity.address, changes.len(), self.turn.sends.len());
        say!(Trace, "node", "{node}: commits {count} changes, {sends} sends");
        let plan = &self.program.compiled.plan;
        for (derived, columns) in changes.iter() {
            if self.is_interrupted() {
                break;
            }
            let Derived { relation, origin, action } = derived;
            let stage = match action {
                Action::Delete => Stage::Deleting,
                Action::Insert | Action::Emit => Stage::Adding,
            };
            self.sight(relation, stage, origin.rule(), columns, observer);
            let columns: Columns<'_> = columns.iter().collect();
            let (views, database) = (&mut self.views, &mut self.database);
            match action {
                Action::Delete => views.delete(plan, database, relation, &columns),
                Action::Insert | Action::Emit => {
                    views.insert(plan, database, relation, &columns, self.turn.now_ns);
                }
            }
        }
        self.turn.changes = changes;
        self.turn.changes.clear();
    }

    /// The tuples of the turn that are also for the world outside the fleet.
    pub fn take_crossings(&mut self) -> TupleBuf<Crossing> {
        // Most turns have none, and leave the memory for those that do.
        let crossings = &mut self.turn.crossings;
        if crossings.is_empty() { TupleBuf::new() } else { std::mem::take(crossings) }
    }

    /// Takes back the memory of the crossings of a turn.
    pub fn reuse_crossings(&mut self, mut crossings: TupleBuf<Crossing>) {
        if self.turn.crossings.is_empty() {
            crossings.clear();
            self.turn.crossings = crossings;
        }
    }

    fn expire(&mut self) {
        let program = self.program.clone();
        for &relation in &program.dispatch.mortal {
            let before = self.counters.expired;
            while self.views.expire(&mut self.database, relation, self.turn.now_ns) {
                self.counters.expired += 1;
            }
            let expired = self.counters.expired - before;
            self.counters.expired_rows[relation.index()] += expired;
            if expired > 0 {
                let (node, table) =
                    (&self.identity.address, &program.plan().relation(relation).name);
                say!(Trace, "node", "{node}: {expired} rows of {table} expire");
            }
        }
    }

    /// Ends the turn: queues the net changes that trigger rules and the rest of what operators
    /// yield (their number is returned, one event each), adds the changes of exported views to
    /// the sends, and settles the tables.
    pub fn finish(&mut self, observer: &mut dyn Observer) -> usize {
        if self.profiler.is_on() {
            self.measured(Engine::Finish, |node| node.finish_all(observer))
        } else {
            self.finish_all(observer)
        }
    }

    fn finish_all(&mut self, observer: &mut dyn Observer) -> usize {
        let recorded = self.record_views(observer);
        let follows = recorded + self.announce(observer);
        self.counters.dropped_table_full = self.views.refused();
        self.stayed_within_limits();
        if follows == 0 {
            self.allowances.chain.ended(self.turn.taken.link);
        }
        self.inbox.end();
        if self.views.has_changed() {
            self.views.settle(&mut self.database);
            self.scratch.reset();
        }
        let put_off = self.staging.put_off();
        (0..put_off).for_each(|_| self.inbox.push(Event::Resume));
        follows + put_off
    }

    /// Ships the net changes of the turn, shows them to observers, and queues those that trigger
    /// rules; returns the number of events.
    fn announce(&mut self, observer: &mut dyn Observer) -> usize {
        if !self.views.has_net() && self.program.compiled.exports.is_empty() {
            return 0;
        }
        let program = self.program.clone();
        let changes = self.net_changes();
        let mut follows = self.ship(&program, &changes);
        for (change, columns) in changes.iter() {
            follows += usize::from(self.announce_one(&program, change, columns, observer));
        }
        self.turn.net = changes;
        follows
    }

    /// The same for one change; true if it is queued.
    pub(super) fn announce_one(
        &mut self,
        program: &Program,
        change: Change,
        columns: Seq<'_>,
        observer: &mut dyn Observer,
    ) -> bool {
        let Change { relation, kind, .. } = change;
        let stage = match kind {
            ChangeKind::Insert => Stage::Inserted,
            ChangeKind::Refresh => Stage::Refreshed,
            ChangeKind::Delete => Stage::Deleted,
        };
        self.sight(relation, stage, None, columns, observer);
        if program.watching.violation == Some(relation) && kind == ChangeKind::Insert {
            let columns: Columns<'_> = columns.iter().collect();
            observer.violated(self.sighting(relation, stage, None, &columns));
        }
        if program.watching.history == Some(relation) && kind == ChangeKind::Insert {
            let columns: Columns<'_> = columns.iter().collect();
            observer.recorded(self.sighting(relation, stage, None, &columns));
        }
        if program.crossing[relation.index()] && kind != ChangeKind::Refresh {
            let kind = match kind {
                ChangeKind::Delete => CrossingKind::Delete,
                ChangeKind::Insert | ChangeKind::Refresh => CrossingKind::Insert,
            };
            self.turn.crossings.push_seq(Crossing { relation, kind }, columns);
        }
        let fires = match kind {
            ChangeKind::Insert => true,
            ChangeKind::Refresh => program.plan().relation(relation).is_soft(),
            ChangeKind::Delete => false,
        };
        let is_queued = fires && !program.dispatch.changes[relation.index()].is_empty();
        if is_queued {
            let mut row = self.spare_row();
            row.extend(columns);
            let link = Link::behind(self.inbox.running());
            self.inbox.push(Event::Change { relation, row, link });
        }
        is_queued
    }

    /// The net changes with copies of their rows, whose ids end with the turn.
    fn net_changes(&mut self) -> TupleBuf<Change> {
        let mut changes = std::mem::take(&mut self.turn.net);
        changes.clear();
        for change in self.views.net(&self.database) {
            let table = self.database.table(change.relation);
            changes.push_all(change, table.values(change.row));
        }
        changes
    }

    /// Rolls the turn back.
    pub fn abandon(&mut self) {
        self.counters.turns_abandoned += 1;
        say!(Debug, "node", "{}: a turn derives too much and is given up", self.identity.address);
        self.views.roll_back(&mut self.database);
        self.inbox.end();
        self.recorder.open.roll_back();
        // It may have grown large: its memory is freed.
        self.turn = Turn { now_ns: self.turn.now_ns, ..Turn::default() };
        for stage in self.staging.abandon() {
            self.counters.stages[stage].failed += 1;
        }
        self.scratch.reset();
    }

    /// Takes the sends of the turn, in order.
    pub fn take_sends(&mut self, take: impl FnMut(Send, Seq<'_>)) {
        if self.turn.sends.is_empty() {
            return;
        }
        let mut take = take;
        let sends = std::mem::take(&mut self.turn.sends);
        self.counters.sent += sends.len() as u64;
        for (send, columns) in sends.iter() {
            take(send, columns);
        }
        self.turn.sends = sends;
        self.turn.sends.clear();
    }

    /// One round of the views of the running commit. [`Progress::Exceeded`] has been reported: the
    /// turn must be given up.
    pub fn refine(&mut self, observer: &mut dyn Observer) -> Progress {
        if self.profiler.is_on() {
            self.measured(Engine::Views, |node| {
                let progress = node.refine_once(observer);
                if let Some(costs) = node.views.costs() {
                    node.profiler.add_views(costs);
                }
                progress
            })
        } else {
            self.refine_once(observer)
        }
    }

    #[inline]
    fn refine_once(&mut self, observer: &mut dyn Observer) -> Progress {
        if self.views.has_changed() { self.refine_views(observer) } else { Progress::Done }
    }

    fn refine_views(&mut self, observer: &mut dyn Observer) -> Progress {
        self.limit_views();
        let scope = Scope { scratch: &self.scratch, ambient: &self.ambient };
        let mut failures = Failing {
            program: &self.program,
            node: &self.identity.address,
            ambient: &self.ambient,
            counters: &mut self.counters,
            reported: &mut self.reported,
            observer: &mut *observer,
        };
        let plan = &self.program.compiled.plan;
        let now_ns = self.turn.now_ns;
        let progress = self.views.step(plan, &mut self.database, scope, now_ns, &mut failures);
        if progress == Progress::Exceeded {
            self.report_commit(self.views.overrun(), observer);
        }
        progress
    }
}
