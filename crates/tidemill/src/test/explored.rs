//! Compares a mutant with its program by all their runs within bounds.
//!
//! Both are [explored](crate::explore) with the same options. If both searches are complete and
//! find the same states, nothing that nodes hold or send within the bounds tells the mutant from
//! the program.

use std::fmt;

use tidemill_diag::{Sources, has_errors};
use tidemill_relation::json::JsonWriter;

use crate::explore::{ExploreOptions, ExploreReport, Explorer};
use crate::program::Program;
use crate::script::Script;

/// What a search shows of a mutant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Explored {
    /// It reaches the states that the program reaches.
    Equivalent {
        /// Their number.
        distinct: u64,
    },
    /// It reaches others.
    Different {
        /// The number of its states.
        distinct: u64,
        /// The number of those of the program.
        original: u64,
    },
    /// It reaches more states than this, which are those of the program.
    More(u64),
    /// A run fails, as described.
    Failed(String),
    /// Its search is not complete, for this reason.
    Incomplete(String),
}

impl Explored {
    /// Explores a mutant with the options with which the program was explored; that search was
    /// complete.
    pub fn new(
        mutant: Program,
        options: &ExploreOptions,
        script: Option<(&Script, &Sources)>,
        original: &ExploreReport,
    ) -> Explored {
        // A search that finds more states than the program has need not end.
        let options = ExploreOptions { distinct_max: Some(original.distinct), ..options.clone() };
        let mut explorer = match Explorer::new(mutant, options) {
            Ok(explorer) => explorer,
            Err(reason) => return Explored::Incomplete(reason.to_string()),
        };
        if let Some((script, sources)) = script
            && has_errors(&explorer.script(script, sources))
        {
            return Explored::Incomplete("the script does not fit it".to_owned());
        }
        match explorer.run() {
            Ok(found) => Explored::compared(original, &found),
            Err(reason) => Explored::Incomplete(reason.to_string()),
        }
    }

    fn compared(original: &ExploreReport, found: &ExploreReport) -> Explored {
        let distinct = found.distinct;
        if let Some(failed) = &found.counterexample {
            let (what, at, steps) = (&failed.failure, &failed.node, failed.outside());
            return Explored::Failed(format!("{what} at {at}, in a run of {steps} steps"));
        }
        if distinct > original.distinct {
            return Explored::More(original.distinct);
        }
        if found.fingerprint.is_none() {
            return Explored::Incomplete(found.missed.join("; "));
        }
        if (original.distinct, original.fingerprint) == (distinct, found.fingerprint) {
            Explored::Equivalent { distinct }
        } else {
            Explored::Different { distinct, original: original.distinct }
        }
    }

    /// Whether it reaches the states that the program reaches.
    pub fn is_equivalent(&self) -> bool {
        matches!(self, Explored::Equivalent { .. })
    }

    /// The members of an object.
    pub(super) fn json(&self, json: &mut JsonWriter) {
        json.key("equivalent").bool(self.is_equivalent());
        match self {
            Explored::Equivalent { distinct } => json.key("distinct").number(*distinct),
            Explored::Different { distinct, original } => {
                json.key("distinct").number(*distinct);
                json.key("original").number(*original)
            }
            Explored::More(than) => json.key("more_than").number(*than),
            Explored::Failed(failure) => json.key("failure").string(failure),
            Explored::Incomplete(reason) => json.key("incomplete").string(reason),
        };
    }
}

impl fmt::Display for Explored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Explored::Equivalent { distinct } => write!(f, "the same {distinct} states"),
            Explored::Different { distinct, original } if distinct == original => {
                write!(f, "{distinct} states, but not the same")
            }
            Explored::Different { distinct, original } => {
                write!(f, "{distinct} states instead of {original}")
            }
            Explored::More(than) => write!(f, "more than {than} states"),
            Explored::Failed(failure) => f.write_str(failure),
            Explored::Incomplete(reason) => write!(f, "not complete: {reason}"),
        }
    }
}
