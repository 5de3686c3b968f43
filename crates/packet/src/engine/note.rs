//! What an engine reports of its apps.

use std::fmt;

use crate::app::Fault;

/// What happened to an app.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Note {
    /// It failed.
    Failed {
        /// Its name.
        app: String,
        /// Why.
        fault: Fault,
        /// When it will be tried again, from then on.
        restart_in_ns: Option<u64>,
    },
    /// It runs again.
    Restarted {
        /// Its name.
        app: String,
    },
    /// There is no native code for the graph: it is dispatched.
    Dispatched {
        /// Why.
        reason: String,
    },
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Note::Failed { app, fault, restart_in_ns: None } => write!(f, "{app}: {fault}"),
            Note::Failed { app, fault, restart_in_ns: Some(ns) } => {
                write!(f, "{app}: {fault}; it restarts in {} ms", ns / 1_000_000)
            }
            Note::Restarted { app } => write!(f, "{app}: restarted"),
            Note::Dispatched { reason } => write!(f, "dispatched, not compiled: {reason}"),
        }
    }
}
