//! States as rows of numbers: the state of each node, the remaining faults and timers, the position
//! in the script, and the messages in flight, in an order that follows from what they contain.

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

/// The hash of a state, from that of another that it mostly equals.
pub(super) fn next_hash((before, hash): (&State, u128), after: &State, fixed: usize) -> u128 {
    let (old, sent) = before.split_at(fixed);
    let (new, now_sent) = after.split_at(fixed);
    let changed = (0..).zip(old.iter().zip(new)).filter(|(_, (old, new))| old != new);
    let hash = changed.fold(hash, |hash, (place, (old, new))| {
        hash.wrapping_sub(part(place, *old)).wrapping_add(part(place, *new))
    });
    let first = sent.iter().zip(now_sent).take_while(|(old, new)| old == new).count();
    let (gone, come) = (&sent[first..], &now_sent[first..]);
    let last = gone.iter().rev().zip(come.iter().rev()).take_while(|(old, new)| old == new).count();
    let (gone, come) = (&gone[..gone.len() - last], &come[..come.len() - last]);
    let message = |message: &u32| part(fixed as u32, *message);
    let hash = gone.iter().map(message).fold(hash, u128::wrapping_sub);
    come.iter().map(message).fold(hash, u128::wrapping_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_follows_from_that_of_another_state() {
        let fixed = 2 + HEADER;
        let states: [&State; 5] = [
            &[7, 8, 1, 0, 0],
            &[7, 9, 1, 0, 0, 3, 4, 4, 5],
            &[7, 9, 0, 0, 0, 3, 4, 5],
            &[7, 9, 0, 0, 0, 1, 3, 4, 5, 5],
            &[6, 9, 0, 2, 1, 4],
        ];
        for before in states {
            for after in states {
                let hash = next_hash((before, plain_hash(before, fixed)), after, fixed);
                assert_eq!(hash, plain_hash(after, fixed));
            }
        }
    }
}
