//! Objects that the caller defines.

use crate::model::Action;

/// A sequential object whose states are numbers, 0 at first.
pub trait Object {
    /// Of the states that an operation, by its position in the history, may lead to, the one with
    /// this `number`, from 0; `None` if there are not as many. If the operation is pending, every
    /// result fits.
    fn step(&self, state: u32, operation: usize, is_pending: bool, number: u32) -> Option<u32>;

    /// Whether an operation is known to change no state.
    fn only_reads(&self, operation: usize) -> bool;
}

/// An operation of such an object.
#[derive(Clone, Copy)]
pub(crate) struct Step<'o> {
    pub(crate) object: &'o dyn Object,
    pub(crate) operation: usize,
    pub(crate) is_pending: bool,
}

impl Action for Step<'_> {
    type State = u32;
    // Not known.
    const HAS_FEW_STATES: bool = false;

    fn step(&self, state: &u32) -> Option<u32> {
        self.nth_step(state, 0)
    }

    fn nth_step(&self, state: &u32, number: u32) -> Option<u32> {
        self.object.step(*state, self.operation, self.is_pending, number)
    }

    fn only_reads(&self) -> bool {
        self.object.only_reads(self.operation)
    }

    fn pending(&self) -> Self {
        Step { is_pending: true, ..*self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Operation, Value, Verdict, check_object};

    /// Three lamps of which `switch` lights any that is dark, and `read` gives the first.
    struct Lamps<'h>(&'h [Operation]);

    impl Object for Lamps<'_> {
        fn step(&self, state: u32, operation: usize, _: bool, number: u32) -> Option<u32> {
            let operation = &self.0[operation];
            if operation.name == "switch" {
                let dark = (0..3).filter(|lamp| state >> lamp & 1 == 0);
                return dark.map(|lamp| state | 1 << lamp).nth(number as usize);
            }
            let is_lit = Value::Bool(state & 1 == 1) == operation.result;
            (is_lit && number == 0).then_some(state)
        }

        fn only_reads(&self, operation: usize) -> bool {
            self.0[operation].name == "read"
        }
    }

    #[test]
    fn all_steps_of_an_object_with_a_choice_are_tried() {
        let operation = |name: &str, result, invoked| {
            let (name, argument, returned) = (name.to_owned(), Value::Null, Some(invoked));
            Operation { name, argument, result, invoked, returned }
        };
        let history = |lit: [bool; 4]| {
            let reads = (0..).zip(lit);
            let of = reads.flat_map(|(at, lit)| {
                let read = operation("read", Value::Bool(lit), 2 * at + 1);
                [read, operation("switch", Value::Null, 2 * at + 2)]
            });
            of.take(7).collect::<Vec<Operation>>()
        };
        for lit in 0..16 {
            let lit = std::array::from_fn(|at| lit >> at & 1 == 1);
            // Dark at first, and lit at the latest by the third.
            let is_right = !lit[0] && lit[3] && lit.is_sorted();
            let history = history(lit);
            let verdict = check_object(&Lamps(&history), &history).expect("it is in time");
            assert_eq!(verdict == Verdict::Linearizable, is_right, "{lit:?}");
        }
    }
}
