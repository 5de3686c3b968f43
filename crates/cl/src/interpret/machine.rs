//! A program as the interpreter has it.

use std::sync::Arc;

use tidemill_proc::interpret::Interpreter;
use tidemill_stdx::id::IdVec;

use crate::compile::describe::{Numbers, Ports};
use crate::interpret::frame::Layout;
use crate::ir::suspending::Suspending;
use crate::ir::{self, ComponentId, FunctionId};

/// A program prepared for interpretation.
pub(super) struct Machine {
    pub(super) ir: ir::Program,
    pub(super) layouts: IdVec<FunctionId, Layout>,
    pub(super) ports: IdVec<ComponentId, Ports>,
    pub(super) suspending: Suspending,
    pub(super) numbers: Numbers,
    pub(super) has_checkpoints: bool,
    /// The first function that it runs.
    pub(super) first: u32,
    /// What runs those before.
    pub(super) before: Option<Arc<dyn Interpreter>>,
}
