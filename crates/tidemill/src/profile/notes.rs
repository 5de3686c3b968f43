//! Annotates a drawing of a program with the cost of its rules.

use super::{Profile, percent, span};
use crate::graph::{Graph, NodeKind};

/// Adds the cost of each rule to its name, on lines of their own.
pub fn annotate(graph: &mut Graph, profile: &Profile) {
    let total = profile.total_ns();
    for node in graph.nodes.iter_mut().filter(|node| node.kind == NodeKind::Rule) {
        let Some(rule) = profile.rules.iter().find(|rule| rule.name == node.name) else { continue };
        let cost = rule.cost;
        let (share, took) = (percent(cost.ns, total), span(cost.ns));
        let counts = format!("{} fired, {} derived", cost.fired, cost.derived);
        node.name += &format!("\n{share:.1}%, {took}\n{counts}, {} probes", cost.probes);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::example;
    use super::*;
    use crate::graph::{Node, dot, mermaid};

    #[test]
    fn boxes_of_rules_show_their_cost() {
        let node = |kind, name: &str| Node { kind, name: name.to_owned(), hidden: false };
        let nodes = vec![node(NodeKind::Rule, "r1"), node(NodeKind::Event, "r2")];
        let mut graph = Graph { nodes, edges: Vec::new() };
        annotate(&mut graph, &example());
        let lines = ["r1", "65.0%, 6.5 us", "11 fired, 21 derived, 300 probes"];
        assert!(dot(&graph).contains(&format!("[label=\"{}\"", lines.join("\\n"))));
        assert!(mermaid(&graph).contains(&format!("[\"{}\"]", lines.join("<br/>"))));
        assert_eq!(graph.nodes[1].name, "r2");
    }
}
