//! The graph of packet apps.

use tidemill_packet::graph::{AppSpec, Graph as Packets, LinkSpec};
use tidemill_stdx::sort;

use super::model::{Edge, EdgeKind, Graph, Node, NodeKind};

/// The graph in the form for drawings.
pub fn packets(graph: &Packets) -> Graph {
    let node = |app: &AppSpec| Node {
        kind: NodeKind::App,
        name: format!("{} :: {}", app.name, app.kind.name),
        hidden: false,
    };
    let edge =
        |link: &LinkSpec| Edge { from: link.from.app, to: link.to.app, kind: EdgeKind::Carries };
    let mut edges: Vec<Edge> = graph.links.iter().map(edge).collect();
    sort::by(&mut edges, Ord::cmp);
    edges.dedup();
    Graph { nodes: graph.apps.iter().map(node).collect(), edges }
}
