//! Tables: rows with a primary key, secondary indexes, lifetimes and bounds.
//!
//! Rows lie one after the other in one slab, in the order of insertion, each a fixed number of
//! words ([`column`]); a [`RowId`] is a position in the slab. Nothing moves during a commit:
//!
//! ```text
//! insert -> live --remove--> dying --settle--> dead --compaction--> gone
//!             ^                |
//!             +----revive------+      (inserted again in the same commit)
//! ```
//! A *dying* row was deleted in the running commit; readers of the state before ([`Visible::Ever`])
//! still see it, as retraction needs. [`Table::settle`] ends the commit: row ids are valid only
//! until then. Rows inserted in this commit have ids from [`Table::fresh_from`] on, which is what
//! semi-naive evaluation needs.

mod access;
mod age;
mod bits;
mod chain;
mod column;
mod dense;
mod find;
mod index;
mod insert;
mod keys;
mod lifetime;
mod link;
#[cfg(test)]
mod model;
mod narrow;
mod ordered;
mod pairs;
mod part;
mod place;
mod prepare;
mod range;
mod rank;
mod rewrite;
mod row;
mod rowset;
mod settle;
mod spec;
mod state;
#[cfg(test)]
mod tests;
pub use access::{Access, Visible};
pub(crate) use chain::Rows as IndexRows;
pub use find::Rows;
pub use insert::{Inserted, TableFull};
pub(crate) use narrow::{Fit, Layout, NarrowOutcome, WordKind};
pub use ordered::{Limit, ORDERED_ROWS_MIN, Side};
pub(crate) use pairs::KnownPairs;
pub(crate) use part::{Part, Rows as PartRows};
pub(crate) use place::ColumnOffset;
pub use row::RowId;
pub use spec::{Key, TableSpec};
pub(crate) use state::{Form, Shape};
pub use state::{Table, Traffic};
