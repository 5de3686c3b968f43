//! Snapshots for readers.

use crate::histogram::Distribution;
use crate::log::LogRecord;
use std::collections::BTreeMap;

/// All counters, histograms and logs of one process, by name.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Snapshot {
    /// The process.
    pub pid: u32,
    /// Counters; those of one name added up.
    pub counters: BTreeMap<String, u64>,
    /// Histograms; those of one name put together.
    pub histograms: BTreeMap<String, Distribution>,
    /// The records of logs that are still there, by time and then by number; those of one name
    /// put together.
    pub logs: BTreeMap<String, Vec<LogRecord>>,
    /// The files that could not be read, with the reason.
    pub problems: Vec<String>,
}

impl Snapshot {
    /// The value of a counter.
    pub fn counter(&self, name: &str) -> Option<u64> {
        self.counters.get(name).copied()
    }
}
