//! Arrays: dense, zero-based, of one or more dimensions.
//!
//! ```text
//! 0  shape u64   8  count of elements   16  extents, one word each   ...  elements
//! ```

use crate::fault::Reason;
use crate::handle::Words;
use crate::layout::OK;
use crate::machine::Context;
use crate::machine::Worker;
use crate::pieces;
use crate::program::{Shape, WordKind};
use crate::words::FreeWord;

/// An array taken apart.
pub(crate) struct View {
    pub(crate) element: WordKind,
    pub(crate) count: usize,
    pub(crate) extents: Vec<usize>,
    pub(crate) elements: Words,
}

fn block(word: u64) -> Words {
    Words(std::ptr::with_exposed_provenance_mut(word as usize))
}

fn dimensions_of(worker: &Worker, shape: u32) -> (u32, WordKind) {
    match worker.program().shapes[shape as usize] {
        Shape::Array { dimensions, element } => (dimensions, element),
        // A program that mixes up its shapes gets arrays of plain words.
        Shape::Collection { .. } => (1, WordKind::Scalar),
    }
}

impl View {
    /// The array that a word owns, which is not empty.
    pub(crate) fn new(worker: &Worker, word: u64) -> View {
        let head = block(word);
        let shape = head.get(0) as u32;
        let (dimensions, element) = dimensions_of(worker, shape);
        let dimensions = dimensions as usize;
        View {
            element,
            count: head.get(1) as usize,
            extents: (0..dimensions).map(|d| head.get(2 + d) as usize).collect(),
            elements: head.at(2 + dimensions),
        }
    }
}

fn size_of(dimensions: usize, count: usize) -> usize {
    8 * (2 + dimensions + count)
}

/// A new array of zeros.
fn make(worker: &mut Worker, shape: u32, extents: &[i64]) -> Result<u64, (Reason, i64)> {
    let mut count: usize = 1;
    for &extent in extents {
        let length = usize::try_from(extent).map_err(|_| (Reason::Length, extent))?;
        count = count.checked_mul(length).ok_or((Reason::OutOfMemory, 0))?;
    }
    if count > usize::MAX >> 8 {
        return Err((Reason::OutOfMemory, 0));
    }
    let size = size_of(extents.len(), count);
    let taken = worker.memory.take(size).map_err(|_| (Reason::OutOfMemory, 0))?;
    let head = Words(taken.cast());
    head.set(0, u64::from(shape));
    head.set(1, count as u64);
    for (d, &extent) in extents.iter().enumerate() {
        head.set(2 + d, extent as u64);
    }
    Ok(head.0.expose_provenance() as u64)
}

/// Frees an array and, by `free_word`, what its elements own, components excepted.
pub(crate) fn free(worker: &mut Worker, word: u64, free_word: FreeWord) {
    if word == 0 {
        return;
    }
    let view = View::new(worker, word);
    let count = if is_plain(view.element) { 0 } else { view.count };
    if !pieces::litter(worker, WordKind::Array, word, count) {
        free_some(worker, word, usize::MAX, free_word);
    }
}

/// Whether an element owns nothing that is freed with it.
fn is_plain(element: WordKind) -> bool {
    matches!(element, WordKind::Scalar | WordKind::Reference | WordKind::Component)
}

/// Frees up to `most` elements from the end of an unreferenced array, and the block itself once
/// none is left. Returns whether the block is freed.
pub(crate) fn free_some(worker: &mut Worker, word: u64, most: usize, free_word: FreeWord) -> bool {
    let view = View::new(worker, word);
    if !is_plain(view.element) {
        let rest = view.count.saturating_sub(most);
        for i in rest..view.count {
            free_word(worker, view.element, view.elements.at(i));
        }
        block(word).set(1, rest as u64);
        if rest > 0 {
            return false;
        }
    }
    let count = view.extents.iter().product();
    worker.memory.give(block(word).0.cast(), size_of(view.extents.len(), count));
    true
}

pub(crate) fn new(
    cx: &mut Context,
    word: *mut u64,
    shape: u32,
    extents: *const i64,
    position: u32,
) -> u32 {
    let (dimensions, _) = dimensions_of(cx.worker, shape);
    // SAFETY: the caller has a word for each dimension.
    let extents = unsafe { std::slice::from_raw_parts(extents, dimensions as usize) };
    match make(cx.worker, shape, extents) {
        Ok(array) => {
            Words(word).set(0, array);
            OK
        }
        Err((reason, detail)) => cx.fault(reason, detail, position),
    }
}

pub(crate) fn at(cx: &mut Context, array: u64, indices: *const i64, position: u32) -> *mut u64 {
    if array == 0 {
        cx.fault(Reason::Unallocated, 0, position);
        return std::ptr::null_mut();
    }
    let head = block(array);
    let (dimensions, _) = dimensions_of(cx.worker, head.get(0) as u32);
    let dimensions = dimensions as usize;
    let mut place = 0;
    for d in 0..dimensions {
        let index = Words(indices.cast_mut().cast()).get(d);
        let extent = head.get(2 + d);
        if index >= extent {
            cx.outside(index as i64, extent, position);
            return std::ptr::null_mut();
        }
        place = place * extent + index;
    }
    head.at(2 + dimensions + place as usize).0
}

pub(crate) fn length(cx: &mut Context, array: u64, dimension: u32) -> i64 {
    if array == 0 {
        return 0;
    }
    let view = View::new(cx.worker, array);
    view.extents.get(dimension as usize).map_or(0, |&extent| extent as i64)
}
