//! What a program says when it is read again: what of it can be replaced, and what has changed.

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

/// A program that was read again.
#[derive(Debug)]
pub struct Revision {
    /// What of it has to be compared with what runs.
    pub(crate) outline: Outline,
    /// Its packet graph.
    pub(crate) graph: Option<Graph>,
    /// Its rules.
    pub(crate) rules: Rules,
    /// Where its parts reach each other.
    pub(crate) borders: Checked,
    /// Its components.
    pub(crate) components: Components,
    /// What places in them refer to.
    pub(crate) sources: Sources,
    /// The files that it was read from.
    pub(crate) files: Vec<PathBuf>,
}

/// The rules, components and message types of a program, without where they stand and what is
/// commented: a hash of each.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Outline {
    rules: u64,
    components: u64,
    schemas: u64,
}

/// Hashes what is written to it.
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
    /// That of a program with these parts.
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

    /// The kinds, but for packet graphs, in which another program differs.
    pub(crate) fn changed(&self, other: &Outline) -> Kinds {
        let kinds = [
            (FileKind::Rules, self.rules != other.rules),
            (FileKind::Components, self.components != other.components),
            (FileKind::Schemas, self.schemas != other.schemas),
        ];
        kinds.into_iter().filter(|(_, differ)| *differ).map(|(kind, _)| kind).collect()
    }
}
