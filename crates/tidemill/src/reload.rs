//! How the program of a run is read again: on request, or when its files change.

use std::fmt;

use crate::program::Program;

/// How a program that runs is read again.
pub struct Reload {
    /// What reads it.
    pub read: ReadAgain,
    /// What tells of errors and warnings in it, if it was read without being asked to.
    pub report: ReportOn,
    /// What becomes of the run when something has changed that cannot be replaced.
    pub on_change: OnChange,
    /// It is read whenever the content of one of its files has changed, too.
    pub watches: bool,
}

/// Reads a program again, with rules that were installed since, by name.
pub type ReadAgain = Box<dyn FnMut(&[(String, String)]) -> Program>;

/// Tells of what was found in a program.
pub type ReportOn = Box<dyn FnMut(&Program)>;

/// What becomes of a run when a part of its program has changed that cannot be replaced.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum OnChange {
    /// It goes on as it was, and says so.
    #[default]
    GoOn,
    /// It ends in order, and its report asks for another run: [`starts_again`].
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
