//! What all functions of a program are translated with.

use std::ops::Index;

use tidemill_jit::build::{Type as Machine, types};
use tidemill_jit::{DataId, FuncId};
use tidemill_proc::entry::Entry;
use tidemill_stdx::hash::Map;
use tidemill_stdx::id::{Id, IdVec};

use crate::compile::describe::{Descriptors, Ports};
use crate::compile::frame::Frame;
use crate::compile::watch::Watch;
use crate::ir::suspending::Suspending;
use crate::ir::{self, BlockId, ComponentId, FunctionId, TextId, Type};

/// How a running process tests whether its slice is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Checkpoints {
    /// It tests a flag that a timer sets.
    Flag,
    /// It counts, so that runs repeat.
    Count,
    /// It never looks.
    None,
}

/// What all functions are translated with.
pub(super) struct Unit<'a> {
    pub(super) ir: &'a ir::Program,
    pub(super) descriptors: Descriptors<'a>,
    pub(super) suspending: Suspending,
    pub(super) frames: IdVec<FunctionId, Frame>,
    pub(super) ports: IdVec<ComponentId, Ports>,
    pub(super) functions: Functions,
    pub(super) entries: Map<&'static str, (FuncId, Entry)>,
    pub(super) texts: IdVec<TextId, DataId>,
    /// The view of an array that is not allocated: all its extents are 0.
    pub(super) no_array: DataId,
    pub(super) scopes: Map<(FunctionId, BlockId, usize), DataId>,
    pub(super) watch: Watch,
    pub(super) several: bool,
    pub(super) observed: bool,
    pub(super) checkpoints: Checkpoints,
}

/// The functions of a module: those of a program but for the first ones, which have code already
/// and are called by none of the others.
pub(super) struct Functions {
    pub(super) first: usize,
    /// Each with its lazy form, if it has one.
    pub(super) declared: Vec<(FuncId, Option<FuncId>)>,
}

impl Functions {
    /// The form of a function that gets a frame when it is suspended.
    pub(super) fn lazy(&self, id: FunctionId) -> Option<FuncId> {
        self.declared[id.index() - self.first].1
    }
}

impl Index<FunctionId> for Functions {
    type Output = FuncId;

    fn index(&self, id: FunctionId) -> &FuncId {
        &self.declared[id.index() - self.first].0
    }
}

/// The machine's type for a value.
pub(super) fn machine(ty: Type) -> Machine {
    if ty == Type::Real { types::F64 } else { types::I64 }
}
