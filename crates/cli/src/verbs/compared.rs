//! `test --mutants --explore`: searches that compare mutants with the program.

use tidemill::explore::{ExploreOptions, ExploreReport};
use tidemill::program::Program;
use tidemill::script::Script;
use tidemill::test::{Explored, Mutant, TestOptions};
use tidemill_diag::Sources;
use tidemill_stdx::sorted::SortedSet;

use super::script_file::{self, ScriptFile};
use super::{Relations, common, explore};
use crate::args::{self, Bounds, Tuples};
use crate::report::Reporter;
use crate::status::Status;

/// Loads the program, or a mutant of it.
pub(super) type Load<'m> = Box<dyn Fn(Option<Mutant>) -> Program + 'm>;

/// Loads a program, or a mutant of it, into which these relations are inserted.
pub(super) fn loader(given: &args::Sources, injected: SortedSet<String>) -> Load<'_> {
    Box::new(move |mutant| {
        let injected = Some(injected.clone());
        super::read(given, Relations { mutant, injected, ..Relations::default() })
    })
}

/// The bounds of searches, and their script.
pub(super) struct Compared<'m> {
    bounds: Bounds,
    load: Load<'m>,
    script: Option<Script>,
    sources: Sources,
}

impl<'m> Compared<'m> {
    /// Reads the script.
    pub(super) fn new(
        bounds: Bounds,
        given: &'m args::Sources,
        tuples: &Tuples,
        report: Reporter,
    ) -> Result<Compared<'m>, Status> {
        let script = ScriptFile::read(bounds.script.as_deref(), report)?;
        let load = loader(given, script_file::injected(tuples, script.as_ref()));
        let (script, sources) = script_file::checked(script, report)?;
        Ok(Compared { bounds, load, script, sources })
    }

    /// The searches, of nodes as in this test.
    pub(super) fn searches(&self, test: &TestOptions) -> Searches<'_> {
        let options = ExploreOptions {
            landmark: test.each.landmark.clone(),
            extra: test.each.extra.clone(),
            turn_tuples_max: test.each.turn_tuples_max,
            stop: test.each.stop.clone(),
            fingerprint: true,
            ..explore::within(&self.bounds)
        };
        let script = self.script.as_ref().map(|script| (script, &self.sources));
        Searches { load: &self.load, options, script }
    }
}

/// Searches that compare mutants with the program.
pub(super) struct Searches<'m> {
    load: &'m dyn Fn(Option<Mutant>) -> Program,
    options: ExploreOptions,
    script: Option<(&'m Script, &'m Sources)>,
}

impl Searches<'_> {
    /// Explores the program, whose search must be complete.
    pub(super) fn original(&self, report: Reporter) -> Result<ExploreReport, Status> {
        let program = (self.load)(None);
        if program.has_errors() {
            super::report_on(&program, report);
            return Err(Status::Failed);
        }
        let found = explore::search(program, self.options.clone(), self.script, report)?;
        if found.is_complete() || found.interrupted {
            return Ok(found);
        }
        let failed = found.counterexample.as_ref().map(|failed| {
            format!("finds {} at {}: see `tidemill explore`", failed.failure, failed.node)
        });
        let missed = || format!("is not complete: {}", found.missed.join("; "));
        let reason = failed.unwrap_or_else(missed);
        Err(common::failed(report, format!("--explore: the search of the program itself {reason}")))
    }

    /// Explores a mutant.
    pub(super) fn explored(&self, mutant: &Mutant, original: &ExploreReport) -> Explored {
        Explored::new((self.load)(Some(mutant.clone())), &self.options, self.script, original)
    }
}
