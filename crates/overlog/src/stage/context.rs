//! The environment of operators.

use std::sync::Arc;

use super::files::DataFiles;

/// The environment of operators.
#[derive(Clone)]
pub struct Context {
    /// The source of files.
    pub files: Arc<dyn DataFiles>,
    /// Which of them may be read.
    pub readable: Readable,
}

/// Which files operators may read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Readable {
    /// Pipes too.
    #[default]
    All,
    /// Only those whose contents are there, so that runs repeat.
    Repeatable,
}
