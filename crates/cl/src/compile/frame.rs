//! Which functions have frames, and where in them everything is.
//!
//! ```text
//! 0   header of the run-time: parent, code, resume point, function, result
//! 32  a word for each local
//!     kept words: parameters in registers when the function starts; then, at each suspension,
//!     the registers that are needed after it, side by side
//! ```
//! A function without suspension is *native*: an ordinary function with its locals on the native
//! stack, its arguments in machine registers.

use tidemill_proc::layout::FRAME_HEADER;
use tidemill_stdx::id::{Id, IdMap, IdSet, IdVec};

use crate::compile::constant::constants;
use crate::ir::liveness::Liveness;
use crate::ir::{
    BlockId, Constant, Function, FunctionId, Instruction, Kind, LocalId, Parameter, Part, Program,
    Register, Role,
};

/// How each function runs.
#[derive(Debug, Clone)]
pub(crate) struct Suspending {
    functions: IdSet<FunctionId>,
}

impl Suspending {
    /// Functions with an instruction that suspends, or that call such.
    pub(crate) fn of(program: &Program) -> Suspending {
        let mut functions = IdSet::<FunctionId>::default();
        for (id, function) in program.functions.iter_enumerated() {
            // The run-time starts these with a frame.
            let started = !matches!(function.kind, Kind::Procedure | Kind::Condition { .. });
            if started || calls_or(function, |_| false) {
                functions.insert(id);
            }
        }
        loop {
            let more: Vec<FunctionId> = program
                .functions
                .iter_enumerated()
                .filter(|(id, _)| !functions.contains(*id))
                .filter(|(_, function)| calls_or(function, |callee| functions.contains(callee)))
                .map(|(id, _)| id)
                .collect();
            if more.is_empty() {
                return Suspending { functions };
            }
            more.into_iter().for_each(|id| _ = functions.insert(id));
        }
    }

    /// Whether the function may suspend, and so has a frame.
    pub(crate) fn contains(&self, function: FunctionId) -> bool {
        self.functions.contains(function)
    }
}

fn calls_or(function: &Function, suspends: impl Fn(FunctionId) -> bool) -> bool {
    let mut instructions = function.blocks.iter().flat_map(|block| &block.instructions);
    instructions.any(|(instruction, _)| instruction.suspends(&suspends))
}

/// Where in its frame a function has what.
#[derive(Debug, Clone)]
pub(crate) struct Frame {
    locals: u32,
    /// What to keep at each suspending instruction, by block and index.
    kept: IdVec<BlockId, Vec<(usize, Vec<Register>)>>,
    kept_max: u32,
    constants: IdMap<Register, Constant>,
}

impl Frame {
    pub(crate) fn of(function: &Function, suspending: &Suspending) -> Frame {
        let (liveness, constants) = (Liveness::of(function), constants(function));
        let parameters = function
            .parameters
            .iter()
            .filter(|parameter| matches!(parameter, Parameter::Register(_)))
            .count();
        let mut kept_max = parameters;
        let kept = function
            .blocks
            .iter()
            .map(|block| {
                let mut points = Vec::new();
                liveness.visit(block, |index, instruction, before, after| {
                    if instruction.suspends(|callee| suspending.contains(callee)) {
                        let mut registers = needed(instruction, before, after);
                        registers.retain(|register| !constants.contains(*register));
                        kept_max = kept_max.max(registers.len());
                        points.push((index, registers));
                    }
                });
                points
            })
            .collect();
        let (locals, kept_max) = (function.locals.len() as u32, kept_max as u32);
        Frame { locals, kept, kept_max, constants }
    }

    /// Bytes from the start of the frame.
    pub(crate) fn local(local: LocalId) -> i32 {
        FRAME_HEADER + 8 * local.index() as i32
    }

    /// Bytes from the start of the frame of a kept word.
    pub(crate) fn word(&self, index: usize) -> i32 {
        FRAME_HEADER + 8 * (self.locals as i32 + index as i32)
    }

    /// Bytes in all.
    pub(crate) fn size(&self) -> u32 {
        FRAME_HEADER as u32 + 8 * (self.locals + self.kept_max)
    }

    /// Registers that are nothing but a constant, and so are not kept.
    pub(crate) fn constants(&self) -> &IdMap<Register, Constant> {
        &self.constants
    }

    /// Bytes of its locals.
    pub(crate) fn locals(&self) -> i32 {
        8 * self.locals as i32
    }

    /// What is kept at a suspending instruction, in the order of the words.
    pub(crate) fn kept(&self, block: BlockId, index: usize) -> &[Register] {
        let points = &self.kept[block];
        points.iter().find(|point| point.0 == index).map_or(&[], |point| &point.1)
    }
}

/// A suspended instruction is repeated, so it needs what it reads; a call is not.
fn needed(
    instruction: &Instruction,
    before: &IdSet<Register>,
    after: &IdSet<Register>,
) -> Vec<Register> {
    let mut needed = match instruction {
        Instruction::Call { .. } | Instruction::Checkpoint => after.clone(),
        _ => before.clone(),
    };
    if matches!(instruction, Instruction::Call { .. }) {
        instruction.parts(&mut |part| {
            if let Part::Register(register, Role::Write) = part {
                needed.remove(register);
            }
        });
    }
    needed.iter().collect()
}
