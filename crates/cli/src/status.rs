//! Exit statuses.

/// The result of a verb; the numbers are the exit status.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    /// Success.
    Fine = 0,
    /// The program or its input failed.
    Failed = 1,
    /// A usage error.
    Usage = 2,
    /// Ended by SIGINT before its end.
    Interrupted = 130,
    /// Ended by SIGTERM before its end.
    Terminated = 143,
}
