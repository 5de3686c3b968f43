//! The record of traced rules, in a compact form.
//!
//! ```text
//! tuples    output | trigger | premise | premise | output | ...     each once for a trigger
//! inputs      rule, input, output (positions in tuples), role, time
//! received    id, sender
//! turns       ends in these lists, time
//! ```
//! Ids are hashed, and rows made of it, only when the record is [read](super::recorder).

use std::sync::Arc;

use tidemill_relation::plan::{RelationId, RuleId};
use tidemill_relation::{Seq, TupleBuf, Value};

/// Inputs that a turn records; those beyond are counted.
pub const RECORDED_MAX: usize = 100_000;

/// The records of some turns, the last of which may be running.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Records {
    inputs: Vec<Input>,
    received: Vec<ReceivedFrom>,
    /// The tuples of the inputs and outputs.
    tuples: TupleBuf<RelationId>,
    turns: Vec<TurnEnd>,
    /// Inputs and received tuples of the running turn.
    running: usize,
    /// Inputs of the running turn beyond [`RECORDED_MAX`].
    beyond: u64,
}

/// The end of a turn: the lengths of the lists, and its time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct TurnEnd {
    inputs: usize,
    received: usize,
    tuples: usize,
    now_ns: u64,
}

/// The records of one turn.
#[derive(Clone, Copy, Debug)]
pub(super) struct TurnRecords<'r> {
    pub(super) inputs: &'r [Input],
    pub(super) received: &'r [ReceivedFrom],
    /// The position of its first tuple among all.
    pub(super) first: usize,
    /// The position after its last.
    pub(super) end: usize,
    /// The time of the turn.
    pub(super) now_ns: u64,
}

/// An input tuple, and the output tuple.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Input {
    pub(super) rule: RuleId,
    pub(super) input: u32,
    pub(super) output: u32,
    /// The output is sent to another node.
    pub(super) remote: bool,
    pub(super) role: Role,
    /// The time as rules see it.
    pub(super) at_ns: i64,
}

/// The role of a tuple in an execution.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    /// It started it.
    Event,
    /// It was joined.
    Precondition,
}

impl Role {
    pub(super) fn name(self) -> &'static str {
        match self {
            Role::Event => "EVENT",
            Role::Precondition => "PRECOND",
        }
    }
}

/// A tuple of another node.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct ReceivedFrom {
    pub(super) id: i64,
    pub(super) sender: Arc<str>,
}

/// One execution, while its inputs are recorded.
#[derive(Clone, Copy, Debug)]
pub(super) struct Executed {
    pub(super) rule: RuleId,
    /// The position of its output.
    pub(super) output: u32,
    pub(super) remote: bool,
    pub(super) at_ns: i64,
}

impl Records {
    /// Whether the running turn has recorded nothing.
    #[inline]
    pub(super) fn is_idle(&self) -> bool {
        self.running == 0
    }

    /// Whether nothing is recorded at all.
    pub(super) fn is_empty(&self) -> bool {
        self.inputs.is_empty() && self.received.is_empty()
    }

    fn last(&self) -> TurnEnd {
        self.turns.last().copied().unwrap_or_default()
    }

    /// The number of inputs, and of tuples from other nodes.
    pub(super) fn len(&self) -> usize {
        self.inputs.len() + self.received.len()
    }

    /// When the last turn ended that is recorded.
    pub(super) fn last_ns(&self) -> u64 {
        self.last().now_ns
    }

    /// Whether the running turn may record an execution; if not, its inputs are counted.
    pub(super) fn has_room(&mut self, inputs: usize) -> bool {
        let has_room = self.inputs.len() - self.last().inputs < RECORDED_MAX;
        self.beyond += if has_room { 0 } else { inputs as u64 };
        has_room
    }

    /// Counts inputs that are not recorded.
    pub(super) fn count_beyond(&mut self, inputs: u64) {
        self.beyond += inputs;
    }

    /// Takes the number of inputs that the running turn has not recorded.
    pub(super) fn take_beyond(&mut self) -> u64 {
        std::mem::take(&mut self.beyond)
    }

