//! Arithmetic, memory, the console.

use tidemill_proc::entry::Operation;
use tidemill_proc::fault::Reason as Fault;

use crate::interpret::step::{Done, Step};
use crate::ir::{
    Binary, Constant, Conversion, Instruction, Payload, Register, Type, Unary, Written,
};

impl Step<'_, '_, '_> {
    pub(super) fn scalar(&mut self, instruction: &Instruction) -> Done {
        match instruction {
            Instruction::Constant { to, value } => {
                let value = match *value {
                    Constant::Integer(value) => value as u64,
                    Constant::Real(value) => value.to_bits(),
                    Constant::Boolean(value) => u64::from(value),
                    Constant::Character(value) => u64::from(value),
                };
                self.set(*to, value);
            }
            Instruction::Split { .. } => {}
            Instruction::Copy { to, from } => self.set(*to, self.get(*from)),
            Instruction::Binary { to, operator, a, b } => {
                let value = match self.ty(*a) {
                    Type::Real => self.of_reals(*operator, self.real(*a), self.real(*b))?,
                    _ => self.of_integers(*operator, self.integer(*a), self.integer(*b))?,
                };
                self.set(*to, value);
            }
            Instruction::Unary { to, operator, a } => {
                let value = self.unary(*operator, *a)?;
                self.set(*to, value);
            }
            Instruction::Convert { to, conversion, a } => {
                let value = self.convert(*conversion, *a)?;
                self.set(*to, value);
            }
            Instruction::Random { to, low, high } => {
                let words = [self.get(*low), self.get(*high), self.position()];
                let value = self.result(Operation::random, &words)?;
                self.set(*to, value);
            }
            Instruction::Load { to, from } => self.set(*to, self.load(*from)),
            Instruction::Store { to, from } => self.store(*to, self.get(*from)),
            Instruction::AddressOf { to, place } => self.set(*to, self.address(*place)),
            Instruction::Write { from, form } => self.write(*from, *form),
            Instruction::WriteConstant { text } => {
                self.activation.write(self.machine.ir.shown(*text));
            }
            _ => _ = self.value(Operation::write_line, &[]),
        }
        Ok(())
    }

    fn of_integers(&mut self, operator: Binary, x: i64, y: i64) -> Done<u64> {
        let value = match operator {
            Binary::Add | Binary::AddUnchecked => x.checked_add(y),
            Binary::Subtract | Binary::SubtractUnchecked => x.checked_sub(y),
            Binary::Multiply | Binary::MultiplyUnchecked => x.checked_mul(y),
            Binary::Divide | Binary::DivideUnchecked | Binary::Div | Binary::Mod if y == 0 => {
                return Err(self.fault(Fault::DivisionByZero, 0));
            }
            Binary::Divide | Binary::DivideUnchecked | Binary::Div => {
                floored(x, y).map(|(quotient, _)| quotient)
            }
            // The only quotient that does not fit is of a division without rest.
            Binary::Mod => Some(floored(x, y).map_or(0, |(_, rest)| rest)),
            comparison => return Ok(compare(comparison, &x, &y)),
        };
        match value {
            Some(value) => Ok(value as u64),
            None => Err(self.fault(Fault::Overflow, 0)),
        }
    }

    fn of_reals(&mut self, operator: Binary, x: f64, y: f64) -> Done<u64> {
        let value = match operator {
            Binary::Add => x + y,
            Binary::Subtract => x - y,
            Binary::Multiply => x * y,
            Binary::Divide | Binary::DivideUnchecked | Binary::Div | Binary::Mod => {
                if y == 0.0 {
                    return Err(self.fault(Fault::DivisionByZero, 0));
                }
                x / y
            }
            comparison => return Ok(compare(comparison, &x, &y)),
        };
        Ok(value.to_bits())
    }

    fn unary(&mut self, operator: Unary, a: Register) -> Done<u64> {
        let operation = match operator {
            Unary::Negate if self.ty(a) == Type::Integer => {
                return match self.integer(a).checked_neg() {
                    Some(value) => Ok(value as u64),
                    None => Err(self.fault(Fault::Overflow, 0)),
                };
            }
            Unary::Negate => return Ok((-self.real(a)).to_bits()),
            Unary::Not => return Ok(self.get(a) ^ 1),
            Unary::Sine => Operation::sin,
            Unary::Cosine => Operation::cos,
            Unary::Tangent => Operation::tan,
            Unary::ArcSine => Operation::arcsin,
            Unary::ArcCosine => Operation::arccos,
            Unary::ArcTangent => Operation::arctan,
            Unary::SquareRoot => Operation::sqrt,
        };
        let x = self.get(a);
        Ok(self.value(operation, &[x]))
    }

    fn convert(&mut self, conversion: Conversion, a: Register) -> Done<u64> {
        match conversion {
            Conversion::IntegerToReal => Ok((self.integer(a) as f64).to_bits()),
            Conversion::CharacterToInteger | Conversion::BooleanToInteger => Ok(self.get(a)),
            Conversion::IntegerToCharacter => match self.integer(a) {
                code @ 0..=255 => Ok(code as u64),
                code => Err(self.fault(Fault::Conversion, code)),
            },
            Conversion::RealToInteger => {
                let words = [self.get(a), self.position()];
                self.result(Operation::integer_of_real, &words)
            }
        }
    }

    fn write(&mut self, from: Payload, form: Written) {
        let (value, ty) = match from {
            Payload::Register(register) => (self.get(register), self.ty(register)),
            Payload::Copy(place) | Payload::Move(place) => (self.load(place), Type::Text),
        };
        let operation = match (ty, form) {
            (Type::Text, _) => Operation::write_text,
            (Type::Real, _) => Operation::write_real,
            (Type::Boolean, _) => Operation::write_boolean,
            (Type::Character, Written::Plain) => Operation::write_character,
            (_, Written::Hexadecimal) => Operation::write_hex,
            _ => Operation::write_integer,
        };
        self.value(operation, &[value]);
    }
}

/// Quotient rounded down, and the rest; none if the quotient does not fit.
fn floored(x: i64, y: i64) -> Option<(i64, i64)> {
    let (quotient, rest) = (x.checked_div(y)?, x.checked_rem(y)?);
    if rest != 0 && (rest < 0) != (y < 0) {
        Some((quotient - 1, rest + y))
    } else {
        Some((quotient, rest))
    }
}

fn compare<T: PartialOrd>(operator: Binary, x: &T, y: &T) -> u64 {
    u64::from(match operator {
        Binary::Equal => x == y,
        Binary::NotEqual => x != y,
        Binary::Less => x < y,
        Binary::LessEqual => x <= y,
        Binary::Greater => x > y,
        _ => x >= y,
    })
}
