//! The components that run, with all that have taken the place of some of them.

use tidemill_cl::ir;
use tidemill_cl::ir::succession::{Succession, merge};
use tidemill_proc::program::Executable;

use super::components::Making;

/// The components that run: those that were there at the start, and all that took their place.
pub(crate) struct Versions {
    pub(super) program: ir::Program,
    pub(super) made: Executable,
    pub(super) making: Making,
}

impl Versions {
    /// Those of a program that is about to run, if it has some.
    pub(crate) fn new(
        program: Option<ir::Program>,
        made: Option<Executable>,
        making: Making,
    ) -> Option<Versions> {
        Some(Versions { program: program?, made: made?, making })
    }

    /// Them with others that were written since.
    pub(super) fn with(&self, written: &ir::Program) -> Succession {
        merge(&self.program, written)
    }
}
