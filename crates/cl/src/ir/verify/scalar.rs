//! Scalars, calls, and the console.

use super::function::Verifier;
use crate::ir::{
    Argument, Binary, Constant, Conversion, FunctionId, Instruction, Parameter, Payload, Register,
    Storage, TextId, Type, Unary,
};

impl Verifier<'_> {
    pub(super) fn scalar(&mut self, instruction: &Instruction) {
        use Type::{Address, Boolean, Character, Integer, Real};
        let types = &self.function.registers;
        match instruction {
            Instruction::Constant { to, value } => {
                let ty = match value {
                    Constant::Integer(_) => Integer,
                    Constant::Real(_) => Real,
                    Constant::Boolean(_) => Boolean,
                    Constant::Character(_) => Character,
                };
                self.is(*to, ty);
            }
            Instruction::Copy { to, from } => self.is(*to, types[*from]),
            Instruction::Split { .. } => {}
            Instruction::Binary { to, operator, a, b } => self.binary(*to, *operator, *a, *b),
            Instruction::Unary { to, operator, a } => {
                let ty = match operator {
                    Unary::Not => Boolean,
                    Unary::Negate if types[*a] == Integer => Integer,
                    _ => Real,
                };
                self.is(*a, ty);
                self.is(*to, ty);
            }
            Instruction::Convert { to, conversion, a } => {
                let (from, into) = match conversion {
                    Conversion::IntegerToReal => (Integer, Real),
                    Conversion::RealToInteger => (Real, Integer),
                    Conversion::CharacterToInteger => (Character, Integer),
                    Conversion::IntegerToCharacter => (Integer, Character),
                    Conversion::BooleanToInteger => (Boolean, Integer),
                };
                self.is(*a, from);
                self.is(*to, into);
            }
            Instruction::Random { to, low, high } => {
                [to, low, high].into_iter().for_each(|register| self.is(*register, Integer));
            }
            Instruction::Load { to: register, from: place }
            | Instruction::Store { to: place, from: register } => {
                self.holds(*place, types[*register]);
            }
            Instruction::AddressOf { to, .. } => self.is(*to, Address),
            Instruction::WriteConstant { text } => self.text(*text),
            Instruction::Call { result, function, arguments } => {
                self.call(*result, *function, arguments);
            }
            Instruction::WriteLine | Instruction::Write { .. } => {}
            _ => self.no_rule(),
        }
    }

    pub(super) fn text(&mut self, text: TextId) {
        if self.program.texts.get(text).is_none() {
            self.fault(format!("{text} does not exist"));
        }
    }

    fn binary(&mut self, to: Register, operator: Binary, a: Register, b: Register) {
        use Binary::{Add, Div, Divide, DivideUnchecked, Mod, Multiply, Subtract};
        use Binary::{AddUnchecked, MultiplyUnchecked, SubtractUnchecked};
        let ty = self.function.registers[a];
        self.is(b, ty);
        let fits = match operator {
            Add | Subtract | Multiply => matches!(ty, Type::Integer | Type::Real),
            Divide | DivideUnchecked => ty == Type::Real,
            AddUnchecked | SubtractUnchecked | MultiplyUnchecked | Div | Mod => ty == Type::Integer,
            _ => ty != Type::Address,
        };
        if !fits {
            self.fault(format!("no {operator:?} for {ty:?}"));
        }
        self.is(to, if operator.is_comparison() { Type::Boolean } else { ty });
    }

    fn call(&mut self, result: Option<Payload>, callee: FunctionId, arguments: &[Argument]) {
        let Some(callee) = self.program.functions.get(callee) else {
            return self.fault(format!("{callee} does not exist"));
        };
        if arguments.len() != callee.parameters.len() {
            self.fault("wrong number of arguments");
        }
        for (argument, parameter) in arguments.iter().zip(&callee.parameters) {
            let storage = match *parameter {
                Parameter::Register(register) => Storage::One(callee.registers[register]),
                Parameter::Local(local) => callee.locals[local].storage.clone(),
            };
            let Storage::One(ty) = storage else {
                self.fault("a parameter that is no single value");
                continue;
            };
            match *argument {
                Argument::Value(payload) => self.payload(payload, ty),
                Argument::Reference(register) => {
                    self.is(register, Type::Address);
                    if ty != Type::Address {
                        self.fault("an address for a value");
                    }
                }
            }
        }
        match (result, callee.result) {
            (Some(result), Some(ty)) => self.payload(result, ty),
            (Some(_), None) => self.fault("no result"),
            (None, Some(Type::Text | Type::Component)) => self.fault("an owned result is lost"),
            (None, _) => {}
        }
    }
}
