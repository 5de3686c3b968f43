//! Collections: maps from one or more typed keys to one word.
//!
//! Elements are in a hash table ([`table`]); those with one integer key from 0 on, as far as they
//! are dense, in pages ([`dense`]). FOREACH visits them in ascending order, which is made when it
//! asks ([`order`]). Elements do not move while they exist, so their addresses may be kept over
//! suspensions as long as they are not removed; those of a shape that is not
//! [pinned](Shape::Collection) may be in the table itself, which moves them as it grows. Large
//! collections grow, are put in order and are freed piece by piece.

mod chunks;
mod cursor;
mod dense;
mod head;
mod key;
mod node;
mod order;
mod short;
mod skip;
mod table;

use std::ptr::NonNull;

use crate::component;
use crate::crew;
use crate::fault::Reason;
use crate::handle::Words;
use crate::layout::OK;
use crate::machine::Context;
use crate::machine::Worker;
use crate::memory::OutOfMemory;
use crate::pieces;
use crate::process;
use crate::program::{Key, Kind, Shape};
use crate::text;
use crate::words;
use head::Head;
use key::Form;
use short::Room;
use table::Found;

static PLAIN: Shape = Shape::Collection { keys: Vec::new(), element: Kind::Scalar, pinned: true };

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

/// What is kept of a collection of this shape, and how.
fn form_of(worker: &Worker, shape: u32) -> Form {
    let moves = matches!(
        worker.program().shapes[shape as usize],
        Shape::Collection { element: Kind::Scalar, pinned: false, .. }
    );
    Form::of(keys_in(worker, shape), moves)
}

/// The types of the keys.
#[inline]
fn keys_of<'a>(worker: &Worker, head: Head) -> &'a [Key] {
    match head.form() {
        Form::Integer | Form::Flat => &[Key::Integer],
        Form::Text | Form::FlatText => &[Key::Text],
        Form::Tuple => keys_in(worker, head.shape()),
    }
}

/// What the elements are.
pub(crate) fn element_of(worker: &Worker, word: u64) -> Kind {
    match shape_of(worker, word) {
        Shape::Collection { element, .. } | Shape::Array { element, .. } => *element,
    }
}

/// The value of the element with these keys.
#[inline(always)]
fn find_in(worker: &Worker, head: Head, of: Words) -> Option<Words> {
    let found = match head.form() {
        Form::Tuple => table::find(head, keys_of(worker, head), of),
        _ => find_single(head, of.get(0)),
    };
    found.map(|value| Words(value.as_ptr()))
}

/// The same where there is one key.
#[inline(always)]
fn find_single(head: Head, key: u64) -> Found {
    match head.form() {
        Form::FlatText => table::find_flat_text(head, key),
        Form::Text => table::find_text(head, key),
        Form::Flat if head.directory_length() == 0 => find_flat(head, key),
        _ => find_integer(head, key),
    }
}

#[inline(never)]
fn find_flat(head: Head, key: u64) -> Found {
    table::find_flat(head, key)
}

/// The same of an integer key; some may be in pages.
#[inline(never)]
fn find_integer(head: Head, mut key: u64) -> Found {
    let of = Words(&raw mut key);
    let in_page = dense::find(head, key as i64).and_then(|value| NonNull::new(value.0));
    in_page.or_else(|| table::find(head, &[Key::Integer], of))
}

/// Adds an element that does not exist.
fn insert(worker: &mut Worker, head: Head, of: Words) -> Result<Words, OutOfMemory> {
    let in_page = match head.form() {
        Form::Integer | Form::Flat => dense::insert(worker, head, of.get(0) as i64)?,
        _ => None,
    };
    let value = match in_page {
        Some(value) => value,
        None => {
            let keys = keys_of(worker, head);
            table::insert(worker, head, keys, of)?
        }
    };
    head.set_count(head.count() + 1);
    Ok(value)
}

/// Removes an element, if it is there; what its value owned is the caller's.
fn remove(worker: &mut Worker, head: Head, of: Words) {
    if head.form().is_integer() && dense::remove(worker, head, of.get(0) as i64) {
        head.set_count(head.count() - 1);
        return;
    }
    let keys = keys_of(worker, head);
    if table::remove(worker, head, keys, of) {
        head.set_count(head.count() - 1);
    }
}

/// Shows each element, keys and value, in any order, until `f` has seen enough.
pub(crate) fn for_each(word: u64, mut f: impl FnMut(Words, Words) -> bool) {
    let Some(head) = Head::of(word) else { return };
    let mut place = 0;
    while let Some((mut key, value)) = dense::from(head, place, dense::places(head)) {
        place = key as u64 + 1;
        if !f(Words((&raw mut key).cast()), value) {
            return;
        }
    }
    let mut room = Room::default();
    for element in (0..table::places(head)).filter_map(|place| table::element_at(head, place)) {
        if !f(element.keys(head, &mut room), element.value) {
            return;
        }
    }
}

