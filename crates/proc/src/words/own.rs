//! What words own.

use crate::handle::{ComponentRef, Words};
use crate::machine::Worker;
use crate::program::WordKind;
use crate::{array, collection, crew, text};

/// The kind of this number.
#[inline]
pub(crate) fn kind_of(number: u32) -> WordKind {
    const ALL: [WordKind; 6] = [
        WordKind::Scalar,
        WordKind::Reference,
        WordKind::Text,
        WordKind::Component,
        WordKind::Array,
        WordKind::Collection,
    ];
    ALL.get(number as usize).copied().unwrap_or(WordKind::Scalar)
}

/// Frees the memory that a word owns, and forgets components in it.
pub(crate) fn free_word(worker: &mut Worker, kind: WordKind, word: Words) {
    match kind {
        WordKind::Scalar | WordKind::Reference => {}
        WordKind::Text => text::free(worker, word.take(0)),
        WordKind::Component => word.set(0, 0),
        WordKind::Array => array::free(worker, word.take(0), free_word),
        WordKind::Collection => collection::free(worker, word.take(0), free_word),
    }
}

/// Takes the components out of a word, also out of the elements of arrays and collections.
pub(crate) fn take_components(
    worker: &mut Worker,
    kind: WordKind,
    word: Words,
    into: &mut Vec<ComponentRef>,
) {
    let take = &mut |word: Words| into.extend(ComponentRef::of_word(word.take(0)).some());
    for_components(worker, kind, word, take);
}

/// The components in a word and in its elements, which stay there.
pub(crate) fn components_in(
    worker: &Worker,
    kind: WordKind,
    word: Words,
    into: &mut Vec<ComponentRef>,
) {
    let read = &mut |word: Words| into.extend(ComponentRef::of_word(word.get(0)).some());
    for_components(worker, kind, word, read);
}

/// Empties the words with a component for which `keep` does not hold.
pub(crate) fn keep_components(
    worker: &Worker,
    kind: WordKind,
    word: Words,
    keep: &mut dyn FnMut(ComponentRef) -> bool,
) {
    for_components(worker, kind, word, &mut |word| {
        if ComponentRef::of_word(word.get(0)).some().is_some_and(|component| !keep(component)) {
            word.set(0, 0);
        }
    });
}

/// Each word with a component in a word and its elements.
pub(crate) fn for_components(
    worker: &Worker,
    kind: WordKind,
    word: Words,
    each: &mut dyn FnMut(Words),
) {
    match kind {
        WordKind::Component => each(word),
        WordKind::Array if word.get(0) != 0 => {
            let view = array::View::new(worker, word.get(0));
            if owns(view.element) {
                for i in 0..view.count {
                    for_components(worker, view.element, view.elements.at(i), each);
                }
            }
        }
        WordKind::Collection if word.get(0) != 0 => {
            let element = collection::element_of(worker, word.get(0));
            if owns(element) {
                for value in collection::values(worker, word.get(0)) {
                    for_components(worker, element, value, each);
                }
            }
        }
        _ => {}
    }
}

/// Whether a word may own components tied to other loops; arrays and collections of components are
/// not searched, and count as tied.
pub(crate) fn owns_tied(worker: &Worker, kind: WordKind, word: Words) -> bool {
    match kind {
        WordKind::Component => crew::is_tied(worker, ComponentRef::of_word(word.get(0))),
        WordKind::Array if word.get(0) != 0 => owns(array::View::new(worker, word.get(0)).element),
        WordKind::Collection if word.get(0) != 0 => {
            owns(collection::element_of(worker, word.get(0)))
        }
        _ => false,
    }
}

/// Whether components may be inside.
#[inline]
pub(crate) fn owns(kind: WordKind) -> bool {
    matches!(kind, WordKind::Component | WordKind::Array | WordKind::Collection)
}
