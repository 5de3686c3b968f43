//! The drawing of a program, to which its parts and borders are added.

use tidemill_relation::plan::{RelationId, Storage};

use super::model::{Edge, EdgeKind, Graph, Node, NodeKind};
use crate::program::Program;

/// The drawing of a program.
pub(super) struct Whole<'p> {
    pub(super) program: &'p Program,
    pub(super) graph: Graph,
    /// The first node of a component; they are in the order of the program.
    pub(super) components: usize,
    /// The first node of an app; they are in the order of the graph.
    pub(super) apps: usize,
}

impl Whole<'_> {
    /// Without nodes.
    pub(super) fn of(program: &Program) -> Whole<'_> {
        Whole { program, graph: Graph::default(), components: 0, apps: 0 }
    }

    /// Appends the nodes and edges of a part.
    pub(super) fn append(&mut self, part: Graph) {
        let first = self.graph.nodes.len();
        self.graph.nodes.extend(part.nodes);
        let edges = part.edges.into_iter();
        let moved = edges.map(|edge| Edge { from: first + edge.from, to: first + edge.to, ..edge });
        self.graph.edges.extend(moved);
    }

    /// Adds an edge.
    pub(super) fn edge(&mut self, from: usize, to: usize, kind: EdgeKind) {
        self.graph.edges.push(Edge { from, to, kind });
    }

    /// The node of that kind and name; added if missing.
    pub(super) fn node(&mut self, kind: NodeKind, name: &str) -> usize {
        let known = |node: &Node| node.kind == kind && node.name == name;
        self.graph.nodes.iter().position(known).unwrap_or_else(|| {
            self.graph.nodes.push(Node { kind, name: name.to_owned(), hidden: false });
            self.graph.nodes.len() - 1
        })
    }

    /// The node of a relation.
    pub(super) fn relation(&mut self, id: RelationId) -> Option<usize> {
        let relation = self.program.rules.program.as_ref()?.plan.relation(id);
        let kind = match relation.storage {
            Storage::Event => NodeKind::Event,
            Storage::Table { .. } => NodeKind::Table,
        };
        let node = self.node(kind, &relation.name);
        // The table of settings is declared in no file, but its rows are of the program's rules.
        self.graph.nodes[node].hidden = false;
        Some(node)
    }

    /// The node of a component, by its full name.
    pub(super) fn component(&self, name: &str) -> Option<usize> {
        let ir = self.program.components.program.as_ref()?;
        Some(self.components + ir.components.iter().position(|it| it.name == name)?)
    }

    /// The node of an app.
    pub(super) fn app(&self, name: &str) -> Option<usize> {
        let graph = self.program.packets.as_ref()?;
        Some(self.apps + graph.apps.iter().position(|app| app.name == name)?)
    }
}
