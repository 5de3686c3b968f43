//! States as rows of numbers: the state of each node, the remaining faults and timers, the position
//! in the script, and the messages in flight, sorted by number.

use super::seen::part;

/// A state; see the module.
pub(super) type State = [u32];

/// Indices into a state, counted from the end of the nodes: the remaining faults and timers.
pub(super) const BUDGETS: usize = 0;
/// The group of actions of the script.
pub(super) const GROUP: usize = 1;
/// A bit for each action of the group that has happened.
pub(super) const DONE: usize = 2;
/// The number of these words.
pub(super) const HEADER: usize = 3;

/// The hash of a state with `fixed` places before the messages.
pub(super) fn plain_hash(state: &State, fixed: usize) -> u128 {
    let (places, messages) = state.split_at(fixed);
    let places = (0..).zip(places).map(|(place, value)| part(place, *value));
    let messages = messages.iter().map(|message| part(fixed as u32, *message));
    places.chain(messages).fold(0, u128::wrapping_add)
}
