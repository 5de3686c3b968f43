//! The shape of a collection: its keys, its elements, and the form in which it stores them.

use super::head::Head;
use super::key::Form;
use crate::machine::Worker;
use crate::program::{Key, Shape, WordKind};

static PLAIN: Shape =
    Shape::Collection { keys: Vec::new(), element: WordKind::Scalar, pinned: true };

/// The shape of the collection that a word owns.
pub(crate) fn shape_of<'a>(worker: &Worker, word: u64) -> &'a Shape {
    let program: &'a crate::program::Program = worker.program();
    Head::of(word).map_or(&PLAIN, |head| &program.shapes[head.shape() as usize])
}

fn keys_in<'a>(worker: &Worker, shape: u32) -> &'a [Key] {
    let program: &'a crate::program::Program = worker.program();
    match &program.shapes[shape as usize] {
        Shape::Collection { keys, .. } => keys,
        Shape::Array { .. } => &[Key::Integer],
    }
}

/// How a collection of this shape is stored.
pub(super) fn form_of(worker: &Worker, shape: u32) -> Form {
    let moves = matches!(
        worker.program().shapes[shape as usize],
        Shape::Collection { element: WordKind::Scalar, pinned: false, .. }
    );
    Form::of(keys_in(worker, shape), moves)
}

/// The types of the keys.
#[inline]
pub(super) fn keys_of<'a>(worker: &Worker, head: Head) -> &'a [Key] {
    match head.form() {
        Form::Integer | Form::Flat => &[Key::Integer],
        Form::Text | Form::FlatText => &[Key::Text],
        Form::Tuple => keys_in(worker, head.shape()),
    }
}

/// What the elements are.
pub(crate) fn element_of(worker: &Worker, word: u64) -> WordKind {
    match shape_of(worker, word) {
        Shape::Collection { element, .. } | Shape::Array { element, .. } => *element,
    }
}
