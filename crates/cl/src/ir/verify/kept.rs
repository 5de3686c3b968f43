//! What is kept across instructions: addresses of elements, and views of arrays.

use tidemill_stdx::id::{IdMap, IdSet};

use super::function::Verifier;
use crate::ir::liveness::Liveness;
use crate::ir::memory::{Effects, Memory};
use crate::ir::{Access, Instruction, Place, Register};

impl Verifier<'_> {
    /// Addresses of elements end before the next suspension or change of an element's place.
    pub(super) fn addresses(&mut self) {
        let mut elements = IdSet::<Register>::default();
        for (instruction, _) in self.function.blocks.iter().flat_map(|block| &block.instructions) {
            if let Instruction::ArrayElement { to, .. }
            | Instruction::ViewElement { to, .. }
            | Instruction::Element { to, .. } = instruction
            {
                elements.insert(*to);
            }
        }
        if elements.is_empty() {
            return;
        }
        let liveness = Liveness::of(self.function);
        for (id, block) in self.function.blocks.iter_enumerated() {
            let mut bad = Vec::new();
            liveness.visit(block, |index, instruction, before, after| {
                let moves = instruction.suspends(|_| true)
                    || matches!(instruction, Instruction::Element { access: Access::Make, .. });
                let is_kept = |it: Register| after.contains(it) && before.contains(it);
                if moves && elements.iter().any(is_kept) {
                    bad.push(index);
                }
            });
            for index in bad {
                self.fault_at(id, index, "the address of an element is kept across it");
            }
        }
    }

    /// A view ends before its array may be allocated anew or freed.
    pub(super) fn views(&mut self, effects: &Effects) {
        let mut views = IdMap::<Register, Place>::new();
        for (instruction, _) in self.function.blocks.iter().flat_map(|block| &block.instructions) {
            if let Instruction::ArrayView { to, array } = instruction
                && let Some(other) = views.insert(*to, *array)
                && other != *array
            {
                self.fault(format!("{to} is a view of two arrays"));
            }
        }
        if views.is_empty() {
            return;
        }
        let (memory, liveness) = (Memory::of(self.function, effects), Liveness::of(self.function));
        for (id, block) in self.function.blocks.iter_enumerated() {
            let mut bad = Vec::new();
            liveness.visit(block, |index, instruction, before, after| {
                let mut kept = views
                    .iter()
                    .filter(|(view, _)| after.contains(*view) && before.contains(*view));
                if kept.any(|(_, array)| memory.may_move(instruction, *array)) {
                    bad.push(index);
                }
            });
            for index in bad {
                self.fault_at(id, index, "a view is kept across it");
            }
        }
    }
}
