//! Elements with one integer key: pages of 16 neighbours.
//!
//! ```text
//! page    0 bits of those that exist   1..17 values
//! ```
//! A page is found by key / 16: those from 0 on, as far as they are dense, in a directory that
//! grows by doubling; others in a skip list. The directory may move, pages do not.

use super::head::Head;
use super::skip::{self, List};
use crate::handle::Words;
use crate::layout::Worker;
use crate::memory::OutOfMemory;
use crate::program::{Key, Kind};
use crate::words;

const PAGE: i64 = 16;
const PAGE_SIZE: usize = 8 * (1 + PAGE as usize);

/// A directory is at most this much longer than the number of pages asks for.
const SLACK: u64 = 64;

const PAGE_KEY: &[Key] = &[Key::Integer];

fn far(head: Head) -> List<'static> {
    List { heads: head.heads(), keys: PAGE_KEY }
}

fn in_directory(head: Head, number: i64) -> Option<u64> {
    let number = u64::try_from(number).ok()?;
    (number < head.directory_length()).then_some(number)
}

/// The page of this number.
fn page(head: Head, number: i64) -> Option<Words> {
    let word = match in_directory(head, number) {
        Some(place) => head.directory().get(place as usize),
        None if head.has_heads() => {
            let mut key = number as u64;
            far(head).find(Words(&raw mut key)).map_or(0, |node| skip::value_of(node).get(0))
        }
        None => 0,
    };
    (word != 0).then(|| skip::at(word))
}

fn bit(key: i64) -> u64 {
    1 << key.rem_euclid(PAGE)
}

fn value(page: Words, key: i64) -> Words {
    page.at(1 + key.rem_euclid(PAGE) as usize)
}

/// The value at a key.
pub(super) fn find(head: Head, key: i64) -> Option<Words> {
    let page = page(head, key.div_euclid(PAGE))?;
    (page.get(0) & bit(key) != 0).then(|| value(page, key))
}

/// The value at a key that has none yet: 0.
pub(super) fn insert(worker: &mut Worker, head: Head, key: i64) -> Result<Words, OutOfMemory> {
    let number = key.div_euclid(PAGE);
    let page = match page(head, number) {
        Some(page) => page,
        None => new_page(worker, head, number)?,
    };
    page.set(0, page.get(0) | bit(key));
    Ok(value(page, key))
}

fn new_page(worker: &mut Worker, head: Head, number: i64) -> Result<Words, OutOfMemory> {
    if number >= 0 && in_directory(head, number).is_none() {
        let dense = (number as u64) < head.pages() * 2 + SLACK;
        if dense {
            extend(worker, head, number as u64)?;
        }
    }
    if in_directory(head, number).is_none() {
        head.make_heads(worker)?;
    }
    let page = Words(worker.memory.take(PAGE_SIZE)?.cast());
    match in_directory(head, number) {
        Some(place) => head.directory().set(place as usize, skip::word_of(page)),
        None => {
            let mut key = number as u64;
            let random = head.random();
            match far(head).insert(worker, Words(&raw mut key), random) {
                Ok(node) => skip::value_of(node).set(0, skip::word_of(page)),
                Err(error) => {
                    worker.memory.give(page.0.cast(), PAGE_SIZE);
                    return Err(error);
                }
            }
        }
    }
    head.set_pages(head.pages() + 1);
    Ok(page)
}

/// Makes the directory reach `number`; pages that it reaches now move into it.
fn extend(worker: &mut Worker, head: Head, number: u64) -> Result<(), OutOfMemory> {
    let old_length = head.directory_length();
    let length = (number + 1).max(old_length * 2).max(4);
    let new = Words(worker.memory.take(8 * length as usize)?.cast());
    let old = head.directory();
    for place in 0..old_length as usize {
        new.set(place, old.get(place));
    }
    if old_length > 0 {
        worker.memory.give(old.0.cast(), 8 * old_length as usize);
    }
    head.set_directory(new, length);
    if !head.has_heads() {
        return Ok(());
    }
    let mut from = old_length as i64 - 1;
    while let Some(node) = far(head).above(Words((&raw mut from).cast())) {
        from = skip::keys_of(node).get(0) as i64;
        if from as u64 >= length {
            break;
        }
        new.set(from as usize, skip::value_of(node).get(0));
        far(head).remove(worker, node);
    }
    Ok(())
}

