//! What is in pieces.

use crate::collection::Cursor;
use crate::component::ComponentId;
use crate::handle::ProcessRef;
use crate::program::Kind;

/// Components that are being told to end.
pub(crate) enum Telling {
    /// Sub-components of one that ends: at most so many are left to look at.
    Children { of: ComponentId, left: u32 },
    /// Those in what a word has owned; the process waits for the end of them.
    Words { deleter: ProcessRef, kind: Kind, word: u64, cursor: Cursor },
}

/// What is in pieces.
#[derive(Default)]
pub(crate) struct Pieces {
    /// Those whose turn comes first are last.
    pub(crate) tellings: Vec<Telling>,
    /// Words of collections and arrays that nobody has any more.
    pub(crate) litter: Vec<(Kind, u64)>,
    /// Slices are spans of time.
    pub(crate) timed: bool,
}

impl Pieces {
    /// Whether components are being told to end.
    pub(crate) fn is_telling(&self) -> bool {
        !self.tellings.is_empty()
    }
}
