//! What drawings are made of.

/// What a node of the graph stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NodeKind {
    /// A relation whose tuples live for one turn.
    Event,
    /// A relation that keeps its rows.
    Table,
    /// A rule.
    Rule,
    /// A timer of a rule.
    Timer,
    /// An operator outside the language.
    Stage,
    /// A component type.
    Component,
    /// An interface between components.
    Interface,
    /// An interface that the system offers.
    System,
    /// A packet app.
    App,
    /// A message type of a schema.
    Message,
    /// A file.
    File,
}

impl NodeKind {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            NodeKind::Event => "event",
            NodeKind::Table => "table",
            NodeKind::Rule => "rule",
            NodeKind::Timer => "timer",
            NodeKind::Stage => "stage",
            NodeKind::App => "app",
            NodeKind::Message => "message",
            NodeKind::File => "file",
            NodeKind::Component => "component",
            NodeKind::Interface => "interface",
            NodeKind::System => "system",
        }
    }
}

/// A node of the graph.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Node {
    /// What it stands for.
    pub kind: NodeKind,
    /// The name of the relation, rule or operator; for timers the rule's.
    pub name: String,
    /// Made by the planner.
    pub hidden: bool,
}

/// What an edge of the graph says; the order is that of the text form.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum EdgeKind {
    /// From a relation or timer to a rule or operator: starts it.
    Starts,
    /// From a table to a rule: its rows are joined.
    Reads,
    /// From a table to a rule: the rule asks that no row fits.
    Lacks,
    /// From a rule or operator to an event: derives its tuples.
    Emits,
    /// From a rule to a table: puts rows in.
    Inserts,
    /// From a rule to a table: takes rows out.
    Deletes,
    /// From a rule to a table that it keeps up to date.
    Maintains,
    /// From a table to its counterpart at other nodes.
    Ships,
    /// From a component to one that it makes.
    Makes,
    /// From a component to an interface that it serves.
    Offers,
    /// From a component to an interface that it uses.
    Requires,
    /// From a packet app to another: a link.
    Carries,
    /// From a relation or app to a file that its tuples go to.
    Fills,
    /// From a stage or app to a component that works for it.
    Runs,
    /// From a stage or app to the messages that it reads.
    Decodes,
    /// From a stage to the messages that it writes.
    Encodes,
    /// From a relation to the interface by which components hear of it.
    Reaches,
    /// From an event to the app whose packets it sends.
    Sends,
    /// From an event to the app whose packets it keeps for longer.
    Holds,
    /// From a table to an app whose settings it changes.
    Configures,
    /// From a relation to the app whose table it is, which rules write.
    Writes,
}

impl EdgeKind {
    /// The word that drawings put on the edge.
    pub fn word(self) -> &'static str {
        match self {
            EdgeKind::Starts => "starts",
            EdgeKind::Reads => "joins",
            EdgeKind::Lacks => "notin",
            EdgeKind::Emits => "emits",
            EdgeKind::Inserts => "inserts",
            EdgeKind::Deletes => "deletes",
            EdgeKind::Maintains => "maintains",
            EdgeKind::Ships => "ships",
            EdgeKind::Makes => "makes",
            EdgeKind::Offers => "offers",
            EdgeKind::Requires => "requires",
            EdgeKind::Carries => "carries",
            EdgeKind::Fills => "fills",
            EdgeKind::Runs => "runs",
            EdgeKind::Decodes => "decodes",
            EdgeKind::Encodes => "encodes",
            EdgeKind::Reaches => "reaches",
            EdgeKind::Sends => "sends",
            EdgeKind::Holds => "holds",
            EdgeKind::Configures => "configures",
            EdgeKind::Writes => "writes",
        }
    }
}

/// An edge of the graph, between positions in [`Graph::nodes`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Edge {
    /// Where it begins.
    pub from: usize,
    /// Where it ends.
    pub to: usize,
    /// What it says.
    pub kind: EdgeKind,
}

/// A graph to be drawn.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Graph {
    /// The nodes.
    pub nodes: Vec<Node>,
    /// The edges, sorted, each once.
    pub edges: Vec<Edge>,
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A timer that emits an event, which a rule joins with a table.
    pub(crate) fn example() -> Graph {
        let node =
            |kind, name: &str| Node { kind, name: name.to_owned(), hidden: name.contains('!') };
        Graph {
            nodes: vec![
                node(NodeKind::Event, "ping"),
                node(NodeKind::Table, "peer"),
                node(NodeKind::Table, "best!agg"),
                node(NodeKind::Timer, "r1"),
                node(NodeKind::Rule, "r1"),
                node(NodeKind::Rule, "r2"),
            ],
            edges: vec![
                Edge { from: 0, to: 5, kind: EdgeKind::Starts },
                Edge { from: 1, to: 4, kind: EdgeKind::Reads },
                Edge { from: 1, to: 5, kind: EdgeKind::Lacks },
                Edge { from: 3, to: 4, kind: EdgeKind::Starts },
                Edge { from: 4, to: 0, kind: EdgeKind::Emits },
                Edge { from: 5, to: 1, kind: EdgeKind::Inserts },
                Edge { from: 5, to: 2, kind: EdgeKind::Maintains },
            ],
        }
    }
}
