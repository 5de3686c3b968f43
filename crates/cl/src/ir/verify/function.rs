//! One function: its blocks, the numbers that they name, and the types of registers and places.

use std::fmt::Display;

use tidemill_diag::text::verify::Findings;

use crate::ir::form::Form;
use crate::ir::{
    Block, BlockId, Function, FunctionId, FunctionKind, Group, Instruction, Parameter, Part,
    Payload, Place, Program, Reason, Register, Storage, Terminator, Type,
};

/// A function that is verified.
pub(super) struct Verifier<'a> {
    pub(super) program: &'a Program,
    pub(super) function: &'a Function,
    pub(super) id: FunctionId,
    at: At,
    findings: &'a mut Findings,
}

/// Where in the function.
#[derive(Clone, Copy)]
pub(super) enum At {
    Head,
    Instruction(BlockId, usize),
    Terminator(BlockId),
}

impl<'a> Verifier<'a> {
    pub(super) fn new(
        program: &'a Program,
        id: FunctionId,
        findings: &'a mut Findings,
    ) -> Verifier<'a> {
        Verifier { program, function: &program.functions[id], id, at: At::Head, findings }
    }

    /// Records an error at this place.
    pub(super) fn fault(&mut self, message: impl Display) {
        let id = self.id;
        let mut text = String::new();
        match self.at {
            At::Head => self.findings.at(id),
            At::Instruction(block, index) => {
                self.function.blocks[block].instructions[index].0.write(&mut text);
                self.findings.at_instruction(format_args!("{id} {block}.{index}"), text);
            }
            At::Terminator(block) => {
                self.function.blocks[block].terminator.0.write(&mut text);
                self.findings.at_instruction(format_args!("{id} {block}.end"), text);
            }
        }
        self.findings.fail(message);
    }

    /// Records an error at an instruction.
    pub(super) fn fault_at(&mut self, block: BlockId, index: usize, message: impl Display) {
        self.at = At::Instruction(block, index);
        self.fault(message);
    }

    pub(super) fn function(&mut self) {
        for parameter in &self.function.parameters {
            let known = match *parameter {
                Parameter::Register(register) => self.function.registers.get(register).is_some(),
                Parameter::Local(local) => self.function.locals.get(local).is_some(),
            };
            if !known {
                self.fault("an unknown parameter");
            }
        }
        if self.function.registers.iter().any(|ty| matches!(ty, Type::Text | Type::Component)) {
            self.fault("a register that owns");
        }
        if self.function.blocks.is_empty() {
            self.fault("no block");
        }
        for (id, block) in self.function.blocks.iter_enumerated() {
            self.block(id, block);
        }
        if self.findings.count() == 0 {
            self.addresses();
        }
    }

    fn block(&mut self, id: BlockId, block: &Block) {
        for (index, (instruction, _)) in block.instructions.iter().enumerate() {
            self.at = At::Instruction(id, index);
            let mut parts = Vec::new();
            instruction.parts(&mut |part| parts.push(part));
            if self.parts_exist(&parts) {
                self.instruction(instruction);
            }
        }
        self.at = At::Terminator(id);
        let terminator = &block.terminator.0;
        let mut parts = Vec::new();
        terminator.parts(&mut |part| parts.push(part));
        if self.parts_exist(&parts) {
            self.terminator(terminator);
        }
    }

    fn parts_exist(&mut self, parts: &[Part]) -> bool {
        let faults = self.findings.count();
        for part in parts {
            match *part {
                Part::Register(register, _) => {
                    if self.function.registers.get(register).is_none() {
                        self.fault(format!("{register} does not exist"));
                    }
                }
                Part::Place(Place::At(register)) => {
                    if self.function.registers.get(register).is_none_or(|ty| *ty != Type::Address) {
                        self.fault(format!("{register} is no address"));
                    }
                }
                Part::Place(place) => {
                    if self.storage(place).is_none() {
                        self.fault(format!("{place:?} does not exist"));
                    }
                }
            }
        }
        self.findings.count() == faults
    }

    fn instruction(&mut self, instruction: &Instruction) {
        match instruction.group() {
            Group::Scalar => self.scalar(instruction),
            Group::Owned => self.owned(instruction),
            Group::Message => self.message(instruction),
            Group::Component => self.component(instruction),
        }
    }

    /// An instruction that its group does not know.
    pub(super) fn no_rule(&mut self) {
        self.fault("there is no rule for it");
    }

    fn terminator(&mut self, terminator: &Terminator) {
        for target in terminator.targets() {
            if self.function.blocks.get(target).is_none() {
                self.fault(format!("{target} does not exist"));
            }
        }
        match *terminator {
            Terminator::Branch { condition, .. } => self.is(condition, Type::Boolean),
            Terminator::Return(payload) => match (payload, self.function.result) {
                (Some(payload), Some(ty)) => self.payload(payload, ty),
                (None, None) => {}
                _ => self.fault("the result is not that of the function"),
            },
            Terminator::Fault(Reason::Halt(code) | Reason::Assertion(Some(code))) => {
                self.is(code, Type::Integer);
            }
            _ => {}
        }
    }

    /// What the place holds; none if it does not exist or is known at run time only.
    pub(super) fn storage(&self, place: Place) -> Option<&Storage> {
        match place {
            Place::Local(local) => self.function.locals.get(local).map(|local| &local.storage),
            Place::Outer(local) => {
                let FunctionKind::Condition { of } = self.function.kind else { return None };
                let outer = self.program.functions.get(of)?;
                outer.locals.get(local).map(|local| &local.storage)
            }
            Place::Variable(variable) => {
                let component = self.program.components.get(self.function.component)?;
                component.variables.get(variable).map(|variable| &variable.storage)
            }
            Place::At(_) => None,
        }
    }

    pub(super) fn is(&mut self, register: Register, ty: Type) {
        if self.function.registers[register] != ty {
            self.fault(format!("{register} is no {ty:?}"));
        }
    }

    pub(super) fn holds(&mut self, place: Place, ty: Type) {
        if self.storage(place).is_some_and(|storage| *storage != Storage::One(ty)) {
            self.fault(format!("{place:?} holds no {ty:?}"));
        }
    }

    pub(super) fn payload(&mut self, payload: Payload, ty: Type) {
        match payload {
            Payload::Register(register) => self.is(register, ty),
            Payload::Copy(place) | Payload::Move(place) => self.holds(place, ty),
        }
    }

    pub(super) fn condition(&mut self, condition: FunctionId) {
        match self.program.functions.get(condition).map(|it| it.kind) {
            Some(FunctionKind::Condition { of }) if of == self.id => {}
            _ => self.fault(format!("{condition} is no condition of this function")),
        }
    }
}
