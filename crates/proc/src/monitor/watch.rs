//! Which conditions may have become true: those that read a variable that has been written since
//! they last evaluated to false.
//!
//! Two words follow the variables of a component whose conditions are watched:
//! ```text
//! 0 written: variables since all waiters were visited   1 awaited: what they read, or more
//! ```
//! A bit is a variable, or several of them. Code sets bits as it writes; a condition that depends
//! on more than variables reads [`OTHERS`], which count as written at all times.

use crate::handle::{ComponentRef, ProcessRef, Words};
use crate::layout::CLOSED;
use crate::machine::Worker;

/// Everything but the variables of the component.
const OTHERS: u64 = 1 << 63;

const WRITTEN: usize = 0;
const AWAITED: usize = 1;

/// The words of a component, if it has them.
fn words_of(component: ComponentRef) -> Option<Words> {
    let offset = component.descriptor().watch;
    (offset != 0).then(|| component.word(offset))
}

/// What the condition reads that a process waits for.
pub(super) fn reads(worker: &Worker, process: ProcessRef) -> u64 {
    let number = process.condition() & !CLOSED;
    let function = worker.program().functions.get(number as usize);
    !function.map_or(0, |function| function.ignored)
}

/// Bits of the variables written since all waiters were visited.
pub(super) fn written(component: ComponentRef) -> u64 {
    words_of(component).map_or(u64::MAX, |words| words.get(WRITTEN) | OTHERS)
}

/// Whether the condition of any waiter reads what has been written.
pub(super) fn concerns_any(component: ComponentRef, written: u64) -> bool {
    words_of(component).is_none_or(|words| words.get(AWAITED) & written != 0)
}

/// A process waits, and its condition has just evaluated to false.
pub(super) fn note_waiting(worker: &Worker, process: ProcessRef) {
    if let Some(words) = words_of(process.component()) {
        words.set(AWAITED, words.get(AWAITED) | reads(worker, process));
    }
}

/// All waiters have been visited, except those whose variables have not been written; `awaited` is
/// what they read.
pub(super) fn note_all_seen(component: ComponentRef, awaited: u64) {
    if let Some(words) = words_of(component) {
        words.set(WRITTEN, 0);
        words.set(AWAITED, awaited);
    }
}
