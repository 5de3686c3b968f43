//! Ordered maps and sets that stay small, as sorted vectors.
//!
//! They replace `BTreeMap` and `BTreeSet` of std where entries are few or come in order: the names
//! of a program, the columns of a relation, the settings of an app. A B-tree costs the compiler
//! thousands of lines for each type of key and value, and these a few hundred.
//!
//! ```
//! use tidemill_stdx::sorted::{SortedMap, SortedSet};
//!
//! let mut columns = SortedMap::new();
//! columns.insert("to".to_owned(), 1);
//! *columns.entry("from".to_owned()).or_default() += 7;
//! assert_eq!(columns["from"], 7);
//! assert!(columns.keys().eq(["from", "to"]));
//!
//! let names: SortedSet<&str> = ["path", "link", "path"].into_iter().collect();
//! assert_eq!(names.as_slice(), ["link", "path"]);
//! ```
//!
//! | operation | cost with `n` entries |
//! |---|---|
//! | look-up | O(log n) comparisons |
//! | insert, remove | the look-up, and up to n entries move |
//! | insert at the end | one comparison, and nothing moves |
//!
//! So what strangers can fill without end belongs in a B-tree: `n` inserts in an order of their
//! choice move O(n²) entries.
//!
//! Both are read in ascending order of keys, as those of std. They own no hash and no randomness.

mod map;
mod set;
#[cfg(test)]
mod tests;

pub use map::{Entry, Iter, SortedMap};
pub use set::SortedSet;

use std::cmp::Ordering;

/// The place of an entry among `len` sorted ones, or the place where it belongs. `compare` gives
/// the order of the entry at a place relative to the one that is looked for.
#[inline]
fn search(len: usize, compare: impl Fn(usize) -> Ordering) -> Result<usize, usize> {
    let (mut low, mut high) = (0, len);
    // The last entry first: what comes in order needs no other comparison.
    let mut probe = len.wrapping_sub(1);
    while low < high {
        match compare(probe) {
            Ordering::Less => low = probe + 1,
            Ordering::Equal => return Ok(probe),
            Ordering::Greater => high = probe,
        }
        probe = low.midpoint(high);
    }
    Err(low)
}
