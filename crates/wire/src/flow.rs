//! Whether a walk goes on.

/// A sink ends the walk; it keeps the reason itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stop;

/// Go on, or stop.
pub type Flow = Result<(), Stop>;
