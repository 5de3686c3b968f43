//! Ordered maps and sets of any size that are cheap to compile.
//!
//! They replace `BTreeMap` and `BTreeSet` of std where many entries are inserted and removed, but
//! not at each packet or event. A B-tree of std costs the compiler some 7,000 lines of intermediate
//! code for each type of key and value; these cost a tenth, as all code that keeps the order is
//! compiled once: it orders the numbers of entries, and compares through a function pointer.
//!
//! ```
//! use tidemill_stdx::ordered::{OrderedMap, OrderedSet};
//!
//! let mut peers = OrderedMap::new();
//! peers.insert("n2".to_owned(), 20);
//! *peers.entry("n1".to_owned()).or_default() += 10;
//! assert_eq!(peers.get("n1"), Some(&10));
//! assert!(peers.keys().eq(["n1", "n2"]));
//!
//! let mut timers: OrderedSet<(u64, u32)> = [(30, 1), (10, 2)].into_iter().collect();
//! assert_eq!(timers.pop_first(), Some((10, 2)));
//! ```
//!
//! | operation | cost with `n` entries |
//! |---|---|
//! | look-up | O(log n) comparisons, each an indirect call and a load of the entry |
//! | insert, remove | the look-up; up to 128 numbers move, and once in 64 times n/64 chunks |
//!
//! So, unlike [sorted vectors](crate::sorted), they may be filled by strangers in any order. Where
//! a look-up is a good part of the work, a B-tree or a hash table is the better choice.

mod map;
mod order;
mod set;
#[cfg(test)]
mod tests;

pub use map::{Entry, Iter, OrderedMap};
pub use set::OrderedSet;
