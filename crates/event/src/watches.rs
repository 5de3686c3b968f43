//! The watches of a loop; `H` are the handlers of one.

use crate::scope::Scope;
use crate::slab::{Key, Slab};
use crate::source::Source;

/// Names one watch of one loop.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct WatchId(pub(crate) Key);

pub(crate) struct Watch<H> {
    pub(crate) scope: Scope,
    pub(crate) source: Source,
    pub(crate) handlers: H,
    /// Which handlers exist; a running one is absent from `handlers` meanwhile.
    pub(crate) reads: bool,
    pub(crate) writes: bool,
}

/// The watches of a loop.
pub(crate) struct Watches<H> {
    pub(crate) slab: Slab<Watch<H>>,
}

impl<H> Watches<H> {
    pub(crate) fn new() -> Watches<H> {
        Watches { slab: Slab::new() }
    }
}
