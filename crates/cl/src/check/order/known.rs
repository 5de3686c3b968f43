//! The states that are known at a statement, of all parties of a routine.
//!
//! Branches copy them and change few, so they are in blocks that copies share: a copy costs a
//! pointer for each block, and where control flow meets, shared blocks need no work.

use std::rc::Rc;

use super::states::States;

/// Parties of a block.
const BLOCK: usize = 64;

/// The states of some parties; `None` where they are unknown.
type Block = Vec<Option<States>>;

/// The states of the parties of a routine, by number.
#[derive(Clone, Debug)]
pub(super) struct Facts {
    blocks: Vec<Rc<Block>>,
}

impl Facts {
    /// Nothing is known of that many parties.
    pub(super) fn nothing(count: usize) -> Facts {
        let empty: Rc<Block> = Rc::new(vec![None; BLOCK.min(count)]);
        Facts { blocks: vec![empty; count.div_ceil(BLOCK)] }
    }

    /// What is known of a party.
    pub(super) fn get(&self, party: usize) -> Option<&States> {
        self.blocks.get(party / BLOCK)?.get(party % BLOCK)?.as_ref()
    }

    /// Sets what is known of a party; returns what was known.
    pub(super) fn set(&mut self, party: usize, states: Option<States>) -> Option<States> {
        if self.get(party) == states.as_ref() {
            return states;
        }
        let block = Rc::make_mut(&mut self.blocks[party / BLOCK]);
        std::mem::replace(&mut block[party % BLOCK], states)
    }

    /// Forgets the parties of a range.
    pub(super) fn forget(&mut self, parties: std::ops::Range<usize>) {
        for (at, block) in self.blocks.iter_mut().enumerate() {
            let first = at * BLOCK;
            let own = parties.start.saturating_sub(first)..parties.end.saturating_sub(first);
            let own = own.start.min(block.len())..own.end.min(block.len());
            if block[own.clone()].iter().any(Option::is_some) {
                Rc::make_mut(block)[own].fill(None);
            }
        }
    }

    /// Whether something is known of a party of the range that `is_so`.
    pub(super) fn any(
        &self,
        parties: std::ops::Range<usize>,
        mut is_so: impl FnMut(usize, &States) -> bool,
    ) -> bool {
        parties.into_iter().any(|party| self.get(party).is_some_and(|states| is_so(party, states)))
    }

    /// What is known where control flow meets: of parties that are known on both sides.
    pub(super) fn join(&mut self, other: &Facts) {
        for (own, other) in self.blocks.iter_mut().zip(&other.blocks) {
            if Rc::ptr_eq(own, other) || own == other {
                continue;
            }
            for (states, other) in Rc::make_mut(own).iter_mut().zip(other.iter()) {
                match (&mut *states, other) {
                    (Some(states), Some(other)) => states.unite(other),
                    _ => *states = None,
                }
            }
        }
    }
}

/// Shared blocks need no look.
impl PartialEq for Facts {
    fn eq(&self, other: &Facts) -> bool {
        let mut blocks = self.blocks.iter().zip(&other.blocks);
        blocks.all(|(own, other)| Rc::ptr_eq(own, other) || own == other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parties_are_known_where_both_sides_know_them() {
        let mut one = Facts::nothing(150);
        for party in [0, 63, 64, 149] {
            assert_eq!(one.set(party, Some(States::only(1, 9))), None);
        }
        let mut other = one.clone();
        assert_eq!(other.set(63, Some(States::only(2, 9))), Some(States::only(1, 9)));
        other.set(149, None);
        assert!(one != other);
        one.join(&other);
        let states = |party: usize| one.get(party).map(|it| it.iter().collect::<Vec<_>>());
        assert_eq!(states(63), Some(vec![1, 2]));
        assert_eq!((states(64), states(149), states(7)), (Some(vec![1]), None, None));
        one.forget(1..65);
        assert!(one.any(0..150, |party, _| party == 0));
        assert!(!one.any(1..150, |_, _| true));
    }
}
