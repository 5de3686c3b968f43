//! What an engine is asked for, and what it says.

use super::facts::Files;
use super::workload::Workload;

/// What one engine found, and what it took.
#[derive(Clone, Copy, Debug)]
pub struct Found {
    pub tuples: usize,
    /// Of the tables, where it knows.
    pub bytes: Option<usize>,
    /// CPU seconds from facts in memory to the fixed point, where it says.
    pub cpu_s: Option<f64>,
    /// The same from files.
    pub door_s: f64,
}

/// An engine for this workload and these facts; nothing if it cannot say the program.
pub type Engine = Box<dyn Fn(&Workload, &Files) -> Result<Option<Found>, String>>;
