//! Options of `explore`.

use std::path::PathBuf;

use clap::Args;

use super::options::Tuples;
use super::sources::Sources;
use super::values::{nodes, size};

/// `explore`.
#[derive(Args, Debug)]
pub struct ExploreArgs {
    /// The program: files of rules.
    #[command(flatten)]
    pub sources: Sources,
    /// Run N nodes, n0:1, n1:1, ...
    #[arg(long, value_name = "N", default_value = "1", value_parser = nodes)]
    pub nodes: u32,
    /// Lose at most K messages in a run
    #[arg(long, value_name = "K", default_value_t = 0)]
    pub drops: u8,
    /// Deliver at most K messages of a run once more
    #[arg(long, value_name = "K", default_value_t = 0)]
    pub duplicates: u8,
    /// Have at most K nodes crash in a run; they start again, empty
    #[arg(long, value_name = "K", default_value_t = 0)]
    pub crashes: u8,
    /// Have at most N timers fire in a run, in all nodes together; that rows expire counts as one
    #[arg(long, value_name = "N", default_value_t = 4)]
    pub timers: u8,
    /// Look at no run with more than D messages, timers, script actions and faults
    #[arg(long, value_name = "D")]
    pub depth: Option<u32>,
    /// End when the search has taken SIZE of memory: 512M; without it, most of what there is
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub memory: Option<u64>,
    /// Follow each run to its end before another begins: less memory, no shortest counterexample
    #[arg(long)]
    pub depth_first: bool,
    /// Have nodes work off all that follows from a message before the next: fewer states, and runs
    /// are missed in which a message comes between
    #[arg(long)]
    pub atomic_chains: bool,
    /// Look at all orders of turns, even where the order makes no difference
    #[arg(long)]
    pub no_reduction: bool,
    /// What reaches nodes from outside, in this order; what stands at one time, in any order
    #[arg(long, value_name = "FILE")]
    pub script: Option<PathBuf>,
    /// Write a run that fails to FILE, as a script for `sim`
    #[arg(long, value_name = "FILE")]
    pub save: Option<PathBuf>,
    /// Tuples from outside.
    #[command(flatten)]
    pub tuples: Tuples,
    /// Give up turns of rules that derive more than N event tuples, as in `sim`
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub turn_limit: Option<u64>,
    /// Print one JSON object a line: a counterexample, and a summary
    #[arg(long)]
    pub json: bool,
}
