//! The tables of decoders: the nodes of a schema, and the plan for filling messages.

use std::sync::{Arc, OnceLock};

use super::fill::Plan;
use super::nodes::{Entry, Node, Nodes, Required};
use super::select::{SelectError, Selection};
use crate::schema::{Definitions, MessageId, SchemaMark};

/// The decoders' tables of fields, compiled from a schema and a selection. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Tables(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    nodes: Nodes,
    /// The schema that they were made from.
    of: SchemaMark,
    /// The plan for filling messages, made when the first is decoded; two threads may race to make
    /// it.
    plan: OnceLock<Option<Plan>>,
}

impl Tables {
    fn with(schema: &Definitions, nodes: Nodes) -> Tables {
        Tables(Arc::new(Inner { nodes, of: schema.mark(), plan: OnceLock::new() }))
    }

    /// Tables for all messages of a schema with all of their fields.
    pub fn new(schema: &Definitions) -> Tables {
        Tables::with(schema, Nodes::all(schema, Required::Ignored))
    }

    /// The same, for a decoder that finds required fields missing. Each occurrence of a message is
    /// checked by itself.
    pub fn checking_required(schema: &Definitions) -> Tables {
        Tables::with(schema, Nodes::all(schema, Required::Checked))
    }

    /// Tables for one outermost message, with the fields that `paths` name: `a.b` is field `b` in
    /// the message of field `a`, with all that is in it. Other fields are skipped.
    ///
    /// # Errors
    /// A path that does not lead to a field.
    pub fn select(
        schema: &Definitions,
        message: MessageId,
        paths: &[impl AsRef<str>],
    ) -> Result<Tables, SelectError> {
        let selection = Selection::of(schema, message, paths)?;
        Ok(Tables::with(schema, Nodes::of(schema, message, &selection)))
    }

    /// Tables for all messages, each as an outermost one without the sub-messages that a
    /// [`Lazy`](crate::message::Lazy) puts off.
    pub(crate) fn shallow(schema: &Definitions) -> Tables {
        Tables::with(schema, Nodes::shallow(schema))
    }

    /// True if they were made from this schema.
    pub(crate) fn is_of(&self, schema: &Definitions) -> bool {
        self.0.of.is_of(schema)
    }

    /// The plan for filling messages, made by `make` if it is missing.
    #[inline]
    pub(super) fn plan_or(&self, make: impl FnOnce(&Nodes) -> Option<Plan>) -> Option<&Plan> {
        self.0.plan.get_or_init(|| make(&self.0.nodes)).as_ref()
    }

    /// The node of an outermost message, if the tables have it.
    #[inline]
    pub(crate) fn root(&self, message: MessageId) -> Option<u32> {
        self.0.nodes.root(message)
    }

    #[inline]
    pub(crate) fn node(&self, node: u32) -> &Node {
        self.0.nodes.node(node)
    }

    #[inline]
    pub(crate) fn entry(&self, entry: u32) -> &Entry {
        self.0.nodes.entry(entry)
    }

    #[inline]
    pub(crate) fn entries(&self) -> &[Entry] {
        self.0.nodes.entries()
    }

    #[inline]
    pub(crate) fn nodes(&self) -> &[Node] {
        self.0.nodes.nodes()
    }

    /// Which entry of a node has that number, [`NONE`](super::nodes::NONE) for none.
    #[inline]
    pub(crate) fn find(&self, node: &Node, number: u32) -> u32 {
        self.0.nodes.find(node, number)
    }
}
