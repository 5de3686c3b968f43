//! The declaration of a table.

/// The primary key of a table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Key {
    /// The values of these columns (from 0, ascending).
    Columns(Vec<u32>),
    /// Nothing: equal rows are kept as often as they are inserted.
    Bag,
}

/// The declaration of a table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TableSpec {
    /// Number of columns.
    pub arity: u32,
    /// The primary key.
    pub key: Key,
    /// A row not refreshed for this time expires; `None`: never (*hard state*).
    pub lifetime_ns: Option<u64>,
    /// The most rows; beyond, the one inserted or refreshed longest ago is evicted.
    pub size_max: Option<u64>,
    /// Column sets (from 0, ascending) with a secondary index each.
    pub indexes: Vec<Vec<u32>>,
    /// Columns with an ordered index each: rows are found by the values of all but the last (from
    /// 0, ascending) and limits of the last.
    pub ordered: Vec<Vec<u32>>,
}
