//! Columns of system tables with the time that something took: it is measured only where a program
//! reads them, or a tool.

use crate::check::system::{APP, RULE};
use crate::node::Program;

/// The tables that have such a column, and which it is.
const TIMES: [(&str, usize); 2] = [(RULE, 4), (APP, 5)];

/// The column of a table with the time that something took, if it has one.
pub(super) fn time_of(table: &str) -> Option<usize> {
    TIMES.iter().find(|(name, _)| *name == table).map(|&(_, column)| column)
}

/// Whether a program reads the times in a table.
pub(super) fn is_read(program: &Program, table: &str) -> bool {
    let plan = program.plan();
    let (Some(column), Some(relation)) = (time_of(table), plan.find(table)) else { return false };
    program.watches(relation) || program.compiled.uses_column(table, column)
}
