//! Which functions run without a frame until they are suspended.
//!
//! A function whose process waits for nothing in it is suspended only where its slice is over, or
//! the native stack is deep. Most of its calls see neither, and a frame for each would cost more
//! than many a body. So there is code of it in two forms, which lay out the same frame and number
//! the same resume points: calls run the one that is native, with locals on the native stack and
//! arguments in machine registers. Where it is suspended it fills a frame ([`super::lazy_frame`])
//! and returns, as do its callers; the run-time resumes the frame with the other form.
//!
//! Locals move into the frame. So a function that passes the address of one to a function that may
//! be suspended keeps to its frame.

use tidemill_stdx::id::IdSet;

use crate::ir::suspending::Suspending;
use crate::ir::{self, Function, FunctionId, FunctionKind, Instruction, Place};

/// How the code of a function is entered and left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// With a frame, from its resume point.
    Framed,
    /// As an ordinary function, which is never suspended.
    Native,
    /// As an ordinary function, which gets a frame when it is suspended.
    Lazy,
}

/// Functions that have both [`Form::Lazy`] and [`Form::Framed`].
#[derive(Debug)]
pub(super) struct Lazy {
    functions: IdSet<FunctionId>,
}

impl Lazy {
    pub(super) fn of(program: &ir::Program, suspending: &Suspending) -> Lazy {
        let mut functions: IdSet<FunctionId> = program
            .functions
            .iter_enumerated()
            .filter(|(id, function)| {
                function.kind == FunctionKind::Procedure && suspending.contains(*id)
            })
            .map(|(id, _)| id)
            .collect();
        loop {
            let others: Vec<FunctionId> = functions
                .iter()
                .filter(|id| {
                    let may_be =
                        |callee| !suspending.contains(callee) || functions.contains(callee);
                    !only_pauses(&program.functions[*id], may_be)
                })
                .collect();
            if others.is_empty() {
                return Lazy { functions };
            }
            others.into_iter().for_each(|id| _ = functions.remove(id));
        }
    }

    pub(super) fn contains(&self, function: FunctionId) -> bool {
        self.functions.contains(function)
    }
}

/// Whether it is suspended at checkpoints and calls alone, and addresses of its locals stay where
/// no frame is made.
fn only_pauses(function: &Function, may_call: impl Fn(FunctionId) -> bool) -> bool {
    let mut instructions = function.blocks.iter().flat_map(|block| &block.instructions);
    instructions.all(|(instruction, _)| match instruction {
        Instruction::Checkpoint => true,
        Instruction::Call { function, .. } => may_call(*function),
        Instruction::AddressOf { place, .. } => !matches!(place, Place::Local(_)),
        other => !other.suspends(|_| false),
    })
}
