//! Why a program could not be replaced.

use std::fmt;

/// Why the old program is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kept {
    /// A turn is running, or a stage has rows left: try again.
    Busy,
    /// The views of the new program derive more than a commit may.
    TooMuch,
}

impl fmt::Display for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kept::Busy => "a turn has begun that is not at its end",
            Kept::TooMuch => "views of the new rules would derive more than a commit may",
        })
    }
}
