//! Options of `test`, and the command of `sim` that they correspond to.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use tidemill::history::ModelName;
use tidemill::script::{seconds_text, some_seconds};
use tidemill::test::{Faults, SimCommand};

use super::devices::Devices;
use super::error::ValueError;
use super::exploring::Bounds;
use super::options::{EngineKind, Tuples};
use super::sources::Sources;
use super::values::nodes;

/// `test`.
#[derive(Args, Debug)]
pub struct TestArgs {
    /// The program.
    #[command(flatten)]
    pub sources: Sources,
    /// The seeds, one per run; by default 1..1000, and with --wall from 1 on
    #[arg(long, value_name = "A..B", value_parser = seeds)]
    pub seeds: Option<RangeInclusive<u64>>,
    /// Start no run after S seconds
    #[arg(long, value_name = "S", value_parser = some_seconds)]
    pub wall: Option<u64>,
    /// Runs in parallel; by default one per processor
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub workers: Option<u32>,
    /// Each run has A to B nodes, n0:1, n1:1, ...; by default as many as the script says, or one
    #[arg(long, value_name = "A..B", value_parser = node_range)]
    pub nodes: Option<RangeInclusive<u32>>,
    /// End each run after S seconds of virtual time; by default at the end of the script, or, if
    /// that has none, after 60
    #[arg(long = "for", value_name = "S", value_parser = some_seconds)]
    pub end: Option<u64>,
    /// A script of timed actions and expectations for each run
    #[arg(long, value_name = "FILE")]
    pub script: Option<PathBuf>,
    /// The faults of runs: none; swarm, a random subset of all in each run; or a list such as
    /// loss,churn, a random subset of it in each run. Their strengths are drawn from the seed, too
    #[arg(long, value_name = "none|LIST|swarm", default_value = "swarm")]
    #[arg(value_parser = Faults::parse)]
    pub faults: Faults,
    /// Check at the end of each run that the operations in `history` are linearizable for this
    /// model; FILE.olg defines one by rules of step(State, Operation, Argument, Result, Next)
    #[arg(long, value_name = "register|kv|queue|set|counter|FILE", value_parser = ModelName::parse)]
    pub linearizable: Option<ModelName>,
    /// End all faults 1.5 S before the end of each run, and fail it if the table `unsettled` of a
    /// node still has a row S later; by default S is a third of the run, if there is such a table
    #[arg(long, value_name = "S", value_parser = some_seconds)]
    pub settle: Option<u64>,
    /// Ignore rows of `unsettled` that last less than T seconds
    #[arg(long, value_name = "T", value_parser = some_seconds)]
    pub tolerate: Option<u64>,
    /// Seal datagrams with the fleet key in FILE
    #[arg(long, value_name = "FILE")]
    pub key: Option<PathBuf>,
    /// Confine the files of rules to DIR; by default the current folder
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
    /// Simulated devices.
    #[command(flatten)]
    pub devices: Devices,
    /// Tuples from outside.
    #[command(flatten)]
    pub tuples: Tuples,
    /// How programs are executed
    #[arg(long, value_enum, value_name = "ENGINE")]
    pub engine: Option<EngineKind>,
    /// Abort turns of rules that derive more than N event tuples, as in `sim`
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub turn_limit: Option<u64>,
    /// Do not shrink failures
    #[arg(long)]
    pub no_shrink: bool,
    /// Write the shrunk scripts that repeat the failures into DIR, as found.sim, found-2.sim and so
    /// on
    #[arg(long, value_name = "DIR", conflicts_with = "no_shrink")]
    pub found: Option<PathBuf>,
    /// Draw a space-time diagram of the first shrunk failure: of what led to the violation
    #[arg(long, value_name = "FILE", conflicts_with = "no_shrink")]
    pub svg: Option<PathBuf>,
    /// Keep runs that add coverage in FILE, and make up to half of the runs mutations of these: the
    /// same run up to some time, and from there on random numbers of another seed. What FILE has is
    /// run first; after the runs it is replaced
    #[arg(long, value_name = "FILE")]
    pub corpus: Option<PathBuf>,
    /// Test the properties with mutants: programs that differ in one place each (a term left out, a
    /// comparison flipped, two columns swapped, a rule left out). Each is run until a run fails,
    /// for 10 s or --wall; survivors fail the test
    #[arg(long, conflicts_with_all = ["found", "svg", "coverage", "no_shrink", "corpus"])]
    pub mutants: bool,
    /// A list of mutants that are equivalent to the program, with reasons: they need not be found,
    /// and must not be
    #[arg(long, value_name = "FILE", requires = "mutants")]
    pub equivalent: Option<PathBuf>,
    /// Explore the program and each mutant that survives with these options of `explore`, in one
    /// word, such as '--nodes 3 --drops 1': mutants that reach the same states are equivalent
    /// within these bounds, and need not be found
    #[arg(long, value_name = "OPTIONS", requires = "mutants", value_parser = Bounds::parse)]
    #[arg(allow_hyphen_values = true)]
    pub explore: Option<Bounds>,
    /// Print how often each rule fired in all runs: first those that never did, and those whose
    /// body never held; then which events came one after the other at a node in one order only
    #[arg(long)]
    pub coverage: bool,
    /// Print one JSON object per line: failures, what they have in common, or mutants; and a
    /// summary
    #[arg(long)]
    pub json: bool,
}

