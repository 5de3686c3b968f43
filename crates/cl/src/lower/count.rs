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
//! Whether a variable in memory is counted in a register, and whether each round passes a
//! checkpoint, is decided when all functions are lowered: see [`promote`](crate::lower::promote)
//! and [`strides`](crate::lower::strides).

use crate::ir::{Binary, Constant, Instruction, Register, Terminator, Type};
use crate::lower::builder::Builder;
use crate::lower::place::Prepared;
use crate::lower::strides::{Counted, Variable};
use crate::tree::{Expression, Place, Sequence};

impl Builder<'_, '_> {
    pub(super) fn count(
        &mut self,
        variable: &Place,
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
        let (round, step) = (self.block(), self.block());
        let head = self.current();
        let at = self.load(&variable, Type::Integer);
        let enough = if by > 0 { Binary::LessEqual } else { Binary::GreaterEqual };
        let condition = self.compare(enough, at, bound);
        self.end(Terminator::Branch { condition, then: start, otherwise: after });

        self.begin(start);
        self.jump(round);

        self.begin(round);
        let within = self.block_count();
        self.sequence(body);
        self.jump(more);
        let within = within..self.block_count();

        self.begin(more);
        let at = self.load(&variable, Type::Integer);
        let reached = if by > 0 { Binary::GreaterEqual } else { Binary::LessEqual };
        let condition = self.compare(reached, at, last);
        self.end(Terminator::Branch { condition, then: after, otherwise: step });

        self.begin(step);
        let (difference, sum) =
            (self.constant(Constant::Integer(by)), self.register(Type::Integer));
        let operator = Binary::AddUnchecked;
        self.emit(Instruction::Binary { to: sum, operator, a: at, b: difference });
        self.store(&variable, sum);
        self.repeat_from(round);
        let variable = match variable {
            Prepared::Register(register) => Some(Variable::Register(register)),
            Prepared::Place(place) => Some(Variable::Memory { place, first }),
            _ => None,
        };
        if let Some(variable) = variable {
            let function = self.id;
            let counted =
                Counted { function, variable, by, last, head, start, round, within, more, step };
            self.context.counted.push(counted);
        }
        self.begin(after);
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
}
