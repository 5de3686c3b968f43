//! One instance of a component that works on a stage.

use std::collections::VecDeque;

use tidemill_relation::{OwnedValue, SeqBuilder};

/// An instance and its queued inputs.
pub(super) struct Instance {
    /// Which of the stages.
    pub(super) stage: u32,
    /// The turn of its last input.
    pub(super) turn: u32,
    /// Its key.
    pub(super) key: OwnedValue,
    /// Tuples queued until it completes the current input.
    pub(super) queue: VecDeque<SeqBuilder>,
    /// It has not completed its current input.
    pub(super) is_at_work: bool,
    /// The inbox of the node had no room for its output.
    pub(super) is_held: bool,
    /// It ends when its queue is empty.
    pub(super) is_ending: bool,
}

impl Instance {
    pub(super) fn new(stage: u32, key: OwnedValue) -> Instance {
        let queue = VecDeque::new();
        Instance { stage, turn: 0, key, queue, is_at_work: false, is_held: false, is_ending: false }
    }

    /// Its inputs that wait or are in progress.
    pub(super) fn inputs(&self) -> u64 {
        (self.queue.len() + usize::from(self.is_at_work)) as u64
    }

    /// Whether it has no input.
    pub(super) fn is_idle(&self) -> bool {
        !self.is_at_work && self.queue.is_empty()
    }
}
