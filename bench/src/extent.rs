//! How much a run measures.

/// How much to measure.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    pub peers: bool,
    pub small: bool,
    pub seconds: Option<u64>,
    /// What captures are made from, if that was said.
    pub seed: Option<u64>,
}
