//! What an app returns to the engine.

/// How it stands with a source after a pull.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Progress {
    /// There may be more at once.
    Ready,
    /// Nothing now; it must be asked again.
    Poll,
    /// Nothing until the time comes, in nanoseconds of the event loop.
    Until(u64),
    /// Nothing until its descriptor is ready or packets come for it; the engine notifies it.
    Asleep,
    /// Nothing ever again.
    Done,
}

/// What became of a new config.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reconfigured {
    /// The app goes on with it and keeps its state.
    Kept,
    /// The app must be made anew.
    Restart,
}
