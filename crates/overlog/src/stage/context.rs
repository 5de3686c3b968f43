//! What operators are given.

use std::sync::Arc;

use super::files::DataFiles;

/// What operators may use of the world.
#[derive(Clone)]
pub struct Context {
    /// Where files come from.
    pub files: Arc<dyn DataFiles>,
}
