//! The running components, with all versions since the start.

use tidemill_cl::ir;
use tidemill_cl::ir::succession::{Succession, merge};
use tidemill_proc::program::Executable;

use super::components::Making;

/// The running components: those of the start, and their later versions.
pub(crate) struct Versions {
    pub(super) program: ir::Program,
    pub(super) made: Executable,
    pub(super) making: Making,
}

impl Versions {
    /// The components of a program that is about to run, if it has some.
    pub(crate) fn new(
        program: Option<ir::Program>,
        made: Option<Executable>,
        making: Making,
    ) -> Option<Versions> {
        Some(Versions { program: program?, made: made?, making })
    }

    /// The succession to a new version.
    pub(super) fn with(&self, written: &ir::Program) -> Succession {
        merge(&self.program, written)
    }
}
