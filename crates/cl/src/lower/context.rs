//! What all functions are lowered with.

use crate::ir::{self, ComponentId, FunctionId, FunctionKind};
use crate::lower::routines::Routines;
use crate::lower::strides::Counted;
use crate::tree::{ProcedureId, Program};
use tidemill_stdx::sorted::SortedMap;

/// The program so far, and where its parts are.
pub(super) struct Context<'a> {
    pub(super) tree: &'a Program,
    pub(super) routines: Routines,
    pub(super) procedures: SortedMap<ProcedureId, FunctionId>,
    pub(super) program: ir::Program,
    /// The loops of FOR that count in registers.
    pub(super) counted: Vec<Counted>,
}

impl Context<'_> {
    /// A number for a function that is lowered later.
    pub(super) fn reserve(
        &mut self,
        name: String,
        component: ComponentId,
        kind: FunctionKind,
    ) -> FunctionId {
        self.program.functions.push(ir::Function {
            name,
            component,
            kind,
            parameters: Vec::new(),
            result: None,
            registers: Default::default(),
            locals: Default::default(),
            blocks: Default::default(),
        })
    }
}
