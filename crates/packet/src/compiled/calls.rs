//! Functions that a breath calls instead of apps.

use tidemill_jit::FuncId;

use super::chain::{Chain, Written};

/// All of them.
pub(super) struct Calls<'a> {
    pub chains: &'a [Chain],
    /// By chain.
    pub written: &'a [Written],
    pub sources: &'a [Source],
}

/// A source as code.
pub(super) struct Source {
    pub app: usize,
    /// The run that makes its packets.
    pub chain: Option<usize>,
    /// Makes them where there is no such run.
    pub alone: Option<FuncId>,
}
