//! Rules and components of a program, as syntax trees and in executable form.

use std::sync::Arc;

use tidemill_cl::ir;
use tidemill_overlog::ast;
use tidemill_overlog::program::Compiled;
use tidemill_overlog::stage::Registry;

/// The rules of a program.
#[derive(Debug, Default)]
pub struct Rules {
    /// The tree, as far as the rules could be parsed.
    pub tree: ast::Program,
    /// The compiled rules; `None` if there are no rules, or errors in them.
    pub program: Option<Compiled>,
    /// The operators of its stages, including those of its schemas: for simulations.
    pub operators: Arc<Registry>,
}

/// The components of a program.
#[derive(Debug, Default)]
pub struct Components {
    /// The number of sources up to their last file.
    pub files: u32,
    /// The tree, as far as the components could be parsed.
    pub tree: tidemill_cl::ast::Program,
    /// The lowered components; `None` if there are none, or errors in them.
    pub program: Option<ir::Program>,
}
