//! Where the program of a run comes from, to be read again.

use crate::program::{Outline, Program};
use crate::reload::{OnChange, ReadAgain, Reload, ReportOn};
use crate::run::Engine;
use crate::watched::Watched;

/// Where the program of a run comes from.
pub(crate) struct Source {
    pub(crate) read: ReadAgain,
    pub(crate) report: ReportOn,
    /// Rules that were installed since, by name.
    pub(crate) installed: Vec<(String, String)>,
    pub(crate) on_change: OnChange,
    /// The program that runs, as another version is compared with it.
    pub(crate) outline: Outline,
    /// Its rules meet packets, components or files.
    pub(crate) meets: bool,
    /// What runs its rules.
    pub(crate) engine: Engine,
    /// Its files, if they are watched.
    pub(crate) files: Option<Watched>,
}

impl Source {
    /// Of a program that is about to run.
    pub(crate) fn new(reload: Reload, program: &Program, engine: Engine) -> Source {
        let Reload { read, report, on_change, watches } = reload;
        let files = watches.then(|| Watched::new(program.files()));
        let (outline, meets) = (program.outline(), program.borders.meet_rules());
        let installed = Vec::new();
        Source { read, report, installed, on_change, outline, meets, engine, files }
    }
}
