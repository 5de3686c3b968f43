//! States that wait, and how states were reached.

use super::row::State;
use super::steps::StepKind;

/// How a state was reached.
#[derive(Clone, Copy, Debug)]
pub(super) struct Discovery {
    /// The number of the previous state; of the start its own.
    pub(super) parent: u32,
    /// The index of the step, and its kind.
    pub(super) step: u32,
}

/// States of the frontier, stored one after the other.
#[derive(Default)]
pub(super) struct Layer {
    words: Vec<u32>,
    /// The number of each state, and its end.
    states: Vec<(u32, usize)>,
}

impl Layer {
    pub(super) fn push(&mut self, number: u32, state: &State) {
        self.words.extend_from_slice(state);
        self.states.push((number, self.words.len()));
    }

    /// The number of states.
    pub(super) fn len(&self) -> usize {
        self.states.len()
    }

    /// A state and its number.
    pub(super) fn get(&self, at: usize) -> Option<(u32, &State)> {
        let (number, end) = *self.states.get(at)?;
        let start = at.checked_sub(1).map_or(0, |before| self.states[before].1);
        Some((number, &self.words[start..end]))
    }

    /// The number of a state, which is copied to `state`.
    pub(super) fn read(&self, at: usize, state: &mut Vec<u32>) -> Option<u32> {
        let (number, found) = self.get(at)?;
        state.clear();
        state.extend_from_slice(found);
        Some(number)
    }

    pub(super) fn pop(&mut self, state: &mut Vec<u32>) -> Option<u32> {
        let last = self.states.len().checked_sub(1)?;
        let number = self.read(last, state);
        self.words.truncate(self.words.len() - state.len());
        self.states.pop();
        number
    }

    pub(super) fn bytes(&self) -> usize {
        self.words.capacity() * 4 + self.states.capacity() * 16
    }
}

/// The code of a step from a state: its number among those of its kind, and the kind.
pub(super) fn code(ordinal: u32, which: StepKind) -> u32 {
    ordinal << 1 | u32::from(which == StepKind::Outside)
}

/// The kind and number of a step.
pub(super) fn decode(code: u32) -> (StepKind, u32) {
    let which = if code & 1 == 1 { StepKind::Outside } else { StepKind::Turns };
    (which, code >> 1)
}
