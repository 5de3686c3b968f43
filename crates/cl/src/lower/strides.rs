//! Loops of FOR whose rounds are short pass a checkpoint once in a number of rounds.
//!
//! ```text
//!   start: stop = i + 32, but not beyond last
//!   round: ...
//!   more:  i >= stop? -- no --> step: i = i + 1; jump round
//!           | yes
//!          i >= last? -- yes --> after
//!           | no
//!          checkpoint; stop = i + 32, but not beyond last; i = i + 1; jump round
//! ```
//! They count to a stop on the way to the last round; a round needs no other test.

use std::ops::Range;

use tidemill_diag::Span;
use tidemill_stdx::id::Id;

use crate::ir::{
    Binary, Block, BlockId, Constant, Function, FunctionId, FunctionKind, Instruction, Place,
    Program, Register, Terminator, Type,
};

/// Rounds from one checkpoint to the next.
const ROUNDS: i64 = 32;

/// Instructions of a short round at most.
const SHORT: usize = 64;

/// The variable of a loop.
#[derive(Debug, Clone, Copy)]
pub(super) enum Variable {
    Register(Register),
    /// It is set to `first` before the first round.
    Memory {
        place: Place,
        first: Register,
    },
}

/// A lowered loop of FOR: with a checkpoint in each round.
#[derive(Debug)]
pub(super) struct Counted {
    pub(super) function: FunctionId,
    pub(super) variable: Variable,
    pub(super) by: i64,
    /// The value from which on another step leads beyond the bound.
    pub(super) last: Register,
    /// Compares the first value with the bound.
    pub(super) head: BlockId,
    /// Jumps to the first round.
    pub(super) start: BlockId,
    pub(super) round: BlockId,
    /// The blocks of the body beside `round`.
    pub(super) within: Range<usize>,
    /// Compares the variable with `last` and leaves, or goes to `step`.
    pub(super) more: BlockId,
    /// Counts, passes the checkpoint, and goes to `round`.
    pub(super) step: BlockId,
}

/// Gives strides to those of the loops that count in registers and whose rounds are short.
pub(super) fn run(program: &mut Program, loops: &[Counted]) {
    // A loop in a loop keeps its checkpoint until both have been visited.
    let short: Vec<(&Counted, Register)> = loops
        .iter()
        .filter_map(|counted| Some((counted, counted.register()?)))
        .filter(|(counted, variable)| counted.is_short(program, *variable))
        .collect();
    for (counted, variable) in short {
        if let Some(stride) = counted.by.checked_mul(ROUNDS) {
            counted.stride(&mut program.functions[counted.function], (variable, stride));
        }
    }
}

impl Counted {
    /// The blocks of the body.
    pub(super) fn body(&self) -> impl Iterator<Item = BlockId> + use<> {
        std::iter::once(self.round).chain(self.within.clone().map(BlockId::from_index))
    }

    /// The register that counts, if it is one.
    pub(super) fn register(&self) -> Option<Register> {
        match self.variable {
            Variable::Register(register) => Some(register),
            Variable::Memory { .. } => None,
        }
    }

    /// Whether a round is a few fast instructions, and only the loop sets its variable.
    fn is_short(&self, program: &Program, variable: Register) -> bool {
        let function = &program.functions[self.function];
        let size = self.body().try_fold(0, |sum, block| {
            let instructions = &function.blocks[block].instructions;
            instructions.iter().try_fold(sum, |sum, (instruction, _)| {
                let mut is_set = false;
                instruction.assigned(|register| is_set |= register == variable);
                if is_set { None } else { Some(sum + size(program, instruction)?) }
            })
        });
        size.is_some_and(|size| size <= SHORT)
    }

