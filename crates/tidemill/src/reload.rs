//! Reloading the program of a run: on request, or when its files change.

use std::fmt;

use crate::program::{Parsed, Program};

/// How a running program is reloaded.
pub struct Reload {
    /// The files of the program, as they were read.
    pub parsed: Parsed,
    /// Reads them again.
    pub read: ReadAgain,
    /// Reports errors and warnings of a reload that was not requested.
    pub report: ReportOn,
    /// What to do if a part has changed that cannot be replaced.
    pub on_change: OnChange,
    /// Whether to reload when the content of a file has changed.
    pub watches: bool,
}

/// Reads the files of a program.
pub type ReadAgain = Box<dyn FnMut() -> Parsed>;

/// Reports the diagnostics of a program.
pub type ReportOn = Box<dyn FnMut(&Program)>;

/// What to do if a part of the program has changed that cannot be replaced.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum OnChange {
    /// Continue with the old program, and note that.
    #[default]
    GoOn,
    /// End the run in order; its report then requests another run: [`starts_again`].
    ///
    /// [`starts_again`]: crate::run::Report::starts_again
    Restart,
}

impl fmt::Debug for Reload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Reload { on_change, watches, .. } = self;
        f.debug_struct("Reload")
            .field("on_change", on_change)
            .field("watches", watches)
            .finish_non_exhaustive()
    }
}
