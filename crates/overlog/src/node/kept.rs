//! Why a node keeps its program.

/// Why the old program goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kept {
    /// A turn has begun that is not at its end, or a stage has rows left: try again.
    Busy,
    /// The views of the new program derive more than a commit may.
    TooMuch,
}
