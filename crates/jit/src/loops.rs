//! The innermost loops of a function, and where the function starts best for them.
//!
//! Processors fetch instructions, and keep them decoded, by lines of 64 bytes. A short loop that
//! lies across one line more than it needs may lose a quarter of its speed, and whether it does
//! would hang on the length of what happens to come before it.

use std::ops::Range;

/// Bytes of code that a processor takes at once.
const LINE: usize = 64;

/// Longer loops do not gain from where they lie.
const LONGEST: usize = 4 * LINE;

/// The loops without loops in them, as ranges of bytes, from where blocks start and which block
/// leads to which.
pub(crate) fn innermost(starts: &[u32], edges: &[(u32, u32)], length: usize) -> Vec<Range<usize>> {
    let mut starts = starts.to_vec();
    starts.sort_unstable();
    let end = |block: u32| {
        let next = starts.partition_point(|&start| start <= block);
        starts.get(next).map_or(length, |&next| next as usize)
    };
    let mut loops: Vec<Range<usize>> = edges
        .iter()
        .filter(|(from, to)| to <= from)
        .map(|&(from, to)| to as usize..end(from))
        .filter(|one| one.len() <= LONGEST)
        .collect();
    // Inner loops end before, or start after, those around them.
    loops.sort_by_key(|one| (one.end, std::cmp::Reverse(one.start)));
    let mut found = Vec::<Range<usize>>::new();
    for one in loops {
        if found.last().is_none_or(|inner| inner.start < one.start) {
            found.push(one);
        }
    }
    found
}

/// The first place from `end` on, a multiple of `alignment`, from where the loops lie across as
/// few lines as can be.
pub(crate) fn start(end: usize, alignment: usize, loops: &[Range<usize>]) -> usize {
    let first = end.next_multiple_of(alignment);
    let lines = |start: usize| -> usize {
        loops.iter().map(|one| (start + one.end - 1) / LINE - (start + one.start) / LINE).sum()
    };
    (first..first + LINE).step_by(alignment).min_by_key(|&start| lines(start)).unwrap_or(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inner_loops_are_found_and_outer_ones_are_not() {
        // 0 -> 16 (outer head) -> 32 (inner head, repeats itself) -> 48 (back to 16) -> 80
        let starts = [0, 16, 32, 48, 80];
        let edges = [(0, 16), (16, 32), (32, 32), (32, 48), (48, 16), (48, 80)];
        assert_eq!(innermost(&starts, &edges, 90), [32..48]);
        assert_eq!(innermost(&[0], &[(0, 0)], 40), [0..40], "the last block ends with the code");
        assert!(innermost(&[0, 8], &[(8, 0)], 4000).is_empty(), "too long to matter");
    }

    #[test]
    fn a_loop_that_fits_in_a_line_lies_in_one() {
        assert_eq!(start(0, 16, &[]), 0);
        assert_eq!(start(5, 16, &[]), 16);
        // From 48 to 88 it would cross from one line to the next.
        assert_eq!(start(0, 16, &[48..88]), 16);
        assert_eq!(start(1, 32, &[40..90]), 32);
        for end in 0..200 {
            for length in 1..=LINE - 15 {
                let chosen = start(end, 16, &[100..100 + length]);
                assert!(chosen >= end && chosen < end + 16 + LINE);
                let (head, last) = (chosen + 100, chosen + 99 + length);
                assert_eq!(head / LINE, last / LINE, "end {end}, length {length}");
            }
        }
    }
}
