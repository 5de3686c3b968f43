//! Collections: maps from one or more typed keys to one word.
//!
//! Elements are in a hash table ([`table`]); those with one integer key from 0 on, as far as they
//! Elements are in a hash table ([`table`]); those with one integer key from 0 on, as far as they
//! are dense, in pages ([`dense`]). FOREACH visits them in ascending order, which is built on
//! demand ([`order`]). Elements do not move while they exist, so their addresses may be kept over
//! suspensions as long as they are not removed; those of a shape that is not
//! [pinned](crate::program::Shape::Collection) may be in the table itself, which moves them as it
//! grows. Large collections grow, are put in order and are freed incrementally.
//!
//! Generated code and the interpreter call the functions that take a [`Context`]; [`elements`] is
//! the collection as data.

mod address;
mod chunks;
mod cursor;
mod dense;
mod elements;
mod free;
mod head;
mod key;
mod node;
mod order;
mod shape;
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
use crate::program::Key;
use crate::text;
use crate::words;
pub(crate) use cursor::Cursor;
pub(crate) use elements::{count, find_or_insert, for_each, values, values_from};
use elements::{find_in, find_single, head_in, insert, remove};
pub(crate) use free::{free, free_some};
use head::Head;
use key::Form;
use shape::keys_of;
pub(crate) use shape::{element_of, shape_of};

/// Characters of a key in a report.
const SHOWN: usize = 60;

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
        missing(cx, collection, words_of(keys), position);
    }
    found
}

#[cold]
fn missing(cx: &mut Context, collection: u64, keys: Words, position: u32) {
    let text = match Head::of(collection) {
        Some(head) => {
            let shown = shown_keys(keys_of(cx.worker, head), keys, quoted);
            format!("the collection has no element [{shown}]")
        }
        None => "the collection is empty".to_owned(),
    };
    cx.fault_with(Reason::NoElement, text, position);
}

fn quoted(key: &str) -> String {
    match key.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{:?}...", &key[..end]),
        None => format!("{key:?}"),
    }
}

/// Keys as an index has them; `write` writes a TEXT.
pub(crate) fn shown_keys(kinds: &[Key], keys: Words, write: impl Fn(&str) -> String) -> String {
    let shown = kinds.iter().enumerate().map(|(i, kind)| match kind {
        Key::Integer => (keys.get(i) as i64).to_string(),
        Key::Text => write(&String::from_utf8_lossy(text::shown(keys.get(i)))),
    });
    shown.collect::<Vec<_>>().join(", ")
}

pub(crate) fn delete(cx: &mut Context, collection: u64, keys: *const u64) -> u32 {
    let is_over = cx.process.take_grant();
    let Some(head) = Head::of(collection) else { return OK };
    if head.form() == Form::Flat {
        // Its elements own no components, so the deleter need not wait.
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

/// Sets `at` to the smallest keys above it, or to the smallest of all; returns whether there are
/// any. The order is built already.
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
