//! The report of a run, by kind of parts.

use std::io;
use std::time::Duration;

use tidemill_overlog::node::Coverage;
use tidemill_packet::engine::{Engine, EngineStats};
use tidemill_packet::link::LinkStats;
use tidemill_packet::packet::PoolStats;
use tidemill_proc::{Counts, fault};
use tidemill_stat::Held;

use crate::profile::Profile;
use crate::rule_times::RuleTimes;
use crate::summary::Summary;

/// The end of a run.
#[derive(Debug, Default)]
pub struct Report {
    /// The figures of its nodes, if it has rules.
    pub nodes: Option<Summary>,
    /// The cost of its rules, if it was measured.
    pub profile: Option<Profile>,
    /// The result of its components, if it has some.
    pub components: Option<ComponentsEnded>,
    /// The result of its graph, if it has one.
    pub packets: Option<PacketsEnded>,
    /// The maximum delay of a timer of the loop.
    pub timer_late_max: Duration,
    /// The error if its data could not be written.
    pub failure: Option<io::Error>,
    /// The first note on what failed a simulation.
    pub(crate) cause: Option<String>,
    /// The counters of its borders, by border and counter (`read/messages`), in order.
    pub borders: Vec<(String, u64)>,
    /// The program has changed, and has to be run anew.
    pub starts_again: bool,
    /// What nodes have covered of their rules, in a simulation.
    pub coverage: Coverage,
    /// When rules first did something, if a simulation was sampled.
    pub(crate) rule_times: RuleTimes,
    /// Its counters, which the registry shows as long as the report exists.
    pub(crate) counters: Vec<Held>,
    /// Other errors: files that could not be written, apps out of order at the end.
    pub problems: Vec<String>,
}

impl Report {
    /// Adds the results of a node's engines.
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

    /// Adds the report of another part of a simulation.
    pub(crate) fn add_part(&mut self, mut other: Report) {
        self.add(other.components.take(), other.packets.take());
        add(&mut self.borders, other.borders);
        self.problems.append(&mut other.problems);
        if let Some((all, more)) = self.profile.as_mut().zip(other.profile) {
            all.add(more);
        }
    }

    /// Whether all parts succeeded, and all their data was written.
    pub fn is_well(&self) -> bool {
        self.nodes.as_ref().is_none_or(Summary::is_well)
            && self.components.as_ref().is_none_or(ComponentsEnded::is_well)
            && self.packets.as_ref().is_none_or(PacketsEnded::is_well)
            && self.problems.is_empty()
    }
}

/// The result of components.
#[derive(Debug)]
pub struct ComponentsEnded {
    /// The result of the entry component; `None` if it was stopped.
    pub how: Option<fault::Ended>,
    /// The number of objects of each kind.
    pub counts: Counts,
    /// The peak memory of components in bytes.
    pub peak_bytes: u64,
    /// Frames that the kernel dropped before a pore could read them.
    pub pore_drops: u64,
    /// The number of components that migrated to another loop.
    pub given: u64,
}

impl ComponentsEnded {
    /// Combines the results of two nodes; the worse of both ends.
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

    /// Whether the entry component returned, or was stopped.
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

/// The result of a packet graph.
#[derive(Clone, Debug)]
pub struct PacketsEnded {
    /// Links by name, in the order of the graph.
    pub links: Vec<(String, LinkStats)>,
    /// The counters of apps, in the order of the graph.
    pub apps: Vec<(String, Vec<(String, u64)>)>,
    /// The counters of the engine.
    pub engine: EngineStats,
    /// The number of packets allocated and freed.
    pub packets: PoolStats,
    /// Apps that were out of order at the end.
    pub out_of_order: Vec<String>,
}

impl PacketsEnded {
    /// Stops an engine, and returns its result.
    pub(crate) fn of(engine: &mut Engine) -> PacketsEnded {
        engine.flush();
        let out_of_order = engine.out_of_order();
        let mut ended = PacketsEnded { out_of_order, ..PacketsEnded::counted(engine) };
        engine.stop();
        (ended.engine, ended.packets) = (engine.stats(), engine.pool_stats());
        ended
    }

    /// Stops the engine of a node that crashes, and returns its result: without what was present.
    pub(crate) fn of_lost(engine: &mut Engine) -> PacketsEnded {
        engine.stop();
        PacketsEnded::counted(engine)
    }

    fn counted(engine: &Engine) -> PacketsEnded {
        let graph = engine.graph();
        let names = graph.links.iter().map(|link| graph.link_name(link));
        let links = names.filter_map(|name| {
            let stats = engine.link_stats(&name)?;
            Some((name, stats))
        });
        let apps = graph
            .apps
            .iter()
            .filter_map(|app| Some((app.name.clone(), engine.app_stats(&app.name)?)));
        PacketsEnded {
            links: links.collect(),
            apps: apps.collect(),
            engine: engine.stats(),
            packets: engine.pool_stats(),
            out_of_order: Vec::new(),
        }
    }

    /// Adds the counters of an app's border to components.
    pub(crate) fn add(&mut self, app: &str, counts: Vec<(String, u64)>) {
        if let Some((_, sums)) = self.apps.iter_mut().find(|(known, _)| known == app) {
            add(sums, counts);
        }
    }

    /// Combines the results of two nodes, whose graphs have the same links and apps.
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
