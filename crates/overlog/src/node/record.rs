//! The record of a turn, and the rows that the tables of the record get of it.
//!
//! If rules read these tables, the rows are table changes at the end of the turn, after its own.
//! Derivations of views are known only at the end of the commit, so they are recorded by an event
//! before the changes which the commit has queued: rules that these start see all of them. Else
//! the rows are made when something outside reads the tables.

use std::sync::Arc;

use tidemill_relation::expr::{Ambient, Scope};
use tidemill_relation::plan::{Action, Plan, RelationId, RuleId};
use tidemill_relation::strand::JoinedRow;
use tidemill_relation::table::{Access, TableSpec, Visible};
use tidemill_relation::view::Derivation;
use tidemill_relation::{Seq, TupleBuf, Value};

use super::Node;
use super::event::{Event, Traced};
use super::execution::{Execution, Named, Receipt};
use super::recorder::RecordRow;
use super::records::{Executed, Records, Role};
use super::watch::Observer;
use crate::names::Names;
use crate::traces::{TUPLE_INDEX, Traces};

impl Node {
    /// Notes the sender of a tuple that goes into traced executions, and reports it to an observer
    /// that explains.
    pub(super) fn note_sender(
        &mut self,
        relation: RelationId,
        row: Seq<'_>,
        sender: &Arc<str>,
        observer: &mut dyn Observer,
    ) {
        let program = self.program.clone();
        if let Some(traces) = program.compiled.traces.as_ref().filter(|it| it.takes(relation)) {
            let id = traces.names().id(relation, row.iter());
            self.recorder.open.received(id, sender);
        }
        if let Some(names) = &program.explained {
            observer.received(Receipt {
                at_ns: self.turn.now_ns,
                node: &self.identity.address,
                sender,
                tuple: &Named::new(names, program.plan(), relation, row.iter()),
            });
        }
    }

    /// Ends the record of the turn; queues it as table changes if rules read these tables.
    #[inline]
    pub(super) fn record(&mut self) {
        if !self.recorder.open.is_idle() {
            self.end_record();
        }
    }

    fn end_record(&mut self) {
        self.counters.dropped_records += self.recorder.open.take_beyond();
        let program = self.program.clone();
        let Some(traces) = &program.compiled.traces else { return };
        let now_ns = self.turn.now_ns;
        if !program.reads_record {
            let tables = traces.tables().map(|it| program.plan().relation(it).table());
            return self.recorder.end_turn(now_ns, |newer, last_ns| {
                let keeps = |spec: &TableSpec| {
                    spec.size_max.is_none_or(|most| (newer as u64) < most)
                        && spec.lifetime_ns.is_none_or(|life| now_ns < last_ns.saturating_add(life))
                };
                tables.iter().flatten().any(|it| keeps(it))
            });
        }
        self.recorder.open.end_turn(now_ns);
        self.write_page(traces, |node, row, _| {
            node.turn.put(row.table, Action::Insert, row.columns);
        });
    }

    /// Makes rows of the oldest page of the record, if rules do not read them anyway, and expires
    /// rows. False if there is none, or a turn is running.
    ///
    /// What [`Node::rows`] and [`Node::database`] show of the record is complete after calls until
    /// then.
    pub fn write_record(&mut self, now_ns: u64) -> bool {
        if self.inbox.running().is_some() {
            return false;
        }
        let program = self.program.clone();
        let Some(traces) = &program.compiled.traces else { return false };
        let plan = program.plan();
        let wrote = self.write_page(traces, |node, row, at_ns| {
            node.views.insert(plan, &mut node.database, row.table, row.columns, at_ns);
        });
        let is_mortal = |table: &RelationId| program.dispatch.mortal.contains(table);
        for table in traces.tables().into_iter().filter(is_mortal) {
            while self.views.expire(&mut self.database, table, now_ns) {}
        }
        self.views.settle(&mut self.database);
        wrote
    }

