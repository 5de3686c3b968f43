//! Pending incremental work.

use crate::collection::Cursor;
use crate::component::ComponentId;
use crate::handle::ProcessRef;
use crate::program::WordKind;

/// Components that are being terminated.
pub(crate) enum Termination {
    /// Sub-components of one that ends: at most `left` remain to be visited.
    Children { of: ComponentId, left: u32 },
    /// Those in what a word has owned; the process waits for the end of them.
    Words { deleter: ProcessRef, kind: WordKind, word: u64, cursor: Cursor },
}

/// Pending incremental work.
#[derive(Default)]
pub(crate) struct Pieces {
    /// A stack: the last is next.
    pub(crate) terminations: Vec<Termination>,
    /// Words of collections and arrays that nothing references any more.
    pub(crate) litter: Vec<(WordKind, u64)>,
    /// Slices are spans of time.
    pub(crate) timed: bool,
}

impl Pieces {
    /// Whether components are being terminated.
    pub(crate) fn is_terminating(&self) -> bool {
        !self.terminations.is_empty()
    }
}
