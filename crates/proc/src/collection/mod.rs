//! Collections: ordered maps from one or more typed keys to one word.
//!
//! One integer key: [`pages`], dense where the keys are. Other keys: a [`skip`] list. Elements do
//! not move while they exist, so their addresses may be kept over suspensions as long as nobody
//! removes them.

mod head;
mod pages;
mod skip;

use crate::component;
use crate::crew;
use crate::fault::Reason;
use crate::handle::Words;
use crate::layout::{OK, Worker};
use crate::memory::OutOfMemory;
use crate::pieces;
use crate::program::{Key, Kind, Shape};
use crate::text;
use crate::words;
use crate::worker::Context;
use head::Head;
use skip::List;

static PLAIN: Shape = Shape::Collection { keys: Vec::new(), element: Kind::Scalar };

/// The shape of the collection that a word owns.
pub(crate) fn shape_of<'a>(worker: &Worker, word: u64) -> &'a Shape {
    let program: &'a crate::program::Program = worker.program();
    Head::of(word).map_or(&PLAIN, |head| &program.shapes[head.shape() as usize])
}

fn keys_of<'a>(worker: &Worker, head: Head) -> &'a [Key] {
    let program: &'a crate::program::Program = worker.program();
    match &program.shapes[head.shape() as usize] {
        Shape::Collection { keys, .. } => keys,
        Shape::Array { .. } => &[Key::Integer],
    }
}

/// What the elements are.
pub(crate) fn element_of(worker: &Worker, word: u64) -> Kind {
    match shape_of(worker, word) {
        Shape::Collection { element, .. } | Shape::Array { element, .. } => *element,
    }
}

/// Whether there is one integer key.
fn is_paged(keys: &[Key]) -> bool {
    keys == [Key::Integer]
}

fn list<'a>(head: Head, keys: &'a [Key]) -> Option<List<'a>> {
    head.has_heads().then(|| List { heads: head.heads(), keys })
}

fn find_in(worker: &Worker, head: Head, at: Words) -> Option<Words> {
    let keys = keys_of(worker, head);
    if is_paged(keys) {
        return pages::find(head, at.get(0) as i64);
    }
    list(head, keys)?.find(at).map(skip::value_of)
}

/// Adds an element that does not exist.
fn insert(worker: &mut Worker, head: Head, at: Words) -> Result<Words, OutOfMemory> {
    let keys = keys_of(worker, head);
    let value = if is_paged(keys) {
        pages::insert(worker, head, at.get(0) as i64)?
    } else {
        insert_listed(worker, head, keys, at)?
    };
    head.set_count(head.count() + 1);
    Ok(value)
}

fn insert_listed(
    worker: &mut Worker,
    head: Head,
    keys: &[Key],
    at: Words,
) -> Result<Words, OutOfMemory> {
    head.make_heads(worker)?;
    let mut own = Vec::with_capacity(keys.len());
    for (i, key) in keys.iter().enumerate() {
        let word = match key {
            Key::Integer => Ok(at.get(i)),
            Key::Text => text::make(worker, text::shown(at.get(i))),
        };
        match word {
            Ok(word) => own.push(word),
            Err(error) => {
                free_keys(worker, &keys[..i], Words(own.as_mut_ptr()));
                return Err(error);
            }
        }
    }
    let random = head.random();
    let made = List { heads: head.heads(), keys }.insert(worker, Words(own.as_mut_ptr()), random);
    if made.is_err() {
        free_keys(worker, keys, Words(own.as_mut_ptr()));
    }
    made.map(skip::value_of)
}

fn free_keys(worker: &mut Worker, keys: &[Key], at: Words) {
    for (i, key) in keys.iter().enumerate() {
        if *key == Key::Text {
            text::free(worker, at.take(i));
        }
    }
}

/// Removes an element; what its value owned is the caller's.
fn remove(worker: &mut Worker, head: Head, at: Words) {
    let keys = keys_of(worker, head);
    if is_paged(keys) {
        pages::remove(worker, head, at.get(0) as i64);
    } else if let Some(list) = list(head, keys)
        && let Some(node) = list.find(at)
    {
        let mut own: Vec<u64> = (0..keys.len()).map(|i| skip::keys_of(node).get(i)).collect();
        list.remove(worker, node);
        free_keys(worker, keys, Words(own.as_mut_ptr()));
    }
    head.set_count(head.count() - 1);
}

