//! The position of a resting run.

use crate::table::RowId;

/// A run that can rest between two rows and go on later, over the same tables.
///
/// Only where it stands is kept: when it goes on, what led there is evaluated again. So a strand
/// run this way must not depend on time or chance, and must not aggregate.
#[derive(Clone, Debug, Default)]
pub struct Rest {
    /// Rows that may still be examined.
    pub(super) rows_left: u64,
    /// The row at which each nested join resumes, the outermost last.
    pub(super) path: Vec<RowId>,
    pub(super) resting: bool,
}

impl Rest {
    /// A run that has not begun.
    pub fn new() -> Rest {
        Rest::default()
    }
}
