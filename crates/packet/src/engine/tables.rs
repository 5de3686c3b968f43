//! Tables of apps that a file defines, for those around the graph.

use super::Engine;
use crate::app::Instance;
use crate::kernel::table::Row;

impl Engine {
    /// The entries of a table, in the order in which they came; nothing, if there is no such app or
    /// no such table.
    pub fn table_rows(&self, app: &str, table: &str) -> Option<Vec<Row>> {
        let slot = &self.slots[self.graph.find(app)?];
        let running = slot.instance.as_ref().and_then(Instance::kernel)?;
        Some(running.table(table)?.rows())
    }
}
