//! Registers that are nothing but a constant: their value is written where it is used, so that they
//! take neither a machine register through a loop nor a word of the frame.

use tidemill_stdx::id::{IdMap, IdSet};

use crate::ir::{Constant, Function, Instruction, Parameter, Register};

/// Registers that are assigned one constant, be it in several places.
pub fn constants(function: &Function) -> IdMap<Register, Constant> {
    let mut constants = IdMap::new();
    let mut others = IdSet::<Register>::default();
    for parameter in &function.parameters {
        if let Parameter::Register(register) = parameter {
            others.insert(*register);
        }
    }
    for (instruction, _) in function.blocks.iter().flat_map(|block| &block.instructions) {
        if let Instruction::Constant { to, value } = instruction
            && constants.get(*to).is_none_or(|known| are_same(*known, *value))
        {
            constants.insert(*to, *value);
            continue;
        }
        instruction.assigned(|register| _ = others.insert(register));
    }
    others.iter().for_each(|register| _ = constants.remove(register));
    constants
}

/// Whether they are the same bits.
fn are_same(a: Constant, b: Constant) -> bool {
    match (a, b) {
        (Constant::Real(a), Constant::Real(b)) => a.to_bits() == b.to_bits(),
        (a, b) => a == b,
    }
}
