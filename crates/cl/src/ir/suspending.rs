//! Which functions may suspend their process, and so run in frames of their own.

use tidemill_stdx::id::IdSet;

use crate::ir::{Function, FunctionId, FunctionKind, Program};

/// How each function runs.
#[derive(Debug, Clone)]
pub struct Suspending {
    functions: IdSet<FunctionId>,
}

impl Suspending {
    /// Functions with an instruction that suspends, or that call such.
    pub fn of(program: &Program) -> Suspending {
        let mut functions = IdSet::<FunctionId>::default();
        for (id, function) in program.functions.iter_enumerated() {
            // The run-time starts these with a frame.
            let started =
                !matches!(function.kind, FunctionKind::Procedure | FunctionKind::Condition { .. });
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
    pub fn contains(&self, function: FunctionId) -> bool {
        self.functions.contains(function)
    }
}

fn calls_or(function: &Function, suspends: impl Fn(FunctionId) -> bool) -> bool {
    let mut instructions = function.blocks.iter().flat_map(|block| &block.instructions);
    instructions.any(|(instruction, _)| instruction.suspends(&suspends))
}