    /// Records a tuple; returns its position.
    pub(super) fn tuple<'v>(
        &mut self,
        relation: RelationId,
        columns: impl Iterator<Item = Value<'v>>,
    ) -> u32 {
        self.tuples.push_all(relation, columns);
        self.tuples.len() as u32 - 1
    }

    /// Records a tuple that is encoded.
    pub(super) fn tuple_seq(&mut self, relation: RelationId, columns: Seq<'_>) -> u32 {
        self.tuples.push_seq(relation, columns);
        self.tuples.len() as u32 - 1
    }

    /// The tuple at a position.
    pub(super) fn tuple_at(&self, position: usize) -> Option<(RelationId, Seq<'_>)> {
        self.tuples.get(position)
    }

    /// Records one input of an execution.
    pub(super) fn input(&mut self, executed: Executed, input: u32, role: Role) {
        if self.has_room(1) {
            let Executed { rule, output, remote, at_ns } = executed;
            self.running += 1;
            self.inputs.push(Input { rule, input, output, remote, role, at_ns });
        }
    }

    /// Records the sender of a tuple.
    pub(super) fn received(&mut self, id: i64, sender: &Arc<str>) {
        self.running += 1;
        self.received.push(ReceivedFrom { id, sender: sender.clone() });
    }

    /// Adds the records of an earlier commit to the running turn.
    pub(super) fn append(&mut self, other: &Records) {
        let first = self.tuples.len() as u32;
        for (relation, columns) in other.tuples.iter() {
            self.tuples.push_seq(relation, columns);
        }
        let moved =
            |it: &Input| Input { input: it.input + first, output: it.output + first, ..*it };
        self.inputs.extend(other.inputs.iter().map(moved));
        self.received.extend_from_slice(&other.received);
        self.running += other.running;
        self.beyond += other.beyond;
    }

    /// The running turn has ended.
    pub(super) fn end_turn(&mut self, now_ns: u64) {
        let (inputs, received) = (self.inputs.len(), self.received.len());
        self.running = 0;
        self.turns.push(TurnEnd { inputs, received, tuples: self.tuples.len(), now_ns });
    }

    /// Forgets the records of the running turn.
    pub(super) fn roll_back(&mut self) {
        let TurnEnd { inputs, received, tuples, .. } = self.last();
        self.inputs.truncate(inputs);
        self.received.truncate(received);
        self.tuples.truncate(tuples);
        (self.running, self.beyond) = (0, 0);
    }

    /// The turns that have ended.
    pub(super) fn turns(&self) -> impl Iterator<Item = TurnRecords<'_>> {
        let begins = [TurnEnd::default()].into_iter().chain(self.turns.iter().copied());
        begins.zip(&self.turns).map(|(begin, end)| TurnRecords {
            inputs: &self.inputs[begin.inputs..end.inputs],
            received: &self.received[begin.received..end.received],
            first: begin.tuples,
            end: end.tuples,
            now_ns: end.now_ns,
        })
    }

    /// Forgets all and keeps the memory.
    pub(super) fn clear(&mut self) {
        self.inputs.clear();
        self.received.clear();
        self.tuples.clear();
        self.turns.clear();
        (self.running, self.beyond) = (0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn execute(records: &mut Records, number: i64) {
        let tuple = |records: &mut Records, value| {
            records.tuple(RelationId(0), [Value::Int(value)].into_iter())
        };
        let (output, input) = (tuple(records, number), tuple(records, -number));
        let executed = Executed { rule: RuleId(0), output, remote: false, at_ns: number };
        records.input(executed, input, Role::Event);
    }

    fn times(records: &Records) -> Vec<Vec<i64>> {
        records.turns().map(|turn| turn.inputs.iter().map(|it| it.at_ns).collect()).collect()
    }

    #[test]
    fn a_turn_that_is_given_up_leaves_nothing() {
        let mut records = Records::default();
        execute(&mut records, 1);
        records.end_turn(10);
        assert!(records.is_idle());
        execute(&mut records, 2);
        execute(&mut records, 3);
        assert!(!records.is_idle());
        records.roll_back();
        assert!(records.is_idle());
        execute(&mut records, 4);
        records.end_turn(20);
        assert_eq!(times(&records), [vec![1], vec![4]]);
        let turn = records.turns().nth(1).expect("a turn");
        assert_eq!((turn.first, turn.end, turn.now_ns), (2, 4, 20));
        let output = records.tuple_at(turn.inputs[0].output as usize).expect("a tuple");
        assert!(output.1.iter().eq([Value::Int(4)]));
    }

    #[test]
    fn records_of_a_commit_are_moved_behind_those_of_the_turn() {
        let (mut records, mut other) = (Records::default(), Records::default());
        execute(&mut records, 1);
        execute(&mut other, 2);
        records.append(&other);
        records.end_turn(10);
        assert_eq!(times(&records), [vec![1, 2]]);
        let inputs = records.turns().flat_map(|turn| turn.inputs);
        let values = inputs.map(|it| records.tuple_at(it.input as usize).expect("a tuple").1);
        let values: Vec<_> = values.flat_map(|it| it.iter().collect::<Vec<_>>()).collect();
        assert_eq!(values, [Value::Int(-1), Value::Int(-2)]);
    }
}
