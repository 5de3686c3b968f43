//! How a run ended.

use std::io;

use crate::summary::Summary;

/// The end of a run.
#[derive(Debug)]
pub struct Ended {
    /// Its figures.
    pub summary: Summary,
    /// Why its data could not be written, if that was so.
    pub failure: Option<io::Error>,
}

impl Ended {
    /// True if the program did what it promised: no violation, no turn without an end, and all
    /// expectations held.
    pub fn is_well(&self) -> bool {
        let Summary { violations, expectations_failed, given_up, .. } = &self.summary;
        *violations == 0 && *expectations_failed == 0 && *given_up == 0
    }
}
