//! An increment of the pending work.

use crate::collection::{self, Cursor};
use crate::component::{self, ComponentId};
use crate::handle::{ProcessRef, Words};
use crate::machine::Worker;
use crate::pieces::Telling;
use crate::pieces::litter::PIECE;
use crate::program::Kind;
use crate::{array, lines, words};

/// The deleting process is killed: nothing waits any more. What it owned ends with its component.
pub(crate) fn forget(worker: &mut Worker, process: ProcessRef) {
    worker.machine.attention = true;
    let all = std::mem::take(&mut worker.machine.pieces.tellings);
    for telling in all {
        match telling {
            Telling::Words { deleter, kind, word, .. } if deleter == process => {
                let mut word = word;
                words::free_word(worker, kind, Words(&raw mut word));
            }
            other => worker.machine.pieces.tellings.push(other),
        }
    }
}

/// Terminates the next [`PIECE`] components.
pub(crate) fn tell_some(worker: &mut Worker) {
    let Some(telling) = worker.machine.pieces.tellings.pop() else { return };
    worker.budget -= PIECE as i64;
    let rest = match telling {
        Telling::Children { of, left } => tell_some_children(worker, of, left),
        Telling::Words { deleter, kind, word, cursor } => {
            tell_some_words(worker, deleter, (kind, word), cursor)
        }
    };
    if let Some(telling) = rest {
        worker.machine.pieces.tellings.insert(0, telling);
    }
}

pub(crate) fn tell_some_children(
    worker: &mut Worker,
    of: ComponentId,
    left: u32,
) -> Option<Telling> {
    let component = worker.machine.table.get(of)?;
    let piece = left.min(PIECE as u32);
    for _ in 0..piece {
        // Visited ones rotate behind the others.
        let child = component::rotate(component).some()?;
        if !child.is_told() {
            component::tell_end(worker, child, ProcessRef::NULL);
        }
    }
    (left > piece).then_some(Telling::Children { of, left: left - piece })
}

pub(crate) fn tell_some_words(
    worker: &mut Worker,
    deleter: ProcessRef,
    (kind, word): (Kind, u64),
    mut cursor: Cursor,
) -> Option<Telling> {
    let mut found = Vec::with_capacity(PIECE);
    let element = match kind {
        Kind::Array => {
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
        lines::close_with(worker, deleter, component);
        deleter.set_wait(deleter.wait() + 1);
        component::tell_end(worker, component, deleter);
    }
    if !is_over {
        return Some(Telling::Words { deleter, kind, word, cursor });
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
        Kind::Array => array::free_some(worker, word, PIECE, words::free_word),
        _ => collection::free_some(worker, word, PIECE, words::free_word),
    };
    if !is_over {
        worker.machine.pieces.litter.push((kind, word));
    }
}
