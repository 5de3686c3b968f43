//! Expressions: integers and truth values in registers of the machine, all else by calls.

use tidemill_jit::build::{BlockArg, InstBuilder, IntCC, Value as Ir, types};

use super::writer::{Operand, Writer};
use crate::expr::{End, Expr, Param};
use crate::function::FunctionId;
use crate::operator::{Binary, Unary};
use crate::value::Value;

/// The form in which the code holds a value, see [`Operand`].
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Int,
    Truth,
    Any,
}

impl Form {
    /// The common form of both.
    fn common(self, other: Form) -> Form {
        if self == other { self } else { Form::Any }
    }
}

impl Writer<'_, '_> {
    /// Writes an expression. One without a value is left to the interpreter, which evaluates it
    /// again and reports the failure; so the expression must be [repeatable](Expr::is_repeatable).
    pub(super) fn value(&mut self, expr: &Expr) -> Operand {
        match expr {
            Expr::Reg(reg) => self.register(*reg).unwrap_or_else(|| {
                self.slots.reads_unbound = true;
                Operand::Slot(reg.0 as usize)
            }),
            Expr::Const(constant) => match constant.get() {
                Value::Int(value) => Operand::Int(self.body.ins().iconst(types::I64, value)),
                Value::Bool(value) => {
                    Operand::Truth(self.body.ins().iconst(types::I8, i64::from(value)))
                }
                _ => Operand::Slot(self.slots.given(expr)),
            },
            Expr::Param(Param::NodeIndex | Param::NodeCount) => {
                let slot = self.slots.given(expr);
                Operand::Int(self.integer_in(slot))
            }
            Expr::Param(_) => Operand::Slot(self.slots.given(expr)),
            Expr::Unary(operator, operand) => self.unary(*operator, operand),
            Expr::Binary(operator, operands) => self.binary(*operator, &**operands),
            Expr::And(operands) => self.either(operands, false),
            Expr::Or(operands) => self.either(operands, true),
            Expr::In { operands, low, high } => self.ring(operands, *low, *high),
            Expr::If(branches) => self.branches(branches),
            Expr::Call(function, operands) => match (function.name(), &operands[..]) {
                // The function form of the operator.
                ("mod", [_, _]) => self.binary(Binary::Remainder, operands),
                _ => self.function(*function, operands),
            },
            Expr::List(_) | Expr::Matrix(_) => self.interpreted(expr),
        }
    }

    /// Calls a function, whose arguments lie one after the other.
    fn function(&mut self, function: FunctionId, operands: &[Expr]) -> Operand {
        let first = self.slots.several(operands.len());
        for (at, operand) in operands.iter().enumerate() {
            let operand = self.value(operand);
            self.store(operand, first + at);
        }
        let slot = self.slots.another();
        let (which, count) = (self.number(function.number()), self.number(operands.len()));
        let (from, to) = (self.address(first), self.address(slot));
        let result = self.call(self.helpers.function, &[which, from, count, to]);
        self.exit_if_zero(result);
        Operand::Slot(slot)
    }

    /// An expression that the interpreter evaluates.
    fn interpreted(&mut self, expr: &Expr) -> Operand {
        expr.for_each_reg(&mut |reg| {
            if let Some(operand) = self.register(reg) {
                self.store(operand, reg.0 as usize);
            }
        });
        let slot = self.slots.another();
        let what = self.body.address(std::ptr::from_ref(expr).addr());
        let to = self.address(slot);
        let result = self.call(self.helpers.evaluate, &[what, to]);
        self.exit_if_zero(result);
        Operand::Slot(slot)
    }

    fn unary(&mut self, operator: Unary, operand: &Expr) -> Operand {
        match (operator, self.value(operand)) {
            (Unary::Not, Operand::Truth(value)) => {
                Operand::Truth(self.body.ins().bxor_imm_u(value, 1))
            }
            (Unary::Not, Operand::Int(value)) => {
                Operand::Truth(self.body.ins().icmp_imm_u(IntCC::Equal, value, 0))
            }
            (Unary::Complement, Operand::Int(value)) => Operand::Int(self.body.ins().bnot(value)),
            (Unary::Negate, Operand::Int(value)) => {
                let zero = self.body.ins().iconst(types::I64, 0);
                let (negated, over) = self.body.ins().ssub_overflow(zero, value);
                Operand::Int(self.checked(negated, over))
            }
            (_, operand) => {
                let number = Unary::ALL.iter().position(|one| *one == operator).unwrap_or(0);
                let (number, value) = (self.number(number), self.address_of(operand));
                let slot = self.slots.another();
                let to = self.address(slot);
                let result = self.call(self.helpers.unary, &[number, value, to]);
                self.exit_if_zero(result);
                Operand::Slot(slot)
            }
        }
    }

