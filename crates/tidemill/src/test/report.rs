//! The report of a test.

use std::fmt;
use std::time::Duration;

use tidemill_relation::json::JsonWriter;

use super::command::shell_line;
use super::coverage::Coverage;
use super::input::Origin;
use super::shrink::Shrunk;
use crate::journal::Seconds;
use crate::run::Report;

/// A seed whose run failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// The seed; that of the last phase, if it has several.
    pub seed: u64,
    /// Where its input comes from.
    pub origin: Origin,
    /// The kind of its failure.
    pub kind: FailureKind,
    /// Its shape, shared with similar failures: the rule, and the shape of the tuple.
    pub shape: String,
    /// The line that names the failure.
    pub cause: String,
    /// The last lines of the run on standard error.
    pub notes: Vec<String>,
    /// The arguments of `tidemill` that repeat it.
    pub arguments: Vec<String>,
}

/// The kind of a failure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FailureKind {
    /// A violation, an expectation that does not hold, a fault: `sim` exits with status 1.
    Failed,
    /// It could not run to its end.
    Broken,
    /// A fresh process gave other output. That is a bug of this system.
    Different,
}

impl FailureKind {
    fn name(self) -> &'static str {
        match self {
            FailureKind::Failed => "failed",
            FailureKind::Broken => "broken",
            FailureKind::Different => "different",
        }
    }
}

impl Failure {
    /// The command that repeats it, quoted for a shell.
    pub fn command(&self) -> String {
        shell_line(&self.arguments)
    }

    /// The object `{"failure":{...}}`.
    pub fn json(&self) -> String {
        let mut json = JsonWriter::new();
        json.object(|json| {
            json.key("failure").object(|json| {
                json.key("seed").number(self.seed);
                self.origin.name().into_iter().for_each(|name| json.key("origin").string(name));
                json.key("kind").string(self.kind.name());
                json.key("shape").string(&self.shape);
                json.key("notes").array(|json| self.notes.iter().for_each(|it| json.string(it)));
                json.key("command").string(&self.command());
            });
        });
        json.finish()
    }
}

/// A few lines for users.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "seed {} ", self.seed)?;
        self.origin.name().map_or(Ok(()), |name| write!(f, "({name}) "))?;
        f.write_str(self.kind.name())?;
        for note in &self.notes {
            write!(f, "\n  {note}")?;
        }
        write!(f, "\n  {}", self.command())
    }
}

/// Failures of the same shape.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Group {
    /// Their shape.
    pub shape: String,
    /// The number of failures.
    pub seeds: u64,
    /// The seed of the first.
    pub first_seed: u64,
    /// The first failure, shrunk; `None` if a script cannot repeat it.
    pub shrunk: Option<Shrunk>,
    /// The arguments of `tidemill` that repeat the shrunk run, once its script is in this file.
    pub arguments: Vec<String>,
}

impl Group {
    /// The object `{"group":{...}}`.
    pub fn json(&self) -> String {
        let mut json = JsonWriter::new();
        json.object(|json| {
            json.key("group").object(|json| {
                json.key("shape").string(&self.shape);
                json.key("seeds").number(self.seeds);
                json.key("first_seed").number(self.first_seed);
                let Some(shrunk) = &self.shrunk else { return };
                json.key("nodes").number(shrunk.nodes);
                json.key("faults").number(shrunk.faults);
                json.key("injections").number(shrunk.injections);
                json.key("seconds").number(Seconds(shrunk.at_ns));
                json.key("note").string(&shrunk.note);
                json.key("script").array(|json| {
                    shrunk.script.iter().for_each(|line| json.string(line));
                });
                json.key("why").array(|json| {
                    shrunk.why.iter().for_each(|line| json.string(line));
                });
                json.key("command").string(&shell_line(&self.arguments));
            });
        });
        json.finish()
    }
}

