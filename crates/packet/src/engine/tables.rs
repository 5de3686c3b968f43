//! Tables of apps that a file defines, for those around the graph.

use super::Engine;
use crate::app::Instance;
use crate::kernel::table::{Change, Row, Table, TableError};

impl Engine {
    /// The entries of a table, in the order in which they came; nothing, if there is no such app or
    /// no such table.
    pub fn table_rows(&self, app: &str, table: &str) -> Option<Vec<Row>> {
        Some(self.table(app, table)?.rows())
    }

    /// Changes a table that the program writes: all changes in order, seen from the next breath on,
    /// or none.
    ///
    /// # Errors
    /// There is no such table, the kernel writes it, or one of the changes cannot be made.
    pub fn write_table(
        &mut self,
        app: &str,
        table: &str,
        changes: &[Change],
    ) -> Result<(), TableError> {
        let table = self.table(app, table).ok_or(TableError::NoSuchTable)?;
        table.write(changes, self.common.now_ns.get())
    }

    fn table(&self, app: &str, table: &str) -> Option<&Table> {
        let slot = &self.slots[self.graph.find(app)?];
        let running = slot.instance.as_ref().and_then(Instance::kernel)?;
        running.table(table).map(|table| &**table)
    }
}
