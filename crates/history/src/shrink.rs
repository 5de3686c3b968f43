//! The smallest part of a history that has no order.
//!
//! Each step keeps the proof valid for the whole. A read may be removed, as the others would keep
//! the order that they had with it. A change may be removed if the rest cannot be ordered with the
//! change placed anywhere.

use crate::model::Action;
use crate::search::{Call, Found, search};

/// States that one step may look at.
const STATES_PER_STEP: u64 = 1 << 14;
/// States that all steps may look at.
const STATES_MAX: u64 = 1 << 21;

/// A call and its position in the history.
type Kept<A> = (usize, Call<A>);

/// The calls, by position, that cannot be ordered, and the time by which they cannot.
pub(crate) fn shrink<A: Action + Clone>(calls: &[Call<A>]) -> (Vec<usize>, i64) {
    let end = first_end(calls);
    let kept = (0..).zip(calls).filter_map(|(number, call)| Some((number, until(call, end)?)));
    let mut shrinking = Shrinking { kept: kept.collect(), states_left: STATES_MAX };
    let anywhere = |(number, call): &Kept<A>| Some((*number, anywhere(call)));
    // Each pending operation doubles what the search has to look at.
    shrinking.try_all(|(_, call)| call.returned.is_none(), anywhere);
    shrinking.try_all(|(_, call)| call.action.only_reads(), |_| None);
    let mut actions: Vec<&mut A> =
        shrinking.kept.iter_mut().map(|(_, call)| &mut call.action).collect();
    A::merge(&mut actions);
    shrinking.try_all(|(_, call)| !call.action.only_reads() && call.invoked > i64::MIN, anywhere);
    let shown = shrinking.kept.iter().filter(|(_, call)| call.invoked > i64::MIN);
    (shown.map(|(number, _)| *number).collect(), end)
}

/// A history that has no order, as it shrinks.
struct Shrinking<A> {
    kept: Vec<Kept<A>>,
    states_left: u64,
}

impl<A: Action + Clone> Shrinking<A> {
    /// Replaces or removes calls that `may` go, in chunks of decreasing size, as long as there is
    /// no order.
    fn try_all(
        &mut self,
        may: impl Fn(&Kept<A>) -> bool,
        instead: impl Fn(&Kept<A>) -> Option<Kept<A>>,
    ) {
        let mut numbers: Vec<usize> =
            self.kept.iter().filter(|kept| may(kept)).map(|(number, _)| *number).collect();
        let mut size = numbers.len();
        while size > 0 {
            let mut left = Vec::new();
            for chunk in numbers.chunks(size) {
                let place = |kept: &Kept<A>| match chunk.binary_search(&kept.0) {
                    Ok(_) => instead(kept),
                    Err(_) => Some(kept.clone()),
                };
                let tried: Vec<Kept<A>> = self.kept.iter().filter_map(place).collect();
                if self.has_no_order(&tried) {
                    self.kept = tried
                } else {
                    left.extend_from_slice(chunk)
                }
            }
            numbers = left;
            size = (size / 2).min(numbers.len());
        }
    }

    fn has_no_order(&mut self, kept: &[Kept<A>]) -> bool {
        let calls: Vec<Call<A>> = kept.iter().map(|(_, call)| call.clone()).collect();
        let most = STATES_PER_STEP.min(self.states_left);
        let mut left = most;
        let found = search(&calls, &mut left);
        self.states_left -= most - left;
        found == Found::NoOrder
    }
}

/// A call that may have happened at any time or never, with any result; where that keeps the states
/// few, any number of times, which is weaker still.
fn anywhere<A: Action>(call: &Call<A>) -> Call<A> {
    let (invoked, returned, repeats) = (i64::MIN, None, A::HAS_FEW_STATES);
    Call { action: call.action.pending(), invoked, returned, repeats }
}

/// The first return by which there is no order. A part of a history up to a time has an order if
/// the whole has, so it can be found by halving.
fn first_end<A: Action + Clone>(calls: &[Call<A>]) -> i64 {
    let mut ends: Vec<i64> = calls.iter().filter_map(|call| call.returned).collect();
    ends.sort_unstable();
    ends.dedup();
    let at = ends.partition_point(|end| {
        let calls: Vec<Call<A>> = calls.iter().filter_map(|call| until(call, *end)).collect();
        let mut states_left = STATES_MAX;
        search(&calls, &mut states_left) == Found::Order
    });
    ends.get(at).copied().unwrap_or(i64::MAX)
}

/// A call as it stands at a time.
fn until<A: Action + Clone>(call: &Call<A>, end: i64) -> Option<Call<A>> {
    let has_returned = call.returned.is_some_and(|returned| returned <= end);
    match has_returned {
        _ if call.invoked > end => None,
        true => Some(call.clone()),
        false if call.action.pending().only_reads() => None,
        false => Some(Call { action: call.action.pending(), returned: None, ..*call }),
    }
}
