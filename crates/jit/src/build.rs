//! What generators write code with: the representation and builder of the compiler.
//!
//! No other crate names the compiler; what is missing here is added here.

pub use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
pub use cranelift_codegen::ir::immediates::{Ieee32, Ieee64, Imm64, Offset32};
pub use cranelift_codegen::ir::{
    AbiParam, AliasRegion, AliasRegionData, ArgumentExtension, ArgumentPurpose, AtomicRmwOp, Block,
    BlockArg, BlockCall, ConstantData, Endianness, FuncRef, Inst, InstBuilder, JumpTable,
    JumpTableData, MemFlagsData, SigRef, Signature, StackSlot, StackSlotData, StackSlotKind,
    TrapCode, Type, Value, types,
};
pub use cranelift_codegen::isa::{CallConv, TargetFrontendConfig};
pub use cranelift_frontend::{FunctionBuilder, Switch, Variable};

/// The signature of a function: `signature(CallConv::SystemV, &[types::I64], &[types::I64])`.
///
/// [`CallConv::SystemV`] is that of `extern "C"` functions, [`CallConv::Tail`] that of functions
/// that may end in `return_call`. Rust leaves the upper bits of narrow integers undefined, both
/// ways, so generated code extends what it gets.
pub fn signature(convention: CallConv, parameters: &[Type], results: &[Type]) -> Signature {
    let mut signature = Signature::new(convention);
    signature.params.extend(parameters.iter().copied().map(AbiParam::new));
    signature.returns.extend(results.iter().copied().map(AbiParam::new));
    signature
}
