//! The borders of a program, once both sides of each have been checked.

use tidemill_cl::ir::succession::Succession;
use tidemill_relation::plan::RelationId;

use super::components::StageBorder;
use super::decode::DecodeBorder;
use super::flows::FlowBorder;
use super::packets::PacketBorder;
use super::programs::ProgramsBorder;
use super::rules::RulesBorder;
use super::schemas::Schemas;
use super::settings::SettingsBorder;
use super::sinks::SinkBorder;
use super::tables::TableBorder;

/// The borders of a program, whose two sides fit.
#[derive(Clone, Debug, Default)]
pub struct Checked {
    /// Where its graph hands packets to its rules.
    pub packets: Vec<PacketBorder>,
    /// How its rules change settings of its apps, if they do.
    pub settings: Option<SettingsBorder>,
    /// The tables of its apps that its rules name.
    pub tables: Vec<TableBorder>,
    /// How its rules install rules, if they do.
    pub programs: Option<ProgramsBorder>,
    /// Where its graph decodes messages.
    pub decoders: Vec<DecodeBorder>,
    /// The message types of the program.
    pub(crate) schemas: Schemas,
    /// The files that its rules write.
    pub sinks: Vec<SinkBorder>,
    /// Where its graph runs components.
    pub flows: Vec<FlowBorder>,
    /// The stages that components work on.
    pub components: Vec<StageBorder>,
    /// The interfaces by which components reach rules.
    pub rules: Vec<RulesBorder>,
}

impl Checked {
    /// Whether it writes files.
    pub fn have_files(&self) -> bool {
        !self.sinks.is_empty() || self.decoders.iter().any(|decoder| !decoder.has_event())
    }

    /// The name of a relation that a kernel fills, which nothing else does.
    pub fn fills(&self, relation: RelationId) -> Option<String> {
        let table = self.tables.iter().find(|table| table.relation == relation)?;
        (!table.is_written_by_rules()).then(|| table.name())
    }

    /// Why several workers cannot have an instance of the graph each.
    pub(crate) fn for_one_worker(&self) -> Option<String> {
        let table = self.tables.iter().find(|table| !table.is_written_by_rules())?.name();
        Some(format!("rules read `{table}`, of which each worker would have a part"))
    }

    /// Renumbers components and interfaces for a succession of programs.
    pub(crate) fn renumber(&mut self, succession: &Succession) {
        self.flows.iter_mut().for_each(|flow| flow.renumber(succession));
        self.components.iter_mut().for_each(|stage| stage.renumber(succession));
    }

    /// The relations whose tuples leave the node.
    pub(crate) fn crossing(&self) -> impl Iterator<Item = RelationId> {
        let packets = self.packets.iter().flat_map(PacketBorder::crossing);
        let settings = self.settings.iter().map(|settings| settings.config);
        let written = self.tables.iter().filter(|table| table.is_written_by_rules());
        let tables = written.map(|table| table.relation);
        let programs = self.programs.iter().map(|programs| programs.rules);
        let components = self.components.iter().map(|stage| stage.input);
        let rules = self.rules.iter().flat_map(RulesBorder::crossing);
        let sinks = self.sinks.iter().map(|sink| sink.relation);
        let settings = settings.chain(tables);
        packets.chain(settings).chain(programs).chain(components).chain(rules).chain(sinks)
    }
}
