//! Its rules and its components, as they were read and as they run.

use std::sync::Arc;

use tidemill_cl::ir;
use tidemill_overlog::ast;
use tidemill_overlog::program::Compiled;
use tidemill_overlog::stage::Registry;

/// The rules of a program.
#[derive(Debug, Default)]
pub struct Rules {
    /// The tree, as far as it could be read.
    pub tree: ast::Program,
    /// What nodes run; `None` if there are no rules, or errors in them.
    pub program: Option<Compiled>,
    /// The operators of its stages, those of its schemas among them: for simulations.
    pub operators: Arc<Registry>,
}

/// The components of a program.
#[derive(Debug, Default)]
pub struct Components {
    /// How many of the sources there are up to their last file.
    pub files: u32,
    /// The tree, as far as it could be read.
    pub tree: tidemill_cl::ast::Program,
    /// What processes run; `None` if there are no components, or errors in them.
    pub program: Option<ir::Program>,
}
