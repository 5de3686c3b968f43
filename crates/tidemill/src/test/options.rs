//! How a program is tested.

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use super::command::SimCommand;
use super::faults::Faults;
use crate::sim::SimOptions;

/// How a program is tested.
#[derive(Clone, Debug)]
pub struct TestOptions {
    /// How each run is simulated. Its seed, nodes and workers do not matter, and faults are added
    /// to its own.
    pub each: SimOptions,
    /// The seeds, one a run, in this order.
    pub seeds: RangeInclusive<u64>,
    /// No run begins later than this after the start.
    pub wall: Option<Duration>,
    /// How many nodes a run has, at least one: each number is as likely.
    pub nodes: RangeInclusive<u32>,
    /// How many runs there are at a time, at least one. Where runs write files, there is one.
    pub workers: u32,
    /// The faults that are drawn.
    pub faults: Faults,
    /// The command that simulates the program.
    pub command: SimCommand,
    /// Whether failures are shrunk.
    pub shrinks: bool,
    /// Where scripts are written that repeat what is left of failures; `None`: nowhere.
    pub found: Option<PathBuf>,
    /// What is run as `tidemill` to repeat runs in a fresh process; `None`: none is repeated.
    pub fresh: Option<PathBuf>,
}

impl Default for TestOptions {
    fn default() -> TestOptions {
        TestOptions {
            each: SimOptions::default(),
            seeds: 1..=1000,
            wall: None,
            nodes: 1..=1,
            workers: 1,
            faults: Faults::swarm(),
            command: SimCommand::default(),
            shrinks: true,
            found: None,
            fresh: None,
        }
    }
}
