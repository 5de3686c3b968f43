//! The slots of a frame.
//!
//! ```text
//! registers | a key | columns of the head | constants, parameters, temporaries, as they come
//! ```

use crate::expr::Expr;
use crate::plan::{Lookup, Step, Strand};

/// The slots of one strand; more are allocated while it is written.
#[derive(Debug)]
pub(super) struct Slots {
    /// The first slot of a key that is looked up.
    pub(super) key: usize,
    /// The first column of the head.
    pub(super) head: usize,
    /// All of them.
    pub(super) count: usize,
    /// Look-ups that may find several rows.
    pub(super) walks: usize,
    /// The initial values of slots: constants of the strand that are no integers, and parameters.
    pub(super) given: Vec<(usize, *const Expr)>,
    /// The code reads registers that it has not bound.
    pub(super) reads_unbound: bool,
}

/// A strand that needs more is left to the interpreter.
const SLOTS_MAX: usize = 1024;

impl Slots {
    pub(super) fn new(strand: &Strand) -> Slots {
        let width = |step: &Step| lookup_of(step).map_or(0, |lookup| lookup.key.len());
        let key = strand.regs as usize;
        let head = key + strand.steps.iter().map(width).max().unwrap_or(0);
        let count = head + strand.output.columns.len();
        Slots { key, head, count, walks: 0, given: Vec::new(), reads_unbound: false }
    }

    /// Allocates a slot.
    pub(super) fn another(&mut self) -> usize {
        self.several(1)
    }

    /// Allocates `count` adjacent slots; returns the first.
    pub(super) fn several(&mut self, count: usize) -> usize {
        self.count += count;
        self.count - count
    }

    /// The slot of an expression of the strand that is evaluated before the code runs.
    pub(super) fn given(&mut self, expr: &Expr) -> usize {
        if let Some(&(slot, _)) = self.given.iter().find(|(_, one)| std::ptr::eq(*one, expr)) {
            return slot;
        }
        let slot = self.another();
        self.given.push((slot, expr));
        slot
    }

    pub(super) fn are_too_many(&self) -> bool {
        self.count > SLOTS_MAX
    }
}

/// The look-up of a step, if it is one.
pub(super) fn lookup_of(step: &Step) -> Option<&Lookup> {
    match step {
        Step::Join(lookup) | Step::Exists(lookup) | Step::Absent(lookup) => Some(lookup),
        Step::Let(..) | Step::Match(..) | Step::Filter(_) => None,
    }
}
