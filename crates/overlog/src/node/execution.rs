//! Executions of rules, for an observer of a program that is [explained](super::Program::explain).

use tidemill_relation::Value;
use tidemill_relation::plan::{Plan, RelationId, Rule};

use crate::names::Names;

/// A rule has derived a tuple.
#[derive(Clone, Copy, Debug)]
pub struct Execution<'a> {
    /// Nanoseconds since the start of the loop.
    pub at_ns: u64,
    /// The turn of the node, by a number that no other turn of that time has.
    pub turn: u64,
    /// Whether it is reported at the end of the commit, after its consequences there, as
    /// derivations of views are. True where that is unknown.
    pub is_late: bool,
    /// The node.
    pub node: &'a str,
    /// The rule.
    pub rule: &'a Rule,
    /// The derived tuple.
    pub output: &'a Named<'a>,
    /// Whether it is sent to another node.
    pub is_remote: bool,
    /// The tuples that it was derived from, the one that started the rule first.
    pub inputs: &'a [Named<'a>],
}

/// A tuple came from another node.
#[derive(Clone, Copy, Debug)]
pub struct Receipt<'a> {
    /// Nanoseconds since the start of the loop.
    pub at_ns: u64,
    /// The node.
    pub node: &'a str,
    /// The sender.
    pub sender: &'a str,
    /// The tuple.
    pub tuple: &'a Named<'a>,
}

/// A tuple and its name.
#[derive(Clone, Debug)]
pub struct Named<'a> {
    /// A hash of its relation and columns; it is the same at all nodes.
    pub id: i64,
    /// The relation.
    pub relation: &'a str,
    /// Whether it is only passed between the parts of a rule.
    pub is_part: bool,
    /// Whether it is a row of a table: the rules of a turn see the rows from before it. False where
    /// that is unknown.
    pub is_row: bool,
    /// The node that holds it, if that is not the one of the execution.
    pub holder: Option<&'a str>,
    /// Its columns.
    pub columns: Vec<Value<'a>>,
}

impl<'a> Named<'a> {
    pub(super) fn new(
        names: &Names,
        plan: &'a Plan,
        relation: RelationId,
        columns: impl Iterator<Item = Value<'a>>,
    ) -> Named<'a> {
        let columns: Vec<Value<'a>> = names.columns(relation, columns).collect();
        let id = names.naming(relation).id(columns.iter().copied());
        let public = names.public(relation);
        let is_part = public.is_none();
        let relation = plan.relation(public.unwrap_or(relation));
        let (is_row, relation) = (relation.table().is_some(), relation.name.as_str());
        Named { id, relation, is_part, is_row, holder: None, columns }
    }
}
