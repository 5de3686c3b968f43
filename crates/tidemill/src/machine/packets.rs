//! The packet graph of a run: starts, replaces and reports it.

use tidemill_event::Loop;
use tidemill_packet::drive;
use tidemill_packet::engine::{CaptureTime, Changes, Note};
use tidemill_packet::fanout::Fanout;
use tidemill_packet::graph::Graph;

use super::Machine;
use super::parts::{driver, secret_of};
use crate::borders;
use crate::error::Error;
use crate::run::{PacketOptions, PacketsEnded};

/// Starts the graph of the one node of a run, or one of its instances.
pub(crate) fn start(
    machine: &mut Machine,
    events: &mut Loop<Machine>,
    graph: Graph,
    options: PacketOptions,
    chosen: (u64, Option<CaptureTime>),
    fanout: Fanout,
) -> Result<(), Error> {
    let secret = secret_of(events.host())?;
    let driver = driver(options.engine, chosen, machine.registry.clone(), (secret, fanout));
    machine.node.driver = if options.busy_wait { driver.busy_wait() } else { driver };
    configure(machine, events, graph)
}

/// Starts the graph of a node.
pub(crate) fn configure(
    machine: &mut Machine,
    events: &mut Loop<Machine>,
    graph: Graph,
) -> Result<(), Error> {
    drive::start(machine, events, graph).map_err(Error::start)?;
    borders::link(machine);
    crate::components::system::packets::link(machine);
    Ok(())
}

impl Machine {
    /// Reports events of apps.
    pub(crate) fn note_apps(&mut self, events: &mut Loop<Machine>) {
        for note in self.node.driver.engine.take_notes() {
            match &note {
                Note::Failed { app, .. } => {
                    self.note(&format!("app {note}"));
                    borders::flows::app_failed(self, events, app);
                }
                Note::Restarted { .. } | Note::Dispatched { .. } => self.note(&note.to_string()),
            }
        }
    }

    /// Stops the graph of a node that crashes; its packets are lost. Returns what it has counted.
    pub(super) fn lose_packets(&mut self) -> Option<PacketsEnded> {
        let ended = self.has.packets.then(|| PacketsEnded::of_lost(&mut self.node.driver.engine));
        self.lost_packets += ended.as_ref().map_or(0, |ended| ended.packets.alive());
        ended
    }

    /// Stops the graph; returns its report, if there is one.
    pub(crate) fn stop_packets(&mut self, events: &mut Loop<Machine>) -> Option<PacketsEnded> {
        let ended = self.has.packets.then(|| PacketsEnded::of(&mut self.node.driver.engine));
        self.note_apps(events);
        ended
    }
}

/// A summary of the changes by a new graph.
pub(super) fn reloaded(changes: &Changes) -> String {
    let count = |names: &[String]| names.len();
    format!(
        "reloaded: {} apps kept, {} reconfigured, {} restarted, {} started, {} stopped; \
         {} links added, {} removed",
        count(&changes.kept),
        count(&changes.reconfigured),
        count(&changes.restarted),
        count(&changes.started),
        count(&changes.stopped),
        count(&changes.links_added),
        count(&changes.links_removed),
    )
}
