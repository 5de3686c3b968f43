//! The rows that a node holds back from shipping ([`super::ship`]).

use tidemill_relation::TupleBuf;
use tidemill_relation::plan::RelationId;

/// How long a node announces no rows with trails after one was removed or got a longer trail.
pub const HOLD_NS: u64 = 100_000_000;

/// The rows that a node holds back; see the module.
#[derive(Debug, Default)]
pub(super) struct Shipping {
    /// The end of the hold, on the clock of the turns.
    pub(super) until_ns: Option<u64>,
    /// Rows since it began, by table; some may have changed again.
    pub(super) waiting: TupleBuf<RelationId>,
    /// An [`Event::Release`](super::Event::Release) waits in the inbox.
    pub(super) due: bool,
    /// The running turn ends the hold.
    pub(super) release: bool,
}
