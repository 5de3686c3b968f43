//! All borders of a program, checked when it is loaded.

use tidemill_overlog::Given;
use tidemill_stdx::sorted::SortedSet;

use crate::program::Program;

impl Program {
    /// Checks that both sides of each border fit, as far as both sides were parsed.
    pub(crate) fn check_borders(&mut self) {
        self.check_files_of_apps();
        self.check_settings_border();
        self.check_table_borders();
        self.check_programs_border();
        self.check_packet_borders();
        self.check_sinks();
        self.check_decoders();
        self.check_messages();
        self.check_flow_borders();
        self.check_opened();
        self.check_stage_borders();
        self.check_rules_borders();
        self.borders.schemas = self.border.clone();
    }

    /// The events that come from other parts, where the types of their columns are known.
    pub(crate) fn given_events(&self) -> Vec<Given> {
        self.packets_given().chain(self.messages_given()).collect()
    }

    /// The events that come from other parts.
    pub(crate) fn events_of_others(&self) -> SortedSet<String> {
        let packets = self.events_of_packets().chain(self.events_of_messages());
        let packets = packets.chain(self.events_of_settings()).chain(self.events_of_programs());
        let components = self.events_of_stages().chain(self.events_of_components());
        packets.chain(components).collect()
    }
}
