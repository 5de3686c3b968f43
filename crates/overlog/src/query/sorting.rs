//! Sorting that can rest: merge sort, some moves at a time.

use std::cmp::Ordering;

/// An incremental sort of items numbered from 0.
///
/// ```text
/// order   [ run | run | run | run ]    runs of `width` in order; one pair after the other
/// merged  [ run of 2 width | ...       is merged into what takes the order's place
/// ```
#[derive(Clone, Debug)]
pub(super) struct Sorting {
    order: Vec<u32>,
    merged: Vec<u32>,
    width: usize,
    /// The start of the pair that is being merged, and the progress in its halves.
    start: usize,
    left: usize,
    right: usize,
}

impl Sorting {
    /// Items numbered below `count`, in the order of their numbers.
    pub(super) fn new(count: u32) -> Sorting {
        let order: Vec<u32> = (0..count).collect();
        let merged = Vec::with_capacity(order.len());
        let mut sorting = Sorting { order, merged, width: 1, start: 0, left: 0, right: 0 };
        sorting.begin_pair(0);
        sorting
    }

    fn begin_pair(&mut self, start: usize) {
        self.start = start;
        self.left = start;
        self.right = (start + self.width).min(self.order.len());
    }

    /// Does at most `moves` moves; true if all is in order.
    pub(super) fn step(
        &mut self,
        moves: usize,
        compare: impl Fn(usize, usize) -> Ordering,
    ) -> bool {
        let count = self.order.len();
        for _ in 0..moves {
            if self.width >= count {
                return true;
            }
            let middle = (self.start + self.width).min(count);
            let end = (self.start + 2 * self.width).min(count);
            let number = |at: usize| self.order[at] as usize;
            // Of equal ones the left stays first.
            let from_left = self.left < middle
                && (self.right >= end || compare(number(self.left), number(self.right)).is_le());
            let from = if from_left { &mut self.left } else { &mut self.right };
            self.merged.push(self.order[*from]);
            *from += 1;
            if self.merged.len() == end {
                self.begin_pair(end);
            }
            if self.merged.len() == count {
                std::mem::swap(&mut self.order, &mut self.merged);
                self.merged.clear();
                self.width *= 2;
                self.begin_pair(0);
            }
        }
        self.width >= count
    }

    /// The numbers in order.
    pub(super) fn order(&self) -> &[u32] {
        &self.order
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidemill_stdx::rng::Rng;

    #[test]
    fn a_sort_that_rests_is_the_sort() {
        let mut random = Rng::new(3);
        for count in [0, 1, 2, 3, 7, 8, 9, 100, 1000] {
            let keys: Vec<u64> = (0..count).map(|_| random.below(50)).collect();
            let mut sorting = Sorting::new(count);
            let moves = 1 + random.below(20) as usize;
            while !sorting.step(moves, |a, b| keys[a].cmp(&keys[b])) {}
            let mut expected: Vec<u32> = (0..count).collect();
            expected.sort_by_key(|&number| keys[number as usize]);
            assert_eq!(sorting.order(), expected, "{count}");
        }
    }
}
