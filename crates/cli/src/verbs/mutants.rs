//! `test --mutants`.

use std::sync::atomic::Ordering;

use tidemill::program::Program;
use tidemill::script::Script;
use tidemill::test::{Fate, Judged, Mutant, Tally, TestOptions, try_mutant};
use tidemill_diag::Sources;

use super::common;
use super::interrupt::Interrupt;
use crate::output::Out;
use crate::report::Reporter;
use crate::status::Status;

/// Tests the program, which must not fail, and its mutants, each until a run fails.
pub(super) fn test(
    mutants: Vec<(Mutant, String)>,
    load: &dyn Fn(Option<Mutant>) -> Program,
    (options, script): (&TestOptions, Option<(&Script, &Sources)>),
    interrupt: &Interrupt,
    report: Reporter,
) -> Result<Status, Status> {
    let requested = interrupt.requested.clone();
    let fate = |mutant| {
        let tried = try_mutant(load(mutant), options.clone(), script, &requested);
        tried.map_err(|message| common::failed(report, &message))
    };
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
        let judged = Judged { fate: fate(Some(mutant.clone()))?, mutant, place };
        if requested.load(Ordering::Relaxed) {
            break;
        }
        tally.add(&judged.fate);
        out.write(&format!("{judged}\n"));
    }
    out.write(&format!("{tally}\n"));
    match out.finish() {
        Status::Fine if requested.load(Ordering::Relaxed) => Ok(interrupt.status()),
        Status::Fine if tally.survived > 0 => Err(Status::Failed),
        status => Ok(status),
    }
}
