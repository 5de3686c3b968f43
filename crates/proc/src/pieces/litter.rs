//! Memory that is freed later, and whether a slice is over for incremental work.

use crate::machine::Worker;
use crate::program::WordKind;
use std::sync::atomic::Ordering;

/// Components terminated, or elements freed, at a time; no more than this is done at once.
pub(crate) const PIECE: usize = 256;

/// A slice begins; its budget shows whether slices are counts.
pub(crate) fn begin(worker: &mut Worker, budget: i64) {
    worker.machine.pieces.timed = budget > i64::MAX / 2;
}

/// Whether a process that works incrementally continues in a later slice. Where slices are counts
/// it does not, for increments are not counted.
#[inline]
pub(crate) fn is_over(worker: &Worker) -> bool {
    worker.machine.pieces.timed && worker.is_cut_off()
}

/// Whether anything is left.
pub(crate) fn are_left(worker: &Worker) -> bool {
    let pieces = &worker.machine.pieces;
    !pieces.terminations.is_empty() || !pieces.litter.is_empty()
}

/// Leaves the memory of a large collection or array to be freed before another process runs; false
/// if it is to be freed at once.
#[inline]
pub(crate) fn litter(worker: &mut Worker, kind: WordKind, word: u64, count: usize) -> bool {
    let pieces = &mut worker.machine.pieces;
    if !pieces.timed || worker.machine.desk.is_some() || count <= PIECE {
        return false;
    }
    pieces.litter.push((kind, word));
    worker.machine.attend();
    // The running process must end its slice soon, as the memory that it has freed is still taken.
    worker.flag.store(1, Ordering::Relaxed);
    true
}
