//! The record of a node: what its traced rules have done lately.
//!
//! A turn appends to the open page. Rows of the tables of the record are made of it when they are
//! read: at the end of the turn if rules read them, else when a query does. Until then the oldest
//! pages leave as the rows would: most of what is recorded is never read, and rows cost several
//! times what the record costs.

use std::collections::VecDeque;

use tidemill_relation::plan::{Plan, RelationId};
use tidemill_relation::{Seq, SeqBuilder, Value};
use tidemill_stdx::hash::Set;

use super::records::{Input, ReceivedFrom, Records, TurnRecords};
use crate::traces::Traces;

/// Inputs in a page.
const PAGE_INPUTS: usize = 2048;

/// The record.
#[derive(Debug, Default)]
pub(super) struct Recorder {
    /// Of the running turn, and of turns before it.
    pub(super) open: Records,
    /// Full pages, the oldest first.
    pages: VecDeque<Records>,
    /// Their inputs.
    held: usize,
    noted: NotedIds,
    list: SeqBuilder,
}

/// Tuples whose origin or content a turn has recorded.
#[derive(Debug, Default)]
struct NotedIds {
    /// Those whose origin is.
    known: Set<i64>,
    /// Those that were derived here.
    made: Set<i64>,
    /// Those whose content is.
    described: Set<i64>,
}

/// A row of one of the tables of the record.
#[derive(Clone, Copy, Debug)]
pub(super) struct RecordRow<'r> {
    pub(super) table: RelationId,
    pub(super) columns: &'r [Value<'r>],
    /// It is left out if the table of origins has a row for this id.
    pub(super) unless_known: Option<i64>,
}

impl Recorder {
    /// The turn has ended, and its rows are made later. `keeps` says whether the table of a size
    /// and a lifetime may still have rows of a page.
    pub(super) fn end_turn(&mut self, now_ns: u64, keeps: impl Fn(usize, u64) -> bool) {
        self.open.end_turn(now_ns);
        if self.open.len() < PAGE_INPUTS {
            return;
        }
        let mut spare = Records::default();
        self.held += self.open.len();
        while let Some(oldest) = self.pages.front()
            && !keeps(self.held - oldest.len(), oldest.last_ns())
        {
            self.held -= oldest.len();
            spare = self.pages.pop_front().unwrap_or_default();
            spare.clear();
        }
        self.pages.push_back(std::mem::replace(&mut self.open, spare));
    }

    /// The oldest page. It is given back, or forgotten.
    pub(super) fn take_page(&mut self) -> Option<Records> {
        let Some(page) = self.pages.pop_front() else {
            let is_empty = self.open.is_empty();
            return (!is_empty).then(|| std::mem::take(&mut self.open));
        };
        self.held -= page.len();
        Some(page)
    }

    /// Takes the memory of a page whose rows are made.
    pub(super) fn give_memory(&mut self, mut page: Records) {
        if self.open.is_empty() {
            page.clear();
            self.open = page;
        }
    }

    /// Makes the rows of a turn.
    pub(super) fn rows(
        &mut self,
        (plan, traces, own): (&Plan, &Traces, &str),
        page: &Records,
        turn: TurnRecords<'_>,
        mut put: impl FnMut(RecordRow<'_>),
    ) {
        let TurnRecords { inputs, received, first, end, .. } = turn;
        let (names, own) = (traces.names(), Value::Str(own));
        let tuples = || (first..end).filter_map(|at| page.tuple_at(at));
        let id = |(relation, columns): (_, Seq<'_>)| names.id(relation, columns.iter());
        let ids: Vec<i64> = tuples().map(id).collect();
        let id_at = |position: u32| ids[position as usize - first];
        let NotedIds { known, made, described } = &mut self.noted;
        let mut put = |table, columns: &[Value<'_>], unless_known| {
            put(RecordRow { table, columns, unless_known });
        };
        for ReceivedFrom { id, sender } in received {
            known.insert(*id);
            let (id, sender) = (Value::Int(*id), Value::Str(sender));
            put(traces.tuple, &[own, id, sender, id], None);
        }
        for output in inputs.iter().map(|it| id_at(it.output)) {
            if made.insert(output) {
                known.insert(output);
                let id = Value::Int(output);
                put(traces.tuple, &[own, id, own, id], None);
            }
        }
        for &Input { rule, input, output, remote, role, at_ns } in inputs {
            let (input, output) = (id_at(input), Value::Int(id_at(output)));
            let id = Value::Int(input);
            if known.insert(input) {
                put(traces.tuple, &[own, id, own, id], Some(input));
            }
            let rule = Value::Str(&plan.rules[rule.index()].name);
            let (at, kind) = (Value::Time(at_ns), Value::Str(role.name()));
            let columns = [own, rule, id, output, Value::Bool(remote), at, at, kind];
            put(traces.rule_exec, &columns, None);
        }
        for (id, (relation, columns)) in ids.iter().zip(tuples()) {
            if !described.insert(*id) {
                continue;
            }
            // Tuples passed between the parts of a rule have no name.
            let name = names.public(relation).map_or("", |it| plan.relation(it).name.as_str());
            self.list.clear();
            names.columns(relation, columns.iter()).for_each(|column| self.list.push(column));
            let list = Value::List(self.list.as_seq());
            put(traces.content, &[own, Value::Int(*id), Value::Str(name), list], None);
        }
        known.clear();
        made.clear();
        described.clear();
    }
}

#[cfg(test)]
mod tests {
    use tidemill_relation::plan::RuleId;

    use super::super::records::{Executed, Role};
    use super::*;

    fn turn(recorder: &mut Recorder, now_ns: u64, keeps: impl Fn(usize, u64) -> bool) {
        let open = &mut recorder.open;
        let position = open.tuple(RelationId(0), [Value::Int(1)].into_iter());
        let executed = Executed { rule: RuleId(0), output: position, remote: false, at_ns: 0 };
        open.input(executed, position, Role::Event);
        recorder.end_turn(now_ns, keeps);
    }

    fn turns(recorder: &mut Recorder) -> Vec<u64> {
        let pages = std::iter::from_fn(|| recorder.take_page());
        pages.flat_map(|page| page.turns().map(|it| it.now_ns).collect::<Vec<_>>()).collect()
    }

    /// As many inputs stay as a table has rows, or more by less than two pages.
    #[test]
    fn the_oldest_pages_leave() {
        let (count, most) = (10 * PAGE_INPUTS as u64, 3 * PAGE_INPUTS + 5);
        let mut recorder = Recorder::default();
        (0..count).for_each(|now_ns| turn(&mut recorder, now_ns, |newer, _| newer < most));
        let kept = turns(&mut recorder);
        assert!((most..most + 2 * PAGE_INPUTS).contains(&kept.len()), "{}", kept.len());
        assert!(kept.iter().copied().eq(count - kept.len() as u64..count));
        // By age.
        (0..count).for_each(|now_ns| turn(&mut recorder, now_ns, |_, last| now_ns < last + 100));
        let kept = turns(&mut recorder);
        assert!(kept.len() < 2 * PAGE_INPUTS && kept.last() == Some(&(count - 1)));
    }

    #[test]
    fn all_stays_without_a_limit() {
        let count = 5 * PAGE_INPUTS as u64 + 1;
        let mut recorder = Recorder::default();
        (0..count).for_each(|now_ns| turn(&mut recorder, now_ns, |_, _| true));
        assert!(turns(&mut recorder).into_iter().eq(0..count));
        assert_eq!(turns(&mut recorder), [0; 0]);
    }
}
