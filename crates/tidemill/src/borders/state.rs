//! The borders of a running node.

use tidemill_packet::graph::Graph;
use tidemill_proc::Worker;
use tidemill_stat::Registry;
use tidemill_stdx::keyed::Secret;

use super::batches::Batches;
use super::checked::Checked;
use super::components::Stages;
use super::decode::Decoders;
use super::devices::Devices;
use super::flows::Flows;
use super::instances::{Instances, OpenApps, Outbox, ReturnQueue, first_number};
use super::packets::Packets;
use super::programs::Programs;
use super::rules::RulesServer;
use super::settings::{Settings, SettingsBorder};
use super::tables::Tables;
use crate::error::Error;

/// The borders of a running node.
#[derive(Default)]
pub(crate) struct Borders {
    /// Between packets and rules.
    pub(crate) packets: Packets,
    /// Settings of apps, if rules have them.
    pub(crate) settings: Option<Settings>,
    /// The tables of apps that rules name.
    pub(crate) tables: Tables,
    /// Rules to install, if rules install some.
    pub(crate) programs: Option<Programs>,
    /// Between packets and messages.
    pub(crate) decoders: Decoders,
    /// Between packets and components.
    pub(crate) flows: Flows,
    /// Stages of components.
    pub(crate) components: Stages,
    /// Rules as an interface of components; not there while it is at work.
    pub(crate) rules: Option<Box<RulesServer>>,
    /// Simulated devices at links.
    pub(crate) devices: Devices,
    /// The graphs of other workers, at the first of several.
    pub(crate) instances: Option<Instances>,
    /// What goes to the first of several workers, at another one.
    pub(crate) outbox: Option<Outbox>,
    /// What comes back from there.
    pub(crate) returns: ReturnQueue,
    /// The apps that components of the first worker have opened, at another one.
    pub(crate) open_apps: OpenApps,
    /// Batches in the inbox, to measure their latency.
    pub(super) batches: Batches,
}

impl Borders {
    /// Of a program with these borders; keys from outside the program are hashed with the secret.
    pub(crate) fn new(
        checked: &Checked,
        graph: Option<&Graph>,
        registry: &Registry,
        secret: Secret,
    ) -> Borders {
        let settings = checked.settings.zip(graph);
        Borders {
            packets: Packets::new(checked.packets.clone(), first_number(0), registry),
            settings: settings
                .map(|(border, graph)| Settings::new(border, graph.clone(), registry)),
            tables: Tables::new(&checked.tables, registry),
            programs: checked.programs.map(|border| Programs::new(border, registry)),
            decoders: Decoders::new(&checked.decoders, registry),
            flows: Flows::new(&checked.flows, registry, secret),
            components: Stages::new(&checked.components, registry, secret),
            rules: Some(Box::new(RulesServer::new(&checked.rules, registry))),
            devices: Devices::default(),
            instances: None,
            outbox: None,
            returns: ReturnQueue::default(),
            open_apps: OpenApps::default(),
            batches: Batches::default(),
        }
    }

    /// Of another instance of a graph than the first: what packets become, for the worker that has
    /// the rules, and the components of their flows.
    pub(crate) fn of_instance(
        checked: &Checked,
        instance: u32,
        registry: &Registry,
        secret: Secret,
    ) -> Borders {
        let packets = checked.packets.clone();
        Borders {
            packets: Packets::new(packets, first_number(instance), registry),
            decoders: Decoders::new(&checked.decoders, registry).without_files(),
            flows: Flows::new(&checked.flows, registry, secret),
            rules: Some(Box::new(RulesServer::new(&checked.rules, registry))),
            outbox: Some(Outbox::default()),
            ..Borders::default()
        }
    }

    /// Offers the borders to components, before they start.
    pub(crate) fn offer(&mut self, worker: &mut Worker) {
        self.rules.iter().for_each(|rules| rules.offer(worker));
        self.flows.know(worker);
        if self.components.is_some() {
            // Rules may wake idle components, so the worker stays.
            worker.hold();
        }
    }

    /// Rebinds settings to other rules, which may have none or be the first to have some. Returns
    /// the graph to switch to, if that changes: the one of the files.
    pub(super) fn rebind_settings(
        &mut self,
        border: Option<SettingsBorder>,
        graph: Option<&Graph>,
        registry: &Registry,
    ) -> Option<Graph> {
        match (&mut self.settings, border) {
            (Some(settings), Some(border)) => settings.rebind(border),
            (None, Some(border)) => {
                let graph = graph.cloned();
                self.settings = graph.map(|graph| Settings::new(border, graph, registry));
            }
            (Some(_), None) => return self.settings.take().map(Settings::into_written),
            (None, None) => {}
        }
        None
    }

    /// Whether the graph of the node writes files.
    pub(crate) fn have_files(&self) -> bool {
        self.decoders.have_files()
    }

    /// Checks that the apps of another graph are as they were when the borders were checked.
    ///
    /// # Errors
    /// The first app that differs, and why that matters.
    pub(crate) fn check(&self, graph: &Graph) -> Result<(), Error> {
        let settled = |app: &str, what| {
            let text = format!("app {app}: {what} is settled when the program is loaded");
            Err(Error::Program(text))
        };
        match (self.decoders.unchecked(graph), self.flows.unchecked(graph)) {
            (Some(app), _) => settled(app, "what a Decode decodes"),
            (None, Some(app)) => settled(app, "how a Script runs components"),
            (None, None) => Ok(()),
        }
    }

    /// Whether packets on links, or changes of tables in the engine, are held back because many
    /// events wait.
    pub(crate) fn hold_packets(&self) -> bool {
        let packets_are = self.packets.are_held() || self.decoders.are_held;
        let packets_are = packets_are || self.outbox.as_ref().is_some_and(|it| !it.is_idle());
        let packets_are = packets_are || !self.returns.is_empty();
        packets_are || self.flows.are_held() || self.tables.are_held
    }

    /// Whether components receive changes of tables.
    pub(crate) fn has_listeners(&self) -> bool {
        self.rules.as_ref().is_some_and(|rules| rules.has_listeners())
    }

    /// Whether nothing is in transit.
    pub(crate) fn are_idle(&self) -> bool {
        let packets_are = self.packets.are_idle() && !self.decoders.are_held;
        let packets_are = packets_are && !self.tables.are_held;
        let outbox_is = self.outbox.as_ref().is_none_or(Outbox::is_idle);
        let packets_are = packets_are && outbox_is && self.returns.is_empty();
        let packets_are = packets_are && self.instances.as_ref().is_none_or(Instances::are_idle);
        let components_are = self.components.are_idle() && self.flows.are_idle();
        packets_are && components_are && self.rules.as_ref().is_none_or(|rules| rules.is_idle())
    }
}
