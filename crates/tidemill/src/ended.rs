//! How a run ended.

use std::io;

use crate::summary::Summary;

/// The end of a run.
#[derive(Debug)]
pub struct Ended {
    /// Its figures.
    pub summary: Summary,
    /// What else went wrong: files that could not be written.
    pub problems: Vec<String>,
    /// Why its data could not be written, if that was so.
    pub failure: Option<io::Error>,
}

impl Ended {
    /// True if the program did what it promised: see [`Summary::is_well`].
    pub fn is_well(&self) -> bool {
        self.summary.is_well() && self.problems.is_empty()
    }
}
