//! A sink as it was checked.

use tidemill_relation::plan::RelationId;

use crate::borders::files::{Column, FileName};

/// The files that the tuples of a relation go to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SinkBorder {
    /// The files.
    pub file: FileName,
    /// The relation.
    pub relation: RelationId,
    /// What it is called.
    pub name: String,
    /// Its columns, as the files call them.
    pub columns: Vec<Column>,
    /// `file:line:column` of the statement.
    pub place: String,
}