/// The values of all elements in the ascending order of their keys.
pub(crate) fn values(worker: &Worker, word: u64) -> Vec<Words> {
    let Some(head) = Head::of(word) else { return Vec::new() };
    let keys = keys_of(worker, head);
    let places = 0..table::places(head);
    let mut elements: Vec<_> = places.filter_map(|place| table::element_at(head, place)).collect();
    if !head.form().is_integer() {
        let (mut one, mut other) = (Room::default(), Room::default());
        elements.sort_unstable_by(|a, b| {
            key::compare(keys, a.keys(head, &mut one), b.keys(head, &mut other))
        });
        return elements.into_iter().map(|element| element.value).collect();
    }
    let mut all: Vec<_> =
        elements.iter().map(|element| (element.integer(), element.value)).collect();
    let mut place = 0;
    while let Some((key, value)) = dense::from(head, place, dense::places(head)) {
        place = key as u64 + 1;
        all.push((key, value));
    }
    all.sort_unstable_by_key(|(key, _)| *key);
    all.into_iter().map(|(_, value)| value).collect()
}

/// The values of at most so many elements behind the cursor, which goes on; in any order.
pub(crate) fn values_from(word: u64, cursor: &mut Cursor, most: usize, into: &mut Vec<Words>) {
    let Some(head) = Head::of(word) else { return };
    let mut place = cursor.place() as u64;
    let (dense, end) = (dense::places(head), dense::places(head) + table::places(head));
    let start = into.len();
    while place < end && into.len() - start < most {
        if place < dense {
            let found = dense::from(head, place, dense::places(head));
            place = found.map_or(dense, |(key, _)| key as u64 + 1);
            into.extend(found.map(|(_, value)| value));
        } else {
            into.extend(table::element_at(head, place - dense).map(|element| element.value));
            place += 1;
        }
    }
    *cursor = Cursor::After(place);
}

/// How many elements a collection has.
pub(crate) fn count(word: u64) -> usize {
    Head::of(word).map_or(0, |head| head.count() as usize)
}

/// Frees a collection and what its elements own, components excepted; a large one in pieces.
pub(crate) fn free(worker: &mut Worker, word: u64) {
    if word != 0 && !pieces::litter(worker, Kind::Collection, word, count(word)) {
        while !free_some(worker, word, usize::MAX) {}
    }
}

