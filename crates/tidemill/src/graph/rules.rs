//! The graph of rules.

use std::collections::HashMap;

use tidemill_overlog::program::{Compiled, StageUse};
use tidemill_relation::plan::{
    Action, Lookup, On, Plan, RelationId, RuleId, Step, Storage, Strand, ViewKind, ViewRule,
};

use super::model::{Edge, EdgeKind, Graph, Node, NodeKind};

/// The graph of rules: relations that are used, in the order of the plan, then rules, each after
/// its timer, then operators, then files.
pub fn rules(compiled: &Compiled) -> Graph {
    let plan = &compiled.plan;
    let mut building = Building { plan, graph: Graph::default(), index: HashMap::new() };
    for strand in &plan.strands {
        building.strand(strand);
    }
    for rule in plan.strata.iter().flat_map(|stratum| &stratum.rules) {
        building.view(rule);
    }
    for (id, relation) in (0..).map(RelationId).zip(&plan.relations) {
        if let Some(candidates) = relation.candidates {
            let (from, to) = (building.relation(candidates), building.relation(id));
            building.edge(from, to, EdgeKind::Maintains);
        }
    }
    for export in &compiled.exports {
        let (from, to) = (building.relation(export.out), building.relation(export.into));
        building.edge(from, to, EdgeKind::Ships);
    }
    for (index, stage) in compiled.stages.iter().enumerate() {
        building.stage(index, stage);
    }
    for (index, sink) in compiled.sinks.iter().enumerate() {
        let (kind, name) = (NodeKind::File, sink.file.clone());
        let file = building.node(Origin::Sink(index), || Node { kind, name, hidden: false });
        let from = building.relation(sink.relation);
        building.edge(from, file, EdgeKind::Fills);
    }
    building.finish()
}

/// The origin of a node, before nodes are ordered.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Origin {
    Relation(RelationId),
    Rule(RuleId, Part),
    Stage(usize),
    Sink(usize),
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Part {
    Timer,
    Body,
}

struct Building<'p> {
    plan: &'p Plan,
    graph: Graph,
    index: HashMap<Origin, usize>,
}

