//! Marks writes to component variables, in the word that [`watch`](super::watch) describes.

use tidemill_jit::build::{InstBuilder, types};

use crate::compile::translate::{Address, Translator};
use crate::ir::{Instruction, Terminator};

/// Whether the monitor may be given back at an instruction, and what it writes be written later.
fn may_release(instruction: &Instruction) -> bool {
    instruction.suspends(|_| true) || matches!(instruction, Instruction::Unlock)
}

impl Translator<'_, '_, '_> {
    /// A block begins.
    pub(super) fn begin_writes(&mut self) {
        self.writes.marked = 0;
    }

    /// Sets the bits of what an instruction is about to write.
    pub(super) fn mark_before(&mut self, instruction: &Instruction) {
        let bits = self.writes.of_instruction(instruction);
        self.mark(bits);
    }

    /// The same of what it wrote after it waited.
    pub(super) fn mark_after(&mut self, instruction: &Instruction) {
        if may_release(instruction) {
            self.writes.marked = 0;
            let bits = self.writes.of_instruction(instruction);
            self.mark(bits);
        }
    }

    /// A value may leave a variable at the end of a block.
    pub(super) fn mark_end(&mut self, terminator: &Terminator) {
        let bits = self.writes.of_terminator(terminator);
        self.mark(bits);
    }

    fn mark(&mut self, bits: u64) {
        let Some(offset) = self.unit.watch.offsets[self.function.component] else { return };
        if bits & !self.writes.marked == 0 {
            return;
        }
        self.writes.marked |= bits;
        let word = Address { base: self.component, offset };
        let written = self.body.load_aligned(types::I64, word.base, word.offset);
        let bits = self.word(self.writes.marked as i64);
        let written = self.body.ins().bor(written, bits);
        self.store(word, written);
    }
}
