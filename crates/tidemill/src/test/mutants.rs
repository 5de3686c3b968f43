//! Measures whether a test finds mistakes: runs it on mutants of the program.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use tidemill_diag::{Sources, has_errors};
use tidemill_overlog::mutants::Mutant;
use tidemill_relation::json::JsonWriter;

use super::explored::Explored;
use super::{Failure, Test, TestEvent, TestOptions};
use crate::error::Error;
use crate::program::Program;
use crate::script::Script;

/// The period of the check whether a test has to end.
const LOOKED_AFTER: Duration = Duration::from_millis(20);

/// The result of a mutant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Fate {
    /// It has errors, or the script does not fit it, so it cannot be run.
    Refused,
    /// A run failed.
    Found {
        /// The seed.
        seed: u64,
        /// The line that names the failure.
        note: String,
    },
    /// No run ended, in twice the time.
    Endless,
    /// No run failed.
    Survived {
        /// The number of runs.
        runs: u64,
    },
}

/// Tests a mutant until a run fails, or `is_over` ends the test. Failures are neither shrunk nor
/// repeated.
///
/// # Errors
/// A thread cannot be started.
pub fn try_mutant(
    program: Program,
    options: TestOptions,
    script: Option<(&Script, &Sources)>,
    is_over: &AtomicBool,
) -> Result<Fate, Error> {
    if program.has_errors() {
        return Ok(Fate::Refused);
    }
    let stop = Arc::new(AtomicBool::new(false));
    let wall = options.wall;
    let mut options =
        TestOptions { shrinks: false, found: None, svg: None, fresh: None, ..options };
    options.each.stop = Some(stop.clone());
    let Ok(mut test) = Test::new(program, options) else { return Ok(Fate::Refused) };
    if let Some((script, sources)) = script
        && has_errors(&test.script(script, sources))
    {
        return Ok(Fate::Refused);
    }
    let mut first: Option<Failure> = None;
    let has_ended = AtomicBool::new(false);
    let report = thread::scope(|scope| {
        // The mutation may cause an endless run.
        scope.spawn(|| {
            let deadline = wall.map(|wall| Instant::now() + 2 * wall);
            while !has_ended.load(Ordering::Relaxed) {
                let is_late = deadline.is_some_and(|deadline| Instant::now() >= deadline);
                if is_late || is_over.load(Ordering::Relaxed) {
                    stop.store(true, Ordering::Relaxed);
                }
                thread::sleep(LOOKED_AFTER);
            }
        });
        let report = test.run(|event| {
            if let TestEvent::Failed(failure) = event {
                first.get_or_insert_with(|| failure.clone());
                stop.store(true, Ordering::Relaxed);
            }
        });
        has_ended.store(true, Ordering::Relaxed);
        report
    })?;
    Ok(match first {
        None if report.runs == 0 => Fate::Endless,
        Some(failure) => Fate::Found { seed: failure.seed, note: failure.cause },
        None => Fate::Survived { runs: report.runs },
    })
}

/// A mutant and its result.
#[derive(Clone, Debug)]
pub struct Judged {
    /// The mutant.
    pub mutant: Mutant,
    /// `file:line:column` of its rule.
    pub place: String,
    /// Its result.
    pub fate: Fate,
    /// Whether the author of the program holds it to be equivalent.
    pub claim: Claim,
    /// What a search shows of it, if it survived and was explored.
    pub explored: Option<Explored>,
}

impl Judged {
    /// Whether a search shows that it is equivalent to the program, within its bounds.
    fn is_proved(&self) -> bool {
        self.explored.as_ref().is_some_and(Explored::is_equivalent)
    }

    /// Whether a search finds a run that fails.
    fn is_refuted(&self) -> bool {
        matches!(self.explored, Some(Explored::Failed(_)))
    }

    /// The object `{"mutant":{...}}`.
    pub fn json(&self) -> String {
        let Judged { mutant, place, fate, claim, explored } = self;
        let mut json = JsonWriter::new();
        json.object(|json| {
            json.key("mutant").object(|json| {
                json.key("rule").string(&mutant.rule);
                json.key("place").string(place);
                json.key("change").string(&mutant.change.to_string());
                json.key("fate").string(match fate {
                    Fate::Refused => "no program",
                    Fate::Found { .. } => "found",
                    Fate::Endless => "endless",
                    Fate::Survived { .. } => "survived",
                });
                match fate {
                    Fate::Found { seed, .. } => json.key("seed").number(*seed),
                    Fate::Survived { runs } => json.key("runs").number(*runs),
                    Fate::Refused | Fate::Endless => {}
                }
                json.key("judged_equivalent").bool(*claim == Claim::Equivalent);
                if let Some(explored) = explored {
                    json.key("explored").object(|json| explored.json(json));
                }
            });
        });
        json.finish()
    }
}

/// What the author of a program says of a mutant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Claim {
    /// Nothing: a run should fail.
    Wrong,
    /// It is equivalent to the program: no run can fail.
    Equivalent,
}

