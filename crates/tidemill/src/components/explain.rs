//! A program drawn, and its machine code listed.

use std::collections::BTreeSet;
use std::fmt::Write;

use tidemill_cl::compile::{Checkpoints, Choices, compile};
use tidemill_cl::ir::{self, ComponentId, Instruction, InterfaceId};
use tidemill_stdx::id::Id;

use crate::graph::{Edge, EdgeKind, Graph, Node, NodeKind};
use crate::program::Program;

/// Which component makes which, and which interfaces they offer and require: components in the
/// order of the program, then interfaces.
pub fn graph(program: &ir::Program) -> Graph {
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
    let mut edges = BTreeSet::new();
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

/// The machine code of every function, as it is on one loop, then their sizes and how long each
/// took to compile.
///
/// # Errors
/// If the program has errors, or no code can be made for this machine.
pub fn listing(program: &Program) -> Result<String, String> {
    let components = &program.components;
    let ir = components.program.as_ref().ok_or("the program has errors")?;
    let choices = Choices { checkpoints: Checkpoints::Flag, several: false, listing: true };
    let compiled = compile(ir, &program.sources, components.files, &choices)
        .map_err(|error| format!("no code can be made: {error}"))?;
    let mut text = String::new();
    for (_, id) in &compiled.functions {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{}", compiled.code.listing(*id).unwrap_or_default());
    }
    text.push_str(&compiled.code.report());
    text.push_str(
        "for one loop; with several, code of messages also asks where the other side is\n",
    );
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::text;
    use crate::program::LoadOptions;

    const PROGRAM: &str = "
        INTERFACE Greet; IN Hello OUT Welcome END Greet;
        COMPONENT Greeter OFFERS Greet;
          IMPLEMENTATION Greet; BEGIN ?Hello; !Welcome END Greet;
        END Greeter;
        COMPONENT Main REQUIRES SystemTime;
          VARIABLE g: Greeter;
          BEGIN NEW(g); g!Hello; g?Welcome
        END Main;";

    fn load() -> Program {
        Program::of_text("greet.com", PROGRAM, &LoadOptions::default())
    }

    #[test]
    fn the_graph_has_who_makes_offers_and_requires() {
        let program = load();
        let graph = graph(program.components.program.as_ref().expect("no errors"));
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

    #[test]
    fn every_function_is_listed() {
        let listing = listing(&load()).expect("code");
        for function in ["Greeter.Greet", "Main.BEGIN"] {
            assert!(listing.matches(function).count() >= 2, "{listing}");
        }
    }
}
