//! What all parts of a simulation have alike, and what is recorded of it.

use std::sync::{Arc, Mutex};

use tidemill_event::Sent;
use tidemill_overlog::node::{Identity, Program as Rules};

use super::options::SimOptions;
use crate::machine::parts::Has;
use crate::properties::PropertyRules;
use crate::script::Cue;

/// What all parts of a simulation have alike.
#[derive(Clone)]
pub(super) struct Common {
    pub(super) rules: Arc<Rules>,
    pub(super) properties: Option<Arc<PropertyRules>>,
    pub(super) has: Has,
    pub(super) options: SimOptions,
    pub(super) identities: Arc<[Identity]>,
    pub(super) cues: Arc<[Cue]>,
    /// Where it is recorded what happens that no script says, if it is.
    pub(super) recording: Option<Recording>,
}

/// What happened in a run that no script says.
#[derive(Debug, Default)]
pub(super) struct Recorded {
    /// Messages.
    pub(super) sent: Vec<Sent>,
    /// Nodes that churn has ended or started again, and when.
    pub(super) lives: Vec<(u64, u32, bool)>,
}

/// Where it is put.
pub(super) type Recording = Arc<Mutex<Recorded>>;
