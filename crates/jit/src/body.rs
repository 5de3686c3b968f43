//! The body of one function while it is written.

use std::ops::{Deref, DerefMut};

use cranelift_codegen::ir::{
    Block, ExtFuncData, ExternalName, FuncRef, Function, GlobalValue, GlobalValueData, InstBuilder,
    InstructionData, Opcode, SourceLoc, Type, Value,
};
use cranelift_codegen::isa::TargetFrontendConfig;
use cranelift_frontend::FunctionBuilder;
use tidemill_stdx::hash::Map;

use crate::error::Error;
use crate::symbol::{DataId, FuncId, Symbols, Target};

/// A [`FunctionBuilder`], to which it dereferences, that also knows the rest of the module.
///
/// Blocks need not be sealed: what is not yet sealed is sealed at the end. Sealing early makes
/// less work.
pub struct Body<'m> {
    builder: FunctionBuilder<'m>,
    symbols: &'m Symbols,
    functions: Map<FuncId, FuncRef>,
    data: Map<DataId, GlobalValue>,
}

impl<'m> Deref for Body<'m> {
    type Target = FunctionBuilder<'m>;

    fn deref(&self) -> &FunctionBuilder<'m> {
        &self.builder
    }
}

impl DerefMut for Body<'_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.builder
    }
}

impl<'m> Body<'m> {
    pub(crate) fn new(builder: FunctionBuilder<'m>, symbols: &'m Symbols) -> Body<'m> {
        Body { builder, symbols, functions: Map::default(), data: Map::default() }
    }

    /// Makes the first block, goes there, and gives the arguments of the function.
    pub fn begin(&mut self) -> Vec<Value> {
        let block = self.builder.create_block();
        self.builder.append_block_params_for_function_params(block);
        self.builder.switch_to_block(block);
        self.builder.seal_block(block);
        self.builder.block_params(block).to_vec()
    }

    /// The type of an address.
    pub fn pointer(&self) -> Type {
        self.symbols.config.pointer_type()
    }

    /// The configuration for the copying and comparing functions of the builder.
    pub fn config(&self) -> TargetFrontendConfig {
        self.symbols.config
    }

    /// A function of the module, for `call`, `return_call` and `func_addr`.
    pub fn function(&mut self, id: FuncId) -> FuncRef {
        if let Some(&known) = self.functions.get(&id) {
            return known;
        }
        let declared = &self.symbols.functions[id];
        let name = Target::function_name(id);
        let name = self.builder.func.declare_imported_user_function(name);
        let signature = self.builder.import_signature(declared.signature.clone());
        let data = ExtFuncData {
            name: ExternalName::User(name),
            signature,
            // One mapping holds the module; what is imported may be anywhere.
            colocated: declared.imported.is_none(),
            patchable: false,
        };
        let function = self.builder.import_function(data);
        self.functions.insert(id, function);
        function
    }

    /// Calls a function of the module and gives its results.
    pub fn call(&mut self, id: FuncId, arguments: &[Value]) -> &[Value] {
        let function = self.function(id);
        let call = self.builder.ins().call(function, arguments);
        self.builder.inst_results(call)
    }

    /// The address of a function of the module.
    pub fn function_address(&mut self, id: FuncId) -> Value {
        let (function, pointer) = (self.function(id), self.pointer());
        self.builder.ins().func_addr(pointer, function)
    }

    /// The address of a blob of the module.
    pub fn data_address(&mut self, id: DataId) -> Value {
        let pointer = self.pointer();
        let global = match self.data.get(&id) {
            Some(&known) => known,
            None => {
                let name = Target::data_name(id);
                let name = self.builder.func.declare_imported_user_function(name);
                let global = self.builder.create_global_value(GlobalValueData::Symbol {
                    name: ExternalName::User(name),
                    offset: 0.into(),
                    colocated: true,
                    tls: false,
                });
                self.data.insert(id, global);
                global
            }
        };
        self.builder.ins().symbol_value(pointer, global)
    }

    /// A value as the sum, modulo its width, of another and a small constant, which is 0 if it is
    /// made in any other way.
    pub fn as_sum(&self, value: Value) -> (Value, i64) {
        let (mut value, mut more) = (value, 0);
        while let Some((of, constant)) = self.sum(value)
            && let Ok(sum) = i16::try_from(more + constant)
        {
            (value, more) = (of, i64::from(sum));
        }
        (value, more)
    }

    /// What a value is the sum of, if that is another and a constant.
    fn sum(&self, value: Value) -> Option<(Value, i64)> {
        let dfg = &self.builder.func.dfg;
        let made = |value| Some(dfg.insts[dfg.value_def(dfg.resolve_aliases(value)).inst()?]);
        match made(value)? {
            InstructionData::Binary { opcode: Opcode::Iadd, args: [of, constant] } => {
                match made(constant)? {
                    InstructionData::UnaryImm { opcode: Opcode::Iconst, imm } => {
                        Some((of, imm.bits()))
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// The place in the source of what follows; any number but `u32::MAX`.
    pub fn source(&mut self, place: u32) {
        self.builder.set_srcloc(SourceLoc::new(place));
    }

    /// Ends the function, or returns which block is not complete.
    pub(crate) fn finish(mut self) -> Result<(), Error> {
        self.builder.seal_all_blocks();
        if let Some(text) = first_unfinished(self.builder.func) {
            let function = self.builder.func.name.to_string();
            return Err(Error::Unfinished { function, text });
        }
        self.builder.finalize(self.symbols.config);
        Ok(())
    }
}

/// Each block that is used ends with the one instruction that leaves it.
fn first_unfinished(function: &Function) -> Option<String> {
    let dfg = &function.dfg;
    if function.layout.entry_block().is_none() {
        return Some("it has no block".to_owned());
    }
    (0..dfg.num_blocks()).find_map(|index| {
        let block = Block::from_u32(u32::try_from(index).ok()?);
        if !function.layout.is_block_inserted(block) {
            let used = dfg.num_block_params(block) > 0;
            return used.then(|| format!("{block} has parameters and no instruction"));
        }
        let last = function.layout.last_inst(block);
        if !last.is_some_and(|inst| dfg.insts[inst].opcode().is_terminator()) {
            return Some(format!("{block} does not end with a jump or a return"));
        }
        let (inst, _) = function.is_block_basic(block).err()?;
        Some(format!("{block} goes on after its end with `{}`", dfg.display_inst(inst)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::{CallConv, signature, types};
    use crate::{Module, Options};

    #[test]
    fn sums_with_constants_are_taken_apart() {
        let mut module = Module::new(Options::named("test")).unwrap();
        let id = module.declare("sums", signature(CallConv::SystemV, &[types::I64; 2], &[]));
        let draft = module.draft(id, |body| {
            let start = body.begin();
            let (x, y) = (start[0], start[1]);
            assert_eq!(body.as_sum(x), (x, 0), "an argument");
            let more = body.ins().iadd_imm_s(x, 5);
            let less = body.ins().iadd_imm_s(more, -8);
            assert_eq!(body.as_sum(more), (x, 5));
            assert_eq!(body.as_sum(less), (x, -3), "one after the other");
            let far = body.ins().iadd_imm_s(less, 1 << 40);
            assert_eq!(body.as_sum(far), (far, 0), "more than an offset takes");
            let both = body.ins().iadd(less, y);
            assert_eq!(body.as_sum(both), (both, 0), "of two that are not known");
            body.ins().return_(&[]);
        });
        draft.unwrap();
    }
}
