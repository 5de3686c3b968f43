//! Whole numbers are made in the blocks that use them.
//!
//! The optimiser moves a constant ahead of the loops around it and then copies it into each block
//! that uses it. Of a constant that it has to place twice, in two loops one after the other, it
//! copies the first only: the second is one value for all that follows, which takes a register
//! through every loop, or is on the stack and loaded again and again. So we copy what is left.

use cranelift_codegen::ir::{Block, Function, Inst, InstructionData, Opcode, Value};
use tidemill_stdx::hash::Map;

/// Gives each block its own copies of the constants of other blocks that it uses.
pub(crate) fn localise(function: &mut Function) {
    let mut copies = Map::<Value, Value>::default();
    let mut block = function.layout.entry_block();
    while let Some(this) = block {
        copies.clear();
        let mut inst = function.layout.first_inst(this);
        while let Some(user) = inst {
            inst = function.layout.next_inst(user);
            localise_of(function, this, user, &mut copies);
        }
        block = function.layout.next_block(this);
    }
}

/// Gives one instruction of a block, with what it hands to other blocks, the copies of its block.
fn localise_of(function: &mut Function, block: Block, user: Inst, copies: &mut Map<Value, Value>) {
    let values = function.dfg.inst_values(user);
    let far = values.filter_map(|value| Some((value, far_constant(function, block, value)?)));
    let far: Vec<(Value, Inst)> = far.collect();
    if far.is_empty() {
        return;
    }
    for (value, constant) in far {
        copies.entry(value).or_insert_with(|| {
            let copy = function.dfg.clone_inst(constant);
            function.layout.insert_inst(copy, user);
            function.dfg.first_result(copy)
        });
    }
    function.dfg.map_inst_values(user, |value| copies.get(&value).copied().unwrap_or(value));
}

/// What makes a value, if it is a whole number that is made in another block.
fn far_constant(function: &Function, block: Block, value: Value) -> Option<Inst> {
    let constant = function.dfg.value_def(value).inst()?;
    let data = &function.dfg.insts[constant];
    let is_number = matches!(data, InstructionData::UnaryImm { opcode: Opcode::Iconst, .. });
    (is_number && function.layout.inst_block(constant) != Some(block)).then_some(constant)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::{CallConv, InstBuilder, IntCC, signature, types};
    use crate::{Module, Options};

    /// A constant of the first block, used in the second and handed on from there to both.
    #[test]
    fn each_block_has_its_own() {
        let mut module = Module::new(Options::named("test")).unwrap();
        let sums = signature(CallConv::SystemV, &[types::I64], &[types::I64]);
        let id = module.declare("sums", sums);
        let draft = module.draft(id, |body| {
            let start = body.begin()[0];
            let [second, third] = [(); 2].map(|()| body.create_block());
            let sum = body.append_block_param(second, types::I64);
            let answer = body.append_block_param(third, types::I64);
            let seven = body.ins().iconst(types::I64, 7);
            body.ins().jump(second, &[start.into()]);
            body.switch_to_block(second);
            let more = body.ins().iadd(sum, seven);
            let is_more = body.ins().icmp(IntCC::SignedGreaterThan, more, seven);
            body.ins().brif(is_more, third, &[seven.into()], second, &[more.into()]);
            body.switch_to_block(third);
            body.ins().return_(&[answer]);
        });
        let mut function = draft.unwrap().function;
        let made = |function: &Function| {
            let blocks = function.layout.blocks().collect::<Vec<_>>();
            let is_constant =
                |inst: &Inst| matches!(function.dfg.insts[*inst], InstructionData::UnaryImm { .. });
            let count = |block| function.layout.block_insts(block).filter(is_constant).count();
            blocks.into_iter().map(count).collect::<Vec<usize>>()
        };
        assert_eq!(made(&function), [1, 0, 0]);
        localise(&mut function);
        assert_eq!(made(&function), [1, 1, 0], "one copy, for three uses");
        localise(&mut function);
        assert_eq!(made(&function), [1, 1, 0], "nothing is left to copy");
    }
}
