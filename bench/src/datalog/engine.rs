//! The interface of engines, and their results.

use super::facts::Files;
use super::workload::Workload;

/// The result of one engine, and its cost.
#[derive(Clone, Copy, Debug)]
pub struct Found {
    pub tuples: usize,
    /// The size of the tables, if known.
    pub bytes: Option<usize>,
    /// CPU seconds from facts in memory to the fixed point, if reported.
    pub cpu_s: Option<f64>,
    /// CPU seconds from files to the fixed point.
    pub door_s: f64,
}

/// An engine for this workload and these facts; `None` if the program cannot be expressed.
pub type Engine = Box<dyn Fn(&Workload, &Files) -> Result<Option<Found>, String>>;
