//! A compiled program, the same on every node.

use std::sync::Arc;

use tidemill_relation::expr::Expr;
use tidemill_relation::plan::{Pattern, Plan, RelationId};

use crate::arrivals::Arrivals;
use crate::node::Stages;
use crate::traces::Traces;

/// The output of the compiler. Nothing in it depends on a node, except [`Expr::Param`], evaluated
/// when a node starts.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Compiled {
    /// The package of the wire messages: the first file's name without folder and ending, with `_`
    /// for characters that a package name cannot have.
    pub package: String,
    /// Relations, strands and views.
    pub plan: Plan,
    /// Tuples that are true from the start, in source order.
    pub facts: Vec<Fact>,
    /// The watches, in source order; a relation may occur more than once.
    pub watches: Vec<Watch>,
    /// Standing queries, in source order.
    pub queries: Vec<Query>,
    /// External operators, in source order.
    pub stages: Vec<StageUse>,
    /// Files to which tuples are written, in source order.
    pub sinks: Vec<SinkUse>,
    /// Views whose rows belong to other nodes.
    pub exports: Vec<Export>,
    /// The relations that have a message, by name.
    pub wire: Vec<RelationId>,
    /// The tuples that other nodes may send.
    pub arrivals: Arrivals,
    /// The traces, if anything is traced.
    pub traces: Option<Traces>,
    /// Its rules at `@SIM`, which nodes do not run.
    pub global: Option<Box<Global>>,
    /// Its rules, and the declarations of its tables, as sources.
    pub written: Arc<Vec<Written>>,
}

impl Compiled {
    /// Whether a rule uses a column of a relation, counted from 0, or its tuples are watched,
    /// queried or written to a file.
    pub fn uses_column(&self, relation: &str, column: usize) -> bool {
        let Some(relation) = self.plan.find(relation) else { return false };
        let is_shown = self.watches.iter().any(|it| it.relation == relation)
            || self.queries.iter().any(|it| it.relation == relation)
            || self.sinks.iter().any(|it| it.relation == relation);
        is_shown || self.plan.reads_column(relation, column)
    }
}

/// A rule, or the declaration of a table, as a source: names resolved, macros expanded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Written {
    /// The label of the rule, or one made from its position; the name of the table.
    pub name: String,
    /// `file:line:column`.
    pub place: String,
    /// The statement, a rule without its label.
    pub text: String,
}

/// Rules at `@SIM`, as a program of one node that has the rows of all: see [`crate::global`].
#[derive(Clone, PartialEq, Debug)]
pub struct Global {
    /// The program.
    pub compiled: Compiled,
    /// The tables that it reads. There rows have two columns more: the address of the node that
    /// holds it, and that of the one node.
    pub reads: Vec<GlobalRead>,
    /// The tables of its rules.
    pub heads: Vec<GlobalHead>,
}

/// A table that rules at `@SIM` read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GlobalRead {
    /// In the program of the nodes.
    pub here: RelationId,
    /// In that of the one node.
    pub there: RelationId,
}

/// The table of a rule at `@SIM`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GlobalHead {
    /// In the program of the one node.
    pub relation: RelationId,
    /// The relation of its rows: `violation`, `unsettled` or `history`.
    pub name: String,
    /// The rule.
    pub rule: String,
    /// The tables that it reads, in the program of the nodes.
    pub reads: Vec<RelationId>,
    /// The watched stages.
    pub stages: Stages,
}

/// A fact.
#[derive(Clone, PartialEq, Debug)]
pub struct Fact {
    /// The relation.
    pub relation: RelationId,
    /// One per column; they read no registers.
    pub columns: Vec<Expr>,
    /// The column of its location.
    pub location: u32,
    /// `file:line:column`.
    pub place: String,
}

/// `watch` or `watchmod`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Watch {
    /// The relation.
    pub relation: RelationId,
    /// The stages of a tuple's life that are shown.
    pub stages: Stages,
}

/// `Query p(...)`.
#[derive(Clone, PartialEq, Debug)]
pub struct Query {
    /// The relation.
    pub relation: RelationId,
    /// One per column; equal registers mean equal values.
    pub columns: Vec<Pattern>,
    /// `file:line:column`.
    pub place: String,
}

/// `stage("OPERATOR", input, output)`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StageUse {
    /// The operator.
    pub operator: String,
    /// The relation that it reads: an event, or a table if the operator works outside.
    pub input: RelationId,
    /// The event it yields.
    pub output: RelationId,
    /// Its operator.
    pub by: WorkedBy,
    /// `file:line:column`.
    pub place: String,
}

/// `sink("FILE", name)`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SinkUse {
    /// The file, as it is written.
    pub file: String,
    /// The relation whose tuples are written: each of an event, each row that is inserted into a
    /// table.
    pub relation: RelationId,
    /// `file:line:column`.
    pub place: String,
}

/// The operator of a stage.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum WorkedBy {
    /// An operator of the node, in the turn.
    Node,
    /// The world outside the node, after the commit.
    Outside {
        /// The columns of the input, counted from 0, by which there is an instance for each key;
        /// none: there is one instance.
        keys: Vec<usize>,
    },
}

/// A view whose rows belong to other nodes.
///
/// Whenever a row of `out` is inserted or deleted, the same is done to `into` at the node that its
/// location column in `into` names; at this node by an event of a later turn. The last column of
/// both is the address of the node that sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Export {
    /// The hidden table that the view fills here.
    pub out: RelationId,
    /// The hidden table, of the same columns, that is filled there.
    pub into: RelationId,
    /// The column with the trail, if its rows may support themselves.
    pub trail: Option<u32>,
}
