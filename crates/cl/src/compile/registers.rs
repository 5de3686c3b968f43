//! Where the values of registers are while a function is translated.
//!
//! A register of one block is the value that it was given last. Others are variables of the
//! builder, whose values meet where blocks do; those that are needed in different parts of the
//! function share one. For each variable the builder keeps a row as long as there are blocks: did
//! each register have its own, a body of 20,000 statements would take gigabytes.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use tidemill_jit::Body;
use tidemill_jit::build::{Value, Variable};
use tidemill_stdx::id::{IdSet, IdVec};

use crate::compile::frame::Frame;
use crate::compile::machine;
use crate::ir::{BlockId, Function, Group, Instruction, Parameter, Part, Register, Role, Type};

#[derive(Debug, Clone, Copy)]
enum Home {
    /// Only ever a constant, which is not read from here.
    Constant,
    /// Of one block: its value, once it has one.
    Passing(Option<Value>),
    Variable(Variable),
}

/// The registers of a function.
#[derive(Debug)]
pub(super) struct Registers(IdVec<Register, Home>);

impl Registers {
    pub(super) fn of(function: &Function, frame: &Frame, body: &mut Body) -> Registers {
        let mut homes: IdVec<Register, Home> =
            function.registers.iter().map(|_| Home::Passing(None)).collect();
        frame.constants().iter().for_each(|(register, _)| homes[register] = Home::Constant);
        let shared = shared(function, frame);
        let is_variable = |register: &Register| !frame.constants().contains(*register);
        let spans = shared.iter().filter(is_variable);
        let spans = spans.filter_map(|register| Some((frame.span(register)?, register)));
        let mut spans: Vec<_> = spans.collect();
        spans.sort_unstable();
        // By their last block, those that may become free; of each type of the machine.
        let mut taken: [BinaryHeap<Reverse<(BlockId, usize)>>; 2] = Default::default();
        let mut variables = Vec::new();
        for ((first, last), register) in spans {
            let ty = function.registers[register];
            let taken = &mut taken[usize::from(ty == Type::Real)];
            let free = taken.peek().map(|one| one.0).filter(|one| one.0 < first);
            let number = match free {
                Some((_, number)) => {
                    taken.pop();
                    number
                }
                None => {
                    variables.push(body.declare_var(machine(ty)));
                    variables.len() - 1
                }
            };
            taken.push(Reverse((last, number)));
            let variable = variables[number];
            homes[register] = Home::Variable(variable);
        }
        Registers(homes)
    }

    /// The value of a register that is no constant.
    pub(super) fn get(&self, register: Register, body: &mut Body) -> Value {
        match self.0[register] {
            Home::Passing(Some(value)) => value,
            Home::Variable(variable) => body.use_var(variable),
            Home::Constant | Home::Passing(None) => unreachable!("{register} has no value"),
        }
    }

    pub(super) fn set(&mut self, register: Register, value: Value, body: &mut Body) {
        match &mut self.0[register] {
            Home::Constant => {}
            Home::Passing(home) => *home = Some(value),
            Home::Variable(variable) => body.def_var(*variable, value),
        }
    }
}

/// The registers that more than one block has, a suspended process keeps, or that may be given
/// their value in one of several ways.
fn shared(function: &Function, frame: &Frame) -> IdSet<Register> {
    let mut shared: IdSet<Register> = frame.all_needed().collect();
    for parameter in &function.parameters {
        if let Parameter::Register(register) = parameter {
            shared.insert(*register);
        }
    }
    // Where it is assigned first.
    let mut homes: IdVec<Register, Option<BlockId>> =
        function.registers.iter().map(|_| None).collect();
    for (id, block) in function.blocks.iter_enumerated() {
        let mut read = |part, homes: &IdVec<Register, Option<BlockId>>| {
            if let Part::Register(register, Role::Read | Role::Update) = part
                && homes[register] != Some(id)
            {
                shared.insert(register);
            }
        };
        let mut others = Vec::new();
        for (instruction, _) in &block.instructions {
            instruction.parts(&mut |part| read(part, &homes));
            instruction.parts(&mut |part| {
                if let Part::Register(register, Role::Write | Role::Update) = part {
                    let home = *homes[register].get_or_insert(id);
                    if home != id || !assigns_once(instruction) {
                        others.push(register);
                    }
                }
            });
        }
        block.terminator.0.parts(&mut |part| read(part, &homes));
        shared.extend(others);
    }
    shared
}

/// Whether the code of the instruction assigns at one place, which dominates the rest of its
/// block.
fn assigns_once(instruction: &Instruction) -> bool {
    match instruction.group() {
        Group::Scalar => !matches!(instruction, Instruction::Split { .. }),
        Group::Owned => true,
        Group::Message | Group::Component => false,
    }
}
