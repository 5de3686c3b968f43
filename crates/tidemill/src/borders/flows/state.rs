//! The flows of a node, and the apps that they belong to.

use std::collections::VecDeque;

use tidemill_event::{Owner, TimerId};
use tidemill_packet::graph::Graph;
use tidemill_proc::Worker;
use tidemill_stat::Registry;
use tidemill_stdx::keyed::Secret;

use super::app::App;
use super::arrival::Arrival;
use super::border::{FlowBorder, is_of_program};
use super::table::Table;
use crate::borders::apps;

/// The maximum number of packets queued for all flows of a node, each in a buffer of the pool.
pub(super) const WAITING_MAX: usize = 16_384;

/// The apps of a graph that run components of the program, with their flows.
pub(crate) struct Flows {
    pub(super) apps: Vec<App>,
    pub(super) table: Table,
    /// Packets that have been taken and not delivered yet.
    pub(super) arrivals: VecDeque<Arrival>,
    pub(super) secret: Secret,
    /// The number of packets queued for all flows.
    pub(super) waiting: usize,
    /// A buffer for keys.
    pub(super) spare: Vec<u8>,
    pub(super) owner: Option<Owner>,
    /// More packets will be taken when components have run.
    pub(super) are_held: bool,
    /// The graph has finished, or the run is ending.
    pub(super) is_ending: bool,
    /// The first flow that has not been asked to end.
    pub(super) next_to_end: u32,
    /// Bounds the wait for instances to end.
    pub(super) deadline: Option<TimerId>,
}

/// None.
impl Default for Flows {
    fn default() -> Flows {
        Flows::of(Vec::new(), Secret::FIXED)
    }
}

impl Flows {
    /// Of a program with these borders; keys are hashed with the secret.
    pub(crate) fn new(checked: &[FlowBorder], registry: &Registry, secret: Secret) -> Flows {
        Flows::of(checked.iter().map(|checked| App::new(checked, registry)).collect(), secret)
    }

    fn of(apps: Vec<App>, secret: Secret) -> Flows {
        Flows {
            apps,
            table: Table::default(),
            arrivals: VecDeque::new(),
            secret,
            waiting: 0,
            spare: Vec::new(),
            owner: None,
            are_held: false,
            is_ending: false,
            next_to_end: 0,
            deadline: None,
        }
    }

    /// Sets the names of its ports, in a program that is an app itself.
    pub(crate) fn name(&mut self, inputs: &[String], outputs: &[String]) {
        self.apps.iter_mut().for_each(|app| app.name(inputs, outputs));
    }

    /// The apps, as they were checked.
    pub(crate) fn checked(&self) -> impl Iterator<Item = &FlowBorder> {
        self.apps.iter().map(|app| &app.checked)
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.apps.is_empty()
    }

    /// Keeps the worker of a program running that will have instances.
    pub(crate) fn know(&mut self, worker: &mut Worker) {
        if !self.apps.is_empty() {
            // Packets may wake idle instances, so the worker stays.
            worker.hold();
        }
    }

    /// Whether packets were left on links until components have run.
    pub(in crate::borders) fn are_held(&self) -> bool {
        self.are_held
    }

    /// Whether no instance is still to end.
    pub(in crate::borders) fn are_idle(&self) -> bool {
        !self.are_held && (!self.is_ending || self.table.len() == 0)
    }

    /// The app of another graph that differs from all checked ones.
    pub(in crate::borders) fn unchecked<'g>(&self, graph: &'g Graph) -> Option<&'g str> {
        let checked = self.apps.iter().map(|it| (&*it.checked.app, &it.checked.config));
        apps::unchecked(graph, is_of_program, checked)
    }
}