impl Building<'_> {
    fn node(&mut self, origin: Origin, node: impl FnOnce() -> Node) -> usize {
        *self.index.entry(origin).or_insert_with(|| {
            self.graph.nodes.push(node());
            self.graph.nodes.len() - 1
        })
    }

    fn relation(&mut self, id: RelationId) -> usize {
        let relation = self.plan.relation(id);
        self.node(Origin::Relation(id), || Node {
            kind: match relation.storage {
                Storage::Event => NodeKind::Event,
                Storage::Table { .. } => NodeKind::Table,
            },
            name: relation.name.clone(),
            hidden: relation.hidden,
        })
    }

    fn rule(&mut self, id: RuleId, part: Part) -> usize {
        let name = self.plan.rules.get(id.index()).map_or("?", |rule| &rule.name).to_owned();
        let kind = match part {
            Part::Timer => NodeKind::Timer,
            Part::Body => NodeKind::Rule,
        };
        self.node(Origin::Rule(id, part), || Node { kind, name, hidden: false })
    }

    fn edge(&mut self, from: usize, to: usize, kind: EdgeKind) {
        self.graph.edges.push(Edge { from, to, kind });
    }

    fn strand(&mut self, strand: &Strand) {
        let source = match strand.trigger.on {
            On::Periodic { .. } => self.rule(strand.rule, Part::Timer),
            _ => self.relation(strand.trigger.relation),
        };
        let rule = self.rule(strand.rule, Part::Body);
        self.edge(source, rule, EdgeKind::Starts);
        for step in &strand.steps {
            let (Lookup { relation, .. }, kind) = match step {
                Step::Join(lookup) | Step::Exists(lookup) => (lookup, EdgeKind::Reads),
                Step::Absent(lookup) => (lookup, EdgeKind::Lacks),
                Step::Let(..) | Step::Match(..) | Step::Filter(..) => continue,
            };
            let table = self.relation(*relation);
            self.edge(table, rule, kind);
        }
        let head = self.relation(strand.output.relation);
        let kind = match strand.output.action {
            Action::Emit => EdgeKind::Emits,
            Action::Insert => EdgeKind::Inserts,
            Action::Delete => EdgeKind::Deletes,
        };
        self.edge(rule, head, kind);
    }

    fn view(&mut self, view: &ViewRule) {
        let rule = self.rule(view.rule, Part::Body);
        for atom in &view.body {
            let table = self.relation(atom.relation);
            let kind = if atom.negated { EdgeKind::Lacks } else { EdgeKind::Reads };
            self.edge(table, rule, kind);
        }
        let head = self.relation(view.head);
        let kind = match view.kind {
            ViewKind::Maintained | ViewKind::Grouped => EdgeKind::Maintains,
            ViewKind::Plain => EdgeKind::Inserts,
        };
        self.edge(rule, head, kind);
    }

    fn stage(&mut self, index: usize, stage: &StageUse) {
        let (kind, name) = (NodeKind::Stage, stage.operator.clone());
        let operator = self.node(Origin::Stage(index), || Node { kind, name, hidden: false });
        let (input, output) = (self.relation(stage.input), self.relation(stage.output));
        self.edge(input, operator, EdgeKind::Starts);
        self.edge(operator, output, EdgeKind::Emits);
    }

    /// Puts nodes in the order of their origins, and edges in order.
    fn finish(self) -> Graph {
        let mut origins: Vec<(Origin, usize)> = self.index.into_iter().collect();
        origins.sort_unstable();
        let mut place = vec![0; origins.len()];
        for (new, &(_, old)) in origins.iter().enumerate() {
            place[old] = new;
        }
        let nodes = origins.iter().map(|&(_, old)| self.graph.nodes[old].clone()).collect();
        let mut edges: Vec<Edge> = (self.graph.edges.iter())
            .map(|edge| Edge { from: place[edge.from], to: place[edge.to], ..*edge })
            .collect();
        edges.sort_unstable();
        edges.dedup();
        Graph { nodes, edges }
    }
}

#[cfg(test)]
mod tests {
    use tidemill_overlog::program::WorkedBy;

    use super::*;

    #[test]
    fn a_plan_becomes_a_graph() {
        let plan = tidemill_relation::plan::parse(
            "relation p0 \"ping\" at 0 (string, int64)\n\
             relation p1 \"peer\" at 0 (string, string)\n  table key(0, 1)\n\
             rule r0 \"r1\" at \"a.olg:1:1\"\n\
             strand r0 on event p0 (v0, _) regs 2\n\
             \x20 join p1 scan [] atom 1 (_, v1)\n\
             \x20 emit p0 (v1, 7)\n",
        )
        .expect("a plan");
        let stage = StageUse {
            operator: "COUNT".to_owned(),
            input: RelationId(0),
            output: RelationId(0),
            by: WorkedBy::Node,
            place: "a.olg:2:1".to_owned(),
        };
        let stages = vec![stage];
        let graph = rules(&Compiled { plan, stages, ..Compiled::default() });
        let names: Vec<&str> = graph.nodes.iter().map(|node| node.name.as_str()).collect();
        assert_eq!(names, ["ping", "peer", "r1", "COUNT"]);
        assert_eq!(
            graph.edges,
            [
                Edge { from: 0, to: 2, kind: EdgeKind::Starts },
                Edge { from: 0, to: 3, kind: EdgeKind::Starts },
                Edge { from: 1, to: 2, kind: EdgeKind::Reads },
                Edge { from: 2, to: 0, kind: EdgeKind::Emits },
                Edge { from: 3, to: 0, kind: EdgeKind::Emits },
            ]
        );
    }
}
