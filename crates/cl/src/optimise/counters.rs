//! Counters need no check: what begins as a constant and is counted by 1 stays in INTEGER.
//!
//! A count is an addition to a register that waits for the one before. To overflow from 2^61 takes
//! more than 2^62 of them: some 30 years of a machine that does nothing else, in one call.

use tidemill_stdx::id::{IdMap, IdSet};

use crate::ir::constant::constants;
use crate::ir::{Binary, Constant, Function, Instruction, Parameter, Register};

/// Constants that are far from the ends of INTEGER are up to this, or down to minus this.
const FAR: u64 = 1 << 61;

/// Takes the checks out of all counts of such registers.
pub(super) fn run(function: &mut Function) {
    let numbers = constants(function);
    let mut others = IdSet::<Register>::default();
    for parameter in &function.parameters {
        if let Parameter::Register(register) = parameter {
            others.insert(*register);
        }
    }
    for (instruction, _) in function.blocks.iter().flat_map(|block| &block.instructions) {
        if !begins(instruction, &numbers) && count(instruction, &numbers).is_none() {
            instruction.assigned(|register| _ = others.insert(register));
        }
    }
    for (instruction, _) in function.blocks.iter_mut().flat_map(|block| &mut block.instructions) {
        let unchecked = count(instruction, &numbers);
        if let (Some(unchecked), Instruction::Binary { to, operator, .. }) =
            (unchecked, instruction)
            && !others.contains(*to)
        {
            *operator = unchecked;
        }
    }
}

/// Whether it assigns a constant that is far from the ends of INTEGER.
fn begins(instruction: &Instruction, numbers: &IdMap<Register, Constant>) -> bool {
    let value = match instruction {
        Instruction::Constant { value, .. } => Some(value),
        Instruction::Copy { from, .. } => numbers.get(*from),
        _ => None,
    };
    matches!(value, Some(Constant::Integer(number)) if number.unsigned_abs() <= FAR)
}

/// Of an instruction that counts a register up or down by 1: the operator without a check.
fn count(instruction: &Instruction, numbers: &IdMap<Register, Constant>) -> Option<Binary> {
    let Instruction::Binary { to, operator, a, b } = instruction else { return None };
    let Some(Constant::Integer(number)) = numbers.get(*b) else { return None };
    let is_count = to == a && number.unsigned_abs() <= 1;
    match operator {
        Binary::Add | Binary::AddUnchecked if is_count => Some(Binary::AddUnchecked),
        Binary::Subtract | Binary::SubtractUnchecked if is_count => Some(Binary::SubtractUnchecked),
        _ => None,
    }
}
