//! FOR.
//!
//! ```text
//!   enough? -- yes --> start --> round: the body --> more? -- yes --> step --> checkpoint --+
//!      | no                        ^                   | no                                 |
//!      '--> after                  |                   '--> after                           |
//!                                  '--------------------------------------------------------'
//! ```
//! The variable counts up, or down, to the bound and not past it, be it the last INTEGER.
//!
//! If the rounds are short, one of [`ROUNDS`] passes a checkpoint and the others pay nothing for
//! it: they count to a stop on the way to the last round, where the checkpoint is passed and the
//! next stop is set.

use crate::ir::{Binary, BlockId, Constant, Instruction, Register, Terminator, Type};
use crate::lower::builder::Builder;
use crate::lower::place::Prepared;
use crate::tree::{self, Expression, Sequence};

/// Rounds from one checkpoint to the next where they are short.
const ROUNDS: i64 = 32;

/// Instructions of a short round at most.
const SHORT: usize = 64;

/// How a loop counts.
struct Count {
    variable: Prepared,
    by: i64,
    /// The value from which on another step leads beyond the bound.
    last: Register,
    round: BlockId,
    step: BlockId,
    after: BlockId,
}

impl Builder<'_, '_> {
    pub(super) fn count(
        &mut self,
        variable: &tree::Place,
        (from, to): (&Expression, &Expression),
        by: i64,
        body: &Sequence,
    ) {
        let variable = self.prepare(variable);
        let first = self.value(from);
        let bound = self.register(Type::Integer);
        self.value_into(to, bound);
        self.store(&variable, first);
        let last = self.before(bound, by - by.signum());
        let (start, more, after) = (self.block(), self.block(), self.block());
        let count = Count { variable, by, last, round: self.block(), step: self.block(), after };
        let at = self.load(&count.variable, Type::Integer);
        let enough = if by > 0 { Binary::LessEqual } else { Binary::GreaterEqual };
        let condition = self.compare(enough, at, bound);
        self.end(Terminator::Branch { condition, then: start, otherwise: after });

        self.begin(count.round);
        let within = self.block_count();
        self.sequence(body);
        self.jump(more);
        // A stride is what so many rounds count.
        let stride = by.checked_mul(ROUNDS).filter(|_| self.is_short(&count, within));
        match stride {
            Some(stride) => self.count_by_strides(&count, stride, start, more),
            None => self.count_by_rounds(&count, start, more),
        }
        self.begin(after);
    }

    /// A checkpoint in each round.
    fn count_by_rounds(&mut self, count: &Count, start: BlockId, more: BlockId) {
        self.begin(start);
        self.jump(count.round);

        self.begin(more);
        let at = self.load(&count.variable, Type::Integer);
        self.leave_from(count, at, count.last, (count.after, count.step));

        self.begin(count.step);
        self.go_on(count, at);
        self.repeat_from(count.round);
    }

    /// A checkpoint in the first round, and then after each stride.
    fn count_by_strides(&mut self, count: &Count, stride: i64, start: BlockId, more: BlockId) {
        let stop = self.register(Type::Integer);
        let [at_stop, check, far, near, again] = std::array::from_fn(|_| self.rare_block());
        self.begin(start);
        let at = self.load(&count.variable, Type::Integer);
        self.emit(Instruction::Copy { to: stop, from: at });
        self.jump(count.round);

        self.begin(more);
        self.leave_from(count, at, stop, (at_stop, count.step));

        self.begin(at_stop);
        self.leave_from(count, at, count.last, (count.after, check));

        self.begin(check);
        self.emit(Instruction::Checkpoint);
        let limit = self.before(count.last, stride);
        let is_far = if count.by > 0 { Binary::Less } else { Binary::Greater };
        let condition = self.compare(is_far, at, limit);
        self.end(Terminator::Branch { condition, then: far, otherwise: near });
        self.begin(far);
        let stride = self.constant(Constant::Integer(stride));
        self.emit(Instruction::Binary {
            to: stop,
            operator: Binary::AddUnchecked,
            a: at,
            b: stride,
        });
        self.jump(again);
        self.begin(near);
        self.emit(Instruction::Copy { to: stop, from: count.last });
        self.jump(again);

        // Not by way of the step that each round takes, which then comes right after it.
        for block in [again, count.step] {
            self.begin(block);
            self.go_on(count, at);
            self.jump(count.round);
        }
    }

    /// Goes to the first block from the end on, else to the other.
    fn leave_from(&mut self, count: &Count, at: Register, end: Register, to: (BlockId, BlockId)) {
        let reached = if count.by > 0 { Binary::GreaterEqual } else { Binary::LessEqual };
        let condition = self.compare(reached, at, end);
        self.end(Terminator::Branch { condition, then: to.0, otherwise: to.1 });
    }

    fn go_on(&mut self, count: &Count, at: Register) {
        let (by, sum) = (self.constant(Constant::Integer(count.by)), self.register(Type::Integer));
        self.emit(Instruction::Binary { to: sum, operator: Binary::AddUnchecked, a: at, b: by });
        self.store(&count.variable, sum);
    }

    /// `bound - by`, or the end of INTEGER if there is no such number.
    fn before(&mut self, bound: Register, by: i64) -> Register {
        if by == 0 {
            return bound;
        }
        let (end, operator) =
            if by > 0 { (i64::MIN, Binary::GreaterEqual) } else { (i64::MAX, Binary::LessEqual) };
        let before = self.register(Type::Integer);
        let limit = self.constant(Constant::Integer(end.wrapping_add(by)));
        let by = self.constant(Constant::Integer(by));
        let condition = self.compare(operator, bound, limit);
        let (plain, edge, after) = (self.block(), self.block(), self.block());
        self.end(Terminator::Branch { condition, then: plain, otherwise: edge });
        self.begin(plain);
        self.emit(Instruction::Binary { to: before, operator: Binary::Subtract, a: bound, b: by });
        self.jump(after);
        self.begin(edge);
        self.emit(Instruction::Constant { to: before, value: Constant::Integer(end) });
        self.jump(after);
        self.begin(after);
        before
    }

    /// Whether a round is a few instructions that take next to no time, from its block and those
    /// that were made within; the variable counts and nobody else sets it.
    fn is_short(&self, count: &Count, within: usize) -> bool {
        let Prepared::Register(variable) = count.variable else { return false };
        let blocks = || self.finished(within, count.round);
        let instructions = || blocks().flat_map(|block| &block.instructions);
        let is_set = |instruction: &Instruction| {
            let mut set = false;
            instruction.assigned(|register| set |= register == variable);
            set
        };
        instructions().count() <= SHORT
            && instructions().all(|(one, _)| is_quick(one) && !is_set(one))
    }
}

/// Whether an instruction is a few of the machine. A loop within has a checkpoint, which is none.
fn is_quick(instruction: &Instruction) -> bool {
    let is_function = matches!(instruction, Instruction::Unary { .. });
    is_function || instruction.is_inline() && *instruction != Instruction::Checkpoint
}
