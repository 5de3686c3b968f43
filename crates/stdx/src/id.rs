//! Dense 32-bit ids instead of pointers, and the containers they index.
//!
//! A graph of things that refer to each other is kept as an [`IdVec`] per kind of thing and ids
//! between them: half the bytes of a pointer, no ownership puzzle, an order that is the same on
//! every run, and a name that can be printed (`r3`).
//!
//! ```
//! use tidemill_stdx::id::{IdMap, IdSet, IdVec};
//! use tidemill_stdx::id_type;
//!
//! id_type! {
//!     /// A relation of the program.
//!     pub struct RelationId, "r";
//! }
//!
//! let mut names = IdVec::<RelationId, &str>::new();
//! let link = names.push("link");
//! let path = names.push("path");
//! assert_eq!(names[path], "path");
//! assert_eq!(format!("{link} {path}"), "r0 r1");
//!
//! let mut keys = IdMap::<RelationId, u32>::new();
//! keys.insert(path, 2);
//! assert_eq!(keys.get(link), None);
//!
//! let reached: IdSet<RelationId> = [path].into_iter().collect();
//! assert!(reached.contains(path) && !reached.contains(link));
//! ```
//!
//! * [`IdVec`]: what ids are made from; one value for each id, none missing.
//! * [`IdMap`]: facts about some of the ids of an `IdVec`, dense.
//! * [`IdSet`]: a set of ids as bits.
//!
//! All three are read in ascending order of ids.

mod map;
mod set;
mod vec;

pub use map::IdMap;
pub use set::IdSet;
pub use vec::IdVec;

use std::fmt::{Debug, Display};
use std::hash::Hash;

/// A dense 32-bit id; made by [`id_type!`](crate::id_type).
pub trait Id: Copy + Ord + Hash + Debug + Display + 'static {
    /// The id of the place `index`.
    ///
    /// # Panics
    /// If `index` does not fit 32 bits.
    fn from_index(index: usize) -> Self;

    /// The place of this id in its [`IdVec`].
    fn index(self) -> usize;
}

