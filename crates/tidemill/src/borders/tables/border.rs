//! A table of an app that rules name, whose two sides fit.

use tidemill_packet::kernel::table::spec::{TableSpec, TableWriter};
use tidemill_relation::plan::RelationId;

/// A table of an app that rules read or write.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TableBorder {
    /// The app.
    pub app: String,
    /// The declaration of the table.
    pub spec: TableSpec,
    /// `App::table(@N, KEY, ..., VALUE, ...)`.
    pub relation: RelationId,
    /// `flow::refused(@N, App, Table, Row, Reason)`, where the rules read it.
    pub refused: Option<RelationId>,
}

impl TableBorder {
    /// The name of the relation.
    pub fn name(&self) -> String {
        format!("{}::{}", self.app, self.spec.name)
    }

    /// Whether rules write the table and the kernel reads it; otherwise the reverse.
    pub fn is_written_by_rules(&self) -> bool {
        self.spec.writer == TableWriter::Program
    }
}
