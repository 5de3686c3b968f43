//! One instance of a component that works on a stage.

use std::collections::VecDeque;

use tidemill_relation::{OwnedValue, SeqBuilder};

/// An instance, and what waits for it.
pub(super) struct Instance {
    /// Which of the stages.
    pub(super) stage: u32,
    /// The turn that had the last input.
    pub(super) turn: u32,
    /// The key that it is for.
    pub(super) key: OwnedValue,
    /// Tuples that wait until it has ended the one before.
    pub(super) queue: VecDeque<SeqBuilder>,
    /// It has an input that it has not ended.
    pub(super) is_at_work: bool,
    /// It has yielded something for which the node had no room.
    pub(super) is_held: bool,
    /// It ends when it has done all.
    pub(super) is_ending: bool,
}

impl Instance {
    pub(super) fn new(stage: u32, key: OwnedValue) -> Instance {
        let queue = VecDeque::new();
        Instance { stage, turn: 0, key, queue, is_at_work: false, is_held: false, is_ending: false }
    }

    /// Whether it has nothing to do.
    pub(super) fn is_idle(&self) -> bool {
        !self.is_at_work && self.queue.is_empty()
    }
}
