//! The elements of a collection: in pages, in its tables, and in its order.

use std::ptr::NonNull;

use super::Cursor;
use super::head::Head;
use super::key::{self, Form};
use super::shape::{form_of, keys_of};
use super::short::Room;
use super::table::{Found, Removed};
use super::{dense, node, order, table};
use crate::handle::Words;
use crate::machine::Worker;
use crate::memory::OutOfMemory;
use crate::program::Key;

/// The value of the element with these keys.
#[inline(always)]
pub(super) fn find_in(worker: &Worker, head: Head, of: Words) -> Option<Words> {
    let found = match head.form() {
        Form::Tuple => table::find(head, keys_of(worker, head), of),
        _ => find_single(head, of.get(0)),
    };
    found.map(|value| Words(value.as_ptr()))
}

/// The same where there is one key.
#[inline(always)]
pub(super) fn find_single(head: Head, key: u64) -> Found {
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
pub(super) fn insert(worker: &mut Worker, head: Head, of: Words) -> Result<Words, OutOfMemory> {
    let in_page = match head.form() {
        Form::Integer | Form::Flat => dense::insert(worker, head, of.get(0) as i64)?,
        _ => None,
    };
    let value = match in_page {
        Some(value) => value,
        None => {
            let keys = keys_of(worker, head);
            let value = table::insert(worker, head, keys, of)?;
            order::inserted(worker, head, keys, of, value);
            value
        }
    };
    head.set_count(head.count() + 1);
    Ok(value)
}

/// Removes an element, if it is there; the caller takes over what its value owned.
pub(super) fn remove(worker: &mut Worker, head: Head, of: Words) {
    if head.form().is_integer() && dense::remove(worker, head, of.get(0) as i64) {
        head.set_count(head.count() - 1);
        return;
    }
    let keys = keys_of(worker, head);
    match table::remove(worker, head, keys, of) {
        Removed::Nothing => return,
        Removed::Slot => order::removed_flat(worker, head, keys, of),
        Removed::Node(node) => {
            if !order::removed(worker, head, keys, node) {
                node::free(worker, keys, node);
            }
        }
    }
    head.set_count(head.count() - 1);
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
pub(super) fn head_in(worker: &mut Worker, word: Words, shape: u32) -> Result<Head, OutOfMemory> {
    match Head::of(word.get(0)) {
        Some(head) => Ok(head),
        None => {
            let head = Head::make(worker, shape, form_of(worker, shape))?;
            word.set(0, head.word());
            Ok(head)
        }
    }
}

/// Passes each element, keys and value, in any order to `f`, until `f` stops.
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

/// The values of at most `most` elements from the cursor on, in any order; advances the cursor.
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

/// The number of elements.
pub(crate) fn count(word: u64) -> usize {
    Head::of(word).map_or(0, |head| head.count() as usize)
}
