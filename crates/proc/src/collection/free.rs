//! Freeing a collection, a large one incrementally. What its elements own is freed by the caller's
//! function, which knows what words own.

use super::elements::count;
use super::head::Head;
use super::key::Form;
use super::shape::{element_of, keys_of};
use super::{dense, order, table};
use crate::machine::Worker;
use crate::pieces;
use crate::program::WordKind;
use crate::words::FreeWord;

/// Frees a collection and what its elements own, components excepted; a large one in pieces.
pub(crate) fn free(worker: &mut Worker, word: u64, free_word: FreeWord) {
    if word != 0 && !pieces::litter(worker, WordKind::Collection, word, count(word)) {
        while !free_some(worker, word, usize::MAX, free_word) {}
    }
}

/// Frees about `most` elements of an unreferenced collection, and finally its block. Returns
/// whether the block is freed.
pub(crate) fn free_some(worker: &mut Worker, word: u64, most: usize, free_word: FreeWord) -> bool {
    let Some(head) = Head::of(word) else { return true };
    let element = element_of(worker, word);
    let owned = if is_plain(element) { WordKind::Scalar } else { element };
    let keys = keys_of(worker, head);
    order::give_up(worker, head, keys);
    if !dense::free_some(worker, head, (owned, free_word), most) {
        return false;
    }
    let mut left = most;
    // Elements of a flat table own nothing, so they need no visit.
    let ends = if head.form() == Form::Flat { 0 } else { table::places(head) };
    while head.freed() < ends {
        if left == 0 {
            return false;
        }
        if let Some(element) = table::element_at(head, head.freed()) {
            left -= 1;
            if owned != WordKind::Scalar {
                free_word(worker, owned, element.value);
            }
            element.free_keys(worker, head, keys);
        }
        head.set_freed(head.freed() + 1);
    }
    table::free_tables(worker, head);
    if !order::free_trash(worker, head, keys, left) {
        return false;
    }
    head.free(worker);
    true
}

/// Whether an element owns nothing that is freed with it.
fn is_plain(element: WordKind) -> bool {
    matches!(element, WordKind::Scalar | WordKind::Reference | WordKind::Component)
}
