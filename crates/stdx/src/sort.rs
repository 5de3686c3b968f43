//! Stable sorting that is cheap to compile, for what is sorted once.
//!
//! The sort of std costs the compiler some 2,300 lines of intermediate code for each type and
//! order. Here the indices are sorted, by code that is compiled once and compares through a
//! pointer; then the items move to their places.
//!
//! ```
//! use tidemill_stdx::sort;
//!
//! let mut words = ["two", "one", "three", "six"];
//! sort::by_key(&mut words, |word| word.len());
//! assert_eq!(words, ["two", "one", "six", "three"]);
//! ```
//!
//! It allocates a number for each item, and each comparison is an indirect call: what is sorted
//! again and again while a program runs belongs to the sorts of std.

use std::cmp::Ordering;

/// Sorts by an order; equal items stay in theirs.
///
/// # Panics
/// With more than 2³² items.
pub fn by<T>(items: &mut [T], mut compare: impl FnMut(&T, &T) -> Ordering) {
    let compare = &mut |one: u32, other: u32| compare(&items[one as usize], &items[other as usize]);
    let mut order = order(items.len(), compare);
    for start in 0..items.len() {
        // Goes round the cycle of items that take each other's place.
        let mut at = start;
        loop {
            let from = std::mem::replace(&mut order[at], at as u32) as usize;
            if from == start {
                break;
            }
            items.swap(at, from);
            at = from;
        }
    }
}

/// Sorts by a key; items with equal ones stay in their order.
///
/// # Panics
/// With more than 2³² items.
pub fn by_key<T, K: Ord>(items: &mut [T], mut key: impl FnMut(&T) -> K) {
    by(items, |one, other| key(one).cmp(&key(other)));
}

/// The numbers of items in the order of the items.
fn order(len: usize, compare: &mut dyn FnMut(u32, u32) -> Ordering) -> Vec<u32> {
    let len = u32::try_from(len).expect("no more than 2^32 items");
    let mut order: Vec<u32> = (0..len).collect();
    order.sort_by(|&one, &other| compare(one, other));
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn order_and_stability_are_those_of_std(keys: Vec<u8>) {
            let keys = keys.into_iter().map(|key| key % 16);
            let mut items: Vec<(u8, usize)> = keys.zip(0..).collect();
            let mut expected = items.clone();
            by_key(&mut items, |item| item.0);
            expected.sort_by_key(|item| item.0);
            prop_assert_eq!(&items, &expected);
            by(&mut items, |one, other| other.0.cmp(&one.0));
            expected.sort_by_key(|item| std::cmp::Reverse(item.0));
            prop_assert_eq!(items, expected);
        }
    }
}
