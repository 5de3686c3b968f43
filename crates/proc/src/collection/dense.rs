//! Elements with one integer key from 0 on, as far as such keys are dense: pages of 16 neighbours.
//!
//! ```text
//! page    0 bits of those that exist   1..17 values
//! ```
//! Page `key / 16` is named in a directory, which grows by doubling and may move; pages do not. A
//! key that is in no page may be in the table.

use super::address::{at, word_of};
use super::head::Head;
use crate::handle::Words;
use crate::machine::Worker;
use crate::memory::OutOfMemory;
use crate::program::WordKind;
use crate::words::FreeWord;

const PAGE: i64 = 16;
const PAGE_SIZE: usize = 8 * (1 + PAGE as usize);

/// A directory is at most this much longer than the number of pages requires.
const SLACK: u64 = 64;
/// Beyond this many pages a new one is made only if they have `FILL` elements on average: fewer
/// take less memory in the table.
const SPARSE_PAGES: u64 = 8;
const FILL: u64 = 4;

fn in_directory(head: Head, number: i64) -> Option<u64> {
    let number = u64::try_from(number).ok()?;
    (number < head.directory_length()).then_some(number)
}

/// The page of this number.
#[inline]
fn page(head: Head, number: i64) -> Option<Words> {
    let word = head.directory().get(in_directory(head, number)? as usize);
    (word != 0).then(|| at(word))
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

/// The value, 0, at a key that has none yet; none if it belongs into the table.
pub(super) fn insert(
    worker: &mut Worker,
    head: Head,
    key: i64,
) -> Result<Option<Words>, OutOfMemory> {
    let number = key.div_euclid(PAGE);
    let page = match page(head, number) {
        Some(page) => page,
        None => match new_page(worker, head, number)? {
            Some(page) => page,
            None => return Ok(None),
        },
    };
    page.set(0, page.get(0) | bit(key));
    Ok(Some(value(page, key)))
}

fn new_page(worker: &mut Worker, head: Head, number: i64) -> Result<Option<Words>, OutOfMemory> {
    let Ok(number) = u64::try_from(number) else { return Ok(None) };
    let pages = head.pages();
    let is_dense = pages < SPARSE_PAGES || head.dense() >= FILL * pages;
    if number >= pages * 2 + SLACK || !is_dense {
        return Ok(None);
    }
    if number >= head.directory_length() {
        extend(worker, head, number)?;
    }
    let page = Words(worker.memory.take(PAGE_SIZE)?.cast());
    head.directory().set(number as usize, word_of(page));
    head.set_pages(pages + 1);
    Ok(Some(page))
}

/// Makes the directory reach `number`.
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
    Ok(())
}

/// Removes a key; what its value owned is the caller's. Returns whether it was here.
pub(super) fn remove(worker: &mut Worker, head: Head, key: i64) -> bool {
    let number = key.div_euclid(PAGE);
    let Some(page) = page(head, number) else { return false };
    if page.get(0) & bit(key) == 0 {
        return false;
    }
    page.set(0, page.get(0) & !bit(key));
    value(page, key).set(0, 0);
    if page.get(0) == 0 {
        head.directory().set(number as usize, 0);
        head.set_pages(head.pages() - 1);
        worker.memory.give(page.0.cast(), PAGE_SIZE);
    }
    true
}

/// The number of places where elements may be.
pub(super) fn places(head: Head) -> u64 {
    head.directory_length() * PAGE as u64
}

/// The first key from a place on and before an end, with its value.
pub(super) fn from(head: Head, place: u64, end: u64) -> Option<(i64, Words)> {
    let mut mask = u64::MAX << (place % PAGE as u64);
    for number in place / PAGE as u64..end.div_ceil(PAGE as u64) {
        if let Some(page) = page(head, number as i64) {
            let bits = page.get(0) & mask;
            if bits != 0 {
                let key = number as i64 * PAGE + i64::from(bits.trailing_zeros());
                return Some((key, value(page, key)));
            }
        }
        mask = u64::MAX;
    }
    None
}

/// The first key above `after`, or of all; it is not needed if it is above `until`.
pub(super) fn above(head: Head, after: Option<i64>, until: Option<i64>) -> Option<i64> {
    let start = match after {
        Some(i64::MAX) => return None,
        Some(key) => (key + 1).max(0) as u64,
        None => 0,
    };
    let end = until.map_or(u64::MAX, |key| key.max(0) as u64);
    from(head, start, end.min(places(head))).map(|(key, _)| key)
}

/// Frees about `most` elements at a time from the cursor on, with what they own, and finally the
/// directory. Returns whether the directory is freed.
pub(super) fn free_some(
    worker: &mut Worker,
    head: Head,
    owned: (WordKind, FreeWord),
    most: usize,
) -> bool {
    let mut left = most.div_ceil(PAGE as usize);
    let length = head.directory_length();
    while head.freed() < length && left > 0 {
        let word = head.directory().get(head.freed() as usize);
        head.set_freed(head.freed() + 1);
        if word != 0 {
            left -= 1;
            free_page(worker, at(word), owned);
        }
    }
    if head.freed() < length {
        return false;
    }
    if length > 0 {
        worker.memory.give(head.directory().0.cast(), 8 * length as usize);
        head.set_directory(Words(std::ptr::null_mut()), 0);
        head.set_freed(0);
    }
    true
}

fn free_page(worker: &mut Worker, page: Words, (owned, free_word): (WordKind, FreeWord)) {
    let mut bits = if owned == WordKind::Scalar { 0 } else { page.get(0) };
    while bits != 0 {
        free_word(worker, owned, page.at(1 + bits.trailing_zeros() as usize));
        bits &= bits - 1;
    }
    worker.memory.give(page.0.cast(), PAGE_SIZE);
}