/// Defines ids: `u32` inside, `Copy`, ordered by place, printed as the prefix and the place.
///
/// ```
/// tidemill_stdx::id_type! {
///     /// A strand of a plan.
///     pub struct StrandId, "s";
///     /// A register of a strand.
///     pub(crate) struct RegisterId, "%";
/// }
/// assert_eq!(StrandId::new(4).to_string(), "s4");
/// assert_eq!(format!("{:?}", RegisterId::new(0)), "%0");
/// ```
#[macro_export]
macro_rules! id_type {
    ($($(#[$meta:meta])* $visibility:vis struct $name:ident, $prefix:literal $(;)?)+) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(transparent)]
        $visibility struct $name(u32);

        #[allow(dead_code)]
        impl $name {
            /// The id of the place `raw`.
            #[inline]
            pub const fn new(raw: u32) -> Self {
                Self(raw)
            }

            /// The place as it is stored and sent.
            #[inline]
            pub const fn raw(self) -> u32 {
                self.0
            }
        }

        impl $crate::id::Id for $name {
            #[inline]
            fn from_index(index: usize) -> Self {
                match u32::try_from(index) {
                    Ok(raw) => Self(raw),
                    Err(_) => panic!("more than 2^32 ids of {}", stringify!($name)),
                }
            }

            #[inline]
            fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl ::core::fmt::Display for $name {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }

        impl ::core::fmt::Debug for $name {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                ::core::fmt::Display::fmt(self, f)
            }
        }
    )+};
}

#[cfg(test)]
mod tests {
    use super::*;

    id_type! {
        /// An id of the tests.
        struct NodeId, "n";
        /// Another, to test that one invocation makes several.
        struct EdgeId, "e"
    }

    fn n(raw: u32) -> NodeId {
        NodeId::new(raw)
    }

    #[test]
    fn ids_print_their_prefix_and_order_by_place() {
        assert_eq!(format!("{} {:?} {}", n(3), n(3), EdgeId::new(0)), "n3 n3 e0");
        assert!(n(2) < n(10));
        assert_eq!(size_of::<NodeId>(), 4);
        assert_eq!(NodeId::from_index(n(7).index()), n(7));
    }

    #[test]
    #[should_panic(expected = "more than 2^32 ids of NodeId")]
    fn a_place_beyond_32_bits_is_refused() {
        NodeId::from_index(1 << 32);
    }

    #[test]
    fn a_vec_gives_each_value_its_id() {
        let mut values = IdVec::<NodeId, &str>::new();
        assert_eq!(values.next_id(), n(0));
        let a = values.push("a");
        let b = values.push_with(|id| if id == n(1) { "b" } else { "?" });
        assert_eq!((values[a], values[b]), ("a", "b"));
        assert_eq!(values.get(n(2)), None);
        assert_eq!(values.ids().rev().collect::<Vec<_>>(), [b, a]);
        assert_eq!(values.iter_enumerated().collect::<Vec<_>>(), [(a, &"a"), (b, &"b")]);
        assert_eq!(format!("{values:?}"), r#"{n0: "a", n1: "b"}"#);
        for (id, value) in values.iter_mut_enumerated() {
            *value = if id == a { "A" } else { "B" };
        }
        assert_eq!(values.into_iter_enumerated().collect::<Vec<_>>(), [(a, "A"), (b, "B")]);
    }

    #[test]
    fn two_places_of_a_vec_can_be_changed_at_once() {
        let mut values: IdVec<NodeId, u32> = [1, 2, 3].into_iter().collect();
        let (x, y) = values.get_two_mut(n(2), n(0)).unwrap();
        std::mem::swap(x, y);
        assert_eq!(values.as_slice(), [3, 2, 1]);
        assert!(values.get_two_mut(n(1), n(1)).is_none());
        assert!(values.get_two_mut(n(1), n(3)).is_none());
    }

    #[test]
    fn a_map_knows_some_ids() {
        let mut map = IdMap::<NodeId, u32>::new();
        assert_eq!(map.insert(n(5), 50), None);
        assert_eq!(map.insert(n(5), 51), Some(50));
        *map.get_or_insert_with(n(1), || 10) += 1;
        *map.get_or_insert_with(n(1), || 99) += 1;
        assert_eq!(map.len(), 2);
        assert_eq!(map.iter().collect::<Vec<_>>(), [(n(1), &12), (n(5), &51)]);
        assert_eq!(map.remove(n(5)), Some(51));
        assert_eq!(map.remove(n(5)), None);
        assert_eq!(map.remove(n(500)), None);
        assert_eq!(map.len(), 1);
        assert_eq!(map.get(n(5)), None);
    }

    #[test]
    fn sets_obey_the_laws_of_sets() {
        let mut a: IdSet<NodeId> = [n(1), n(64), n(130)].into_iter().collect();
        let b: IdSet<NodeId> = [n(64), n(2)].into_iter().collect();
        assert!(!a.insert(n(1)) && a.insert(n(3)) && a.remove(n(3)) && !a.remove(n(3)));
        assert!(!a.remove(n(100_000)));
        assert!(a.union_with(&b));
        assert!(!a.union_with(&b));
        assert_eq!(a.iter().collect::<Vec<_>>(), [n(1), n(2), n(64), n(130)]);
        assert!(b.is_subset(&a) && !a.is_subset(&b));
        a.intersect_with(&b);
        assert_eq!(a, b);
        a.subtract(&b);
        assert!(a.is_empty());
        // Equality is of members, not of how many words were ever needed.
        assert_eq!(a, IdSet::new());
    }

    proptest::proptest! {
        #[test]
        fn a_set_is_a_btree_set(
            steps in proptest::collection::vec((proptest::bool::ANY, 0u32..300), 0..200)
        ) {
            let (mut ours, mut model) = (IdSet::new(), std::collections::BTreeSet::new());
            for (insert, raw) in steps {
                let id = n(raw);
                if insert {
                    assert_eq!(ours.insert(id), model.insert(id));
                } else {
                    assert_eq!(ours.remove(id), model.remove(&id));
                }
            }
            assert_eq!(ours.len(), model.len());
            assert!(ours.iter().eq(model.iter().copied()));
        }
    }
}
