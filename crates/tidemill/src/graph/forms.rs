//! A graph as text, in the DOT language of Graphviz, and in that of Mermaid.

use std::fmt::Write;

use super::model::{EdgeKind, Graph, Node, NodeKind};

/// A paragraph per node: its kind and name, then its outgoing edges.
///
/// ```text
/// event ping
///   starts rule r2
/// ```
pub fn text(graph: &Graph) -> String {
    let mut out = String::new();
    for (index, node) in graph.nodes.iter().enumerate() {
        let hidden = if node.hidden { " (made by the planner)" } else { "" };
        // Writing to a string cannot fail, here and below.
        let _ = writeln!(out, "{} {}{hidden}", node.kind.word(), node.name);
        for edge in graph.edges.iter().filter(|edge| edge.from == index) {
            let to = &graph.nodes[edge.to];
            let verb = match edge.kind {
                EdgeKind::Reads => "is joined by",
                EdgeKind::Lacks => "is denied by",
                EdgeKind::Ships => "is shipped to",
                EdgeKind::Carries => "sends to",
                EdgeKind::Sends => "sends packets of",
                EdgeKind::Holds => "holds packets of",
                other => other.word(),
            };
            let _ = writeln!(out, "  {verb} {} {}", to.kind.word(), to.name);
        }
    }
    out
}

/// The language of Graphviz.
pub fn dot(graph: &Graph) -> String {
    let mut out = String::from("digraph dataflow {\n  rankdir=LR;\n  node [fontname=\"sans\"];\n");
    for (index, node) in graph.nodes.iter().enumerate() {
        let shape = match node.kind {
            NodeKind::Event => "ellipse",
            NodeKind::Table => "cylinder",
            NodeKind::Rule => "box",
            NodeKind::Timer => "circle",
            NodeKind::Stage | NodeKind::Component => "component",
            NodeKind::Interface => "ellipse",
            NodeKind::System => "doubleoctagon",
            NodeKind::App => "box",
            NodeKind::Message => "tab",
            NodeKind::File => "note",
        };
        let style = if node.hidden { ", style=dashed" } else { "" };
        let name = escape_dot(&label(node));
        let _ = writeln!(out, "  n{index} [label=\"{name}\", shape={shape}{style}];");
    }
    for edge in &graph.edges {
        let style = match edge.kind {
            EdgeKind::Reads | EdgeKind::Lacks | EdgeKind::Requires | EdgeKind::MayOpen => {
                ", style=dashed"
            }
            EdgeKind::Ships | EdgeKind::Makes => ", style=bold",
            _ => "",
        };
        let (from, to, word) = (edge.from, edge.to, edge.kind.word());
        let _ = writeln!(out, "  n{from} -> n{to} [label=\"{word}\"{style}];");
    }
    out.push_str("}\n");
    out
}

/// The language of Mermaid.
pub fn mermaid(graph: &Graph) -> String {
    let mut out = String::from("flowchart LR\n");
    for (index, node) in graph.nodes.iter().enumerate() {
        let name = escape_mermaid(&label(node));
        let _ = match node.kind {
            NodeKind::Event | NodeKind::Interface => writeln!(out, "  n{index}([\"{name}\"])"),
            NodeKind::Table => writeln!(out, "  n{index}[(\"{name}\")]"),
            NodeKind::Rule
            | NodeKind::Component
            | NodeKind::App
            | NodeKind::Message
            | NodeKind::File => {
                writeln!(out, "  n{index}[\"{name}\"]")
            }
            NodeKind::Timer => writeln!(out, "  n{index}((\"{name}\"))"),
            NodeKind::Stage | NodeKind::System => writeln!(out, "  n{index}[[\"{name}\"]]"),
        };
    }
    for edge in &graph.edges {
        let arrow = match edge.kind {
            EdgeKind::Reads | EdgeKind::Lacks | EdgeKind::Requires | EdgeKind::MayOpen => "-.->",
            EdgeKind::Ships | EdgeKind::Makes => "==>",
            _ => "-->",
        };
        let (from, to, word) = (edge.from, edge.to, edge.kind.word());
        let _ = writeln!(out, "  n{from} {arrow}|{word}| n{to}");
    }
    out
}

/// The label of a node in drawings.
pub(super) fn label(node: &Node) -> String {
    match node.kind {
        NodeKind::Timer => format!("timer of {}", node.name),
        _ => node.name.clone(),
    }
}

fn escape_dot(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

fn escape_mermaid(text: &str) -> String {
    text.replace('#', "#35;").replace('"', "#quot;").replace('\n', "<br/>")
}

#[cfg(test)]
mod tests {
    use super::super::model::tests::example;
    use super::*;

    #[test]
    fn text_lists_nodes_and_their_edges() {
        let expected = "\
event ping
  starts rule r2
table peer
  is joined by rule r1
  is denied by rule r2
table best!agg (made by the planner)
timer r1
  starts rule r1
rule r1
  emits event ping
rule r2
  inserts table peer
  maintains table best!agg
";
        assert_eq!(text(&example()), expected);
    }

    #[test]
    fn dot_names_every_node_and_edge() {
        let dot = dot(&example());
        assert!(dot.contains("n1 [label=\"peer\", shape=cylinder];"), "{dot}");
        assert!(dot.contains("n2 [label=\"best!agg\", shape=cylinder, style=dashed];"), "{dot}");
        assert!(dot.contains("n1 -> n5 [label=\"notin\", style=dashed];"), "{dot}");
        assert_eq!(dot.matches(" -> ").count(), 7);
    }

    #[test]
    fn mermaid_escapes_what_it_must() {
        let mut graph = example();
        graph.nodes[0].name = "a\"#".to_owned();
        let mermaid = mermaid(&graph);
        assert!(mermaid.contains("n0([\"a#quot;#35;\"])"), "{mermaid}");
        assert!(mermaid.contains("n3((\"timer of r1\"))"), "{mermaid}");
        assert!(mermaid.contains("n4 -->|emits| n0"), "{mermaid}");
    }
}
