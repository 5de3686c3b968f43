//! The graphs of all parts of a program in one, with the edges between them.

use super::by_name;
use super::components::components;
use super::model::{EdgeKind, Graph, Node, NodeKind};
use super::packets::packets;
use super::rules::rules;
use super::whole::Whole;
use crate::borders::components::StageBorder;
use crate::borders::decode::DecodeBorder;
use crate::borders::packets::PacketBorder;
use crate::borders::rules::RulesBorder;
use crate::borders::schemas::{Direction, named};
use crate::borders::tables::TableBorder;
use crate::program::Program;

/// The graph of a program: its rules, then its components, then its packet graph, then the messages
/// and files that they use.
pub fn drawing(program: &Program) -> Graph {
    let mut whole = Whole::of(program);
    if let Some(compiled) = &program.rules.program {
        whole.append(rules(compiled));
    }
    whole.components = whole.graph.nodes.len();
    if let Some(ir) = &program.components.program {
        whole.append(components(ir));
    }
    whole.apps = whole.graph.nodes.len();
    if let Some(graph) = &program.packets {
        whole.append(packets(graph));
    }
    whole.borders();
    let Graph { mut edges, nodes } = whole.graph;
    edges.sort_unstable();
    edges.dedup();
    Graph { nodes, edges }
}

