//! Tables of apps that a file defines, for the program around the graph.
//!
//! A [`TablePlace`] is found once a graph runs, and is good until another does. The table there may
//! be another one after a fault of its app: then it is not observed.

use super::Engine;
use crate::kernel::table::spec::TableSpec;
use crate::kernel::table::{Change, Delta, Row, Table, TableError};

/// Where a table is in the graph that runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TablePlace {
    app: usize,
    table: usize,
}

impl Engine {
    /// The entries of a table, in the order of their insertion; nothing, if there is no such app or
    /// no such table.
    pub fn table_rows(&self, app: &str, table: &str) -> Option<Vec<Row>> {
        Some(self.named(app, table)?.rows())
    }

    /// Changes a table that the program writes: all changes in order, seen from the next breath on,
    /// or none. The table of an app that has failed is kept for its successor.
    ///
    /// # Errors
    /// There is no such table, the kernel writes it, or one of the changes cannot be made.
    pub fn write_table(
        &mut self,
        app: &str,
        table: &str,
        changes: &[Change],
    ) -> Result<(), TableError> {
        let table = self.named(app, table).ok_or(TableError::NoSuchTable)?;
        table.write(changes, self.common.now_ns.get())
    }

    /// Where the table of an app that runs is.
    pub fn find_table(&self, app: &str, table: &str) -> Option<TablePlace> {
        let app = self.graph.find(app)?;
        let tables = &self.slots[app].instance.as_ref()?.kernel()?.memory().tables;
        let table = tables.iter().position(|own| own.spec().name == table)?;
        Some(TablePlace { app, table })
    }

    /// The declaration of a table.
    pub fn table_spec(&self, place: TablePlace) -> Option<&TableSpec> {
        self.table(place).map(Table::spec)
    }

    /// The same, by name; also of an app that has failed, if the program writes the table.
    pub fn named_table_spec(&self, app: &str, table: &str) -> Option<&TableSpec> {
        self.named(app, table).map(Table::spec)
    }

    /// Records changes of a table from now on, to be [taken](Engine::take_table_change).
    /// `known` are the rows that the observer knows; others, and what differs, are changes at once.
    /// False if the app has failed.
    pub fn observe_table(&mut self, place: TablePlace, known: Vec<Row>) -> bool {
        let table = self.table(place);
        table.inspect(|table| table.observe(known)).is_some()
    }

    /// Records changes of a table no more.
    pub fn unobserve_table(&mut self, place: TablePlace) {
        self.table(place).into_iter().for_each(Table::unobserve);
    }

    /// Whether changes of a table are noted; not, if its app has failed.
    pub fn observes_table(&self, place: TablePlace) -> bool {
        self.table(place).is_some_and(Table::is_observed)
    }

    /// The next change of a table that is observed. Changes of one entry coalesce.
    pub fn take_table_change(&mut self, place: TablePlace) -> Option<Delta> {
        self.table(place)?.take_change()
    }

    /// Whether there is one.
    pub fn has_table_changes(&self, place: TablePlace) -> bool {
        self.table(place).is_some_and(Table::has_changes)
    }

    /// Includes the values that kernels have changed in place in the changes of a table that is
    /// observed.
    pub fn report_table(&mut self, place: TablePlace) {
        self.table(place).into_iter().for_each(Table::report);
    }

    fn table(&self, place: TablePlace) -> Option<&Table> {
        let running = self.slots.get(place.app)?.instance.as_ref()?.kernel()?;
        running.memory().tables.get(place.table).map(|table| &**table)
    }

    fn named(&self, app: &str, table: &str) -> Option<&Table> {
        let tables = self.slots[self.graph.find(app)?].tables();
        tables.iter().find(|own| own.spec().name == table).map(|table| &**table)
    }
}
