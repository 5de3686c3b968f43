//! A sink as it was checked.

use tidemill_relation::plan::RelationId;

use crate::borders::files::{Column, FileName};

/// The files of the tuples of a relation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SinkBorder {
    /// The files.
    pub file: FileName,
    /// The relation.
    pub relation: RelationId,
    /// Its name.
    pub name: String,
    /// Its columns, with their names in the files.
    pub columns: Vec<Column>,
    /// `file:line:column` of the statement.
    pub place: String,
}
