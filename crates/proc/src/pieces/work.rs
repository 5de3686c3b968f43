//! An increment of the pending work.

use crate::collection::{self, Cursor};
use crate::component::{self, ComponentId};
use crate::handle::{ProcessRef, Words};
use crate::machine::Worker;
use crate::pieces::Termination;
use crate::pieces::litter::PIECE;
use crate::program::WordKind;
use crate::{array, sessions, words};

/// The deleting process is killed: nothing waits any more. What it owned ends with its component.
pub(crate) fn forget(worker: &mut Worker, process: ProcessRef) {
    worker.machine.attend();
    let all = std::mem::take(&mut worker.machine.pieces.terminations);
    for termination in all {
        match termination {
            Termination::Words { deleter, kind, word, .. } if deleter == process => {
                let mut word = word;
                words::free_word(worker, kind, Words(&raw mut word));
            }
            other => worker.machine.pieces.terminations.push(other),
        }
    }
}

/// Terminates the next [`PIECE`] components.
pub(crate) fn terminate_some(worker: &mut Worker) {
    let Some(termination) = worker.machine.pieces.terminations.pop() else { return };
    worker.budget -= PIECE as i64;
    let rest = match termination {
        Termination::Children { of, left } => terminate_children(worker, of, left),
        Termination::Words { deleter, kind, word, cursor } => {
            terminate_words(worker, deleter, (kind, word), cursor)
        }
    };
    if let Some(termination) = rest {
        worker.machine.pieces.terminations.insert(0, termination);
    }
}

pub(crate) fn terminate_children(
    worker: &mut Worker,
    of: ComponentId,
    left: u32,
) -> Option<Termination> {
    let component = worker.machine.table.get(of)?;
    let piece = left.min(PIECE as u32);
    for _ in 0..piece {
        // Visited ones rotate after the others.
        let child = component::rotate(component).some()?;
        if !child.is_terminating() {
            component::terminate(worker, child, ProcessRef::NULL);
        }
    }
    (left > piece).then_some(Termination::Children { of, left: left - piece })
}

pub(crate) fn terminate_words(
    worker: &mut Worker,
    deleter: ProcessRef,
    (kind, word): (WordKind, u64),
    mut cursor: Cursor,
) -> Option<Termination> {
    let mut found = Vec::with_capacity(PIECE);
    let element = match kind {
        WordKind::Array => {
            let view = array::View::new(worker, word);
            let start = cursor.place();
            let end = view.count.min(start + PIECE);
            found.extend((start..end).map(|place| view.elements.at(place)));
            cursor = Cursor::After(end as u64);
            view.element
        }
        _ => {
            collection::values_from(word, &mut cursor, PIECE, &mut found);
            collection::element_of(worker, word)
        }
    };
    let is_over = found.len() < PIECE;
    let mut components = Vec::with_capacity(PIECE);
    for value in found {
        words::take_components(worker, element, value, &mut components);
    }
    for component in components {
        sessions::close_with(worker, deleter, component);
        deleter.set_wait(deleter.wait() + 1);
        component::terminate(worker, component, deleter);
    }
    if !is_over {
        return Some(Termination::Words { deleter, kind, word, cursor });
    }
    let mut word = word;
    words::free_word(worker, kind, Words(&raw mut word));
    component::one_less(worker, deleter);
    None
}

/// Frees litter until the slice is over.
pub(crate) fn sweep(worker: &mut Worker) {
    while !worker.machine.pieces.litter.is_empty() && !worker.is_cut_off() {
        sweep_some(worker);
    }
}

/// Frees all litter.
pub(crate) fn sweep_all(worker: &mut Worker) {
    while !worker.machine.pieces.litter.is_empty() {
        sweep_some(worker);
    }
}

pub(crate) fn sweep_some(worker: &mut Worker) {
    let Some((kind, word)) = worker.machine.pieces.litter.pop() else { return };
    let is_over = match kind {
        WordKind::Array => array::free_some(worker, word, PIECE, words::free_word),
        _ => collection::free_some(worker, word, PIECE, words::free_word),
    };
    if !is_over {
        worker.machine.pieces.litter.push((kind, word));
    }
}
