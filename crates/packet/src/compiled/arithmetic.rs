//! Operations on two numbers as code.
//!
//! What is known of the operands saves instructions: a sum that fits needs no test, and a number
//! that was loaded is compared with a constant in the order in which it lies in the packet.

use tidemill_jit::build::{InstBuilder, IntCC, Value as Number, types};

use super::writer::Writer;
use crate::kernel::Operator;

/// Two numbers, and what is known of them.
#[derive(Clone, Copy)]
pub(super) struct Operands {
    pub numbers: [Number; 2],
    /// The second, if it is a constant.
    pub known: Option<u64>,
    /// Neither is greater than its bound.
    pub bounds: [u64; 2],
}

impl Writer<'_, '_, '_> {
    /// The result of an operation.
    pub(super) fn binary(&mut self, operator: Operator, operands: Operands) -> Number {
        let condition = match operator {
            Operator::Eq => IntCC::Equal,
            Operator::Ne => IntCC::NotEqual,
            Operator::Lt => IntCC::UnsignedLessThan,
            Operator::Le => IntCC::UnsignedLessThanOrEqual,
            _ => return self.arithmetic(operator, operands),
        };
        let Operands { numbers: [a, b], known, .. } = operands;
        let is_equality = matches!(operator, Operator::Eq | Operator::Ne);
        let constant = known.filter(|_| is_equality);
        let loaded = constant.and_then(|known| self.compare_loaded(condition, a, known));
        let holds = loaded.unwrap_or_else(|| self.body.ins().icmp(condition, a, b));
        self.body.ins().uextend(types::I64, holds)
    }

    fn arithmetic(&mut self, operator: Operator, operands: Operands) -> Number {
        let Operands { numbers: [a, b], known, bounds } = operands;
        let sum_fits = bounds[0].checked_add(bounds[1]).is_some();
        let ins = self.body.ins();
        match operator {
            Operator::AddSat if sum_fits => ins.iadd(a, b),
            Operator::MulSat if bounds[0].checked_mul(bounds[1]).is_some() => ins.imul(a, b),
            Operator::Sum16 => self.sum16([a, b], bounds),
            Operator::Add => ins.iadd(a, b),
            Operator::Sub => ins.isub(a, b),
            Operator::Mul => match known {
                // One less than a power of two, which is faster.
                Some(factor) if factor > 2 && factor.wrapping_add(1).is_power_of_two() => {
                    let shifted = ins.ishl_imm_u(a, i64::from(factor.trailing_ones()));
                    self.body.ins().isub(shifted, a)
                }
                _ => ins.imul(a, b),
            },
            Operator::And => {
                let both = ins.band(a, b);
                if let Some(mask) = known {
                    self.note_masked(both, a, mask);
                }
                both
            }
            Operator::Or => ins.bor(a, b),
            Operator::Xor => ins.bxor(a, b),
            Operator::Min => ins.umin(a, b),
            Operator::Shl | Operator::Shr => self.shift(operator, [a, b], known),
            Operator::Div | Operator::Rem => self.divide(operator, a, b, known),
            Operator::AddSat => {
                let sum = ins.iadd(a, b);
                let over = self.body.ins().icmp(IntCC::UnsignedLessThan, sum, a);
                self.or_greatest(over, sum)
            }
            Operator::MulSat => {
                let product = ins.imul(a, b);
                let above = self.body.ins().umulhi(a, b);
                self.or_greatest(above, product)
            }
            Operator::SubSat => {
                let difference = ins.isub(a, b);
                let fits = self.body.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, a, b);
                self.or_zero(fits, difference)
            }
            Operator::Eq | Operator::Ne | Operator::Lt | Operator::Le => {
                unreachable!("comparisons are written elsewhere")
            }
        }
    }

    fn shift(&mut self, operator: Operator, [a, by]: [Number; 2], known: Option<u64>) -> Number {
        let shifted = match operator {
            Operator::Shl => self.body.ins().ishl(a, by),
            _ => self.body.ins().ushr(a, by),
        };
        if known.is_some_and(|by| by < 64) {
            return shifted;
        }
        // The machine would take the number modulo 64.
        let near = self.body.ins().icmp_imm_u(IntCC::UnsignedLessThan, by, 64);
        self.or_zero(near, shifted)
    }

    /// The sum of words of 16 bits: once it has 32 bits, its halves are added with their carry in
    /// the upper half of the sum of it and of itself with halves exchanged.
    fn sum16(&mut self, numbers: [Number; 2], bounds: [u64; 2]) -> Number {
        let fits = |sum: Option<u64>| sum.is_some_and(|sum| sum <= u32::MAX.into());
        let [a, b] = numbers;
        let sum = if fits(bounds[0].checked_add(bounds[1])) {
            self.body.ins().iadd(a, b)
        } else {
            let [a, b] = [a, b].map(|number| self.halves(number));
            let mut sum = self.body.ins().iadd(a, b);
            for _ in 0..2 {
                sum = self.halves(sum);
            }
            sum
        };
        let sum = self.body.ins().ireduce(types::I32, sum);
        let turned = self.body.ins().rotl_imm_u(sum, 16);
        let sum = self.body.ins().iadd(sum, turned);
        let sum = self.body.ins().ushr_imm_u(sum, 16);
        self.body.ins().uextend(types::I64, sum)
    }

    /// The sum of the halves of a number.
    fn halves(&mut self, number: Number) -> Number {
        let low = self.body.ins().band_imm_u(number, i64::from(u32::MAX));
        let high = self.body.ins().ushr_imm_u(number, 32);
        self.body.ins().iadd(low, high)
    }

    fn or_zero(&mut self, good: Number, number: Number) -> Number {
        let none = self.body.ins().iconst(types::I64, 0);
        self.body.ins().select(good, number, none)
    }

    fn or_greatest(&mut self, over: Number, number: Number) -> Number {
        let most = self.body.ins().iconst(types::I64, -1);
        self.body.ins().select(over, most, number)
    }

    /// The machine would trap at a divisor of 0: it divides by 1 then, and the result is 0.
    fn divide(&mut self, operator: Operator, a: Number, b: Number, known: Option<u64>) -> Number {
        let is_sure = known.is_some_and(|divisor| divisor != 0);
        let mut divisor = b;
        if !is_sure {
            let one = self.body.ins().iconst(types::I64, 1);
            divisor = self.body.ins().select(b, b, one);
        }
        let result = match operator {
            Operator::Div => self.body.ins().udiv(a, divisor),
            _ => self.body.ins().urem(a, divisor),
        };
        if is_sure { result } else { self.or_zero(b, result) }
    }
}