/// Removes a key; what its value owned is the caller's.
pub(super) fn remove(worker: &mut Worker, head: Head, key: i64) {
    let number = key.div_euclid(PAGE);
    let Some(page) = page(head, number) else { return };
    page.set(0, page.get(0) & !bit(key));
    value(page, key).set(0, 0);
    if page.get(0) != 0 {
        return;
    }
    match in_directory(head, number) {
        Some(place) => head.directory().set(place as usize, 0),
        None => {
            let mut key = number as u64;
            if let Some(node) = far(head).find(Words(&raw mut key)) {
                far(head).remove(worker, node);
            }
        }
    }
    head.set_pages(head.pages() - 1);
    worker.memory.give(page.0.cast(), PAGE_SIZE);
}

/// The first page of at least this number, with its number.
fn page_from(head: Head, number: i64) -> Option<(i64, Words)> {
    let length = head.directory_length() as i64;
    // Those below 0 are far, then come those of the directory, then far ones again.
    if number < 0
        && let Some(found) = far_from(head, number)
        && found.0 < 0
    {
        return Some(found);
    }
    for place in number.max(0)..length {
        let word = head.directory().get(place as usize);
        if word != 0 {
            return Some((place, skip::at(word)));
        }
    }
    far_from(head, number.max(length))
}

fn far_from(head: Head, number: i64) -> Option<(i64, Words)> {
    if !head.has_heads() {
        return None;
    }
    let node = match number.checked_sub(1) {
        Some(mut before) => far(head).above(Words((&raw mut before).cast()))?,
        None => far(head).first()?,
    };
    let found = skip::value_of(node).get(0);
    Some((skip::keys_of(node).get(0) as i64, skip::at(found)))
}

/// The first key above `after`, or of all, with its value.
pub(super) fn next(head: Head, after: Option<i64>) -> Option<(i64, Words)> {
    let start = match after {
        Some(i64::MAX) => return None,
        Some(key) => key + 1,
        None => i64::MIN,
    };
    let mut number = start.div_euclid(PAGE);
    let mut mask = u64::MAX << start.rem_euclid(PAGE);
    loop {
        let (found, page) = page_from(head, number)?;
        if found != number {
            mask = u64::MAX;
        }
        let bits = page.get(0) & mask;
        if bits != 0 {
            let key = found * PAGE + i64::from(bits.trailing_zeros());
            return Some((key, value(page, key)));
        }
        number = found.checked_add(1)?;
        mask = u64::MAX;
    }
}

/// Frees at most about so many elements, what they own with them; at the end the directory and the
/// list. Whether that is so.
pub(super) fn free_some(worker: &mut Worker, head: Head, owned: Kind, most: usize) -> bool {
    let mut left = most.div_ceil(PAGE as usize);
    let length = head.directory_length();
    while head.freed() < length && left > 0 {
        let word = head.directory().get(head.freed() as usize);
        head.set_freed(head.freed() + 1);
        if word != 0 {
            left -= 1;
            free_page(worker, skip::at(word), owned);
        }
    }
    if head.freed() < length {
        return false;
    }
    let list = head.has_heads().then(|| far(head));
    while let Some(list) = list
        && let Some(node) = list.first()
    {
        if left == 0 {
            return false;
        }
        left -= 1;
        list.forget_first(node);
        free_page(worker, skip::at(skip::value_of(node).get(0)), owned);
        list.free_node(worker, node);
    }
    if length > 0 {
        worker.memory.give(head.directory().0.cast(), 8 * length as usize);
    }
    true
}

fn free_page(worker: &mut Worker, page: Words, owned: Kind) {
    let mut bits = if owned == Kind::Scalar { 0 } else { page.get(0) };
    while bits != 0 {
        words::free_word(worker, owned, page.at(1 + bits.trailing_zeros() as usize));
        bits &= bits - 1;
    }
    worker.memory.give(page.0.cast(), PAGE_SIZE);
}
