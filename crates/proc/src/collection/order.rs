//! The ascending order of the elements in the tables, built when a FOREACH needs it.
//!
//! ```text
//! block    0 entries   1 how many   2 next place to collect from   3 sorted so far
//!          4 stack     5 its depth  6, 7 where a partition is      8 entry given last
//!          9 changes  10 of the list removed   11 its heads         12 random
//!         13 first of the removed nodes
//! entry    0 prefix of the key   1 node; its lowest bit: has been removed
//!          of a flat table: the key; another one: has been removed
//! ```
//! A large order is built incrementally: nodes are collected, then sorted by quicksort, whose stack
//! is a block of its own. It is kept for the next FOREACH. What is inserted meanwhile goes into a
//! skip list beside it, and the memory of what is removed stays until the order is dropped. That
//! happens after many changes, so that the cost of building another is amortised over them. Texts
//! in slots of a table move, so the order has copies of them in nodes of its own.

use std::cmp::Ordering;

use super::address::{at, word_of};
use super::head::{self, Head};
use super::key::{self, Form};
use super::shape::keys_of;
use super::short::Room;
use super::skip::{LEVELS, List};
use super::{node, skip, table};
use crate::handle::Words;
use crate::machine::Worker;
use crate::memory::OutOfMemory;
use crate::program::Key;

const ENTRIES: usize = 0;
const LENGTH: usize = 1;
const PLACE: usize = 2;
const SORTED: usize = 3;
const STACK: usize = 4;
const DEPTH: usize = 5;
const SCAN: usize = 6;
const LESS: usize = 7;
const CURSOR: usize = 8;
const CHANGES: usize = 9;
const UNLISTED: usize = 10;
const HEADS: usize = 11;
const RANDOM: usize = 12;
const REMOVED: usize = 13;
const SIZE: usize = 8 * 14;

/// In the node of an entry: its element has been removed.
const REMOVED_BIT: u64 = 1;

/// In `PLACE`: all nodes are collected.
const COLLECTED: u64 = u64::MAX;

/// Places visited, or entries compared, in one increment.
const PIECE: usize = 8192;
/// Segments up to this are sorted in one increment.
const LEAF: usize = 4096;
/// Segments that wait to be sorted. The elements are in the order of their hashes, so halves are
/// about equal and this is far more than any collection needs.
const DEPTH_MAX: usize = 96;
/// The distance at which nodes are prefetched.
const AHEAD: usize = 6;
/// Nodes freed at each change.
const FREED: usize = 8;

/// An element in its place.
#[repr(C)]
#[derive(Copy, Clone)]
struct Entry {
    prefix: u64,
    /// The address of its node; the lowest bit is set once it has been removed. In a flat table its
    /// key, and another number once it has been removed.
    node: u64,
}

impl Entry {
    fn keys(self) -> Words {
        node::keys_of(at(self.node & !REMOVED_BIT))
    }

    fn is_removed(self, head: Head) -> bool {
        match head.form() {
            Form::Flat => self.node ^ (1 << 63) != self.prefix,
            _ => self.node & REMOVED_BIT != 0,
        }
    }
}

/// How entries are compared.
#[derive(Copy, Clone)]
struct Comparison<'a> {
    keys: &'a [Key],
    is_prefix_all: bool,
}

fn comparison(head: Head, keys: &[Key]) -> Comparison<'_> {
    Comparison { keys, is_prefix_all: head.form().is_integer() }
}

impl Comparison<'_> {
    #[inline]
    fn is_less(self, a: Entry, b: Entry) -> bool {
        a.prefix < b.prefix
            || a.prefix == b.prefix && !self.is_prefix_all && self.order(a, b) == Ordering::Less
    }

    fn order(self, a: Entry, b: Entry) -> Ordering {
        let by_keys = || {
            if self.is_prefix_all {
                Ordering::Equal
            } else {
                key::compare(self.keys, a.keys(), b.keys())
            }
        };
        a.prefix.cmp(&b.prefix).then_with(by_keys)
    }
}

/// An order.
#[derive(Copy, Clone)]
struct Order(Words);

impl Order {
    fn of(head: Head) -> Option<Order> {
        (head.order() != 0).then(|| Order(at(head.order())))
    }

    fn get(self, place: usize) -> usize {
        self.0.get(place) as usize
    }

    fn set(self, place: usize, value: usize) {
        self.0.set(place, value as u64);
    }

    fn length(self) -> usize {
        self.get(LENGTH)
    }

    fn is_ready(self) -> bool {
        self.get(SORTED) == self.length()
    }

