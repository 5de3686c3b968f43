//! One run of a test, and its repetition in a fresh process.

use std::any::Any;
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::Ordering;

use tidemill_diag::{Diagnostic, Sources, has_errors};
use tidemill_overlog::node::{Coverage as RunCoverage, RuleCoverage};
use tidemill_stdx::rng::Rng;
use tidemill_stdx::sorted::SortedSet;

use super::corpus::{self, Limits};
use super::coverage::{Coverage, CoveredRule};
use super::input::{Input, Origin};
use super::notes::LastBytes;
use super::options::TestOptions;
use super::report::{Failure, FailureKind, Histories};
use super::shape;
use crate::console::{Console, Form};
use crate::error::Error;
use crate::program::Program;
use crate::rule_times::RuleTimes;
use crate::script::Script;
use crate::sim::Simulation;
use crate::tape::Tape;

/// Every n-th run is repeated.
const REPEATED_EVERY: u64 = 100;

/// The result of a run.
#[derive(Debug)]
pub(super) struct Tried {
    /// Where its input comes from.
    pub(super) origin: Origin,
    /// Its input.
    pub(super) input: Input,
    /// Its failure, if it failed.
    pub(super) failure: Option<Failure>,
    /// What it has covered.
    pub(super) coverage: RunCoverage,
    /// When its rules first did something.
    pub(super) rule_times: RuleTimes,
    /// Its histories, if they were compared with a model.
    pub(super) histories: Option<Histories>,
    /// Whether it was repeated.
    pub(super) is_repeated: bool,
}

impl Tried {
    /// A run that has done nothing yet.
    fn new(origin: Origin, input: Input) -> Tried {
        Tried {
            origin,
            input,
            failure: None,
            coverage: RunCoverage::default(),
            rule_times: RuleTimes::default(),
            histories: None,
            is_repeated: false,
        }
    }
}

/// How often the coverage of a run is looked at, if there is a corpus.
const SAMPLES: u64 = 32;

/// Separates the random stream of a test from that of its simulation.
const STREAM: u64 = 0x0074_6573_7469_6e67;

/// A program to be simulated many times.
pub(super) struct Trials {
    pub(super) options: TestOptions,
    /// By number of nodes, from the minimum.
    simulations: Vec<Simulation>,
    /// The inputs of the file of the corpus, if there is a corpus.
    corpus: Option<Vec<Input>>,
}

impl Trials {
    pub(super) fn new(program: Program, mut options: TestOptions) -> Result<Trials, Error> {
        let (least, most) = (*options.nodes.start(), *options.nodes.end());
        options.each.workers = 1;
        options.each.nodes = least;
        let first = Simulation::new(program, options.each.clone())?;
        let simulations = (least..=most).map(|nodes| first.of_nodes(nodes)).collect();
        Ok(Trials { options, simulations, corpus: None })
    }

    pub(super) fn script(&mut self, script: &Script, sources: &Sources) -> Vec<Diagnostic> {
        let mut found = Vec::new();
        for simulation in &mut self.simulations {
            found = simulation.script(script, sources);
            if has_errors(&found) {
                break;
            }
        }
        found
    }

