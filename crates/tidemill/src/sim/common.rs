//! The common state of all parts of a simulation, and its recording.

use std::sync::{Arc, Mutex};

use tidemill_event::Sent;
use tidemill_overlog::node::{Identity, Program as Rules};

use super::options::SimOptions;
use crate::machine::parts::Has;
use crate::properties::PropertyRules;
use crate::script::{Cue, Victim};

/// The common state of all parts of a simulation.
#[derive(Clone)]
pub(super) struct Common {
    pub(super) rules: Arc<Rules>,
    pub(super) properties: Option<Arc<PropertyRules>>,
    pub(super) has: Has,
    pub(super) options: SimOptions,
    pub(super) identities: Arc<[Identity]>,
    pub(super) cues: Arc<[Cue]>,
    /// The recording of random events, if there is one.
    pub(super) recording: Option<Recording>,
}

/// The random events of a run, which no script contains.
#[derive(Debug, Default)]
pub(super) struct Recorded {
    /// Messages, with their delays and faults.
    pub(super) sent: Vec<Sent>,
    /// Nodes that churn ended or restarted, with the times.
    pub(super) lives: Vec<(u64, u32, bool)>,
    /// Components and apps that were made to fail, with the times and nodes.
    pub(super) kills: Vec<(u64, u32, Victim)>,
}

/// A shared recording.
pub(super) type Recording = Arc<Mutex<Recorded>>;