impl Whole<'_> {
    fn borders(&mut self) {
        let borders = &self.program.borders;
        self.messages_of_stages();
        borders.components.iter().for_each(|stage| self.components(stage));
        borders.rules.iter().for_each(|border| self.rules(border));
        borders.packets.iter().for_each(|border| self.packets(border));
        borders.decoders.iter().for_each(|border| self.decoder(border));
        for border in &borders.flows {
            let Some(app) = self.app(&border.app) else { continue };
            self.edge(app, self.components + border.number(), EdgeKind::Runs);
        }
        borders.tables.iter().for_each(|border| self.table(border));
        if borders.settings.is_some() {
            self.settings();
        }
        by_name::opened(self);
        by_name::messages(self);
    }

    /// Between the table of an app and its relation.
    fn table(&mut self, border: &TableBorder) {
        let (Some(app), Some(relation)) = (self.app(&border.app), self.relation(border.relation))
        else {
            return;
        };
        if border.is_written_by_rules() {
            self.edge(relation, app, EdgeKind::Writes)
        } else {
            self.edge(app, relation, EdgeKind::Inserts)
        }
        if let Some(refused) = border.refused.and_then(|refused| self.relation(refused)) {
            self.edge(app, refused, EdgeKind::Emits);
        }
    }

    /// From stages that decode and encode messages to the message types.
    fn messages_of_stages(&mut self) {
        let is_stage = |(_, node): &(usize, &Node)| node.kind == NodeKind::Stage;
        let stages = self.graph.nodes.iter().enumerate().filter(is_stage);
        let stages: Vec<(usize, String)> = stages.map(|(at, it)| (at, it.name.clone())).collect();
        for (stage, operator) in stages {
            let Some((direction, message)) = named(&operator) else { continue };
            let kind = match direction {
                Direction::Decode => EdgeKind::Decodes,
                Direction::Encode => EdgeKind::Encodes,
            };
            let message = self.node(NodeKind::Message, message);
            self.edge(stage, message, kind);
        }
    }

    /// From a stage to its component.
    fn components(&mut self, border: &StageBorder) {
        let Some(compiled) = &self.program.rules.program else { return };
        let same = |(input, output)| (border.input, border.output) == (input, output);
        let number = compiled.stages.iter().position(|stage| same((stage.input, stage.output)));
        let is_stage = |(_, node): &(usize, &Node)| node.kind == NodeKind::Stage;
        let mut stages = self.graph.nodes.iter().enumerate().filter(is_stage);
        let Some((stage, _)) = number.and_then(|number| stages.nth(number)) else { return };
        self.edge(stage, self.components + border.number(), EdgeKind::Runs);
        if let Some(fault) = border.fault().and_then(|fault| self.relation(fault)) {
            self.edge(stage, fault, EdgeKind::Emits);
        }
    }

    /// From an interface to the relations that components put, and back from those whose changes
    /// they receive.
    fn rules(&mut self, border: &RulesBorder) {
        let interface = self.node(NodeKind::Interface, &border.interface);
        for id in border.puts() {
            let Some(relation) = self.relation(id) else { continue };
            let kind = match self.graph.nodes[relation].kind {
                NodeKind::Table => EdgeKind::Inserts,
                _ => EdgeKind::Emits,
            };
            self.edge(interface, relation, kind);
        }
        for id in border.crossing() {
            let Some(relation) = self.relation(id) else { continue };
            self.edge(relation, interface, EdgeKind::Reaches);
        }
    }

    /// From an app to the event of its packets, and back from the relations that send and hold
    /// them.
    fn packets(&mut self, border: &PacketBorder) {
        let Some(app) = self.app(&border.app) else { return };
        if let Some(event) = border.event.and_then(|event| self.relation(event)) {
            self.edge(app, event, EdgeKind::Emits);
        }
        for (id, kind) in [(border.verdict, EdgeKind::Sends), (border.hold, EdgeKind::Holds)] {
            if let Some(relation) = id.and_then(|id| self.relation(id)) {
                self.edge(relation, app, kind);
            }
        }
    }

    /// From an app to the messages that it decodes, and to their event or file.
    fn decoder(&mut self, border: &DecodeBorder) {
        let Some(app) = self.app(&border.app) else { return };
        let message = self.node(NodeKind::Message, border.message());
        self.edge(app, message, EdgeKind::Decodes);
        if let Some(event) = border.event().and_then(|event| self.relation(event)) {
            self.edge(app, event, EdgeKind::Emits);
        }
        if let Some(file) = border.file() {
            let file = self.node(NodeKind::File, &file.to_string());
            self.edge(app, file, EdgeKind::Fills);
        }
    }

    /// From the table of settings to all apps, and from these to the event of refused settings.
    fn settings(&mut self) {
        let (Some(settings), Some(graph)) = (self.program.borders.settings, &self.program.packets)
        else {
            return;
        };
        let config = self.relation(settings.config);
        let refused = settings.refused.and_then(|refused| self.relation(refused));
        for app in self.apps..self.apps + graph.apps.len() {
            config.into_iter().for_each(|config| self.edge(config, app, EdgeKind::Configures));
            refused.into_iter().for_each(|refused| self.edge(app, refused, EdgeKind::Emits));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::text;
    use super::*;
    use crate::program::LoadOptions;

    const SCHEMA: &str = "edition = \"2023\"; package t; message R { int64 a = 1; }";
    const GRAPH: &str = "
        src :: Source { packets: 1 }
        read :: Decode { type: \"t.R\", event: \"reading\" }
        flow :: Script { component: \"Flow\", per: \"ip.src\" }
        app Count {
            ports { input in; output out; }
            table own exact(a: u8) { writer kernel; size 8; }
            table given exact(a: u8) { writer program; size 8; }
            on packet(in) { insert own(byte(9)); find given(1) { drop given; } send out; }
        }
        count :: Count
        gate :: Rules { fields: \"len\", event: \"seen\", verdict: \"pass\" }
        end :: Sink
        door :: Outside
        tap :: Outside
        door -> tap
        src -> count -> read
        read.rest -> flow.input
        flow -> gate
        gate -> end";
    const COMPONENTS: &str = "
        INTERFACE Work; { IN A(n: INTEGER) { OUT B(n: INTEGER) } OUT Done } END Work;
        INTERFACE Rules; { IN put(n: INTEGER) OUT Taken
          | IN Next ( OUT result(change: CHARACTER; n: TEXT) | OUT End ) } END Rules;
        COMPONENT Worker OFFERS Work;
          IMPLEMENTATION Work; VARIABLE n: INTEGER;
          BEGIN WHILE ?A DO ?A(n); !B(n); !Done END END Work;
        END Worker;
        COMPONENT Flow REQUIRES Packets; BEGIN Packets!Open(\"input -> gate\") END Flow;
        COMPONENT {ENTRYPOINT} Main REQUIRES Rules, Packets;
          COMPONENT Any REQUIRES Packets, Messages; VARIABLE name: TEXT;
          BEGIN
            name := \"door\"; Packets!Open(name);
            Messages!New(\"t.R\"); Messages?Done; Messages!Decode(name, name); Messages?Done
          END Any;
          COMPONENT Read REQUIRES Messages; BEGIN Messages!Decode(\"t.R\", \"\") END Read;
        BEGIN Rules!put(1); Rules?Taken; Packets!Open(\"door\") END Main;";
    const RULES: &str = "
        stage(\"cl:Worker\", work, done).
        stage(\"proto:encode t.R\", done, result).
        sink(\"out.jsonl\", reading).
        r1 work(@N, A) :- reading(@N, A).
        r2 pass(@N, \"end\", Id) :- seen(@N, Port, Id, Len).
        r3 flow::config(@N, \"src\", \"packets\", 2) :- put(@N, A).
        r4 note(@N, R) :- flow::refused(@N, App, Key, Value, R).
        r6 count::given(@N, A) :- count::own(@N, A).
        r5 note(@N, R) :- stage::fault(@N, Component, Key, R).
        watch(note).";

    #[test]
    fn every_border_has_its_edges() {
        let texts =
            [("t.proto", SCHEMA), ("g.flow", GRAPH), ("c.com", COMPONENTS), ("r.olg", RULES)];
        let program = Program::of_texts(&texts, &LoadOptions::default());
        let found = program.diagnostics.iter().map(|one| program.sources.render(one));
        assert!(!program.has_errors(), "{}", found.collect::<String>());
        let drawn = text(&drawing(&program));
        let paragraph = |of: &str| {
            let lines = drawn.lines().skip_while(|line| *line != of).skip(1);
            let lines: Vec<&str> = lines.take_while(|line| line.starts_with(' ')).collect();
            lines.iter().map(|line| line.trim()).collect::<Vec<&str>>().join(", ")
        };
        for (of, edges) in [
            (
                "app read :: Decode",
                "emits event reading, emits event flow::refused, sends to app flow :: Script, \
                 decodes message t.R",
            ),
            (
                "app gate :: Rules",
                "emits event seen, emits event flow::refused, sends to app end :: Sink",
            ),
            (
                "app flow :: Script",
                "emits event flow::refused, runs component Flow, sends to app gate :: Rules",
            ),
            (
                "app count :: Count",
                "emits event flow::refused, inserts table count::own, sends to app read :: Decode",
            ),
            ("table count::given", "writes app count :: Count"),
            ("event pass", "sends packets of app gate :: Rules"),
            (
                "table flow::config",
                "configures app src :: Source, configures app read :: Decode, \
                 configures app flow :: Script, configures app count :: Count, \
                 configures app gate :: Rules, \
                 configures app end :: Sink, configures app door :: Outside, \
                 configures app tap :: Outside",
            ),
            (
                "component Main",
                "requires interface Rules, requires system Packets, opens app door :: Outside",
            ),
            (
                "component Main.Any",
                "requires system Packets, requires system Messages, \
                 may open app door :: Outside, may open app tap :: Outside, makes message t.R, \
                 decodes message of any type",
            ),
            ("component Main.Read", "requires system Messages, decodes message t.R"),
            (
                "stage cl:Worker",
                "emits event done, emits event stage::fault, runs component Worker",
            ),
            ("stage proto:encode t.R", "emits event result, encodes message t.R"),
            ("interface Rules", "emits event put"),
            ("event result", "reaches interface Rules"),
            ("event reading", "starts rule r1, fills file out.jsonl"),
        ] {
            assert_eq!(paragraph(of), edges, "{of}:\n{drawn}");
        }
    }
}