    /// A result that is valid unless it overflowed.
    fn checked(&mut self, value: Ir, over: Ir) -> Ir {
        let exit = self.side_exit();
        self.leave_if(over, exit);
        value
    }

    fn binary(&mut self, operator: Binary, operands: &[Expr]) -> Operand {
        let (left, right) = (self.value(&operands[0]), self.value(&operands[1]));
        if let (Operand::Int(a), Operand::Int(b)) = (left, right)
            && let Some(result) = self.of_integers(operator, (a, b), known(&operands[1]))
        {
            return result;
        }
        let number = Binary::ALL.iter().position(|one| *one == operator).unwrap_or(0);
        let number = self.number(number);
        let (left, right) = (self.address_of(left), self.address_of(right));
        let slot = self.slots.another();
        let to = self.address(slot);
        let result = self.call(self.helpers.binary, &[number, left, right, to]);
        self.exit_if_zero(result);
        match comparison(operator) {
            // The result is a truth value.
            Some(_) => Operand::Truth(self.truth_in(slot)),
            None => Operand::Slot(slot),
        }
    }

    /// An operator on integers, if it takes few instructions. `by`: the right one, if it is known.
    fn of_integers(
        &mut self,
        operator: Binary,
        (a, b): (Ir, Ir),
        by: Option<i64>,
    ) -> Option<Operand> {
        if let Some(condition) = comparison(operator) {
            return Some(Operand::Truth(self.body.ins().icmp(condition, a, b)));
        }
        let (value, over) = match operator {
            Binary::Add => self.body.ins().sadd_overflow(a, b),
            Binary::Subtract => self.body.ins().ssub_overflow(a, b),
            Binary::Multiply => self.body.ins().smul_overflow(a, b),
            Binary::BitAnd => return Some(Operand::Int(self.body.ins().band(a, b))),
            Binary::BitOr => return Some(Operand::Int(self.body.ins().bor(a, b))),
            Binary::BitXor => return Some(Operand::Int(self.body.ins().bxor(a, b))),
            Binary::Divide => return Some(Operand::Int(self.quotient((a, b), by))),
            Binary::Remainder => return Some(Operand::Int(self.remainder((a, b), by))),
            Binary::ShiftLeft => return Some(Operand::Int(self.shift_left((a, b), by))),
            Binary::ShiftRight => {
                self.within_a_word(b, by);
                return Some(Operand::Int(self.body.ins().sshr(a, b)));
            }
            _ => return None,
        };
        Some(Operand::Int(self.checked(value, over)))
    }

    /// Division by 0 is an error, that by -1 may be one.
    fn quotient(&mut self, (a, b): (Ir, Ir), by: Option<i64>) -> Ir {
        if !by.is_some_and(|by| by != 0 && by != -1) {
            let shifted = self.body.ins().iadd_imm_u(b, 1);
            let odd = self.body.ins().icmp_imm_u(IntCC::UnsignedLessThanOrEqual, shifted, 1);
            let exit = self.side_exit();
            self.leave_if(odd, exit);
        }
        self.body.ins().sdiv(a, b)
    }

    fn remainder(&mut self, (a, b): (Ir, Ir), by: Option<i64>) -> Ir {
        if by.is_some_and(|by| by != 0 && by != -1) {
            return self.body.ins().srem(a, b);
        }
        let is_zero = self.body.ins().icmp_imm_u(IntCC::Equal, b, 0);
        let exit = self.side_exit();
        self.leave_if(is_zero, exit);
        // Modulo -1 it is 0, as it is modulo 1, which the machine can always divide by.
        let is_negative = self.body.ins().icmp_imm_s(IntCC::Equal, b, -1);
        let one = self.body.ins().iconst(types::I64, 1);
        let by = self.body.ins().select(is_negative, one, b);
        self.body.ins().srem(a, by)
    }

