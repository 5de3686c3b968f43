//! What nodes that have crashed have counted: it is part of the report of a run.

use tidemill_overlog::fleet::NodeId;
use tidemill_stdx::sorted::SortedMap;

use crate::run::{ComponentsEnded, PacketsEnded, Report};

/// The results of lives of nodes that have ended.
#[derive(Debug, Default)]
pub(crate) struct FormerLives {
    components: Option<ComponentsEnded>,
    packets: Option<PacketsEnded>,
    /// The peak memory of components, by node: one life follows another.
    peaks: SortedMap<NodeId, u64>,
}

impl FormerLives {
    /// Adds the results of a life.
    pub(super) fn add(
        &mut self,
        node: NodeId,
        components: Option<ComponentsEnded>,
        packets: Option<PacketsEnded>,
    ) {
        let components = components.map(|components| {
            let peak = self.peaks.entry(node).or_default();
            *peak = components.peak_bytes.max(*peak);
            // How a life ended says nothing about the run.
            ComponentsEnded { how: None, peak_bytes: 0, ..components }
        });
        let mut sum = Report { components: self.components.take(), ..Report::default() };
        sum.packets = self.packets.take();
        sum.add(components, packets);
        (self.components, self.packets) = (sum.components, sum.packets);
    }

    /// The peak memory of the components of a node, whose present life has this one.
    pub(super) fn peak_bytes(&mut self, node: NodeId, present: u64) -> u64 {
        self.peaks.remove(&node).unwrap_or_default().max(present)
    }

    /// Adds all of them to a report that has those of live nodes.
    pub(super) fn add_to(&mut self, report: &mut Report) {
        let down: u64 = std::mem::take(&mut self.peaks).values().sum();
        let components = self.components.take();
        let components = components.map(|it| ComponentsEnded { peak_bytes: down, ..it });
        report.add(components, self.packets.take());
    }
}