impl fmt::Display for Judged {
    /// One line, without its newline.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Judged { mutant, place, fate, claim, explored } = self;
        if self.is_proved() {
            write!(f, "equivalent within the bounds, ")?;
        }
        if *claim == Claim::Equivalent {
            write!(f, "judged equivalent, ")?;
        }
        match fate {
            Fate::Refused => write!(f, "no program")?,
            Fate::Found { seed, .. } => write!(f, "found by seed {seed}")?,
            Fate::Endless => write!(f, "found, no run ends")?,
            Fate::Survived { runs } => write!(f, "survived {runs} runs")?,
        }
        write!(f, ": {} ({place}) {}", mutant.rule, mutant.change)?;
        explored.as_ref().map_or(Ok(()), |explored| write!(f, "; explored: {explored}"))
    }
}

/// The number of mutants by result.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tally {
    /// Mutants that failed a run, or that never end.
    pub found: usize,
    /// Mutants that failed no run.
    pub survived: usize,
    /// Mutants that are judged equivalent, and failed no run; not those that are proved.
    pub equivalent: usize,
    /// Mutants that failed no run, and that a search shows to be equivalent within its bounds.
    pub proved: usize,
    /// Mutants that were judged equivalent, among those found, and those of which a search finds a
    /// run that fails.
    pub misjudged: usize,
    /// Mutants that could not be run.
    pub refused: usize,
}

impl Tally {
    /// Counts a mutant.
    pub fn add(&mut self, judged: &Judged) {
        let is_misjudged = usize::from(judged.claim == Claim::Equivalent);
        match (&judged.fate, judged.claim) {
            (Fate::Refused, _) => self.refused += 1,
            (Fate::Found { .. } | Fate::Endless, _) => {
                self.found += 1;
                self.misjudged += is_misjudged;
            }
            (Fate::Survived { .. }, _) if judged.is_proved() => self.proved += 1,
            (Fate::Survived { .. }, _) if judged.is_refuted() => {
                self.survived += 1;
                self.misjudged += is_misjudged;
            }
            (Fate::Survived { .. }, Claim::Wrong) => self.survived += 1,
            (Fate::Survived { .. }, Claim::Equivalent) => self.equivalent += 1,
        }
    }

    /// The number of mutants that could be run.
    fn all(&self) -> usize {
        self.found + self.survived + self.equivalent + self.proved
    }

    /// The object `{"summary":{...}}`.
    pub fn json(&self) -> String {
        let mut json = JsonWriter::new();
        json.object(|json| {
            json.key("summary").object(|json| {
                json.key("mutants").number(self.all());
                json.key("found").number(self.found);
                json.key("survived").number(self.survived);
                json.key("judged_equivalent").number(self.equivalent);
                json.key("equivalent_within_bounds").number(self.proved);
                json.key("misjudged").number(self.misjudged);
                json.key("no_programs").number(self.refused);
            });
        });
        json.finish()
    }

    /// Whether each mutant was found, or is judged or proved equivalent, and no judgement is
    /// refuted.
    pub fn is_well(&self) -> bool {
        self.survived == 0 && self.misjudged == 0
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Tally { found, survived, equivalent, proved, misjudged, refused } = self;
        write!(f, "mutants: {}, {found} found, {survived} survived", self.all())?;
        if *equivalent > 0 {
            write!(f, ", {equivalent} judged equivalent")?;
        }
        if *proved > 0 {
            write!(f, ", {proved} equivalent within the bounds")?;
        }
        write!(f, "; {refused} are no programs")?;
        match misjudged {
            0 => Ok(()),
            _ => write!(f, "; {misjudged} judged equivalent, but found"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::LoadOptions;

    const TEXT: &str = "\
        materialize(limit, infinity, infinity, keys(1)).\n\
        limit(\"n0:1\", 3).\n\
        p1 offer(@N, X) :- periodic(@N, _, 0.2, 40), X := f_rand() % 5.\n\
        t1 taken(@N, X) :- offer(@N, X), limit(@N, M), X < M.\n\
        t2 spare(@N, X) :- offer(@N, X), X != 77.\n\
        v1 violation(@N, X) :- taken(@N, X), X >= 3.\n";

    fn fate(mutant: Option<Mutant>) -> Fate {
        let loading = LoadOptions { mutant, ..LoadOptions::default() };
        let program = Program::of_text("a.olg", TEXT, &loading);
        let options = TestOptions { seeds: 1..=3, ..TestOptions::default() };
        let mut options = options;
        options.each.end_ns = Some(10_000_000_000);
        try_mutant(program, options, None, &AtomicBool::new(false)).expect("threads")
    }

    #[test]
    fn a_mistake_that_leads_to_a_violation_is_found() {
        assert_eq!(fate(None), Fate::Survived { runs: 3 });
        let program = Program::of_text("a.olg", TEXT, &LoadOptions::default());
        let fates: Vec<(String, Fate)> = program
            .mutants()
            .into_iter()
            .map(|(mutant, _)| (format!("{} {}", mutant.rule, mutant.change), fate(Some(mutant))))
            .collect();
        let of = |name: &str| &fates.iter().find(|(it, _)| it == name).expect(name).1;
        assert!(matches!(of("t1 without X < M"), Fate::Found { .. }), "{fates:?}");
        assert!(matches!(of("t1 X <= M instead of X < M"), Fate::Found { .. }));
        assert_eq!(of("t1 without limit(@N, M)"), &Fate::Refused);
        assert_eq!(of("t2 without the rule"), &Fate::Survived { runs: 3 });
    }
}
