//! `test --mutants`.

use std::fs;
use std::path::Path;
use std::sync::atomic::Ordering;

use tidemill::program::Program;
use tidemill::script::Script;
use tidemill::test::{Claim, Equivalents, Fate, Judged, Mutant, Tally, TestOptions, try_mutant};
use tidemill_diag::Sources;

use super::common;
use super::compared::Searches;
use super::interrupt::Interrupt;
use crate::output::Out;
use crate::report::Reporter;
use crate::status::Status;

/// Reads the list of mutants that are judged equivalent.
pub(super) fn equivalents(
    file: Option<&Path>,
    mutants: &[(Mutant, String)],
    report: Reporter,
) -> Result<Equivalents, Status> {
    let Some(file) = file else { return Ok(Equivalents::default()) };
    let wrong = |error: &dyn std::fmt::Display| {
        common::failed(report, format!("--equivalent {}: {error}", file.display()))
    };
    let text = fs::read_to_string(file).map_err(|error| wrong(&error))?;
    let mutants = mutants.iter().map(|(mutant, _)| mutant);
    Equivalents::parse(&text, mutants).map_err(|error| wrong(&error))
}

/// A test of mutants.
pub(super) struct Mutants<'m> {
    /// With the places of their rules.
    pub(super) mutants: Vec<(Mutant, String)>,
    /// Those that are judged equivalent.
    pub(super) equivalents: Equivalents,
    /// Loads the program, or a mutant.
    pub(super) load: &'m dyn Fn(Option<Mutant>) -> Program,
    /// How each is tested.
    pub(super) options: &'m TestOptions,
    pub(super) script: Option<(&'m Script, &'m Sources)>,
    /// Print objects.
    pub(super) json: bool,
}

/// Tests the program, which must not fail, and its mutants, each until a run fails.
pub(super) fn test(
    test: Mutants<'_>,
    searches: Option<Searches<'_>>,
    interrupt: &Interrupt,
    report: Reporter,
) -> Result<Status, Status> {
    let Mutants { mutants, equivalents, load, options, script, json } = test;
    let requested = interrupt.requested.clone();
    let fate = |mutant| {
        let tried = try_mutant(load(mutant), options.clone(), script, &requested);
        tried.map_err(|message| common::failed(report, &message))
    };
    let searches = searches.map(|searches| Ok((searches.original(report)?, searches)));
    let searches = searches.transpose()?;
    let reason = match fate(None)? {
        Fate::Found { seed, note } => Some(format!("fails with seed {seed}: {note}")),
        Fate::Endless => Some("has no run that ends in time: --wall S gives it longer".to_owned()),
        Fate::Refused | Fate::Survived { .. } => None,
    };
    if let Some(reason) = reason {
        return Err(common::failed(report, format!("the program itself {reason}")));
    }
    let (mut out, mut tally) = (Out::new(), Tally::default());
    for (mutant, place) in mutants {
        let is_equivalent = equivalents.contains(&mutant);
        let claim = if is_equivalent { Claim::Equivalent } else { Claim::Wrong };
        let fate = fate(Some(mutant.clone()))?;
        let explored = match (&fate, &searches) {
            (Fate::Survived { .. }, Some((original, by))) => Some(by.explored(&mutant, original)),
            _ => None,
        };
        let judged = Judged { fate, mutant, place, claim, explored };
        if requested.load(Ordering::Relaxed) {
            break;
        }
        tally.add(&judged);
        out.write(&if json { judged.json() } else { judged.to_string() });
        out.write("\n");
    }
    out.write(&if json { tally.json() } else { tally.to_string() });
    out.write("\n");
    match out.finish() {
        Status::Fine if requested.load(Ordering::Relaxed) => Ok(interrupt.status()),
        Status::Fine if !tally.is_well() => Err(Status::Failed),
        status => Ok(status),
    }
}
