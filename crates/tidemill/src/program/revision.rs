//! A reloaded program: what of it can be replaced, and what has changed.

use std::fmt::{self, Write};
use std::path::PathBuf;

use tidemill_diag::Sources;
use tidemill_overlog::ast;
use tidemill_packet::graph::Graph;
use tidemill_stdx::hash::{combine, hash_bytes};
use tidemill_wire::Schema;

use super::kind::{FileKind, Kinds};
use super::parts::{Components, Rules};
use crate::borders::Checked;

/// A reloaded program.
#[derive(Debug)]
pub struct Revision {
    /// Its outline, to compare with the running program.
    pub(crate) outline: Outline,
    /// Its packet graph.
    pub(crate) graph: Option<Graph>,
    /// Its rules.
    pub(crate) rules: Rules,
    /// The borders between its parts.
    pub(crate) borders: Checked,
    /// Its components.
    pub(crate) components: Components,
    /// The sources that its spans refer to.
    pub(crate) sources: Sources,
    /// Its files.
    pub(crate) files: Vec<PathBuf>,
}

/// The rules, components and message types of a program without positions and comments: a hash of
/// each.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Outline {
    rules: u64,
    components: u64,
    schemas: u64,
}

/// A writer that hashes its input.
struct Hashed(u64);

impl Write for Hashed {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0 = combine(self.0, hash_bytes(text.as_bytes()));
        Ok(())
    }
}

fn hash(text: &impl fmt::Display) -> u64 {
    let mut hashed = Hashed(0);
    // Hashing cannot fail.
    let _ = write!(hashed, "{text}");
    hashed.0
}

impl Outline {
    /// The outline of a program with these parts.
    pub(super) fn new(
        rules: &ast::Program,
        components: &tidemill_cl::ast::Program,
        schema: Option<&Schema>,
    ) -> Outline {
        Outline {
            rules: hash(rules),
            components: hash(components),
            schemas: schema.map_or(0, |schema| hash_bytes(&schema.descriptor_set())),
        }
    }

    /// The kinds in which another program differs, except for packet graphs.
    pub(crate) fn changed(&self, other: &Outline) -> Kinds {
        let kinds = [
            (FileKind::Rules, self.rules != other.rules),
            (FileKind::Components, self.components != other.components),
            (FileKind::Schemas, self.schemas != other.schemas),
        ];
        kinds.into_iter().filter(|(_, differ)| *differ).map(|(kind, _)| kind).collect()
    }
}
