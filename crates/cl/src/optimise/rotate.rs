//! Loops that test at their start are made to test at their end.
//!
//! ```text
//! head: test; branch body after        head: test; branch body after
//! body: ...; jump head                 body: ...; test; branch body after
//! ```
//! A round has one jump less, and what is loaded before the loop is so only if there is a round.

use crate::ir::graph::{Graph, Loop};
use crate::ir::{BlockId, Function, Instruction, Terminator};

/// The most instructions of a test, which is duplicated.
const TEST_MAX: usize = 8;

/// Rotates all loops of the function with a short test.
pub(super) fn run(function: &mut Function) {
    let graph = Graph::of(function);
    for one in graph.loops() {
        if is_test(function, &one) {
            let ends = graph.predecessors(one.head).iter().filter(|it| one.blocks.contains(**it));
            ends.for_each(|end| repeat(function, one.head, *end));
        }
    }
}

/// Whether the head of the loop does nothing but find out whether there is another round.
fn is_test(function: &Function, one: &Loop) -> bool {
    let head = &function.blocks[one.head];
    let Terminator::Branch { then, otherwise, .. } = head.terminator.0 else { return false };
    let leaves = one.blocks.contains(then) != one.blocks.contains(otherwise);
    let is_plain = |instruction: &Instruction| {
        instruction.is_inline() && *instruction != Instruction::Checkpoint
    };
    leaves
        && then != one.head
        && otherwise != one.head
        && head.instructions.len() <= TEST_MAX
        && head.instructions.iter().all(|(instruction, _)| is_plain(instruction))
}

/// Puts the test at the end of a block that goes to it.
fn repeat(function: &mut Function, head: BlockId, end: BlockId) {
    if function.blocks[end].terminator.0 != Terminator::Jump(head) || end == head {
        return;
    }
    let (instructions, terminator) =
        (function.blocks[head].instructions.clone(), function.blocks[head].terminator.clone());
    let block = &mut function.blocks[end];
    block.instructions.extend(instructions);
    block.terminator = terminator;
}
