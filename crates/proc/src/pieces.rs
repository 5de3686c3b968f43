//! What concerns very many components or elements goes piece by piece, between two processes: the
//! loop serves timers and descriptors meanwhile, and processes that have nothing to do with it run.
//!
//! ```text
//! DELETE of a collection of components --> told to end, a piece at a time --> its deleter waits
//! end of a component                   --> its sub-components, the same
//! memory of collections and arrays     --> litter, freed before any process runs again
//! ```
//! With several loops all goes at once: what is told may live on any of them. So does litter where
//! slices are counts: nobody waits for such a loop.

use crate::collection::{self, Cursor};
use crate::component::{self, ComponentId};
use crate::handle::{ComponentRef, ProcessRef, Words};
use crate::machine::Worker;
use crate::program::Kind;
use crate::{array, lines, words};
use std::sync::atomic::Ordering;

/// Components told, or elements freed, at a stretch; what is not more goes at once.
const PIECE: usize = 256;

/// Components that are being told to end.
pub(crate) enum Telling {
    /// Sub-components of one that ends: at most so many are left to look at.
    Children { of: ComponentId, left: u32 },
    /// Those in what a word has owned; the process waits for the end of them.
    Words { deleter: ProcessRef, kind: Kind, word: u64, cursor: Cursor },
}

/// What is in pieces.
#[derive(Default)]
pub(crate) struct Pieces {
    /// Those whose turn comes first are last.
    tellings: Vec<Telling>,
    /// Words of collections and arrays that nobody has any more.
    litter: Vec<(Kind, u64)>,
    /// Slices are spans of time.
    timed: bool,
}

impl Pieces {
    /// Whether components are being told to end.
    pub(crate) fn is_telling(&self) -> bool {
        !self.tellings.is_empty()
    }
}

/// A slice begins; by its budget one sees whether slices are counts.
pub(crate) fn begin(worker: &mut Worker, budget: i64) {
    worker.machine.pieces.timed = budget > i64::MAX / 2;
}

/// Whether a process that does something piece by piece goes on in a later slice. Where slices are
/// counts it does not, for the pieces are not counted.
pub(crate) fn is_over(worker: &Worker) -> bool {
    worker.machine.pieces.timed && worker.is_cut_off()
}

/// Whether anything is left.
pub(crate) fn are_left(worker: &Worker) -> bool {
    let pieces = &worker.machine.pieces;
    !pieces.tellings.is_empty() || !pieces.litter.is_empty()
}

/// Has a component's sub-components told to end later; false if it can be done at once.
pub(crate) fn tell_children(worker: &mut Worker, component: ComponentRef) -> bool {
    if worker.machine.desk.is_some() || component.child_count() as usize <= PIECE {
        return false;
    }
    let (id, left) = (component.id(), component.child_count());
    let is_known = |telling: &Telling| matches!(telling, Telling::Children { of, .. } if *of == id);
    if !worker.machine.pieces.tellings.iter().any(is_known) {
        worker.machine.pieces.tellings.push(Telling::Children { of: id, left });
        worker.machine.attention = true;
    }
    true
}

/// Takes over what a word owns, to tell the components there; false if it can be done at once.
/// The process has to wait for one component more: it is told when all have been.
pub(crate) fn delete(worker: &mut Worker, deleter: ProcessRef, kind: Kind, word: Words) -> bool {
    let owner = word.get(0);
    if worker.machine.desk.is_some() || count(worker, kind, owner) <= PIECE {
        return false;
    }
    word.set(0, 0);
    let telling = Telling::Words { deleter, kind, word: owner, cursor: Cursor::Start };
    worker.machine.pieces.tellings.push(telling);
    worker.machine.attention = true;
    true
}

/// How many words with components there may be.
fn count(worker: &Worker, kind: Kind, word: u64) -> usize {
    match kind {
        Kind::Collection if word != 0 && words::owns(collection::element_of(worker, word)) => {
            collection::count(word)
        }
        Kind::Array if word != 0 => {
            let view = array::View::new(worker, word);
            if words::owns(view.element) { view.count } else { 0 }
        }
        _ => 0,
    }
}

/// The process is killed: nobody waits any more. What is told of below it goes with its component.
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

/// Tells a piece of those that are to be told.
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

fn tell_some_children(worker: &mut Worker, of: ComponentId, left: u32) -> Option<Telling> {
    let component = worker.machine.table.get(of)?;
    let piece = left.min(PIECE as u32);
    for _ in 0..piece {
        // Those that have been looked at go behind the others.
        let child = component::rotate(component).some()?;
        if !child.is_told() {
            component::tell_end(worker, child, ProcessRef::NULL);
        }
    }
    (left > piece).then_some(Telling::Children { of, left: left - piece })
}

fn tell_some_words(
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

/// Leaves the memory of a large collection or array to be freed before another process runs; false
/// if it is to be freed at once.
pub(crate) fn litter(worker: &mut Worker, kind: Kind, word: u64, count: usize) -> bool {
    let pieces = &mut worker.machine.pieces;
    if !pieces.timed || worker.machine.desk.is_some() || count <= PIECE {
        return false;
    }
    pieces.litter.push((kind, word));
    worker.machine.attention = true;
    // The process that runs now must not go on for long either, with the memory it has given back.
    worker.flag.store(1, Ordering::Relaxed);
    true
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

fn sweep_some(worker: &mut Worker) {
    let Some((kind, word)) = worker.machine.pieces.litter.pop() else { return };
    let is_over = match kind {
        Kind::Array => array::free_some(worker, word, PIECE),
        _ => collection::free_some(worker, word, PIECE),
    };
    if !is_over {
        worker.machine.pieces.litter.push((kind, word));
    }
}