/// Frees at most about so many elements of a collection that nobody uses any more, and at the end
/// itself; whether it is gone.
pub(crate) fn free_some(worker: &mut Worker, word: u64, most: usize) -> bool {
    let Some(head) = Head::of(word) else { return true };
    let element = element_of(worker, word);
    let owned = if is_plain(element) { Kind::Scalar } else { element };
    let keys = keys_of(worker, head);
    order::give_up(worker, head, keys);
    if !dense::free_some(worker, head, owned, most) {
        return false;
    }
    let mut left = most;
    // What is in a flat table goes with it.
    let ends = if head.form() == Form::Flat { 0 } else { table::places(head) };
    while head.freed() < ends {
        if left == 0 {
            return false;
        }
        if let Some(element) = table::element_at(head, head.freed()) {
            left -= 1;
            words::free_word(worker, owned, element.value);
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

/// Whether an element owns nothing that goes with it.
fn is_plain(element: Kind) -> bool {
    matches!(element, Kind::Scalar | Kind::Reference | Kind::Component)
}

fn words_of(keys: *const u64) -> Words {
    Words(keys.cast_mut())
}

pub(crate) fn at(
    cx: &mut Context,
    word: *mut u64,
    shape: u32,
    keys: *const u64,
    position: u32,
) -> *mut u64 {
    match find_or_insert(cx.worker, Words(word), shape, words_of(keys)) {
        Ok(value) => value.0,
        Err(error) => {
            cx.out_of_memory(error, position);
            std::ptr::null_mut()
        }
    }
}

pub(crate) fn find_or_insert(
    worker: &mut Worker,
    word: Words,
    shape: u32,
    keys: Words,
) -> Result<Words, OutOfMemory> {
    let head = head_in(worker, word, shape)?;
    match find_in(worker, head, keys) {
        Some(value) => Ok(value),
        None => insert(worker, head, keys),
    }
}

/// The collection that a word owns, made if it is missing.
#[inline]
fn head_in(worker: &mut Worker, word: Words, shape: u32) -> Result<Head, OutOfMemory> {
    match Head::of(word.get(0)) {
        Some(head) => Ok(head),
        None => {
            let head = Head::make(worker, shape, form_of(worker, shape))?;
            word.set(0, head.word());
            Ok(head)
        }
    }
}

pub(crate) fn find(cx: &mut Context, collection: u64, keys: *const u64) -> *mut u64 {
    let head = Head::of(collection);
    let found = head.and_then(|head| find_in(cx.worker, head, words_of(keys)));
    found.map_or(std::ptr::null_mut(), |value| value.0)
}

#[inline(always)]
pub(crate) fn find_word(_: &mut Context, collection: u64, key: u64) -> *mut u64 {
    let found = Head::of(collection).and_then(|head| find_single(head, key));
    found.map_or(std::ptr::null_mut(), NonNull::as_ptr)
}

pub(crate) fn at_word(
    cx: &mut Context,
    word: *mut u64,
    shape: u32,
    mut key: u64,
    position: u32,
) -> *mut u64 {
    at(cx, word, shape, &raw mut key, position)
}

pub(crate) fn add(
    cx: &mut Context,
    word: *mut u64,
    shape: u32,
    mut key: u64,
    position: u32,
) -> *mut u64 {
    let head = head_in(cx.worker, Words(word), shape);
    match head.and_then(|head| insert(cx.worker, head, Words(&raw mut key))) {
        Ok(value) => value.0,
        Err(error) => {
            cx.out_of_memory(error, position);
            std::ptr::null_mut()
        }
    }
}

pub(crate) fn get(cx: &mut Context, collection: u64, keys: *const u64, position: u32) -> *mut u64 {
    let found = find(cx, collection, keys);
    if found.is_null() {
        cx.fault(Reason::NoElement, 0, position);
    }
    found
}

pub(crate) fn delete(cx: &mut Context, collection: u64, keys: *const u64) -> u32 {
    let is_over = cx.process.take_grant();
    let Some(head) = Head::of(collection) else { return OK };
    if head.form() == Form::Flat {
        // Its elements own nothing, so nothing is waited for.
        remove(cx.worker, head, words_of(keys));
        return OK;
    }
    let Some(value) = find_in(cx.worker, head, words_of(keys)) else { return OK };
    let element = element_of(cx.worker, collection);
    if is_over {
        words::free_word(cx.worker, element, value);
        remove(cx.worker, head, words_of(keys));
        return OK;
    }
    if crew::is_spread(cx.worker) && words::owns_tied(cx.worker, element, value) {
        return crew::later(cx);
    }
    let mut components = Vec::new();
    words::components_in(cx.worker, element, value, &mut components);
    let status = component::wait_for(cx, &components, 0);
    if status == OK {
        words::free_word(cx.worker, element, value);
        remove(cx.worker, head, words_of(keys));
    }
    status
}

pub(crate) fn next(
    cx: &mut Context,
    collection: u64,
    keys: *mut u64,
    first: u32,
    position: u32,
) -> u32 {
    if let Some(head) = Head::of(collection) {
        let kinds = keys_of(cx.worker, head);
        while !order::is_ready(head) {
            if let Err(error) = order::make_some(cx.worker, head, kinds) {
                return cx.out_of_memory(error, position);
            }
            if !order::is_ready(head) && pieces::is_over(cx.worker) {
                return process::pause(cx);
            }
        }
    }
    match step(cx.worker, collection, Words(keys), first != 0) {
        Ok(found) => {
            cx.frame.set_result(u64::from(found));
            OK
        }
        Err(error) => cx.out_of_memory(error, position),
    }
}

/// Sets `at` to the smallest keys above it, or of all; whether there are any. What order it takes
/// is there.
fn step(worker: &mut Worker, word: u64, at: Words, first: bool) -> Result<bool, OutOfMemory> {
    let Some(head) = Head::of(word) else { return Ok(false) };
    let kinds = keys_of(worker, head);
    let after = (!first).then_some(at);
    if head.form().is_integer() {
        let hashed = order::above(head, kinds, after).map(|keys| keys.get(0) as i64);
        let dense = dense::above(head, after.map(|at| at.get(0) as i64), hashed);
        let found = dense.into_iter().chain(hashed).min();
        if let Some(key) = found {
            at.set(0, key as u64);
        }
        return Ok(found.is_some());
    }
    let Some(keys) = order::above(head, kinds, after) else { return Ok(false) };
    for (i, kind) in kinds.iter().enumerate() {
        let key = keys.get(i);
        match kind {
            Key::Integer => at.set(i, key),
            Key::Text => {
                let copy = text::make(worker, text::bytes(key))?;
                text::free(worker, at.take(i));
                at.set(i, copy);
            }
        }
    }
    Ok(true)
}

pub(crate) fn length(_: &mut Context, collection: u64) -> i64 {
    Head::of(collection).map_or(0, |head| head.count() as i64)
}

#[cfg(test)]
mod tests;

pub(crate) use cursor::Cursor;
