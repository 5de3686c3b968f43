//! What an app returns to the engine.

/// The state of a source after a pull.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Progress {
    /// There may be more at once.
    Ready,
    /// Nothing now; it must be polled.
    Poll,
    /// Nothing until this time, in nanoseconds of the event loop.
    Until(u64),
    /// Nothing until its descriptor is ready or packets arrive for it; the engine notifies it.
    Asleep,
    /// Nothing ever again.
    Done,
}

/// What became of a new config.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reconfigured {
    /// The app continues with it and keeps its state.
    Kept,
    /// The app must be made anew.
    Restart,
}