impl TestArgs {
    /// The `sim` command that simulates the same program, except for what depends on the seed. It
    /// includes options of settings, and the files of a folder.
    pub fn command(&self, end_ns: Option<u64>) -> SimCommand {
        let arguments = self.sim_arguments(end_ns, self.script.as_ref());
        SimCommand { arguments, replay: self.sim_arguments(None, None) }
    }

    fn sim_arguments(&self, end_ns: Option<u64>, script: Option<&PathBuf>) -> Vec<String> {
        let mut arguments = vec!["sim".to_owned()];
        arguments.extend(self.sources.files.iter().cloned());
        let mut add = |option: &str, value: String| {
            arguments.extend([option.to_owned(), value]);
        };
        let path = |path: &PathBuf| path.display().to_string();
        for define in &self.sources.defines {
            add("-D", format!("{}={}", define.name, define.value));
        }
        self.sources.includes.iter().for_each(|folder| add("-I", path(folder)));
        end_ns.into_iter().for_each(|end_ns| add("--for", seconds_text(end_ns)));
        script.iter().for_each(|file| add("--script", path(file)));
        self.linearizable.iter().for_each(|it| add("--linearizable", it.to_string()));
        self.tuples.fact.iter().for_each(|tuple| add("--fact", tuple.clone()));
        self.tuples.inject.iter().for_each(|tuple| add("--inject", tuple.clone()));
        self.key.iter().for_each(|file| add("--key", path(file)));
        self.root.iter().for_each(|folder| add("--root", path(folder)));
        for (name, device) in &self.devices.all() {
            add("--device", format!("{name}={device}"));
        }
        let engine = self.engine.and_then(|engine| engine.to_possible_value());
        engine.iter().for_each(|engine| add("--engine", engine.get_name().to_owned()));
        self.turn_limit.into_iter().for_each(|most| add("--turn-limit", most.to_string()));
        arguments
    }
}

fn seeds(text: &str) -> Result<RangeInclusive<u64>, ValueError> {
    let wrong = || ValueError::Seeds(text.to_owned());
    let (first, last) = text.split_once("..").unwrap_or((text, text));
    let first: u64 = first.parse().map_err(|_| wrong())?;
    let last: u64 = last.parse().map_err(|_| wrong())?;
    if first <= last { Ok(first..=last) } else { Err(wrong()) }
}

fn node_range(text: &str) -> Result<RangeInclusive<u32>, ValueError> {
    let (least, most) = text.split_once("..").unwrap_or((text, text));
    let (least, most) = (nodes(least)?, nodes(most)?);
    if least <= most { Ok(least..=most) } else { Err(ValueError::NodeRange(text.to_owned())) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_include_both_ends() {
        assert_eq!(seeds("3..9").ok(), Some(3..=9));
        assert_eq!(seeds("7").ok(), Some(7..=7));
        assert_eq!(node_range("1..1000").ok(), Some(1..=1000));
        assert_eq!(node_range("5").ok(), Some(5..=5));
        for wrong in ["", "9..3", "a..b", "1..", "1-3"] {
            assert!(seeds(wrong).is_err() && node_range(wrong).is_err(), "{wrong}");
        }
        assert!(node_range("0..3").is_err());
    }
}