    pub(super) fn alone(&self) -> Option<&'static str> {
        let writes_files = self.simulations.first().is_some_and(Simulation::writes_files);
        writes_files.then_some("the program writes files")
    }

    /// Whether the test has to end.
    pub(super) fn is_stopped(&self) -> bool {
        // Relaxed: the flag publishes no other data.
        self.options.each.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed))
    }

    /// The rules of the program and its events, without coverage.
    pub(super) fn coverage(&self) -> Coverage {
        let Some(simulation) = self.simulations.first() else { return Coverage::default() };
        let rule = |(name, place): (&str, &str)| CoveredRule {
            name: name.to_owned(),
            place: place.to_owned(),
            done: RuleCoverage::default(),
        };
        Coverage {
            rules: simulation.rules().map(rule).collect(),
            global: simulation.global_rules().map(rule).collect(),
            events: simulation.event_names(),
            pairs: SortedSet::new(),
        }
    }

    /// The inputs read from the file of the corpus, if there is a corpus.
    pub(super) fn corpus(&self) -> Option<&[Input]> {
        self.corpus.as_deref()
    }

    /// Reads the file of the corpus, if there is one; returns diagnostics of its lines.
    ///
    /// # Errors
    /// It cannot be read or replaced.
    pub(super) fn read_corpus(&mut self, sources: &mut Sources) -> Result<Vec<Diagnostic>, Error> {
        let Some(path) = &self.options.corpus else { return Ok(Vec::new()) };
        let text = corpus::read(path)?.unwrap_or_default();
        let file = sources.add(path.display().to_string(), text);
        let limits = Limits {
            nodes: self.options.nodes.clone(),
            faults: &self.options.faults,
            faults_end_ns: self.faults_end_ns(),
        };
        let (inputs, found) = corpus::parse(file, sources.text(file), &limits);
        self.corpus = Some(inputs);
        Ok(found)
    }

    /// The end of faults; `None` if they need not end.
    pub(super) fn faults_end_ns(&self) -> Option<u64> {
        self.simulations.first().and_then(Simulation::faults_end_ns)
    }

    /// The input of a seed.
    pub(super) fn of_seed(&self, seed: u64) -> Input {
        let random = Rng::new(seed).fork(STREAM);
        let (least, most) = (*self.options.nodes.start(), *self.options.nodes.end());
        let above = random.fork(0).below(u64::from(most - least) + 1) as u32;
        let faults = self.options.faults.draw(&random);
        Input { nodes: least + above, seed, faults, then: Vec::new() }
    }

    /// The simulation of an input.
    pub(super) fn simulation(&self, input: &Input) -> Simulation {
        let above = input.nodes.saturating_sub(*self.options.nodes.start()) as usize;
        let above = above.min(self.simulations.len() - 1);
        let mut simulation = self.simulations[above].clone();
        let sample_ns = simulation.end_ns().map(|end_ns| end_ns / SAMPLES);
        let options = simulation.options_mut();
        input.set(options);
        options.sample_ns = sample_ns.filter(|_| self.corpus.is_some());
        simulation
    }

    /// Runs an input; `None` if the test is interrupted meanwhile.
    pub(super) fn try_input(&self, number: u64, (origin, input): (Origin, Input)) -> Option<Tried> {
        let seed = input.last_seed();
        let simulation = self.simulation(&input);
        let arguments = self.options.command.of_run(simulation.options());
        let fresh = self.options.fresh.as_deref().filter(|_| number.is_multiple_of(REPEATED_EVERY));
        let (data, notes) = (Tape::default(), LastBytes::default());
        let console = match fresh {
            None => Console::of_notes(Box::new(notes.clone())),
            Some(_) => Console::new(Form::Text, Box::new(data.clone()), Box::new(notes.clone())),
        };
        let failure = |kind, cause: Option<String>, notes: Vec<String>| {
            let cause = shape::cause(cause, &notes);
            let shape = shape::of(&cause);
            Failure { seed, origin, kind, shape, cause, notes, arguments: arguments.clone() }
        };
        // No state outlives a run, so a panic leaves no broken invariant.
        let ran = panic::catch_unwind(AssertUnwindSafe(|| simulation.run(console)));
        let ran = match ran {
            Ok(ran) => ran.map_err(|error| error.to_string()),
            Err(panic) => Err(message_of(&*panic)),
        };
        let mut report = match ran {
            Ok(report) => report,
            Err(message) => {
                let failure = failure(FailureKind::Broken, None, vec![message]);
                return Some(Tried { failure: Some(failure), ..Tried::new(origin, input) });
            }
        };
        if report.nodes.as_ref().is_some_and(|nodes| nodes.interrupted) || self.is_stopped() {
            return None;
        }
        let mut tried = Tried {
            coverage: std::mem::take(&mut report.coverage),
            rule_times: std::mem::take(&mut report.rule_times),
            histories: Histories::of(&report),
            ..Tried::new(origin, input)
        };
        if !report.is_well() {
            let notes = notes.lines().into_iter().chain(report.problems.iter().cloned());
            let cause = report.cause.take();
            tried.failure = Some(failure(FailureKind::Failed, cause, notes.collect()));
        }
        if let Some(program) = fresh {
            tried.is_repeated = true;
            let status = i32::from(!report.is_well());
            let difference = differs(program, &arguments, (data.text().as_bytes(), status));
            // The other process gets an interrupt as well.
            if self.is_stopped() {
                return None;
            }
            if let Some(difference) = difference {
                tried.failure = Some(failure(FailureKind::Different, None, vec![difference]));
            }
        }
        Some(tried)
    }
}

/// The message of a panic.
fn message_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    format!("panicked: {}", text.unwrap_or("no message"))
}

/// Runs a command in a fresh process; returns the difference to the run here.
fn differs(program: &Path, arguments: &[String], here: (&[u8], i32)) -> Option<String> {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stderr(Stdio::null());
    let output = match command.output() {
        Ok(output) => output,
        Err(error) => return Some(format!("{} does not start: {error}", program.display())),
    };
    let (data, status) = here;
    let there = output.status.code();
    if there != Some(status) {
        let there = there.map_or("a signal".to_owned(), |status| format!("status {status}"));
        return Some(format!("a fresh process ends with {there}, not with status {status}"));
    }
    let mut lines = (1..).zip(data.split(|byte| *byte == b'\n'));
    let mut others = output.stdout.split(|byte| *byte == b'\n');
    lines.find_map(|(number, line)| {
        let other = others.next().unwrap_or_default();
        (line != other).then(|| {
            let [line, other] = [line, other].map(String::from_utf8_lossy);
            format!("a fresh process writes another line {number}: `{other}`, not `{line}`")
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_other_line_is_named() {
        let echo = |text: &str, here: &str, status| {
            let arguments = [text.to_owned()];
            differs(Path::new("echo"), &arguments, (here.as_bytes(), status))
        };
        assert_eq!(echo("a\nb", "a\nb\n", 0), None);
        let other = "a fresh process writes another line 2: `c`, not `b`";
        assert_eq!(echo("a\nc", "a\nb\n", 0).as_deref(), Some(other));
        let shorter = "a fresh process writes another line 2: ``, not `b`";
        assert_eq!(echo("a", "a\nb\n", 0).as_deref(), Some(shorter));
        let ended = "a fresh process ends with status 0, not with status 1";
        assert_eq!(echo("a", "a\n", 1).as_deref(), Some(ended));
        assert!(differs(Path::new("/no/program"), &[], (b"", 0)).is_some());
    }
}