    /// Makes the rows of the oldest page, each with the time of its turn.
    fn write_page(
        &mut self,
        traces: &Traces,
        mut put: impl FnMut(&mut Node, RecordRow<'_>, u64),
    ) -> bool {
        let mut recorder = std::mem::take(&mut self.recorder);
        let page = recorder.take_page();
        if let Some(page) = &page {
            let (program, address) = (self.program.clone(), self.identity.address.clone());
            for turn in page.turns() {
                recorder.rows((program.plan(), traces, &address), page, turn, |row| {
                    let is_known = row.unless_known.is_some_and(|id| self.knows_origin(traces, id));
                    if !is_known {
                        put(self, row, turn.now_ns);
                    }
                });
            }
        }
        self.recorder = recorder;
        let wrote = page.is_some();
        page.into_iter().for_each(|page| self.recorder.give_memory(page));
        wrote
    }

    /// Whether the table of origins has a row for an id.
    fn knows_origin(&mut self, traces: &Traces, id: i64) -> bool {
        let spec = self.program.plan().relation(traces.tuple).table();
        let number = spec.and_then(|it| it.indexes.iter().position(|it| *it == TUPLE_INDEX));
        let Some(number) = number else { return false };
        let access = Access::Index(number as u32);
        let table = self.database.table_mut(traces.tuple);
        table.prepare(access);
        table.rows(access, &[Value::Int(id)], Visible::Live).next().is_some()
    }

    /// The derivations of views in the running commit.
    fn derivations_of_views(&mut self, plan: &Plan, names: &Names) -> Derivations {
        let scope = Scope { scratch: &self.scratch, ambient: &self.ambient };
        let address = &self.identity.address;
        let mut all = Derivations::default();
        let mut take = |it: Derivation<'_>| {
            let to = names.ships_to(it.head).and_then(|column| it.columns.get(column as usize));
            let remote = to.is_some_and(|to| to.as_str() != Some(address));
            let first = all.premises.len();
            all.premises.extend_from_slice(it.premises);
            let premises = (first, all.premises.len());
            all.found.push(Found { rule: it.rule, head: it.head, remote, premises }, it.columns);
        };
        self.views.derivations(plan, &mut self.database, scope, &mut take);
        all
    }

    /// Records the derivations of views in the running commit. If rules read the record, an event
    /// does it before those that the commit queues; returns the number of events. Reports them to
    /// an observer that explains.
    pub(super) fn record_views(&mut self, observer: &mut dyn Observer) -> usize {
        if !self.views.is_traced() {
            return 0;
        }
        let program = self.program.clone();
        let (plan, traces) = (program.plan(), program.compiled.traces.as_ref());
        let Some(names) = program.explained.as_deref().or(traces.map(Traces::names)) else {
            return 0;
        };
        // Two passes over the tables: rows cannot be read while the tables are searched for more.
        let all = self.derivations_of_views(plan, names);
        if program.explained.is_some() {
            self.explain_views(names, &all, observer);
        }
        let Some(traces) = traces else { return 0 };
        let mut own = Records::default();
        let records = if program.reads_record { &mut own } else { &mut self.recorder.open };
        let at_ns = self.ambient.now_ns();
        for (found, head) in all.found.iter() {
            // If all is explained, not all is traced.
            let is_explained = program.explained.is_some();
            if is_explained && !traces.view_rule(plan, found.rule) {
                continue;
            }
            let premises = &all.premises[found.premises.0..found.premises.1];
            if !records.has_room(premises.len()) {
                continue;
            }
            let output = records.tuple_seq(found.head, head);
            let executed = Executed { rule: found.rule, output, remote: found.remote, at_ns };
            for (position, it) in premises.iter().enumerate() {
                let role = if position == 0 { Role::Event } else { Role::Precondition };
                let values = self.database.table(it.relation).values(it.row);
                let input = records.tuple(it.relation, values);
                records.input(executed, input, role);
            }
        }
        records.count_beyond(self.views.derivations_beyond());
        if !program.reads_record {
            self.record();
            return 0;
        }
        if own.is_empty() {
            return 0;
        }
        self.inbox.push(Event::Traced(Box::new(Traced::Recorded(own))));
        1
    }

    fn explain_views(&self, names: &Names, all: &Derivations, observer: &mut dyn Observer) {
        let plan = self.program.plan();
        for (found, head) in all.found.iter() {
            let premises = &all.premises[found.premises.0..found.premises.1];
            let inputs = premises.iter().map(|it| {
                let values = self.database.table(it.relation).values(it.row);
                Named::new(names, plan, it.relation, values)
            });
            observer.executed(Execution {
                at_ns: self.turn.now_ns,
                turn: self.counters.turns,
                is_late: true,
                node: &self.identity.address,
                rule: &plan.rules[found.rule.index()],
                output: &Named::new(names, plan, found.head, head.iter()),
                is_remote: found.remote,
                inputs: &inputs.collect::<Vec<_>>(),
            });
        }
    }
}

/// Derivations of views in a commit.
#[derive(Default)]
struct Derivations {
    /// Each with its row.
    found: TupleBuf<Found>,
    premises: Vec<JoinedRow>,
}

/// A derivation.
#[derive(Clone, Copy)]
struct Found {
    rule: RuleId,
    head: RelationId,
    /// The row is shipped.
    remote: bool,
    /// Where its premises begin and end among all.
    premises: (usize, usize),
}
