//! When the strands of a program become machine code.
//!
//! They are interpreted at first, and the types in their registers are profiled. When they have
//! worked enough, in runs and rows read, a thread compiles those that have run, for the observed
//! types, while the nodes continue, and then use the code. Strands that begin to run later are
//! compiled later. All nodes of a program share its code. Code and interpreter derive the same, so
//! the time of the switch does not matter.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;

use tidemill_relation::native::{self, Native, Options, expected};
use tidemill_relation::plan::Plan;
use tidemill_relation::strand::TypeProfile;
use tidemill_stdx::log::Level;
use tidemill_stdx::say;

use crate::program::Compiled;

/// The most verbose level of this file's log lines.
const CEILING: Level = Level::Debug;

/// The work, in short runs of the interpreter, after which strands without code are compiled.
/// Compiling one takes the time of some 100 to 1000 runs, which this number amortises.
const WORK: [u64; 3] = [30_000, 300_000, 3_000_000];

/// Rows that a strand reads in the time of a short run.
const ROWS_PER_RUN: u64 = 8;

/// The code of a program's strands, and its compilation.
#[derive(Debug)]
pub(super) struct Compilation {
    profiles: Vec<TypeProfile>,
    /// The work done so far, in short runs.
    interpreted: AtomicU64,
    /// The code of each compilation; `None` if it failed.
    codes: [OnceLock<Option<Native>>; WORK.len()],
    interprets: bool,
}

impl Compilation {
    pub(super) fn new(plan: &Plan) -> Compilation {
        Compilation {
            profiles: plan.strands.iter().map(TypeProfile::new).collect(),
            interpreted: AtomicU64::new(0),
            codes: [const { OnceLock::new() }; WORK.len()],
            interprets: false,
        }
    }

    /// Never any code.
    pub(super) fn none(plan: &Plan) -> Compilation {
        Compilation { interprets: true, ..Compilation::new(plan) }
    }

    /// Compiles all strands now, for integers wherever there may be some.
    pub(super) fn at_once(plan: &Plan) -> Result<Compilation, native::Error> {
        let code = all(plan, Options::named("rules"))?;
        let compilation = Compilation::none(plan);
        compilation.codes[0].get_or_init(|| Some(code));
        Ok(compilation)
    }

    /// The code of a strand, if it has some.
    #[inline]
    pub(super) fn code(&self, strand: usize) -> Option<&Native> {
        let codes = self.codes.iter().map_while(|code| code.get()).flatten();
        codes.into_iter().find(|code| code.has(strand))
    }

    /// The profile of a strand that is about to be interpreted.
    pub(super) fn profile(&self, strand: usize) -> Option<&TypeProfile> {
        if self.interprets { None } else { self.profiles.get(strand) }
    }

    /// Counts a run of the interpreter that looked at `rows` rows.
    pub(super) fn worked(self: &Arc<Self>, compiled: &Compiled, rows: u64) {
        if self.interprets {
            return;
        }
        let work = 1 + rows / ROWS_PER_RUN;
        let before = self.interpreted.fetch_add(work, Ordering::Relaxed);
        let due = due(before, work);
        if !due.is_empty() {
            self.start(compiled, due);
        }
    }

    /// Makes code on a thread of its own. It gets plain data, hands over one value and ends;
    /// compiling on the loop would block it meanwhile.
    fn start(self: &Arc<Self>, compiled: &Compiled, times: Range<usize>) {
        let (compilation, plan) = (self.clone(), compiled.plan.clone());
        let work = move || {
            for time in times {
                compilation.codes[time].get_or_init(|| compilation.make(&plan));
            }
        };
        // Without a thread the strands are interpreted.
        let _ = thread::Builder::new().name("rules-compile".to_owned()).spawn(work);
    }

    fn make(&self, plan: &Plan) -> Option<Native> {
        let name = |strand| name(plan, strand);
        let wanted = |strand: usize| {
            let profile = &self.profiles[strand];
            (profile.ran() && self.code(strand).is_none()).then(|| profile.types())
        };
        let native = Native::compile(&plan.strands, wanted, name, Options::named("rules"));
        if let Err(error) = &native {
            say!(Debug, "node", "rules are interpreted: {error}");
        }
        native.ok()
    }
}

/// The compilations that are due by `work` after `before`: a long run may make several due.
fn due(before: u64, work: u64) -> Range<usize> {
    let done = |work| WORK.partition_point(|needed| *needed <= work);
    done(before)..done(before.saturating_add(work))
}

/// The name of a strand's code in profiles and listings.
fn name(plan: &Plan, strand: usize) -> String {
    format!("{}/{strand}", plan.rules[plan.strands[strand].rule.index()].name)
}

fn all(plan: &Plan, options: Options) -> Result<Native, native::Error> {
    let wanted = |strand: usize| Some(expected(plan, &plan.strands[strand]));
    Native::compile(&plan.strands, wanted, |strand| name(plan, strand), options)
}

/// The machine code of all strands as text, made for integers wherever there may be some.
///
/// # Errors
/// Why no code can be made for this machine.
pub fn listing(plan: &Plan) -> Result<String, native::Error> {
    let native = all(plan, Options { listing: true, ..Options::named("rules") })?;
    Ok((0..plan.strands.len()).filter_map(|strand| native.listing(strand)).collect())
}

#[cfg(test)]
mod tests {
    use super::due;

    #[test]
    fn each_compilation_is_due_once() {
        assert_eq!(due(0, 1), 0..0);
        assert_eq!(due(29_999, 1), 0..1);
        assert_eq!(due(30_000, 1), 1..1);
        assert_eq!(due(100, 2_000_000), 0..2);
        assert_eq!(due(2_999_999, u64::MAX), 2..3);
        assert_eq!(due(u64::MAX, 1), 3..3);
    }
}