    fn stride(&self, function: &mut Function, (at, stride): (Register, i64)) {
        let span = function.blocks[self.step].terminator.1;
        let mut code = Code { function, span, is_rare: true };
        let stop = code.function.registers.push(Type::Integer);
        let Terminator::Branch { then: after, .. } = code.function.blocks[self.more].terminator.0
        else {
            unreachable!("{} branches", self.more);
        };
        let count = code.function.blocks[self.step].instructions.clone();
        let is_up = self.by > 0;

        // From the last block on, so that each knows where it goes to.
        let mut again = count;
        again.retain(|(instruction, _)| *instruction != Instruction::Checkpoint);
        code.function.blocks[self.step].instructions = again.clone();
        let again = code.block(again, Terminator::Jump(self.round));
        let check = self.stop(&mut code, at, (stop, stride), again);
        code.function.blocks[check].instructions.insert(0, (Instruction::Checkpoint, span));
        let reached = if is_up { Binary::GreaterEqual } else { Binary::LessEqual };
        let at_stop = code.branch(Vec::new(), (reached, at, self.last), (after, check));

        code.is_rare = false;
        let first = self.stop(&mut code, at, (stop, stride), self.round);
        code.function.blocks[self.start].terminator.0 = Terminator::Jump(first);
        let more = &mut code.function.blocks[self.more];
        more.terminator.0.lead(|target| if target == after { at_stop } else { target });
        let Some((Instruction::Binary { b, .. }, _)) = more.instructions.last_mut() else {
            unreachable!("{} compares", self.more);
        };
        *b = stop;
    }

    /// Blocks that set the stop and continue; returns the first of them.
    fn stop(
        &self,
        code: &mut Code<'_>,
        at: Register,
        (stop, stride): (Register, i64),
        then: BlockId,
    ) -> BlockId {
        let (is_up, span) = (self.by > 0, code.span);
        let near = vec![(Instruction::Copy { to: stop, from: self.last }, span)];
        let near = code.block(near, Terminator::Jump(then));
        let mut far = Vec::new();
        let by = code.constant(&mut far, stride);
        let ahead = Instruction::Binary { to: stop, operator: Binary::AddUnchecked, a: at, b: by };
        far.push((ahead, span));
        let far = code.block(far, Terminator::Jump(then));
        let mut measure = Vec::new();
        let (by, limit) =
            (code.constant(&mut measure, stride), code.function.registers.push(Type::Integer));
        let far_limit =
            Instruction::Binary { to: limit, operator: Binary::Subtract, a: self.last, b: by };
        measure.push((far_limit, span));
        let is_far = if is_up { Binary::Less } else { Binary::Greater };
        let measure = code.branch(measure, (is_far, at, limit), (far, near));
        // Next to the end of INTEGER there are fewer rounds than a stride has.
        let mut check = Vec::new();
        let end = if is_up { i64::MIN } else { i64::MAX };
        let end = code.constant(&mut check, end.wrapping_add(stride));
        let has_room = if is_up { Binary::GreaterEqual } else { Binary::LessEqual };
        code.branch(check, (has_room, self.last, end), (measure, near))
    }
}

/// Writes blocks.
struct Code<'a> {
    function: &'a mut Function,
    span: Span,
    /// Whether they are seldom reached.
    is_rare: bool,
}

impl Code<'_> {
    fn block(&mut self, instructions: Vec<(Instruction, Span)>, end: Terminator) -> BlockId {
        let terminator = (end, self.span);
        self.function.blocks.push(Block { instructions, terminator, is_rare: self.is_rare })
    }

    fn constant(&mut self, to: &mut Vec<(Instruction, Span)>, value: i64) -> Register {
        let register = self.function.registers.push(Type::Integer);
        let value = Constant::Integer(value);
        to.push((Instruction::Constant { to: register, value }, self.span));
        register
    }

    fn branch(
        &mut self,
        mut instructions: Vec<(Instruction, Span)>,
        (operator, a, b): (Binary, Register, Register),
        (then, otherwise): (BlockId, BlockId),
    ) -> BlockId {
        let condition = self.function.registers.push(Type::Boolean);
        instructions.push((Instruction::Binary { to: condition, operator, a, b }, self.span));
        self.block(instructions, Terminator::Branch { condition, then, otherwise })
    }
}

/// Instructions that run for it, if they are few and quick. A loop has a checkpoint, and a
/// procedure that calls itself has one, too.
fn size(program: &Program, instruction: &Instruction) -> Option<usize> {
    match instruction {
        Instruction::Call { function, .. } => {
            let callee = &program.functions[*function];
            let mut all = callee.blocks.iter().flat_map(|block| &block.instructions);
            let is_leaf = callee.kind == FunctionKind::Procedure
                && callee.locals.is_empty()
                && all.clone().all(|(one, _)| is_quick(one));
            is_leaf.then(|| 1 + all.by_ref().count())
        }
        other => is_quick(other).then_some(1),
    }
}

/// Whether an instruction is a few of the machine.
fn is_quick(instruction: &Instruction) -> bool {
    let is_function = matches!(instruction, Instruction::Unary { .. });
    is_function || instruction.is_inline() && *instruction != Instruction::Checkpoint
}