/// Shows each element, keys and value, in order, until `f` has seen enough.
pub(crate) fn for_each(worker: &Worker, word: u64, mut f: impl FnMut(Words, Words) -> bool) {
    let Some(head) = Head::of(word) else { return };
    let keys = keys_of(worker, head);
    if is_paged(keys) {
        let mut after = None;
        while let Some((mut key, value)) = pages::next(head, after) {
            after = Some(key);
            if !f(Words((&raw mut key).cast()), value) {
                return;
            }
        }
    } else if let Some(list) = list(head, keys) {
        let mut node = list.first();
        while let Some(here) = node {
            if !f(skip::keys_of(here), skip::value_of(here)) {
                return;
            }
            node = list.after(here);
        }
    }
}

/// How far one has come through a collection that does not change.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Cursor {
    Start,
    /// A key, or the address of a node; of arrays the next place.
    After(u64),
}

impl Cursor {
    /// The place where to go on in an array.
    pub(crate) fn place(self) -> usize {
        match self {
            Cursor::Start => 0,
            Cursor::After(place) => place as usize,
        }
    }
}

/// The values of at most so many elements behind the cursor, which goes on.
pub(crate) fn values_from(
    worker: &Worker,
    word: u64,
    cursor: &mut Cursor,
    most: usize,
    into: &mut Vec<Words>,
) {
    let Some(head) = Head::of(word) else { return };
    let keys = keys_of(worker, head);
    for _ in 0..most {
        let next = if is_paged(keys) {
            let after = match *cursor {
                Cursor::Start => None,
                Cursor::After(key) => Some(key as i64),
            };
            pages::next(head, after).map(|(key, value)| (key as u64, value))
        } else {
            let node = list(head, keys).and_then(|list| match *cursor {
                Cursor::Start => list.first(),
                Cursor::After(node) => list.after(skip::at(node)),
            });
            node.map(|node| (skip::word_of(node), skip::value_of(node)))
        };
        let Some((here, value)) = next else { return };
        *cursor = Cursor::After(here);
        into.push(value);
    }
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
    let is_over = if is_paged(keys) {
        pages::free_some(worker, head, owned, most)
    } else if let Some(list) = list(head, keys) {
        let mut left = most;
        while let Some(node) = list.first()
            && left > 0
        {
            left -= 1;
            list.forget_first(node);
            words::free_word(worker, owned, skip::value_of(node));
            free_keys(worker, keys, skip::keys_of(node));
            list.free_node(worker, node);
        }
        list.first().is_none()
    } else {
        true
    };
    if is_over {
        head.free(worker);
    }
    is_over
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
    let head = match Head::of(word.get(0)) {
        Some(head) => head,
        None => {
            let head = Head::make(worker, shape)?;
            word.set(0, head.word());
            head
        }
    };
    match find_in(worker, head, keys) {
        Some(value) => Ok(value),
        None => insert(worker, head, keys),
    }
}

pub(crate) fn find(cx: &mut Context, collection: u64, keys: *const u64) -> *mut u64 {
    let head = Head::of(collection);
    let found = head.and_then(|head| find_in(cx.worker, head, words_of(keys)));
    found.map_or(std::ptr::null_mut(), |value| value.0)
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
    match step(cx.worker, collection, Words(keys), first != 0) {
        Ok(found) => {
            cx.frame.set_result(u64::from(found));
            OK
        }
        Err(error) => cx.out_of_memory(error, position),
    }
}

/// Sets `at` to the smallest keys above it, or of all; whether there are any.
fn step(worker: &mut Worker, word: u64, at: Words, first: bool) -> Result<bool, OutOfMemory> {
    let Some(head) = Head::of(word) else { return Ok(false) };
    let kinds = keys_of(worker, head);
    if is_paged(kinds) {
        let found = pages::next(head, (!first).then(|| at.get(0) as i64));
        if let Some((key, _)) = found {
            at.set(0, key as u64);
        }
        return Ok(found.is_some());
    }
    let Some(list) = list(head, kinds) else { return Ok(false) };
    let Some(node) = (if first { list.first() } else { list.above(at) }) else {
        return Ok(false);
    };
    for (i, kind) in kinds.iter().enumerate() {
        let key = skip::keys_of(node).get(i);
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