/// A few lines for users.
impl fmt::Display for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Group { shape, seeds, first_seed, .. } = self;
        match seeds {
            1 => write!(f, "1 seed fails, {first_seed}: {shape}")?,
            seeds => write!(f, "{seeds} seeds fail alike, the first is {first_seed}: {shape}")?,
        }
        let Some(shrunk) = &self.shrunk else {
            return f.write_str("\n  no script repeats it without the seed");
        };
        let Shrunk { nodes, faults, injections, at_ns, .. } = shrunk;
        let count = |count: usize, what: &str| match count {
            1 => format!("1 {what}"),
            count => format!("{count} {what}s"),
        };
        let (nodes, faults) = (count(*nodes as usize, "node"), count(*faults, "fault"));
        let injections = count(*injections, "injection");
        let at = Seconds(*at_ns);
        write!(f, "\n  it takes {nodes}, {faults}, {injections} and {at} s:")?;
        for line in &shrunk.script {
            write!(f, "\n    {line}")?;
        }
        write!(f, "\n  {}", shrunk.note)?;
        for line in &shrunk.why {
            write!(f, "\n    {line}")?;
        }
        write!(f, "\n  {}", shell_line(&self.arguments))
    }
}

/// An event of a running test.
#[derive(Debug)]
pub enum TestEvent<'t> {
    /// A run has failed. Failures come in the order of their seeds.
    Failed(&'t Failure),
    /// A group of failures, after all runs; in the order of their first seeds.
    Group(&'t Group),
    /// Progress, a few times a second.
    Progress(&'t TestReport),
}

/// The figures of a test, so far or at its end.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TestReport {
    /// The number of completed runs.
    pub runs: u64,
    /// The number of failures.
    pub failures: u64,
    /// The number of runs repeated in a fresh process.
    pub repeated: u64,
    /// The seeds of the first and the last completed run.
    pub seeds: Option<(u64, u64)>,
    /// The coverage of rules over all runs.
    pub coverage: Coverage,
    /// The figures of the corpus, if there is one.
    pub corpus: Option<CorpusReport>,
    /// The histories of all runs, if they are compared with a model.
    pub histories: Option<Histories>,
    /// It was interrupted.
    pub interrupted: bool,
    /// The elapsed wall-clock time.
    pub elapsed: Duration,
}

/// The histories of runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Histories {
    /// The number of operations.
    pub operations: u64,
    /// The number of those that have returned: a history of others is always linearizable.
    pub returned: u64,
}

impl Histories {
    /// Those of a run; `None` if it has not compared any.
    pub(super) fn of(report: &Report) -> Option<Histories> {
        let checked = report.nodes.as_ref()?.history.as_ref()?;
        Some(Histories { operations: checked.operations, returned: checked.returned })
    }

    /// Adds those of another run.
    pub(super) fn add(&mut self, other: Histories) {
        self.operations += other.operations;
        self.returned += other.returned;
    }
}

/// The figures of a corpus.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CorpusReport {
    /// The number of inputs read from its file.
    pub read: u64,
    /// The number of inputs in it now.
    pub kept: u64,
    /// The number of runs that were mutations of inputs.
    pub mutations: u64,
    /// The number of mutations that added coverage, when they ran.
    pub added_by_mutations: u64,
    /// The number of other runs that did, without those of the file.
    pub added_by_seeds: u64,
}

impl CorpusReport {
    fn json(&self, json: &mut JsonWriter) {
        json.key("corpus").object(|json| {
            json.key("read").number(self.read);
            json.key("kept").number(self.kept);
            json.key("mutations").number(self.mutations);
            json.key("added_by_mutations").number(self.added_by_mutations);
            json.key("added_by_seeds").number(self.added_by_seeds);
        });
    }
}

impl fmt::Display for CorpusReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CorpusReport { read, kept, mutations, added_by_mutations, added_by_seeds } = self;
        write!(f, "corpus: {read} read, {added_by_seeds} added by seeds, ")?;
        write!(f, "{added_by_mutations} by {mutations} mutations, {kept} kept")
    }
}

impl TestReport {
    /// Whether no run failed.
    pub fn is_well(&self) -> bool {
        self.failures == 0
    }

    /// Runs per second.
    pub fn rate(&self) -> f64 {
        self.runs as f64 / self.elapsed.as_secs_f64().max(1e-9)
    }

