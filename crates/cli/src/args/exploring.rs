//! Options of `explore`.

use std::path::PathBuf;

use clap::{Args, Parser};

use super::error::{ValueError, message};
use super::options::Tuples;
use super::sources::Sources;
use super::values::{nodes, size};

/// `explore`.
#[derive(Args, Debug)]
pub struct ExploreArgs {
    /// The program: files of rules.
    #[command(flatten)]
    pub sources: Sources,
    /// Which runs.
    #[command(flatten)]
    pub bounds: Bounds,
    /// Write a run that fails to FILE, as a script for `sim`
    #[arg(long, value_name = "FILE")]
    pub save: Option<PathBuf>,
    /// Draw a space-time diagram of a run that fails: of what led to the violation
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Tuples from outside.
    #[command(flatten)]
    pub tuples: Tuples,
    /// Abort turns of rules that derive more than N event tuples, as in `sim`
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub turn_limit: Option<u64>,
    /// Print one JSON object per line: a counterexample, and a summary
    #[arg(long)]
    pub json: bool,
}

/// Which runs a search explores, and how.
#[derive(Args, Clone, Debug)]
pub struct Bounds {
    /// Run N nodes, n0:1, n1:1, ...
    #[arg(long, value_name = "N", default_value = "1", value_parser = nodes)]
    pub nodes: u32,
    /// Lose at most K messages in a run
    #[arg(long, value_name = "K", default_value_t = 0)]
    pub drops: u8,
    /// Deliver at most K messages of a run twice
    #[arg(long, value_name = "K", default_value_t = 0)]
    pub duplicates: u8,
    /// Crash at most K nodes in a run; they restart empty
    #[arg(long, value_name = "K", default_value_t = 0)]
    pub crashes: u8,
    /// Fire at most N timers in a run, over all nodes; the expiry of rows counts as one
    #[arg(long, value_name = "N", default_value_t = 4)]
    pub timers: u8,
    /// Explore no run beyond D messages, timers, script actions and faults
    #[arg(long, value_name = "D")]
    pub depth: Option<u32>,
    /// Stop when the search has used SIZE of memory, such as 512M; by default most of the machine's
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub memory: Option<u64>,
    /// Search depth first: less memory, but the counterexample may not be the shortest
    #[arg(long)]
    pub depth_first: bool,
    /// Search with N threads; the result does not depend on N
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(1..=256),
        conflicts_with = "depth_first"
    )]
    pub workers: u32,
    /// Let a node finish all turns that follow from a message before it takes the next: fewer
    /// states, but runs in which a message comes between are missed
    #[arg(long)]
    pub atomic_chains: bool,
    /// Take states that differ by a permutation of interchangeable nodes for one
    #[arg(long)]
    pub symmetry: bool,
    /// Explore all orders of turns, even where the order makes no difference
    #[arg(long)]
    pub no_reduction: bool,
    /// A script of the events from outside, in their order; those of one time in any order
    #[arg(long, value_name = "FILE")]
    pub script: Option<PathBuf>,
}

/// Bounds in one word.
#[derive(Parser)]
#[command(no_binary_name = true, disable_help_flag = true)]
struct Words {
    #[command(flatten)]
    bounds: Bounds,
}

impl Bounds {
    /// Reads options as they are written after `explore`, separated by blanks.
    pub fn parse(text: &str) -> Result<Bounds, ValueError> {
        let words = Words::try_parse_from(text.split_whitespace());
        let bounds = words.map(|words| words.bounds);
        bounds.map_err(|error| ValueError::Bounds(message(&error)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_options_of_explore() {
        let bounds = Bounds::parse("--nodes 3 --crashes 1 --no-reduction").expect("bounds");
        assert_eq!((bounds.nodes, bounds.crashes, bounds.timers), (3, 1, 4));
        assert!(bounds.no_reduction);
        for wrong in ["--nodes", "--nodes x", "a.olg", "--json", "--workers 2 --depth-first"] {
            let error = Bounds::parse(wrong).expect_err(wrong).to_string();
            assert!(!error.is_empty() && !error.contains('\n'), "{error}");
        }
    }
}
