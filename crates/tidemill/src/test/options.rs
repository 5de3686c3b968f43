//! Options of a test.

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use super::command::SimCommand;
use super::faults::Faults;
use crate::sim::SimOptions;

/// Options of a test.
#[derive(Clone, Debug)]
pub struct TestOptions {
    /// The options of each run. Seed, nodes and workers are overridden, and drawn faults are added.
    pub each: SimOptions,
    /// The seeds, one per run, in this order.
    pub seeds: RangeInclusive<u64>,
    /// No run starts later than this after the start.
    pub wall: Option<Duration>,
    /// The range of the number of nodes, at least one; all numbers are equally likely.
    pub nodes: RangeInclusive<u32>,
    /// The number of concurrent runs, at least one. It is one if runs write files.
    pub workers: u32,
    /// The faults that are drawn.
    pub faults: Faults,
    /// The command that simulates the program.
    pub command: SimCommand,
    /// Whether failures are shrunk.
    pub shrinks: bool,
    /// The folder for scripts that repeat shrunk failures; `None`: none are written.
    pub found: Option<PathBuf>,
    /// The file for a space-time diagram of the first shrunk failure; `None`: none is drawn.
    pub svg: Option<PathBuf>,
    /// The file of the corpus: it is read by [`Test::corpus`](super::Test::corpus), and replaced
    /// after the runs. `None`: there is no corpus. Needs
    /// [`observes_order`](SimOptions::observes_order) for pairs of events.
    pub corpus: Option<PathBuf>,
    /// The `tidemill` program that repeats runs in a fresh process; `None`: none is repeated.
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
            svg: None,
            corpus: None,
            fresh: None,
        }
    }
}
