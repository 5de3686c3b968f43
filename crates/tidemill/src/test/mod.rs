//! Many simulations of a program, each with another seed, to find one that fails.
//!
//! ```text
//! Test::new ── script ── run ──> failures with the command that repeats each, a report
//!     │
//!  compiled once      [options]   which seeds, on how many nodes, under which faults
//!                     [faults]    what a seed draws
//!                     [command]   a run as a command line
//!                     [input]     what a run follows from
//!                     [generator] inputs of seeds, of the corpus, and mutations
//!                     [corpus]    inputs whose runs cover what others do not, in a file
//!                     [schedule]  which run comes next
//!                     [trial]     one run, and the same in a fresh process
//!                     [workers]   runs side by side, heard in the order of their seeds
//!                     [groups]    failures that have their [shape] in common
//!                     [shrink]    a failure as a script of which nothing can be left out
//!                     [coverage]  what rules have done, and in which order events came
//!                     [report]    failures and figures, as text and as JSON
//!                     [mutants]   whether it finds what is wrong with programs made so
//!                     [equivalents]  mutants that are judged not to be wrong
//!                     [explored]  mutants that a search compares with the program
//! ```
//! A run follows from its seed: the number of its nodes, the faults that occur in it, their
//! strength, and what [`sim`](crate::sim) draws from the seed. So a failure is a command line of
//! `sim`. No state survives a run; every hundredth run is repeated in a fresh process to check
//! that.

mod command;
mod corpus;
mod coverage;
mod equivalents;
mod explored;
mod faults;
mod generator;
mod groups;
mod input;
mod mutants;
mod notes;
mod options;
mod report;
mod schedule;
mod shape;
mod shrink;
mod trial;
mod workers;

use std::time::Instant;

use tidemill_diag::{Diagnostic, Sources};

use crate::error::Error;
use crate::program::Program;
use crate::script::Script;

use trial::Trials;

pub use command::SimCommand;
pub use coverage::{Coverage, CoveredRule, EventPair};
pub use equivalents::{Equivalents, WrongJudgement, WrongReason};
pub use explored::Explored;
pub use faults::{Fault, Faults, NoFault};
pub use input::Origin;
pub use mutants::{Claim, Fate, Judged, Tally, try_mutant};
pub use options::TestOptions;
pub use report::{CorpusReport, Failure, FailureKind, Group, Histories, TestEvent, TestReport};
pub use shrink::Shrunk;
pub use tidemill_overlog::mutants::Mutant;

/// A program to be simulated many times.
pub struct Test(Trials);

impl Test {
    /// Prepares a test.
    ///
    /// # Errors
    /// As [`Simulation::new`](crate::sim::Simulation::new).
    pub fn new(program: Program, options: TestOptions) -> Result<Test, Error> {
        Trials::new(program, options).map(Test)
    }

    /// Adds the actions of a script to each run; returns diagnostics for those that do not fit the
    /// program, or the nodes of a run.
    pub fn script(&mut self, script: &Script, sources: &Sources) -> Vec<Diagnostic> {
        self.0.script(script, sources)
    }

    /// Reads the [file of the corpus](TestOptions::corpus), if there is one, and adds it to the
    /// sources; returns diagnostics for lines that are wrong, or do not fit the test. To be called
    /// after [`Self::script`].
    ///
    /// # Errors
    /// The file cannot be read, or not be replaced.
    pub fn corpus(&mut self, sources: &mut Sources) -> Result<Vec<Diagnostic>, Error> {
        self.0.read_corpus(sources)
    }

    /// Why there is a single worker.
    pub fn alone(&self) -> Option<&'static str> {
        self.0.alone()
    }

    /// Runs all seeds, and passes events to `on_event`.
    ///
    /// # Errors
    /// A thread cannot be started, or a file not be written.
    pub fn run(&self, mut on_event: impl FnMut(TestEvent<'_>)) -> Result<TestReport, Error> {
        workers::run(&self.0, Instant::now(), &mut on_event)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;
    use crate::program::LoadOptions;
    use crate::sim::SimOptions;

    /// A random choice that fails a run.
    const COIN: &str = "\
        r1 violation(@N, X) :- periodic(@N, _, 1, 1), f_coinFlip(0.5), X := NODE_COUNT.\n";

    fn test(options: TestOptions) -> (Vec<Failure>, TestReport) {
        let program = Program::of_text("coin.olg", COIN, &LoadOptions::default());
        let test = Test::new(program, options).expect("a program");
        let mut failures = Vec::new();
        let report = test.run(|event| {
            if let TestEvent::Failed(failure) = event {
                failures.push(failure.clone());
            }
        });
        (failures, report.expect("threads"))
    }

    fn options() -> TestOptions {
        let each = SimOptions { end_ns: Some(2_000_000_000), ..SimOptions::default() };
        TestOptions { each, seeds: 10..=109, workers: 3, ..TestOptions::default() }
    }

    #[test]
    fn seeds_fail_independently_and_are_reported_in_order() {
        let (failures, report) = test(options());
        assert_eq!((report.runs, report.seeds), (100, Some((10, 109))));
        assert_eq!(report.failures, failures.len() as u64);
        assert!((30..70).contains(&failures.len()), "{}", failures.len());
        assert!(failures.is_sorted_by(|one, other| one.seed < other.seed));
        let (alone, _) = test(TestOptions { seeds: 20..=109, workers: 1, ..options() });
        let later = failures.iter().filter(|failure| failure.seed >= 20);
        assert!(later.eq(&alone));
    }

    #[test]
    fn all_numbers_of_nodes_have_runs() {
        let (failures, _) = test(TestOptions { nodes: 2..=4, ..options() });
        for count in 2..=4 {
            let note = format!(", {count}) (rule r1)");
            let has_it = |failure: &Failure| failure.notes[0].contains(&note);
            assert!(failures.iter().any(has_it), "{count}: {failures:?}");
        }
    }

    /// The output of a fresh process is compared with that of the run.
    #[test]
    fn a_fresh_process_that_does_otherwise_is_a_failure() {
        let fresh = Some("true".into());
        let options = TestOptions { fresh, seeds: 1..=201, faults: Faults::none(), ..options() };
        let (failures, report) = test(options);
        assert_eq!(report.repeated, 3);
        let different: Vec<u64> = failures
            .iter()
            .filter(|failure| failure.kind == FailureKind::Different)
            .map(|failure| failure.seed)
            .collect();
        assert_eq!(different, [1, 101, 201]);
    }

    #[test]
    fn an_interrupted_test_counts_completed_runs() {
        let stop = Arc::new(AtomicBool::new(false));
        let mut options = TestOptions { seeds: 1..=u64::MAX, ..options() };
        options.each.stop = Some(stop.clone());
        let program = Program::of_text("coin.olg", COIN, &LoadOptions::default());
        let test = Test::new(program, options).expect("a program");
        let mut failures = 0;
        let report = test.run(|event| {
            failures += u64::from(matches!(event, TestEvent::Failed(_)));
            stop.store(failures >= 10, Ordering::Relaxed);
        });
        let report = report.expect("threads");
        assert!(report.interrupted && report.runs >= 10, "{report}");
        assert_eq!(report.failures, failures);
    }
}
