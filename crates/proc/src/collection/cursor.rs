//! A position in a collection that is visited incrementally.

/// How far one has come through a collection that does not change.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Cursor {
    Start,
    /// How many places have been looked at; of arrays they are elements.
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
