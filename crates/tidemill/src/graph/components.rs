//! The graph of components.

use tidemill_cl::ir::{self, ComponentId, Instruction, InterfaceId};
use tidemill_stdx::id::Id;
use tidemill_stdx::sorted::SortedSet;

use super::model::{Edge, EdgeKind, Graph, Node, NodeKind};

/// Which component makes which, and which interfaces they offer and require: components in the
/// order of the program, then interfaces.
pub fn components(program: &ir::Program) -> Graph {
    let components = program.components.iter().map(|component| Node {
        kind: NodeKind::Component,
        name: component.name.clone(),
        hidden: false,
    });
    let interfaces = program.interfaces.iter().map(|interface| Node {
        kind: if interface.system { NodeKind::System } else { NodeKind::Interface },
        name: interface.name.clone(),
        hidden: false,
    });
    let nodes: Vec<Node> = components.chain(interfaces).collect();
    let interface = |id: InterfaceId| program.components.len() + id.index();
    let mut edges = SortedSet::new();
    for (id, component) in program.components.iter_enumerated() {
        let from = id.index();
        for offer in &component.offers {
            edges.insert(Edge { from, to: interface(offer.interface), kind: EdgeKind::Offers });
        }
        for require in &component.requires {
            edges.insert(Edge { from, to: interface(require.interface), kind: EdgeKind::Requires });
        }
        for made in made_by(program, id) {
            edges.insert(Edge { from, to: made.index(), kind: EdgeKind::Makes });
        }
    }
    Graph { nodes, edges: edges.into_iter().collect() }
}

/// The types of components that the code of a component makes.
fn made_by(program: &ir::Program, id: ComponentId) -> impl Iterator<Item = ComponentId> {
    let own = program.functions.iter().filter(move |function| function.component == id);
    let instructions =
        own.flat_map(|function| &function.blocks).flat_map(|block| &block.instructions);
    instructions.filter_map(|(instruction, _)| match instruction {
        Instruction::New { component, .. } => Some(*component),
        _ => None,
    })
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::text;
    use super::*;
    use crate::program::{LoadOptions, Program};

    pub(crate) const GREETING: &str = "
        INTERFACE Greet; IN Hello OUT Welcome END Greet;
        COMPONENT Greeter OFFERS Greet;
          IMPLEMENTATION Greet; BEGIN ?Hello; !Welcome END Greet;
        END Greeter;
        COMPONENT Main REQUIRES SystemTime;
          VARIABLE g: Greeter;
          BEGIN NEW(g); g!Hello; g?Welcome
        END Main;";

    #[test]
    fn the_graph_has_who_makes_offers_and_requires() {
        let program = Program::of_text("greet.com", GREETING, &LoadOptions::default());
        let graph = components(program.components.program.as_ref().expect("no errors"));
        let expected = "\
component Greeter
  offers interface Greet
component Main
  makes component Greeter
  requires system SystemTime
interface Greet
system SystemTime
";
        assert_eq!(text(&graph), expected);
    }
}
