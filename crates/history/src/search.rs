//! The search for an order of operations.

use tidemill_stdx::hash::Set;

use crate::model::Action;

/// An operation as the search sees it.
#[derive(Clone, Debug)]
pub(crate) struct Call<A> {
    pub(crate) action: A,
    pub(crate) invoked: i64,
    /// `None`: pending.
    pub(crate) returned: Option<i64>,
    /// It may happen any number of times; only if it is pending.
    pub(crate) repeats: bool,
}

/// The result of the search.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Found {
    /// An order.
    Order,
    /// There is none.
    NoOrder,
    /// The limit of states was reached.
    TooMany,
}

/// The end of the list of entries, and its head.
const END: u32 = 0;

/// Calls and returns in the order of time, as a list from which those of operations that have been
/// placed are taken out.
struct Entries {
    /// By entry, from 1 on: the operation, and whether it is its call.
    what: Vec<(u32, bool)>,
    next: Vec<u32>,
    previous: Vec<u32>,
    /// By operation: the entries of its call and its return, if it has one.
    of: Vec<(u32, Option<u32>)>,
}

impl Entries {
    fn new<A>(calls: &[Call<A>]) -> Entries {
        let mut events: Vec<(i64, bool, u32)> = Vec::with_capacity(2 * calls.len());
        for (number, call) in (0..).zip(calls) {
            events.push((call.invoked, false, number));
            events.extend(call.returned.map(|returned| (returned, true, number)));
        }
        // At one time calls come first: operations that touch are concurrent.
        events.sort_unstable();
        let count = events.len() as u32;
        let mut entries = Entries {
            what: vec![(u32::MAX, false)],
            next: (1..=count).chain([END]).collect(),
            previous: [count].into_iter().chain(0..count).collect(),
            of: vec![(END, None); calls.len()],
        };
        for (entry, (_, returns, number)) in (1..).zip(events) {
            entries.what.push((number, !returns));
            if returns {
                entries.of[number as usize].1 = Some(entry)
            } else {
                entries.of[number as usize].0 = entry
            }
        }
        entries
    }

    fn unlink(&mut self, entry: u32) {
        let (before, after) = (self.previous[entry as usize], self.next[entry as usize]);
        self.next[before as usize] = after;
        self.previous[after as usize] = before;
    }

    /// Undoes the last [`Self::unlink`] that is not undone.
    fn relink(&mut self, entry: u32) {
        let (before, after) = (self.previous[entry as usize], self.next[entry as usize]);
        self.next[before as usize] = entry;
        self.previous[after as usize] = entry;
    }

    fn take_out(&mut self, operation: u32) {
        let (call, returns) = self.of[operation as usize];
        self.unlink(call);
        returns.into_iter().for_each(|entry| self.unlink(entry));
    }

    fn put_back(&mut self, operation: u32) {
        let (call, returns) = self.of[operation as usize];
        returns.into_iter().for_each(|entry| self.relink(entry));
        self.relink(call);
    }
}

/// The operations that have been placed.
struct Placed {
    words: Vec<u64>,
    /// By operation: its bit. Those that have returned come in the order of their calls, and
    /// pending ones after them: the former are placed nearly in order, so only a few words are
    /// neither full nor empty.
    bit: Vec<u32>,
    /// Words of those that have returned.
    completed_words: usize,
}

impl Placed {
    fn new<A>(calls: &[Call<A>]) -> Placed {
        let mut order: Vec<u32> = (0..calls.len() as u32).collect();
        let key = |number: &u32| {
            let call = &calls[*number as usize];
            (call.returned.is_none(), call.invoked, *number)
        };
        order.sort_unstable_by_key(key);
        let completed = calls.iter().filter(|call| call.returned.is_some()).count();
        let completed_words = completed.div_ceil(64);
        let mut bit = vec![0; calls.len()];
        for (place, number) in (0..).zip(order) {
            let padding = (completed_words * 64 - completed) as u32;
            let is_pending = calls[number as usize].returned.is_none();
            bit[number as usize] = place + if is_pending { padding } else { 0 };
        }
        let pending_words = (calls.len() - completed).div_ceil(64);
        Placed { words: vec![0; completed_words + pending_words], bit, completed_words }
    }

    fn flip<A>(&mut self, call: &Call<A>, operation: u32) {
        let bit = self.bit[operation as usize];
        self.words[bit as usize / 64] ^= u64::from(!call.repeats) << (bit % 64);
    }

    /// The same for equal sets only, and short.
    fn key(&self) -> Box<[u64]> {
        let (completed, pending) = self.words.split_at(self.completed_words);
        let full = completed.iter().take_while(|word| **word == u64::MAX).count();
        let used = |words: &[u64]| words.iter().rposition(|word| *word != 0).map_or(0, |at| at + 1);
        let completed = &completed[full..];
        let (completed, pending) = (&completed[..used(completed)], &pending[..used(pending)]);
        let head = (full as u64) << 32 | completed.len() as u64;
        [head].iter().chain(completed).chain(pending).copied().collect()
    }
}

/// Searches for an order of the calls; counts the states visited down from `states_left`.
pub(crate) fn search<A: Action>(calls: &[Call<A>], states_left: &mut u64) -> Found {
    let mut entries = Entries::new(calls);
    let mut placed = Placed::new(calls);
    let mut left = calls.iter().filter(|call| call.returned.is_some()).count();
    let mut state = A::State::default();
    let mut seen: Set<(Box<[u64]>, A::State)> = Set::default();
    // Operations, which of their steps was taken, and the state before it.
    let mut undo: Vec<(u32, u32, A::State)> = Vec::new();
    let (mut entry, mut number) = (entries.next[END as usize], 0);
    while left > 0 {
        let (operation, is_call) = entries.what[entry as usize];
        if entry != END && is_call {
            let call = &calls[operation as usize];
            if let Some(next) = call.action.nth_step(&state, number) {
                placed.flip(call, operation);
                if seen.insert((placed.key(), next.clone())) {
                    let Some(fewer) = states_left.checked_sub(1) else { return Found::TooMany };
                    *states_left = fewer;
                    undo.push((operation, number, std::mem::replace(&mut state, next)));
                    if !call.repeats {
                        entries.take_out(operation);
                    }
                    left -= usize::from(call.returned.is_some());
                    (entry, number) = (entries.next[END as usize], 0);
                    continue;
                }
                placed.flip(call, operation);
                number += 1;
                continue;
            }
            (entry, number) = (entries.next[entry as usize], 0);
            continue;
        }
        // A return whose operation has not been placed, or the end: no candidate can come first, so
        // backtrack.
        let Some((operation, tried, before)) = undo.pop() else { return Found::NoOrder };
        let call = &calls[operation as usize];
        state = before;
        placed.flip(call, operation);
        if !call.repeats {
            entries.put_back(operation);
        }
        left += usize::from(call.returned.is_some());
        (entry, number) = (entries.of[operation as usize].0, tried + 1);
    }
    Found::Order
}
