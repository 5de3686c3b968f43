//! What messages begin with.

/// What a message begins with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head {
    /// Now, in nanoseconds since the epoch.
    pub time_ns: i64,
    /// Records sent before in this domain.
    pub sequence: u64,
    pub domain: u32,
}
