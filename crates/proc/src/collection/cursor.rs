//! A position in a collection that is visited incrementally.

/// A position in a collection or array that does not change meanwhile.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Cursor {
    Start,
    /// After this many places; of arrays, elements.
    After(u64),
}

impl Cursor {
    /// The place to continue at.
    pub(crate) fn place(self) -> usize {
        match self {
            Cursor::Start => 0,
            Cursor::After(place) => place as usize,
        }
    }
}
