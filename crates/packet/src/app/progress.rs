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

/// Whether an app has sent all that it held back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flushed {
    /// It has.
    All,
    /// There is more than its links had room for.
    Partly,
}

/// What became of a new config.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reconfigured {
    /// The app continues with it and keeps its state.
    Kept,
    /// The app must be made anew.
    Restart,
}
