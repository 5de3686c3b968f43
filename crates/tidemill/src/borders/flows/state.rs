//! The flows of a node, and what is known of those they are of.

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

/// Packets that wait at a time, of all flows of a node: each has a buffer of the pool.
pub(super) const WAITING_MAX: usize = 16_384;

/// The apps of a graph that run components of the program, with their flows.
pub(crate) struct Flows {
    pub(super) apps: Vec<App>,
    pub(super) table: Table,
    /// Packets that have been taken and not handed over yet.
    pub(super) arrivals: VecDeque<Arrival>,
    pub(super) secret: Secret,
    /// Packets that wait, of all flows.
    pub(super) waiting: usize,
    /// Memory for keys.
    pub(super) spare: Vec<u8>,
    pub(super) owner: Option<Owner>,
    /// More packets are taken when components have run.
    pub(super) are_held: bool,
    /// The graph has come to its end, or the run does.
    pub(super) is_ending: bool,
    /// The first that has not been told of that.
    pub(super) to_tell: u32,
    /// Ends the wait for instances that do not end.
    pub(super) deadline: Option<TimerId>,
}

/// None.
impl Default for Flows {
    fn default() -> Flows {
        Flows::of(Vec::new(), Secret::FIXED)
    }
}

impl Flows {
    /// Of a program that has these; keys are hashed with the secret.
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
            to_tell: 0,
            deadline: None,
        }
    }

    /// Takes the names of its ports, of a program that is an app itself.
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

    /// Has the worker of a program go on that will be asked for instances.
    pub(crate) fn know(&mut self, worker: &mut Worker) {
        if !self.apps.is_empty() {
            // Packets may wake what waits.
            worker.hold();
        }
    }

    /// Whether packets were left on links until components have run.
    pub(in crate::borders) fn are_held(&self) -> bool {
        self.are_held
    }

    /// Whether no instance has to end yet.
    pub(in crate::borders) fn are_idle(&self) -> bool {
        !self.are_held && (!self.is_ending || self.table.len() == 0)
    }

    /// The app of another graph that is not one of these, as it was checked.
    pub(in crate::borders) fn unchecked<'g>(&self, graph: &'g Graph) -> Option<&'g str> {
        let checked = self.apps.iter().map(|it| (&*it.checked.app, &it.checked.config));
        apps::unchecked(graph, is_of_program, checked)
    }
}