    fn shift_left(&mut self, (a, b): (Ir, Ir), by: Option<i64>) -> Ir {
        self.within_a_word(b, by);
        let shifted = self.body.ins().ishl(a, b);
        let back = self.body.ins().sshr(shifted, b);
        let lost = self.body.ins().icmp(IntCC::NotEqual, back, a);
        self.checked(shifted, lost)
    }

    /// Shifts by 64 bits and more are left to the interpreter.
    fn within_a_word(&mut self, bits: Ir, known: Option<i64>) {
        if !known.is_some_and(|bits| (0..64).contains(&bits)) {
            let wide = self.body.ins().icmp_imm_u(IntCC::UnsignedGreaterThan, bits, 63);
            let exit = self.side_exit();
            self.leave_if(wide, exit);
        }
    }

    /// The truth of a value, in 8 bits.
    pub(super) fn truth(&mut self, operand: Operand) -> Ir {
        match operand {
            Operand::Truth(value) => value,
            Operand::Int(value) => self.body.ins().icmp_imm_u(IntCC::NotEqual, value, 0),
            Operand::Slot(slot) => {
                let value = self.address(slot);
                let truth = self.call_plain(self.helpers.truth, &[value]);
                let has_none = self.body.ins().icmp_imm_u(IntCC::UnsignedGreaterThan, truth, 1);
                let exit = self.side_exit();
                self.leave_if(has_none, exit);
                self.body.ins().ireduce(types::I8, truth)
            }
        }
    }

    /// `a && b` or `a || b`: the second is evaluated unless the first `decides`.
    fn either(&mut self, operands: &[Expr; 2], decides: bool) -> Operand {
        let (more, end) = (self.body.create_block(), self.body.create_block());
        let result = self.body.append_block_param(end, types::I8);
        let first = self.value(&operands[0]);
        let first = self.truth(first);
        let first_as = [BlockArg::from(first)];
        if decides {
            self.body.ins().brif(first, end, &first_as, more, &[])
        } else {
            self.body.ins().brif(first, more, &[], end, &first_as)
        };
        self.body.switch_to_block(more);
        let second = self.value(&operands[1]);
        let second = self.truth(second);
        self.body.ins().jump(end, &[second.into()]);
        self.body.switch_to_block(end);
        Operand::Truth(result)
    }

    fn ring(&mut self, operands: &[Expr; 3], low: End, high: End) -> Operand {
        let all = [0, 1, 2].map(|at| self.value(&operands[at]));
        if let [Operand::Int(value), Operand::Int(from), Operand::Int(to)] = all {
            let (above, below) = (
                if low == End::Closed {
                    IntCC::SignedGreaterThanOrEqual
                } else {
                    IntCC::SignedGreaterThan
                },
                if high == End::Closed {
                    IntCC::SignedLessThanOrEqual
                } else {
                    IntCC::SignedLessThan
                },
            );
            let above = self.body.ins().icmp(above, value, from);
            let below = self.body.ins().icmp(below, value, to);
            let straight = self.body.ins().icmp(IntCC::SignedLessThan, from, to);
            let both = self.body.ins().band(above, below);
            let any = self.body.ins().bor(above, below);
            return Operand::Truth(self.body.ins().select(straight, both, any));
        }
        let [value, from, to] = all.map(|operand| self.address_of(operand));
        let closed = usize::from(low == End::Closed) + 2 * usize::from(high == End::Closed);
        let closed = self.number(closed);
        let inside = self.call_plain(self.helpers.ring, &[value, from, to, closed]);
        Operand::Truth(self.body.ins().ireduce(types::I8, inside))
    }

