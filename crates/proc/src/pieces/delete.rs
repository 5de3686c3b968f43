//! Deferring the termination of very many components.

use crate::collection::{self, Cursor};
use crate::handle::{ComponentRef, ProcessRef, Words};
use crate::machine::Worker;
use crate::pieces::Termination;
use crate::pieces::litter::PIECE;
use crate::program::WordKind;
use crate::{array, words};

/// Schedules a component's sub-components for later termination; false if that can be done at once.
pub(crate) fn schedule_children(worker: &mut Worker, component: ComponentRef) -> bool {
    if worker.machine.desk.is_some() || component.child_count() as usize <= PIECE {
        return false;
    }
    let (id, left) = (component.id(), component.child_count());
    let is_known = |it: &Termination| matches!(it, Termination::Children { of, .. } if *of == id);
    if !worker.machine.pieces.terminations.iter().any(is_known) {
        worker.machine.pieces.terminations.push(Termination::Children { of: id, left });
        worker.machine.attend();
    }
    true
}

/// Takes over what a word owns, to terminate the components there; false if it can be done at once.
/// The process waits for one component more: for the end of this list.
pub(crate) fn delete(
    worker: &mut Worker,
    deleter: ProcessRef,
    kind: WordKind,
    word: Words,
) -> bool {
    let owner = word.get(0);
    if worker.machine.desk.is_some() || count(worker, kind, owner) <= PIECE {
        return false;
    }
    word.set(0, 0);
    let termination = Termination::Words { deleter, kind, word: owner, cursor: Cursor::Start };
    worker.machine.pieces.terminations.push(termination);
    worker.machine.attend();
    true
}

/// The number of words that may contain components.
pub(crate) fn count(worker: &Worker, kind: WordKind, word: u64) -> usize {
    match kind {
        WordKind::Collection if word != 0 && words::owns(collection::element_of(worker, word)) => {
            collection::count(word)
        }
        WordKind::Array if word != 0 => {
            let view = array::View::new(worker, word);
            if words::owns(view.element) { view.count } else { 0 }
        }
        _ => 0,
    }
}
