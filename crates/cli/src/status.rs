//! Exit statuses.

/// How a verb ends; the numbers are the exit status.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    /// All is well.
    Fine = 0,
    /// The program or its input failed.
    Failed = 1,
    /// The command line is wrong.
    Usage = 2,
    /// Ended by SIGINT before its end.
    Interrupted = 130,
    /// Ended by SIGTERM before its end.
    Terminated = 143,
}