    /// Its entries. Only this file reads and writes them, and holds one such reference at a time.
    fn entries<'a>(self) -> &'a mut [Entry] {
        let entries = at(self.0.get(ENTRIES)).0.cast::<Entry>();
        // SAFETY: the block has `length` entries, zeroed; no other reference to them is alive, as
        // this file holds one at a time.
        unsafe { std::slice::from_raw_parts_mut(entries, self.length()) }
    }

    fn entry(self, index: usize) -> Entry {
        let words = at(self.0.get(ENTRIES)).at(2 * index);
        Entry { prefix: words.get(0), node: words.get(1) }
    }

    fn list(self, keys: &[Key]) -> Option<List<'_>> {
        let heads = self.0.get(HEADS);
        (heads != 0).then(|| List { heads: at(heads), keys })
    }

    fn make(worker: &mut Worker, head: Head) -> Result<Order, OutOfMemory> {
        let length = head.hashed() as usize;
        let order = Order(Words(worker.memory.take(SIZE)?.cast()));
        let entries = match worker.memory.take(16 * length) {
            Ok(entries) => Words(entries.cast()),
            Err(error) => {
                worker.memory.give(order.0.0.cast(), SIZE);
                return Err(error);
            }
        };
        order.0.set(ENTRIES, word_of(entries));
        order.set(LENGTH, length);
        order.0.set(RANDOM, 0x9E37_79B9_7F4A_7C15);
        head.set_order(word_of(order.0));
        Ok(order)
    }

    /// Collects the nodes of the next places. Until all are collected, `LESS` is their number.
    fn collect(self, worker: &mut Worker, head: Head, keys: &[Key]) -> Result<(), OutOfMemory> {
        let (entries, start) = (self.entries(), self.0.get(PLACE));
        let mut room = Room::default();
        let end = (start + PIECE as u64).min(table::places(head));
        let mut filled = self.get(LESS);
        for element in (start..end).filter_map(|place| table::element_at(head, place)) {
            let of = element.keys(head, &mut room);
            let prefix = key::prefix(keys, of);
            let node = match head.form() {
                Form::Flat => of.get(0),
                Form::FlatText => node::word(self.copy(worker, of)?),
                _ => node::word(node::of_value(element.value)),
            };
            if let Some(entry) = entries.get_mut(filled) {
                *entry = Entry { prefix, node };
            }
            filled += 1;
        }
        let is_over = end == table::places(head);
        debug_assert!(!is_over || filled == self.length(), "the table counts its elements");
        self.0.set(PLACE, if is_over { COLLECTED } else { end });
        self.set(LESS, if is_over { 0 } else { filled });
        Ok(())
    }

    /// A node with a copy of a text, which is freed with the order.
    fn copy(self, worker: &mut Worker, of: Words) -> Result<Words, OutOfMemory> {
        let node = node::make(worker, &[Key::Text], of)?;
        self.keep(node);
        Ok(node)
    }

    /// Keeps a node, which is in no table any more, until the order is dropped.
    fn keep(self, node: Words) {
        node::value_of(node).set(0, self.0.get(REMOVED));
        self.0.set(REMOVED, node::word(node));
    }

    /// A piece of sorting: up to `SORTED` all is done, the tops of the stack are the ends of the
    /// segments behind, the last of all is the end.
    fn sort(self, worker: &mut Worker, by: Comparison) -> Result<(), OutOfMemory> {
        let depth = self.get(DEPTH);
        let stack = at(self.0.get(STACK));
        let start = self.get(SORTED);
        let end = if depth > 0 { stack.get(depth - 1) as usize } else { self.length() };
        let segment = &mut self.entries()[start..end];
        if segment.len() <= LEAF || depth == DEPTH_MAX {
            segment.sort_unstable_by(|a, b| by.order(*a, *b));
            if depth > 0 {
                // The element at the end is the one that parted this segment from the next.
                self.set(DEPTH, depth - 1);
                self.set(SORTED, end + 1);
            } else {
                self.set(SORTED, end);
            }
            if self.is_ready() {
                self.free_stack(worker);
            }
            return Ok(());
        }
        if self.0.get(STACK) == 0 {
            let stack = Words(worker.memory.take(8 * DEPTH_MAX)?.cast());
            self.0.set(STACK, word_of(stack));
        }
        if self.get(SCAN) == 0 {
            let middle = median(segment, by);
            segment.swap(0, middle);
            self.set(SCAN, 1);
            self.set(LESS, 1);
        }
        let (scan, mut less) = (self.get(SCAN), self.get(LESS));
        let (pivot, until) = (segment[0], segment.len().min(scan + PIECE));
        for place in scan..until {
            let entry = segment[place];
            segment.swap(place, less);
            less += usize::from(by.is_less(entry, pivot));
        }
        if until < segment.len() {
            self.set(SCAN, until);
            self.set(LESS, less);
            return Ok(());
        }
        segment.swap(0, less - 1);
        at(self.0.get(STACK)).set(depth, (start + less - 1) as u64);
        self.set(DEPTH, depth + 1);
        self.set(SCAN, 0);
        Ok(())
    }

    fn free_stack(self, worker: &mut Worker) {
        let stack = self.0.take(STACK);
        if stack != 0 {
            worker.memory.give(at(stack).0.cast(), 8 * DEPTH_MAX);
        }
    }

    /// Counts a change; returns whether they are too many now.
    fn count_change(self) -> bool {
        let changes = self.get(CHANGES) + 1;
        self.set(CHANGES, changes);
        changes > (self.length() / 8).max(64)
    }

    /// Levels of nodes need not be good random numbers, but the same in each run: xorshift.
    fn random(self) -> u64 {
        let mut x = self.0.get(RANDOM);
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        self.0.set(RANDOM, x);
        x
    }

    /// Adds keys to the skip list, unless they are there, of before a removal. Texts among them are
    /// those of a node, or are copied.
    fn add(self, worker: &mut Worker, head: Head, of: Words) -> Result<(), OutOfMemory> {
        let keys = keys_of(worker, head);
        if self.0.get(HEADS) == 0 {
            let heads = Words(worker.memory.take(8 * LEVELS)?.cast());
            self.0.set(HEADS, word_of(heads));
        }
        if let Some(list) = self.list(keys)
            && list.find(of).is_none()
        {
            let of = match head.form() {
                Form::FlatText => node::keys_of(self.copy(worker, of)?),
                _ => of,
            };
            list.insert(worker, of, self.random())?;
        }
        Ok(())
    }

    /// The first entry above a key. Mostly the caller has the key of the entry returned last.
    fn first_above(self, by: Comparison, after: Words) -> usize {
        let prefix = key::prefix(by.keys, after);
        // Entries ascend, removed ones included: this holds from the wanted entry to the last.
        let is_above = |index: usize| {
            let entry = self.entry(index);
            match entry.prefix.cmp(&prefix) {
                Ordering::Equal if by.is_prefix_all => false,
                Ordering::Equal => key::compare(by.keys, entry.keys(), after) == Ordering::Greater,
                order => order == Ordering::Greater,
            }
        };
        let (cursor, length) = (self.get(CURSOR), self.length());
        let is_first = |index: usize| {
            (index == 0 || !is_above(index - 1)) && (index == length || is_above(index))
        };
        for near in [cursor, cursor + 1] {
            if near <= length && is_first(near) {
                return near;
            }
        }
        let (mut low, mut high) = (0, length);
        while low < high {
            let middle = low + (high - low) / 2;
            if is_above(middle) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        low
    }

    /// Marks the entry of an element that has been removed, if it is the one; an element without is
    /// in the skip list.
    fn mark(self, by: Comparison, of: Words, is: impl Fn(Entry) -> bool, mark: u64) {
        let index = self.first_above(by, of).wrapping_sub(1);
        if index < self.length() && is(self.entry(index)) {
            let node = at(self.0.get(ENTRIES)).at(2 * index + 1);
            node.set(0, node.get(0) ^ mark);
        } else {
            self.set(UNLISTED, self.get(UNLISTED) + 1);
        }
    }

    /// The keys of the first element above these, or of all.
    fn above(self, head: Head, keys: &[Key], after: Option<Words>) -> Option<Words> {
        let by = comparison(head, keys);
        let mut index = after.map_or(0, |after| self.first_above(by, after));
        while index < self.length() && self.entry(index).is_removed(head) {
            index += 1;
        }
        self.set(CURSOR, index);
        let sorted = (index < self.length()).then(|| self.keys_at(head, index));
        if index + AHEAD < self.length() {
            // A look-up of this key most likely follows soon.
            let entry = self.entry(index + AHEAD);
            if by.is_prefix_all {
                table::prefetch(head, entry.prefix ^ (1 << 63));
            }
            if head.form() != Form::Flat {
                head::prefetch(at(entry.node));
            }
        }
        let mut listed = None;
        if let Some(list) = self.list(keys) {
            listed = after.map_or_else(|| list.first(), |after| list.above(after));
            while let Some(node) = listed
                && self.get(UNLISTED) > 0
                && table::find(head, keys, skip::keys_of(node)).is_none()
            {
                listed = list.after(node);
            }
        }
        match (sorted, listed.map(skip::keys_of)) {
            (Some(one), Some(other)) if key::compare(keys, other, one) == Ordering::Less => {
                Some(other)
            }
            (Some(one), _) => Some(one),
            (None, other) => other,
        }
    }

    /// The keys of an entry.
    fn keys_at(self, head: Head, index: usize) -> Words {
        match head.form() {
            Form::Flat => at(self.0.get(ENTRIES)).at(2 * index + 1),
            _ => self.entry(index).keys(),
        }
    }
}

