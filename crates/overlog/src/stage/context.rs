//! The environment of operators.

use std::sync::Arc;

use super::files::DataFiles;

/// The environment of operators.
#[derive(Clone)]
pub struct Context {
    /// The source of files.
    pub files: Arc<dyn DataFiles>,
}
