//! Sets of states of a communication: the start is 0, then comes the state after each message.

/// States in a word.
const WORD: usize = u64::BITS as usize;

/// A set of states. Up to 64 need no memory of their own.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct States {
    first: u64,
    rest: Box<[u64]>,
}

impl States {
    /// None of `count` states.
    pub(super) fn none(count: usize) -> States {
        let words = count.div_ceil(WORD).saturating_sub(1);
        States { first: 0, rest: vec![0; words].into() }
    }

    /// One of `count` states.
    pub(super) fn only(state: usize, count: usize) -> States {
        let mut states = States::none(count);
        states.add(state);
        states
    }

    /// Adds a state.
    pub(super) fn add(&mut self, state: usize) {
        let bit = 1 << (state % WORD);
        match (state / WORD).checked_sub(1) {
            None => self.first |= bit,
            Some(at) => self.rest[at] |= bit,
        }
    }

    /// Whether it has no state.
    pub(super) fn is_empty(&self) -> bool {
        self.first == 0 && self.rest.iter().all(|word| *word == 0)
    }

    /// Whether it has a state of another set.
    pub(super) fn meets(&self, other: &States) -> bool {
        let mut rest = self.rest.iter().zip(&other.rest);
        self.first & other.first != 0 || rest.any(|(own, other)| own & other != 0)
    }

    /// Adds the states of another set.
    pub(super) fn unite(&mut self, other: &States) {
        self.change(other, |own, other| own | other);
    }

    /// Removes states that another set does not have.
    pub(super) fn intersect(&mut self, other: &States) {
        self.change(other, |own, other| own & other);
    }

    /// Removes the states of another set.
    pub(super) fn subtract(&mut self, other: &States) {
        self.change(other, |own, other| own & !other);
    }

    fn change(&mut self, other: &States, of: impl Fn(u64, u64) -> u64) {
        self.first = of(self.first, other.first);
        for (own, other) in self.rest.iter_mut().zip(&other.rest) {
            *own = of(*own, *other);
        }
    }

    /// The states, ascending.
    pub(super) fn iter(&self) -> impl Iterator<Item = usize> {
        let words = std::iter::once(&self.first).chain(&self.rest).enumerate();
        words.flat_map(|(at, word)| {
            let bits = (0..WORD).filter(move |bit| word >> bit & 1 != 0);
            bits.map(move |bit| at * WORD + bit)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_of_any_size_are_sets() {
        for count in [3, 64, 65, 200] {
            let mut states = States::none(count);
            assert!(states.is_empty());
            let some: Vec<usize> =
                [0, 2, 63, 64, 127, 128, 199].into_iter().filter(|state| *state < count).collect();
            some.iter().for_each(|state| states.add(*state));
            assert_eq!(states.iter().collect::<Vec<_>>(), some);
            for &state in &some {
                let one = States::only(state, count);
                assert!(states.meets(&one) && one.meets(&states));
                let mut others = states.clone();
                others.subtract(&one);
                assert!(!others.meets(&one) && others != states);
                others.unite(&one);
                assert_eq!(others, states);
                others.intersect(&one);
                assert_eq!(others, one);
            }
        }
    }
}
