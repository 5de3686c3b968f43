//! The records of traced rules in a turn.

use std::sync::Arc;

use tidemill_relation::plan::{RelationId, RuleId};
use tidemill_relation::{TupleBuf, Value};
use tidemill_stdx::hash::Set;

/// Executions that a turn records; those beyond are counted.
pub const RECORDED_MAX: usize = 100_000;

/// The records of a turn.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Records {
    pub(super) executions: Vec<Input>,
    pub(super) received: Vec<ReceivedFrom>,
    /// The contents of the tuples of both.
    pub(super) contents: TupleBuf<Content>,
    /// The last of these: an execution often begins with the output of the one before.
    pub(super) last: Option<i64>,
    /// Executions beyond [`RECORDED_MAX`].
    pub(super) beyond: u64,
}

/// A tuple by its id.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Content {
    pub(super) id: i64,
    pub(super) relation: RelationId,
}

/// An input tuple, and the output tuple.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Input {
    pub(super) rule: RuleId,
    pub(super) input: i64,
    pub(super) output: i64,
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
    pub(super) output: i64,
    pub(super) remote: bool,
    pub(super) at_ns: i64,
}

/// Tuples whose origin is recorded in the running turn.
#[derive(Debug, Default)]
pub(super) struct NotedIds {
    /// All of them.
    pub(super) known: Set<i64>,
    /// Those that were derived here.
    pub(super) made: Set<i64>,
}

impl Records {
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.executions.is_empty() && self.received.is_empty()
    }

    /// Notes one input of an execution.
    pub(super) fn input(&mut self, executed: Executed, input: i64, role: Role) {
        if self.executions.len() >= RECORDED_MAX {
            self.beyond += 1;
            return;
        }
        let Executed { rule, output, remote, at_ns } = executed;
        self.executions.push(Input { rule, input, output, remote, role, at_ns });
    }

    /// Notes the content of a tuple.
    pub(super) fn content<'v>(
        &mut self,
        id: i64,
        relation: RelationId,
        columns: impl Iterator<Item = Value<'v>>,
    ) {
        if self.executions.len() < RECORDED_MAX && self.last != Some(id) {
            self.contents.push_all(Content { id, relation }, columns);
            self.last = Some(id);
        }
    }

    /// Adds the records of an earlier commit.
    pub(super) fn append(&mut self, other: &Records) {
        self.executions.extend_from_slice(&other.executions);
        self.received.extend_from_slice(&other.received);
        for (content, columns) in other.contents.iter() {
            self.contents.push_seq(content, columns);
        }
        self.beyond += other.beyond;
    }
}
