//! What a run amounts to, by kind.

use std::io;
use std::time::Duration;

use tidemill_overlog::node::RuleCoverage;
use tidemill_packet::engine::{Engine, EngineStats};
use tidemill_packet::link::LinkStats;
use tidemill_packet::packet::PoolStats;
use tidemill_proc::{Counts, fault};

use crate::profile::Profile;
use crate::summary::Summary;

/// The end of a run.
#[derive(Debug, Default)]
pub struct Report {
    /// The figures of its nodes, if it has rules.
    pub nodes: Option<Summary>,
    /// What its rules cost, if that was to be measured.
    pub profile: Option<Profile>,
    /// How its components ended, if it has some.
    pub components: Option<ComponentsEnded>,
    /// What its graph did, if it has one.
    pub packets: Option<PacketsEnded>,
    /// The most that a timer of the loop was late.
    pub timer_late_max: Duration,
    /// Why its data could not be written, if that was so.
    pub failure: Option<io::Error>,
    /// It is of one node that has components and no rules, which writes what these write.
    pub is_plain: bool,
    /// What crossed from one engine to another, by border and counter (`read/messages`), in order.
    pub borders: Vec<(String, u64)>,
    /// Its program has changed, and shall run anew.
    pub starts_again: bool,
    /// What each rule has done, by number, of a simulation.
    pub coverage: Vec<RuleCoverage>,
    /// What else went wrong: files that could not be written, apps out of order at the end.
    pub problems: Vec<String>,
}

impl Report {
    /// Adds what the engines of a node did.
    pub(crate) fn add(
        &mut self,
        components: Option<ComponentsEnded>,
        packets: Option<PacketsEnded>,
    ) {
        self.components = match (self.components.take(), components) {
            (Some(one), Some(other)) => Some(one.with(other)),
            (one, other) => one.or(other),
        };
        self.packets = match (self.packets.take(), packets) {
            (Some(one), Some(other)) => Some(one.with(&other)),
            (one, other) => one.or(other),
        };
    }

    /// Whether all parts did what they promised, and all they made was kept.
    pub fn is_well(&self) -> bool {
        self.nodes.as_ref().is_none_or(Summary::is_well)
            && self.components.as_ref().is_none_or(ComponentsEnded::is_well)
            && self.packets.as_ref().is_none_or(PacketsEnded::is_well)
            && self.problems.is_empty()
    }
}

/// How components ended.
#[derive(Debug)]
pub struct ComponentsEnded {
    /// How the entry component did; `None` if it was stopped.
    pub how: Option<fault::Ended>,
    /// What there was of each kind.
    pub counts: Counts,
    /// The most bytes that components used.
    pub peak_bytes: u64,
    /// Frames that the kernel dropped before a pore could read them.
    pub pore_drops: u64,
    /// How many components were given to another loop than they were on.
    pub given: u64,
}

impl ComponentsEnded {
    /// Those of two nodes; of several ends, the worst.
    fn with(mut self, other: ComponentsEnded) -> ComponentsEnded {
        if self.is_well() && other.how.is_some() {
            self.how = other.how;
        }
        self.counts.add(&other.counts);
        self.peak_bytes += other.peak_bytes;
        self.pore_drops += other.pore_drops;
        self.given += other.given;
        self
    }

    /// Whether the entry component came to its end, or was stopped.
    pub fn is_well(&self) -> bool {
        self.how.as_ref().is_none_or(|how| how.exit_status() == 0)
    }
}

/// Adds counts by name.
fn add(sums: &mut Vec<(String, u64)>, ones: Vec<(String, u64)>) {
    for (name, value) in ones {
        match sums.iter_mut().find(|(known, _)| *known == name) {
            Some((_, sum)) => *sum += value,
            None => sums.push((name, value)),
        }
    }
}

/// What a packet graph did.
#[derive(Clone, Debug)]
pub struct PacketsEnded {
    /// Links by name, in the order of the graph.
    pub links: Vec<(String, LinkStats)>,
    /// What apps counted, in the order of the graph.
    pub apps: Vec<(String, Vec<(String, u64)>)>,
    /// What the engine did.
    pub engine: EngineStats,
    /// Packets that were made, and freed.
    pub packets: PoolStats,
    /// Apps that were out of order at the end.
    pub out_of_order: Vec<String>,
}

impl PacketsEnded {
    /// Stops an engine, and says what its run amounts to.
    pub(crate) fn of(engine: &mut Engine) -> PacketsEnded {
        let out_of_order = engine.out_of_order();
        let graph = engine.graph().clone();
        let names = graph.links.iter().map(|link| graph.link_name(link));
        let links = names.filter_map(|name| {
            let stats = engine.link_stats(&name)?;
            Some((name, stats))
        });
        let links = links.collect();
        let apps = graph
            .apps
            .iter()
            .filter_map(|app| Some((app.name.clone(), engine.app_stats(&app.name)?)));
        let apps = apps.collect();
        engine.stop();
        let (stats, packets) = (engine.stats(), engine.pool_stats());
        PacketsEnded { links, apps, engine: stats, packets, out_of_order }
    }

    /// Adds what was counted where an app meets components.
    pub(crate) fn add(&mut self, app: &str, counts: Vec<(String, u64)>) {
        if let Some((_, sums)) = self.apps.iter_mut().find(|(known, _)| known == app) {
            add(sums, counts);
        }
    }

    /// Those of two nodes, whose graphs have the same links and apps.
    fn with(mut self, other: &PacketsEnded) -> PacketsEnded {
        for ((_, sum), (_, one)) in self.links.iter_mut().zip(&other.links) {
            sum.add(one);
        }
        for ((_, sums), (_, ones)) in self.apps.iter_mut().zip(&other.apps) {
            add(sums, ones.clone());
        }
        self.engine.add(&other.engine);
        self.packets.add(&other.packets);
        let new = other.out_of_order.iter().filter(|app| !self.out_of_order.contains(app));
        let new: Vec<String> = new.cloned().collect();
        self.out_of_order.extend(new);
        self
    }

    /// Whether all apps were in order at the end.
    pub fn is_well(&self) -> bool {
        self.out_of_order.is_empty()
    }
}