    /// The object `{"summary":{...}}`, without wall-clock time.
    pub fn json(&self) -> String {
        let mut json = JsonWriter::new();
        json.object(|json| {
            json.key("summary").object(|json| {
                json.key("runs").number(self.runs);
                json.key("failures").number(self.failures);
                json.key("repeated").number(self.repeated);
                if let Some((first, last)) = self.seeds {
                    json.key("first_seed").number(first);
                    json.key("last_seed").number(last);
                }
                if let Some(Histories { operations, returned }) = self.histories {
                    json.key("histories").object(|json| {
                        json.key("operations").number(operations);
                        json.key("returned").number(returned);
                    });
                }
                self.corpus.iter().for_each(|corpus| corpus.json(json));
                if self.interrupted {
                    json.key("interrupted").bool(true);
                }
            });
        });
        json.finish()
    }
}

/// One line for users, without wall-clock time.
impl fmt::Display for TestReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TestReport { runs, failures, repeated, .. } = self;
        write!(f, "summary: {runs} runs, {failures} failed; {repeated} repeated")?;
        if let Some((first, last)) = self.seeds {
            write!(f, "; seeds {first}..{last}")?;
        }
        if let Some(Histories { operations, returned }) = self.histories {
            write!(f, "; histories: {operations} operations, {returned} returned")?;
        }
        if let Some(corpus) = &self.corpus {
            write!(f, "; {corpus}")?;
        }
        if self.interrupted { f.write_str("; interrupted") } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_and_figures_are_lines_and_objects() {
        let failure = Failure {
            seed: 7,
            origin: Origin::Seed,
            kind: FailureKind::Failed,
            shape: "violation(A)".to_owned(),
            cause: String::new(),
            notes: vec!["tidemill: 1.000000 n0:1: violation(\"n0:1\")".to_owned()],
            arguments: vec!["sim".to_owned(), "a.olg".to_owned()],
        };
        assert_eq!(
            failure.to_string(),
            "seed 7 failed\n  tidemill: 1.000000 n0:1: violation(\"n0:1\")\n  tidemill sim a.olg"
        );
        assert_eq!(
            failure.json(),
            "{\"failure\":{\"seed\":7,\"kind\":\"failed\",\"shape\":\"violation(A)\",\"notes\":[\
             \"tidemill: 1.000000 n0:1: violation(\\\"n0:1\\\")\"],\
             \"command\":\"tidemill sim a.olg\"}}"
        );
        let report = TestReport {
            runs: 10,
            failures: 1,
            repeated: 1,
            seeds: Some((1, 10)),
            histories: Some(Histories { operations: 90, returned: 88 }),
            interrupted: true,
            elapsed: Duration::from_secs(2),
            ..TestReport::default()
        };
        let line = "summary: 10 runs, 1 failed; 1 repeated; seeds 1..10; histories: 90 \
                    operations, 88 returned; interrupted";
        assert_eq!(report.to_string(), line);
        assert_eq!(
            report.json(),
            "{\"summary\":{\"runs\":10,\"failures\":1,\"repeated\":1,\"first_seed\":1,\
             \"last_seed\":10,\"histories\":{\"operations\":90,\"returned\":88},\
             \"interrupted\":true}}"
        );
        assert_eq!(report.rate(), 5.0);
        let corpus = CorpusReport {
            read: 3,
            kept: 9,
            mutations: 498,
            added_by_mutations: 7,
            added_by_seeds: 5,
        };
        let report =
            TestReport { corpus: Some(corpus), histories: None, interrupted: false, ..report };
        let line = "summary: 10 runs, 1 failed; 1 repeated; seeds 1..10; corpus: 3 read, 5 added \
                    by seeds, 7 by 498 mutations, 9 kept";
        assert_eq!(report.to_string(), line);
        assert!(report.json().ends_with(
            "\"last_seed\":10,\"corpus\":{\"read\":3,\"kept\":9,\"mutations\":498,\
             \"added_by_mutations\":7,\"added_by_seeds\":5}}}"
        ));
        let mutated = Failure { origin: Origin::Mutation, ..failure };
        assert!(mutated.to_string().starts_with("seed 7 (mutation) failed\n"));
        assert!(mutated.json().starts_with("{\"failure\":{\"seed\":7,\"origin\":\"mutation\","));
    }
}
