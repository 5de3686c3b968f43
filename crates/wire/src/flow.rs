//! Whether a walk continues.

/// A sink ends the walk; it keeps the reason itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stop;

/// Continue, or stop.
pub type Flow = Result<(), Stop>;
