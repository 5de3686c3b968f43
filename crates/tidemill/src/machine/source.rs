//! Where the program of a run comes from, to be read again.

use tidemill_packet::graph::Graph;

use super::versions::Versions;
use crate::borders::Checked;
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
    /// Anyone can tell its nodes something: rules install nothing.
    pub(crate) is_exposed: bool,
    /// The program that runs, as another version is compared with it.
    pub(crate) outline: Outline,
    /// Its components, if it has some.
    pub(crate) versions: Option<Versions>,
    /// Its packet graph.
    pub(crate) graph: Option<Graph>,
    /// Where its parts reach each other.
    pub(crate) borders: Checked,
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
        let (outline, installed) = (program.outline(), Vec::new());
        let (graph, borders) = (program.packets.clone(), program.borders.clone());
        Source {
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