    fn branches(&mut self, [condition, then, otherwise]: &[Expr; 3]) -> Operand {
        let condition = self.value(condition);
        let condition = self.truth(condition);
        let [yes, no, end] = [(); 3].map(|()| self.body.create_block());
        self.body.ins().brif(condition, yes, &[], no, &[]);
        let form = self.form(then).common(self.form(otherwise));
        let slot = self.slots.another();
        let parameter = match form {
            Form::Int => Some(self.body.append_block_param(end, types::I64)),
            Form::Truth => Some(self.body.append_block_param(end, types::I8)),
            Form::Any => None,
        };
        for (block, branch) in [(yes, then), (no, otherwise)] {
            self.body.switch_to_block(block);
            match (self.value(branch), form) {
                (Operand::Int(value), Form::Int) | (Operand::Truth(value), Form::Truth) => {
                    self.body.ins().jump(end, &[value.into()]);
                }
                (operand, _) => {
                    self.store(operand, slot);
                    self.body.ins().jump(end, &[]);
                }
            }
        }
        self.body.switch_to_block(end);
        match (form, parameter) {
            (Form::Int, Some(value)) => Operand::Int(value),
            (Form::Truth, Some(value)) => Operand::Truth(value),
            _ => Operand::Slot(slot),
        }
    }

    /// The form in which [`Writer::value`] will give an expression.
    fn form(&self, expr: &Expr) -> Form {
        match expr {
            Expr::Reg(reg) => match self.register(*reg) {
                Some(Operand::Int(_)) => Form::Int,
                Some(Operand::Truth(_)) => Form::Truth,
                Some(Operand::Slot(_)) | None => Form::Any,
            },
            Expr::Const(constant) => match constant.get() {
                Value::Int(_) => Form::Int,
                Value::Bool(_) => Form::Truth,
                _ => Form::Any,
            },
            Expr::Unary(Unary::Not, operand) => match self.form(operand) {
                Form::Int | Form::Truth => Form::Truth,
                Form::Any => Form::Any,
            },
            Expr::Unary(_, operand) => match self.form(operand) {
                Form::Int => Form::Int,
                Form::Truth | Form::Any => Form::Any,
            },
            Expr::Binary(operator, _) if comparison(*operator).is_some() => Form::Truth,
            Expr::Binary(Binary::Power | Binary::Append, _) => Form::Any,
            Expr::Binary(_, operands) => self.form_of_both(&**operands),
            Expr::And(_) | Expr::Or(_) | Expr::In { .. } => Form::Truth,
            Expr::If(branches) => self.form(&branches[1]).common(self.form(&branches[2])),
            Expr::Param(Param::NodeIndex | Param::NodeCount) => Form::Int,
            Expr::Call(function, operands) if function.name() == "mod" => {
                self.form_of_both(operands)
            }
            Expr::Param(_) | Expr::Call(..) | Expr::List(_) | Expr::Matrix(_) => Form::Any,
        }
    }

    /// The form of the result of two operands.
    fn form_of_both(&self, operands: &[Expr]) -> Form {
        let are_integers = operands.iter().all(|operand| self.form(operand) == Form::Int);
        if are_integers { Form::Int } else { Form::Any }
    }

    /// Goes to `to` unless two values are equal.
    pub(super) fn leave_unless_equal(
        &mut self,
        one: Operand,
        other: Operand,
        to: tidemill_jit::build::Block,
    ) {
        let equal = match (one, other) {
            (Operand::Int(a), Operand::Int(b)) => self.body.ins().icmp(IntCC::Equal, a, b),
            _ => {
                let (a, b) = (self.address_of(one), self.address_of(other));
                self.call_plain(self.helpers.equal, &[a, b])
            }
        };
        self.leave_unless(equal, to);
    }
}

/// The integer that an expression is known to be.
fn known(expr: &Expr) -> Option<i64> {
    match expr {
        Expr::Const(constant) => match constant.get() {
            Value::Int(value) => Some(value),
            _ => None,
        },
        _ => None,
    }
}

/// The condition code of a comparison of integers.
fn comparison(operator: Binary) -> Option<IntCC> {
    Some(match operator {
        Binary::Equal => IntCC::Equal,
        Binary::NotEqual => IntCC::NotEqual,
        Binary::Less => IntCC::SignedLessThan,
        Binary::LessEqual => IntCC::SignedLessThanOrEqual,
        Binary::Greater => IntCC::SignedGreaterThan,
        Binary::GreaterEqual => IntCC::SignedGreaterThanOrEqual,
        _ => return None,
    })
}
