//! The extent of a run.

/// The extent of a run.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    pub peers: bool,
    pub small: bool,
    pub seconds: Option<u64>,
    /// The seed of captures, if given.
    pub seed: Option<u64>,
    /// Instructions are counted instead of time.
    pub instructions: bool,
}
