//! The extent of a run.

use std::time::{SystemTime, UNIX_EPOCH};

/// The extent of a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Extent {
    pub peers: bool,
    pub small: bool,
    pub seconds: Option<u64>,
    /// The seed of captures and keys, if given.
    pub seed: Option<u64>,
    /// Instructions are counted instead of time.
    pub instructions: bool,
    /// The only case to measure, if given.
    pub case: Option<&'static str>,
}

impl Extent {
    /// The given seed, or one derived from the time.
    pub fn seed_or_time(self) -> u64 {
        self.seed.unwrap_or_else(|| {
            let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            since.as_nanos() as u64 >> 10
        })
    }

    /// Whether a case is to be measured.
    pub fn has(self, case: &str) -> bool {
        self.case.is_none_or(|only| only == case)
    }
}
