//! Entries as columns.

/// An entry as its columns.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row {
    /// The columns of the key.
    pub key: Vec<u128>,
    /// The bits of each that count; all, if the table is exact.
    pub mask: Vec<u128>,
    /// The priority; 0 in tables without.
    pub priority: u64,
    /// The other columns.
    pub values: Vec<u128>,
}
