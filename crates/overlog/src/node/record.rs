//! Records become rows of the tables of traces.
//!
//! The rows are table changes at the end of the turn, after its own. Derivations of views are
//! known only at the end of the commit, so they are recorded by an event before the changes which
//! the commit has queued: rules that these start see all of them.

use std::sync::Arc;

use tidemill_relation::expr::{Ambient, Scope};
use tidemill_relation::plan::{Action, Plan, RelationId};
use tidemill_relation::strand::JoinedRow;
use tidemill_relation::table::{Access, Visible};
use tidemill_relation::view::Derivation;
use tidemill_relation::{Seq, SeqBuilder, TupleBuf, Value};

use super::Node;
use super::event::{Event, Traced};
use super::execution::{Execution, Named, Receipt};
use super::records::{Content, Executed, Input, NotedIds, ReceivedFrom, Records, Role};
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
            self.turn.records.received.push(ReceivedFrom { id, sender: sender.clone() });
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

    /// Queues what the turn has recorded as table changes.
    #[inline]
    pub(super) fn record(&mut self) {
        if !self.turn.records.is_empty() {
            self.record_all();
        }
    }

    fn record_all(&mut self) {
        let Records { mut executions, mut received, mut contents, beyond, .. } =
            std::mem::take(&mut self.turn.records);
        self.counters.dropped_records += beyond;
        let program = self.program.clone();
        let Some(traces) = &program.compiled.traces else { return };
        let address = self.identity.address.clone();
        let own = Value::Str(&address);
        let NotedIds { mut known, mut made } = std::mem::take(&mut self.turn.noted);
        for ReceivedFrom { id, sender } in &received {
            let (id, sender) = (Value::Int(*id), Value::Str(sender));
            known.extend(id.as_int());
            self.turn.put(traces.tuple, Action::Insert, &[own, id, sender, id]);
        }
        let local = |node: &mut Node, id: i64| {
            let id = Value::Int(id);
            node.turn.put(traces.tuple, Action::Insert, &[own, id, own, id]);
        };
        for execution in &executions {
            if made.insert(execution.output) {
                local(self, execution.output);
            }
        }
        known.extend(&made);
        for &Input { rule, input, output, remote, role, at_ns } in &executions {
            if known.insert(input) && !self.knows_origin(traces, input) {
                local(self, input);
            }
            let at = Value::Time(at_ns);
            let rule = Value::Str(&program.plan().rules[rule.index()].name);
            let (input, output) = (Value::Int(input), Value::Int(output));
            let kind = Value::Str(role.name());
            let columns = [own, rule, input, output, Value::Bool(remote), at, at, kind];
            self.turn.put(traces.rule_exec, Action::Insert, &columns);
        }
        known.clear();
        let mut list = SeqBuilder::new();
        for (Content { id, relation }, columns) in contents.iter() {
            if known.insert(id) {
                // Tuples passed between the parts of a rule have no name.
                let public = traces.names().public(relation);
                let name = public.map_or("", |it| program.plan().relation(it).name.as_str());
                list.clear();
                let columns = traces.names().columns(relation, columns.iter());
                columns.for_each(|column| list.push(column));
                let row = [own, Value::Int(id), Value::Str(name), Value::List(list.as_seq())];
                self.turn.put(traces.content, Action::Insert, &row);
            }
        }
        // Kept for its memory.
        executions.clear();
        received.clear();
        contents.clear();
        known.clear();
        made.clear();
        self.turn.noted = NotedIds { known, made };
        self.turn.records = Records { executions, received, contents, last: None, beyond: 0 };
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

    /// The derivations of views in the running commit with their premises, and their heads.
    fn derivations_of_views(
        &mut self,
        plan: &Plan,
        names: &Names,
    ) -> (Vec<(Executed, Vec<JoinedRow>)>, TupleBuf<RelationId>) {
        let scope = Scope { scratch: &self.scratch, ambient: &self.ambient };
        let (at_ns, address) = (self.ambient.now_ns(), &self.identity.address);
        let (mut found, mut heads) = (Vec::new(), TupleBuf::new());
        let mut take = |it: Derivation<'_>| {
            let output = names.id(it.head, it.columns.iter().copied());
            let to = names.ships_to(it.head).and_then(|column| it.columns.get(column as usize));
            let remote = to.is_some_and(|to| to.as_str() != Some(address));
            found.push((Executed { rule: it.rule, output, remote, at_ns }, it.premises.to_vec()));
            heads.push(it.head, it.columns);
        };
        self.views.derivations(plan, &mut self.database, scope, &mut take);
        (found, heads)
    }

    /// Queues the derivations of views in the running commit to be recorded; returns the number of
    /// events. Reports them to an observer that explains.
    pub(super) fn record_views(&mut self, observer: &mut dyn Observer) -> usize {
        if !self.views.is_traced() {
            return 0;
        }
        let program = self.program.clone();
        let (plan, traces) = (program.plan(), program.compiled.traces.as_ref());
        let Some(names) = program.explained.as_deref().or(traces.map(Traces::names)) else {
            return 0;
        };
        let mut records = Records::default();
        // Two passes over the tables: a derivation cannot be hashed while the tables are searched
        // for more.
        let (found, heads) = self.derivations_of_views(plan, names);
        for ((executed, premises), (head, columns)) in found.iter().zip(heads.iter()) {
            let row = |it: &JoinedRow| self.database.table(it.relation).values(it.row);
            // If all is explained, not all is traced.
            let recorded = match program.explained {
                None => traces,
                Some(_) => traces.filter(|it| it.view_rule(plan, executed.rule)),
            };
            if recorded.is_some() {
                records.content(executed.output, head, columns.iter());
                for (position, it) in premises.iter().enumerate() {
                    let role = if position == 0 { Role::Event } else { Role::Precondition };
                    let input = names.id(it.relation, row(it));
                    records.content(input, it.relation, row(it));
                    records.input(*executed, input, role);
                }
            }
            if program.explained.is_some() {
                let inputs =
                    premises.iter().map(|it| Named::new(names, plan, it.relation, row(it)));
                observer.executed(Execution {
                    at_ns: self.turn.now_ns,
                    turn: self.counters.turns,
                    is_late: true,
                    node: &self.identity.address,
                    rule: &plan.rules[executed.rule.index()],
                    output: &Named::new(names, plan, head, columns.iter()),
                    is_remote: executed.remote,
                    inputs: &inputs.collect::<Vec<_>>(),
                });
            }
        }
        if traces.is_some() {
            records.beyond += self.views.derivations_beyond();
        }
        if records.is_empty() {
            return 0;
        }
        self.inbox.push(Event::Traced(Box::new(Traced::Recorded(records))));
        1
    }
}