/// The place of the middle one of three.
fn median(segment: &[Entry], by: Comparison) -> usize {
    let mut places = [0, segment.len() / 2, segment.len() - 1];
    places.sort_by(|&a, &b| by.order(segment[a], segment[b]));
    places[1]
}

/// Whether the order is built; elements outside of tables need none.
pub(super) fn is_ready(head: Head) -> bool {
    head.hashed() == 0 || Order::of(head).is_some_and(Order::is_ready)
}

/// Builds an increment of the order.
pub(super) fn make_some(worker: &mut Worker, head: Head, keys: &[Key]) -> Result<(), OutOfMemory> {
    let order = match Order::of(head) {
        Some(order) => order,
        None => Order::make(worker, head)?,
    };
    if order.0.get(PLACE) != COLLECTED {
        return order.collect(worker, head, keys);
    }
    order.sort(worker, comparison(head, keys))
}

/// The keys of the first element in the tables above these, or of all. The order is ready.
pub(super) fn above(head: Head, keys: &[Key], after: Option<Words>) -> Option<Words> {
    if head.hashed() == 0 {
        return None;
    }
    Order::of(head)?.above(head, keys, after)
}

/// An element with these keys has been put into the table.
pub(super) fn inserted(worker: &mut Worker, head: Head, keys: &[Key], of: Words, value: Words) {
    free_trash(worker, head, keys, FREED);
    let Some(order) = Order::of(head) else { return };
    let of = match head.form() {
        Form::Flat | Form::FlatText => of,
        _ => node::keys_of(node::of_value(value)),
    };
    if !order.is_ready() || order.count_change() || order.add(worker, head, of).is_err() {
        give_up(worker, head, keys);
    }
}

