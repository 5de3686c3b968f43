//! Programs: from files of all kinds to the input of a run.
//!
//! ```text
//!  .olg --> rules:      parse, check, plan           \
//!  .com --> components: parse, check, lower, verify   +--> Program --> run
//!  .flow -> packets:    parse, check                  |
//!  .proto > schemas:    parse, link                  /
//! ```
//! All files of one kind form one part. Errors in any of them are diagnostics; a part with errors
//! is absent, and a program with errors does not run.
//!
//! | part | holds |
//! |---|---|
//! | `kind` | kinds of files |
//! | [`folder`] | programs that are folders |
//! | `parsed` | files, read once |
//! | `load` | texts become a program, whose parts are loaded one by one |
//! | `components`, `rules` | those parts |
//! | `revision` | a program that was read again, and what has changed |

mod components;
pub mod folder;
mod kind;
mod load;
mod parsed;
mod parts;
mod revision;
mod rules;

use std::path::PathBuf;
use std::sync::Arc;

use tidemill_diag::{Diagnostic, Sources, Span, has_errors};
use tidemill_overlog::mutants::Mutant;
use tidemill_overlog::pre;
use tidemill_overlog::stage::Registry;
use tidemill_packet::flow::{self, AppTable};
use tidemill_packet::graph::Graph;
use tidemill_stdx::sorted::SortedSet;
use tidemill_wire::Schema;

pub use kind::{FileKind, Kinds};
pub use parsed::Parsed;
pub use parts::{Components, Rules};
pub(crate) use revision::Outline;
pub use revision::Revision;

use crate::borders::components::Operators;
use crate::borders::{self, schemas::Schemas};

/// What to load and how.
#[derive(Clone, Debug, Default)]
pub struct LoadOptions {
    /// Macros of rules and packet graphs, defined before the first line: `NAME=VALUE` each.
    pub defines: Vec<String>,
    /// Folders in which included and imported files are searched, besides that of the including
    /// file.
    pub include_dirs: Vec<PathBuf>,
    /// The operators that `stage` may name, beside those of schemas.
    pub operators: Arc<Registry>,
    /// Relations whose insertions other nodes may send, beside those that the program exports.
    pub exports: Vec<String>,
    /// Relations whose tuples come from the command line or a script, if known: then relations that
    /// nothing derives or inserts are warned of.
    pub injected: Option<SortedSet<String>>,
    /// A mutation of its rules.
    pub mutant: Option<Mutant>,
}

impl LoadOptions {
    pub(crate) fn rules(&self) -> pre::Options {
        let include_dirs = self.include_dirs.clone();
        pre::Options { defines: self.defines.clone(), include_dirs }
    }

    fn packets(&self) -> flow::Options {
        let include_dirs = self.include_dirs.clone();
        flow::Options { defines: self.defines.clone(), include_dirs }
    }
}

/// A loaded program.
#[derive(Debug, Default)]
pub struct Program {
    /// The texts that spans point into.
    pub sources: Sources,
    /// Errors and warnings.
    pub diagnostics: Vec<Diagnostic>,
    /// The kinds of its files.
    pub kinds: Kinds,
    /// Its rules.
    pub rules: Rules,
    /// Its components.
    pub components: Components,
    /// Its packet graph; `None` if it has none, or it has errors.
    pub packets: Option<Graph>,
    /// Its message types; `None` if it has none, or there are errors in them.
    pub schema: Option<Schema>,
    /// The borders between its parts.
    pub borders: borders::Checked,
    /// The spans of the apps of its graph.
    pub(crate) apps: Vec<Span>,
    /// The tables of its apps, with their spans.
    pub(crate) tables: Vec<AppTable>,
    /// Its message types in the form for rules.
    pub(crate) border: Schemas,
    /// Its components in the form for stages, and the names used by stages and apps.
    pub(crate) operators: Operators,
    pub(crate) made_by_rules: SortedSet<String>,
    pub(crate) made_by_apps: SortedSet<String>,
}

impl Program {
    /// Its outline, to compare with another version.
    pub(crate) fn outline(&self) -> Outline {
        Outline::new(&self.rules.tree, &self.components.tree, self.schema.as_ref())
    }

    /// Its files.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        let names = self.sources.names().map(PathBuf::from);
        names.filter(|path| path.is_file()).collect()
    }

    /// Converts it to a revision of a running program.
    pub fn revision(self) -> Revision {
        let (outline, files) = (self.outline(), self.files());
        let Program { packets: graph, rules, borders, components, sources, .. } = self;
        Revision { outline, graph, rules, borders, components, sources, files }
    }

    /// Whether an error keeps it from running.
    pub fn has_errors(&self) -> bool {
        has_errors(&self.diagnostics)
    }

    /// Whether a part of it may read or write files on its own, other than apps with the whole
    /// path.
    pub fn uses_files(&self) -> bool {
        self.kinds.has(FileKind::Components) || self.borders.have_files()
    }
}

#[cfg(test)]
mod tests;
