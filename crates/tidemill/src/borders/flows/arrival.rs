//! A packet that has been taken from its link and not delivered yet.

use tidemill_packet::packet::Packet;
use tidemill_proc::Communication;

use super::key::Key;

/// A packet of an input of an app.
pub(super) struct Arrival {
    pub(super) app: u16,
    pub(super) input: u16,
    pub(super) packet: Packet,
    pub(super) key: Key,
    pub(super) hash: u64,
    /// The likely flow, found by hash.
    pub(super) at: u32,
    /// The first communication of the flow, to prefetch.
    pub(super) name: Communication,
}
