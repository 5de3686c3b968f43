//! Dropping words: components in them are terminated.

use crate::component;
use crate::handle::{ProcessRef, Words};
use crate::machine::Worker;
use crate::program::WordKind;
use crate::words::free_word;
use crate::words::take_components;

/// Drops what a word owns; components in it are terminated.
pub(crate) fn drop_word(worker: &mut Worker, kind: WordKind, word: Words) {
    if kind == WordKind::Text {
        return free_word(worker, kind, word);
    }
    let mut components = Vec::new();
    take_components(worker, kind, word, &mut components);
    component::terminate_all(worker, &components, ProcessRef::NULL);
    free_word(worker, kind, word);
}
