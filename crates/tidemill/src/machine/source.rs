//! The source of a run's program, to reload it.

use tidemill_packet::graph::Graph;

use super::versions::Versions;
use crate::borders::Checked;
use crate::program::{Outline, Parsed, Program};
use crate::reload::{OnChange, ReadAgain, Reload, ReportOn};
use crate::run::Engine;
use crate::watched::Watched;

/// The source of a run's program.
pub(crate) struct Source {
    /// The files of the running program, as they were read.
    pub(crate) parsed: Parsed,
    pub(crate) read: ReadAgain,
    pub(crate) report: ReportOn,
    /// Installed rules, by name.
    pub(crate) installed: Vec<(String, String)>,
    pub(crate) on_change: OnChange,
    /// Its nodes accept messages from anyone, so rules must not install rules.
    pub(crate) is_exposed: bool,
    /// The outline of the running program, to compare with a new version.
    pub(crate) outline: Outline,
    /// Its components, if it has some.
    pub(crate) versions: Option<Versions>,
    /// Its packet graph.
    pub(crate) graph: Option<Graph>,
    /// The borders between its parts.
    pub(crate) borders: Checked,
    /// The engine of its rules.
    pub(crate) engine: Engine,
    /// Its files, if they are watched.
    pub(crate) files: Option<Watched>,
}

impl Source {
    /// The source of a program that is about to run.
    pub(crate) fn new(reload: Reload, program: &Program, engine: Engine) -> Source {
        let Reload { parsed, read, report, on_change, watches } = reload;
        let files = watches.then(|| Watched::new(program.files()));
        let (outline, installed) = (program.outline(), Vec::new());
        let (graph, borders) = (program.packets.clone(), program.borders.clone());
        Source {
            parsed,
            read,
            report,
            installed,
            on_change,
            is_exposed: false,
            outline,
            versions: None,
            graph,
            borders,
            engine,
            files,
        }
    }
}
