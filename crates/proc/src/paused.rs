//! Why a worker returned.

/// Why [`Worker::run`](crate::Worker::run) returned.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Paused {
    /// The slice is over; more is ready.
    Slice,
    /// There are [requests](crate::Worker::take_request) for system components.
    Requests,
    /// Nothing is ready; a system component's answer may change that.
    Waiting,
    /// The run is over, see [`Worker::ended`](crate::Worker::ended).
    Ended,
}
