//! Which registers are still needed where: what a suspended process must keep.

use tidemill_stdx::id::{IdSet, IdVec};

use crate::ir::{Block, BlockId, Function, Instruction, Part, Register, Role};

/// The registers needed at the start of each block.
#[derive(Debug, Clone)]
pub struct Liveness {
    at_start: IdVec<BlockId, IdSet<Register>>,
}

impl Liveness {
    /// Solves the backward equations by rounds until no set grows. Blocks are visited from the
    /// last: most edges lead forward, so few rounds are needed.
    pub fn of(function: &Function) -> Liveness {
        let mut at_start: IdVec<BlockId, IdSet<Register>> =
            function.blocks.iter().map(|_| IdSet::default()).collect();
        let mut changed = true;
        while changed {
            changed = false;
            for (id, block) in function.blocks.iter_enumerated().rev() {
                let mut live = at_end(&at_start, block);
                for (instruction, _) in block.instructions.iter().rev() {
                    step_back(&mut live, instruction);
                }
                changed |= at_start[id].union_with(&live);
            }
        }
        Liveness { at_start }
    }

    /// The registers needed at the start of the block.
    pub fn at_start(&self, block: BlockId) -> &IdSet<Register> {
        &self.at_start[block]
    }

    /// Calls `visit` for each instruction of the block, last to first, with its index and the
    /// registers needed before and after it. A suspended process repeats its instruction, so it
    /// must keep those needed before.
    pub fn visit(
        &self,
        block: &Block,
        mut visit: impl FnMut(usize, &Instruction, &IdSet<Register>, &IdSet<Register>),
    ) {
        let mut after = at_end(&self.at_start, block);
        for (index, (instruction, _)) in block.instructions.iter().enumerate().rev() {
            let mut before = after.clone();
            step_back(&mut before, instruction);
            visit(index, instruction, &before, &after);
            after = before;
        }
    }
}

/// The registers needed before the terminator.
fn at_end(at_start: &IdVec<BlockId, IdSet<Register>>, block: &Block) -> IdSet<Register> {
    let mut live = IdSet::default();
    for target in block.terminator.0.targets() {
        live.union_with(&at_start[target]);
    }
    block.terminator.0.parts(&mut |part| {
        if let Part::Register(register, _) = part {
            live.insert(register);
        }
    });
    live
}

/// From what is needed after the instruction to what is needed before it.
fn step_back(live: &mut IdSet<Register>, instruction: &Instruction) {
    instruction.parts(&mut |part| {
        if let Part::Register(register, Role::Write) = part {
            live.remove(register);
        }
    });
    instruction.parts(&mut |part| {
        if let Part::Register(register, Role::Read | Role::Update) = part {
            live.insert(register);
        }
    });
}
