//! Where faults leave a function: a block for a few dozen places, which jumps to the one before.
//!
//! One block for all would be reached from everywhere. Where all ways to it meet is found by a walk
//! from each of them, which is quadratic in a body of thousands of statements.

use tidemill_jit::Body;
use tidemill_jit::build::{Block, InstBuilder};

/// Places for which there is a block.
const PLACES: u32 = 32;

#[derive(Debug)]
pub(super) struct Unwind {
    /// The one that leaves.
    leaving: Block,
    /// Those before it, the last one of which is given out.
    before: Vec<Block>,
    /// Places that know that one.
    places: u32,
}

impl Unwind {
    pub(super) fn of(body: &mut Body) -> Unwind {
        Unwind { leaving: body.cold_block(), before: Vec::new(), places: 0 }
    }

    /// The block that leaves the function.
    pub(super) fn leaving(&self) -> Block {
        self.leaving
    }

    /// For one more place.
    pub(super) fn block(&mut self, body: &mut Body) -> Block {
        if self.places == PLACES {
            self.before.push(body.cold_block());
            self.places = 0;
        }
        self.places += 1;
        self.before.last().copied().unwrap_or(self.leaving)
    }

    /// Emits the code before the block that leaves, and continues there.
    pub(super) fn finish(&self, body: &mut Body) {
        let next = std::iter::once(self.leaving).chain(self.before.iter().copied());
        for (block, next) in self.before.iter().zip(next) {
            body.switch_to_block(*block);
            body.ins().jump(next, &[]);
        }
        body.switch_to_block(self.leaving);
    }
}