/// A node has been taken out of the table; returns whether it stays in memory.
pub(super) fn removed(worker: &mut Worker, head: Head, keys: &[Key], node: Words) -> bool {
    let Some(order) = for_removal(worker, head, keys) else { return false };
    let word = node::word(node);
    let by = comparison(head, keys);
    order.mark(by, node::keys_of(node), |entry| entry.node == word, REMOVED_BIT);
    order.keep(node);
    true
}

/// The same of an element that was in its slot.
pub(super) fn removed_flat(worker: &mut Worker, head: Head, keys: &[Key], of: Words) {
    let Some(order) = for_removal(worker, head, keys) else { return };
    let by = comparison(head, keys);
    if head.form() == Form::Flat {
        let key = of.get(0);
        order.mark(by, of, |entry| entry.node == key, u64::MAX);
    } else {
        let is = |entry: Entry| {
            entry.node & REMOVED_BIT == 0 && key::compare(keys, entry.keys(), of) == Ordering::Equal
        };
        order.mark(by, of, is, REMOVED_BIT);
    }
}

/// The order that must be notified of a removal, if there is one.
fn for_removal(worker: &mut Worker, head: Head, keys: &[Key]) -> Option<Order> {
    free_trash(worker, head, keys, FREED);
    let order = Order::of(head)?;
    if !order.is_ready() || order.count_change() {
        give_up(worker, head, keys);
        return None;
    }
    Some(order)
}

/// Forgets the order; nodes are freed later.
pub(super) fn give_up(worker: &mut Worker, head: Head, keys: &[Key]) {
    while !free_trash(worker, head, keys, usize::MAX) {}
    let Some(order) = Order::of(head) else { return };
    head.set_order(0);
    head.set_trash(order.0.get(REMOVED));
    if let Some(list) = order.list(keys) {
        head.set_trash_list(list.first().map_or(0, word_of));
        worker.memory.give(list.heads.0.cast(), 8 * LEVELS);
    }
    order.free_stack(worker);
    worker.memory.give(at(order.0.get(ENTRIES)).0.cast(), 16 * order.length());
    worker.memory.give(order.0.0.cast(), SIZE);
}

/// Frees at most `most` nodes of dropped orders; returns whether none is left.
pub(super) fn free_trash(worker: &mut Worker, head: Head, keys: &[Key], most: usize) -> bool {
    if head.trash() == 0 && head.trash_list() == 0 {
        return true;
    }
    let mut left = most;
    while left > 0 && head.trash() != 0 {
        left -= 1;
        let node = at(head.trash());
        head.set_trash(node::value_of(node).get(0));
        node::free(worker, keys, node);
    }
    let list = List { heads: Words(std::ptr::null_mut()), keys };
    while left > 0 && head.trash_list() != 0 {
        left -= 1;
        let node = at(head.trash_list());
        head.set_trash_list(list.after(node).map_or(0, word_of));
        list.free_node(worker, node);
    }
    head.trash() == 0 && head.trash_list() == 0
}
