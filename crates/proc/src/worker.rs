//! What the run-time keeps for itself.

/// The rest of a worker.
pub struct Machine {}
