//! Arithmetic, memory, the console.

use tidemill_jit::asm::aligned;
use tidemill_jit::build::{FloatCC, InstBuilder, IntCC, MemFlagsData, Value, types};
use tidemill_proc::fault::{ANY_TYPE, Reason as Fault};

use crate::compile::translate::Translator;
use crate::ir::{
    Binary, ComponentId, Constant, Conversion, Guard, Instruction, Payload, Reason, Register, Type,
    Unary, Written,
};

/// Which result of a division is needed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Half {
    Quotient,
    Rest,
}

impl Translator<'_, '_, '_> {
    /// A register that is nothing but a constant.
    pub(super) fn constant_value(&mut self, constant: Constant) -> Value {
        let word = match constant {
            Constant::Integer(value) => value,
            Constant::Real(value) => return self.body.ins().f64const(value),
            Constant::Boolean(value) => i64::from(value),
            Constant::Character(value) => i64::from(value),
        };
        self.body.ins().iconst(types::I64, word)
    }

    /// What checkpoints need is split, too.
    fn split(&mut self, registers: &[Register]) {
        let worker = self.body.use_var(self.pacer);
        let worker = self.copy_of(worker, Type::Address);
        self.body.def_var(self.pacer, worker);
        for &register in registers {
            if self.constant(register).is_none() {
                let value = self.get(register);
                let value = self.copy_of(value, self.function.registers[register]);
                self.set(register, value);
            }
        }
    }

    /// A copy that the optimiser of the code generator does not see through: it is stored in one
    /// way and loaded in another. It is as a register that is spilled and loaded again.
    fn copy_of(&mut self, value: Value, ty: Type) -> Value {
        let row = self.row(1);
        let at = self.row_address(row);
        if ty == Type::Real {
            let bits = self.body.ins().bitcast(types::I64, MemFlagsData::new(), value);
            self.body.store_aligned(bits, at, 0);
            self.body.load_aligned(types::F64, at, 0)
        } else {
            self.body.store_aligned(value, at, 0);
            self.body.ins().atomic_load(types::I64, aligned(), at)
        }
    }

    pub(super) fn scalar(&mut self, instruction: &Instruction) {
        match instruction {
            Instruction::Constant { to, value } => {
                let value = self.constant_value(*value);
                self.set(*to, value);
            }
            Instruction::Copy { to, from } => {
                let value = self.get(*from);
                self.set(*to, value);
            }
            Instruction::Split { registers } => self.split(registers),
            Instruction::Binary { to, operator, a, b } => {
                let value = match self.function.registers[*a] {
                    Type::Real => self.real(*operator, *a, *b),
                    _ => self.integer(*operator, *a, *b),
                };
                self.set(*to, value);
            }
            Instruction::Unary { to, operator, a } => self.unary(*to, *operator, *a),
            Instruction::Convert { to, conversion, a } => self.convert(*to, *conversion, *a),
            Instruction::Random { to, low, high } => {
                let (low, high) = (self.get(*low), self.get(*high));
                let position = self.position();
                self.faults("random", &[low, high, position]);
                let value = self.result(Type::Integer);
                self.set(*to, value);
            }
            Instruction::Load { to, from } => {
                let from = self.place(*from);
                let value = self.load(from, self.function.registers[*to]);
                self.set(*to, value);
            }
            Instruction::Store { to, from } => {
                let to = self.place(*to);
                let value = self.get(*from);
                self.store(to, value);
            }
            Instruction::AddressOf { to, place } => {
                let address = self.place(*place);
                let value = self.pointer(address);
                self.set(*to, value);
            }
            Instruction::Write { from, form } => self.write(*from, *form),
            Instruction::WriteConstant { text } => {
                let bytes = self.body.data_address(self.unit.texts[*text]);
                let length = self.word(self.unit.ir.shown(*text).len() as i64);
                self.plain("write_bytes", &[bytes, length]);
            }
            _ => _ = self.plain("write_line", &[]),
        }
    }

    fn integer(&mut self, operator: Binary, a: Register, b: Register) -> Value {
        let (known, x, y) = (self.constant(b), self.get(a), self.get(b));
        match operator {
            Binary::Add => self.sum(x, y, known),
            Binary::AddUnchecked => self.body.ins().iadd(x, y),
            Binary::SubtractUnchecked => self.body.ins().isub(x, y),
            Binary::MultiplyUnchecked => self.body.ins().imul(x, y),
            Binary::Subtract => self.difference(x, y, known),
            Binary::Multiply => self.product(a, b),
            Binary::Div => self.divide(x, y, known, Half::Quotient),
            Binary::Mod => self.divide(x, y, known, Half::Rest),
            comparison => self.compare(comparison, x, y),
        }
    }

    /// With a constant operand the overflow shows in the order of result and operand.
    fn sum(&mut self, x: Value, y: Value, known: Option<Constant>) -> Value {
        if let Some(Constant::Integer(by)) = known {
            let sum = self.body.ins().iadd(x, y);
            let wrapped = if by >= 0 { IntCC::SignedLessThan } else { IntCC::SignedGreaterThan };
            let over = self.body.ins().icmp(wrapped, sum, x);
            self.fault_if(over, Fault::Overflow as u32, None);
            return sum;
        }
        let (value, over) = self.body.ins().sadd_overflow(x, y);
        self.fault_if(over, Fault::Overflow as u32, None);
        value
    }

    fn difference(&mut self, x: Value, y: Value, known: Option<Constant>) -> Value {
        if let Some(Constant::Integer(by)) = known {
            let difference = self.body.ins().isub(x, y);
            let wrapped = if by >= 0 { IntCC::SignedGreaterThan } else { IntCC::SignedLessThan };
            let over = self.body.ins().icmp(wrapped, difference, x);
            self.fault_if(over, Fault::Overflow as u32, None);
            return difference;
        }
        let (value, over) = self.body.ins().ssub_overflow(x, y);
        self.fault_if(over, Fault::Overflow as u32, None);
        value
    }

    /// With a constant factor the range of the other one decides, beside the multiplication.
    fn product(&mut self, a: Register, b: Register) -> Value {
        let (x, y) = (self.get(a), self.get(b));
        let factor = match (self.constant(a), self.constant(b)) {
            (_, Some(Constant::Integer(by))) => Some((x, by)),
            (Some(Constant::Integer(by)), _) => Some((y, by)),
            _ => None,
        };
        if let Some((other, by @ 2..)) = factor {
            let (least, most) = (i64::MIN / by, i64::MAX / by);
            let beyond = self.word(least);
            let beyond = self.body.ins().isub(other, beyond);
            let span = self.word(most.wrapping_sub(least));
            let over = self.body.ins().icmp(IntCC::UnsignedGreaterThan, beyond, span);
            self.fault_if(over, Fault::Overflow as u32, None);
            return match by {
                // The sum is one instruction, and a third as slow.
                3 | 5 | 9 => {
                    let most = self.body.ins().ishl_imm_u(other, i64::from((by - 1).ilog2()));
                    self.body.ins().iadd(other, most)
                }
                _ => self.body.ins().imul(x, y),
            };
        }
        let (value, over) = self.body.ins().smul_overflow(x, y);
        self.fault_if(over, Fault::Overflow as u32, None);
        value
    }

    /// DIV and MOD: rounded down, the rest has the sign of the divisor.
    fn divide(&mut self, x: Value, y: Value, known: Option<Constant>, half: Half) -> Value {
        match known {
            Some(Constant::Integer(by)) if by > 0 && by.count_ones() == 1 => {
                return match half {
                    Half::Quotient => self.body.ins().sshr_imm_u(x, i64::from(by.trailing_zeros())),
                    Half::Rest => self.body.ins().band_imm_s(x, by - 1),
                };
            }
            Some(Constant::Integer(by)) if by > 0 => return self.divide_by(x, by, half),
            _ => {
                let zero = self.body.ins().icmp_imm_s(IntCC::Equal, y, 0);
                self.fault_if(zero, Fault::DivisionByZero as u32, None);
            }
        }
        // Dividing 32 bits takes a fraction of the time of 64, and most numbers are small.
        let (small, large) = (self.body.create_block(), self.body.create_block());
        let done = self.body.create_block();
        let result = self.body.append_block_param(done, types::I64);
        let bits = self.body.ins().bor(x, y);
        let high = self.body.ins().ushr_imm_u(bits, 32);
        self.body.ins().brif(high, large, &[], small, &[]);
        self.body.switch_to_block(small);
        let (low_x, low_y) =
            (self.body.ins().ireduce(types::I32, x), self.body.ins().ireduce(types::I32, y));
        let mut low = self.body.ins().udiv(low_x, low_y);
        if half == Half::Rest {
            let product = self.body.ins().imul(low, low_y);
            low = self.body.ins().isub(low_x, product);
        }
        let low = self.body.ins().uextend(types::I64, low);
        self.body.ins().jump(done, &[low.into()]);
        self.body.switch_to_block(large);
        let whole = self.divide_whole(x, y, half);
        self.body.ins().jump(done, &[whole.into()]);
        self.body.switch_to_block(done);
        result
    }

    /// By a positive constant: a multiplication, which the generator finds for what is not below 0.
    /// Of x below 0 the quotient is that of ~x, turned back: `x DIV by = ~(~x DIV by)`.
    fn divide_by(&mut self, x: Value, by: i64, half: Half) -> Value {
        let sign = self.body.ins().sshr_imm_u(x, 63);
        let magnitude = self.body.ins().bxor(x, sign);
        let divisor = self.word(by);
        let quotient = self.body.ins().udiv(magnitude, divisor);
        let quotient = self.body.ins().bxor(quotient, sign);
        match half {
            Half::Quotient => quotient,
            Half::Rest => {
                let product = self.body.ins().imul(quotient, divisor);
                self.body.ins().isub(x, product)
            }
        }
    }

    fn divide_whole(&mut self, x: Value, y: Value, half: Half) -> Value {
        let minus = self.body.ins().icmp_imm_s(IntCC::Equal, y, -1);
        let divisor = match half {
            Half::Quotient => {
                let least = self.body.ins().icmp_imm_s(IntCC::Equal, x, i64::MIN);
                let over = self.body.ins().band(least, minus);
                self.fault_if(over, Fault::Overflow as u32, None);
                y
            }
            // The rest of a division by -1 is that of one by 1, whose quotient always fits.
            Half::Rest => {
                let one = self.word(1);
                self.body.ins().select(minus, one, y)
            }
        };
        let quotient = self.body.ins().sdiv(x, divisor);
        let product = self.body.ins().imul(quotient, divisor);
        let rest = self.body.ins().isub(x, product);
        // Rounded to zero: one too much if there is a rest of the other sign.
        let signs = self.body.ins().bxor(rest, y);
        let differ = self.body.ins().icmp_imm_s(IntCC::SignedLessThan, signs, 0);
        let some = self.body.ins().icmp_imm_s(IntCC::NotEqual, rest, 0);
        let adjust = self.body.ins().band(differ, some);
        let (changed, unchanged) = match half {
            Half::Quotient => (self.body.ins().iadd_imm_s(quotient, -1), quotient),
            Half::Rest => (self.body.ins().iadd(rest, y), rest),
        };
        self.body.ins().select(adjust, changed, unchanged)
    }

    fn compare(&mut self, operator: Binary, x: Value, y: Value) -> Value {
        let condition = match operator {
            Binary::Equal => IntCC::Equal,
            Binary::NotEqual => IntCC::NotEqual,
            Binary::Less => IntCC::SignedLessThan,
            Binary::LessEqual => IntCC::SignedLessThanOrEqual,
            Binary::Greater => IntCC::SignedGreaterThan,
            _ => IntCC::SignedGreaterThanOrEqual,
        };
        let truth = self.body.ins().icmp(condition, x, y);
        self.body.ins().uextend(types::I64, truth)
    }

    fn real(&mut self, operator: Binary, a: Register, b: Register) -> Value {
        let (x, y) = (self.get(a), self.get(b));
        let condition = match operator {
            Binary::Add => return self.body.ins().fadd(x, y),
            Binary::Subtract => return self.body.ins().fsub(x, y),
            Binary::Multiply => return self.body.ins().fmul(x, y),
            Binary::DivideUnchecked => return self.body.ins().fdiv(x, y),
            Binary::Divide => {
                self.fault_if_zero(y);
                return self.body.ins().fdiv(x, y);
            }
            Binary::Equal => FloatCC::Equal,
            Binary::NotEqual => FloatCC::NotEqual,
            Binary::Less => FloatCC::LessThan,
            Binary::LessEqual => FloatCC::LessThanOrEqual,
            Binary::Greater => FloatCC::GreaterThan,
            _ => FloatCC::GreaterThanOrEqual,
        };
        let truth = self.body.ins().fcmp(condition, x, y);
        self.body.ins().uextend(types::I64, truth)
    }

    /// One machine comparison finds a zero or a NaN; the slow path distinguishes them.
    fn fault_if_zero(&mut self, divisor: Value) {
        let (next, cold) = (self.body.create_block(), self.body.cold_block());
        let zero = self.body.ins().f64const(0.0);
        let may_be = self.body.ins().fcmp(FloatCC::UnorderedOrEqual, divisor, zero);
        self.body.ins().brif(may_be, cold, &[], next, &[]);
        self.body.switch_to_block(cold);
        let is = self.body.ins().fcmp(FloatCC::Equal, divisor, zero);
        self.fault_if(is, Fault::DivisionByZero as u32, None);
        self.body.ins().jump(next, &[]);
        self.body.switch_to_block(next);
    }

    fn unary(&mut self, to: Register, operator: Unary, a: Register) {
        let (ty, x) = (self.function.registers[a], self.get(a));
        let value = match operator {
            Unary::Negate if ty == Type::Integer => {
                let least = self.body.ins().icmp_imm_s(IntCC::Equal, x, i64::MIN);
                self.fault_if(least, Fault::Overflow as u32, None);
                self.body.ins().ineg(x)
            }
            Unary::Negate => self.body.ins().fneg(x),
            Unary::Not => self.body.ins().bxor_imm_s(x, 1),
            Unary::SquareRoot => self.body.ins().sqrt(x),
            Unary::Sine => self.value("sin", &[x]),
            Unary::Cosine => self.value("cos", &[x]),
            Unary::Tangent => self.value("tan", &[x]),
            Unary::ArcSine => self.value("arcsin", &[x]),
            Unary::ArcCosine => self.value("arccos", &[x]),
            Unary::ArcTangent => self.value("arctan", &[x]),
        };
        self.set(to, value);
    }

    fn convert(&mut self, to: Register, conversion: Conversion, a: Register) {
        let x = self.get(a);
        let value = match conversion {
            Conversion::IntegerToReal => self.body.ins().fcvt_from_sint(types::F64, x),
            Conversion::CharacterToInteger | Conversion::BooleanToInteger => x,
            Conversion::IntegerToCharacter => {
                let outside = self.body.ins().icmp_imm_u(IntCC::UnsignedGreaterThan, x, 255);
                self.fault_if(outside, Fault::Conversion as u32, Some(x));
                x
            }
            Conversion::RealToInteger => {
                let position = self.position();
                self.faults("integer_of_real", &[x, position]);
                self.result(Type::Integer)
            }
        };
        self.set(to, value);
    }

    fn write(&mut self, from: Payload, form: Written) {
        let (value, ty) = match from {
            Payload::Register(register) => (self.get(register), self.function.registers[register]),
            Payload::Copy(place) | Payload::Move(place) => {
                let from = self.place(place);
                (self.load(from, Type::Text), Type::Text)
            }
        };
        let name = match (ty, form) {
            (Type::Text, _) => "write_text",
            (Type::Real, _) => "write_real",
            (Type::Boolean, _) => "write_boolean",
            (Type::Character, Written::Plain) => "write_character",
            (_, Written::Hexadecimal) => "write_hex",
            _ => "write_integer",
        };
        self.plain(name, &[value]);
    }

    /// A fault that the source states.
    pub(super) fn stated_fault(&mut self, reason: Reason) {
        match reason {
            Reason::Assertion(Some(code)) => {
                let code = self.get(code);
                self.fault(Fault::Assertion as u32, Some(code));
            }
            Reason::Assertion(None) => self.fault(Fault::Asserted as u32, None),
            Reason::Halt(code) => {
                let code = self.get(code);
                self.fault(Fault::Halt as u32, Some(code));
            }
            Reason::NoResult => self.fault(Fault::NoResult as u32, None),
            Reason::Empty => self.fault(Fault::Empty as u32, None),
            Reason::Type(Guard { place, component }) => {
                let from = self.place(place);
                let (word, position) = (self.load(from, Type::Component), self.position());
                let kind = self.half(component.map_or(ANY_TYPE, ComponentId::raw));
                self.faults("fault_type", &[word, kind, position]);
                let unwind = self.unwind();
                self.body.ins().jump(unwind, &[]);
            }
        }
    }
}
