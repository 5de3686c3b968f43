//! Whether a walk continues.

/// A sink ends the walk; it keeps the reason itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stop;

/// What the function of a sink returns: continue, or stop.
pub type SinkResult = Result<(), Stop>;
