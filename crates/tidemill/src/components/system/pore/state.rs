//! The pores of a program, and the pending work for their clients.

use std::os::unix::net::UnixStream;
use std::rc::Rc;

use tidemill_event::{Owner, Time, TimerId, WatchId};
use tidemill_pore::adaptive_poll::AdaptivePoll;
use tidemill_pore::memfd::Shape;
use tidemill_pore::{Event, OwnerId, PoreId, Pores};
use tidemill_proc::{Communication, CommunicationMap};

use crate::components::system::confined::{Listener, Root};

/// The maximum capacity kept for the next read.
const KEPT_BYTES_MAX: usize = 1 << 16;

/// A pore that waits for the peer to complete the set-up.
pub(super) enum Opening {
    /// The peer has to connect.
    Listener(Listener, Shape, u32),
    /// The peer has to send its descriptors.
    Rings(UnixStream),
    /// The peer has to send the descriptor of a page.
    Page(UnixStream),
}

/// The state of a client.
pub(super) struct PoreClient {
    pub(super) owner: OwnerId,
    pub(super) pore: Option<PoreId>,
    pub(super) opening: Option<Opening>,
    pub(super) watches: Vec<WatchId>,
    /// The watch that is only enabled while the pore is armed.
    pub(super) ready: Option<WatchId>,
    /// An event held back until the pending request is answered.
    pub(super) event: Option<Notice>,
    /// The number of bytes to read when the event occurs.
    pub(super) reads: Option<usize>,
    /// Bytes accepted since it was opened.
    pub(super) accepted: i64,
    /// It is in the list of armed clients, and in the list of touched ones.
    pub(super) is_listed: bool,
    pub(super) is_touched: bool,
    /// It has rung in this turn; it rings again at the end of the turn, if requested.
    pub(super) has_rung: bool,
    pub(super) shall_ring: bool,
    /// Spurious rings of the peer in a row.
    pub(super) spurious: u32,
    /// Ends the pause of its watches after too many of these.
    pub(super) paused: Option<TimerId>,
}

/// The current state of a pore.
pub(crate) struct PoreView {
    /// The number under which it is handed over.
    pub(crate) number: u64,
    pub(crate) kind: &'static str,
    /// Whether bytes can be read, and whether some would be accepted.
    pub(crate) readable: bool,
    pub(crate) writable: bool,
}

/// All pores of a program.
pub(in crate::components::system) struct PoreSystem {
    pub(super) root: Option<Rc<Root>>,
    pub(super) pores: Pores,
    pub(super) clients: CommunicationMap<PoreClient>,
    /// A buffer for reads.
    pub(super) data: Vec<u8>,
    last_owner: u64,
    pub(super) handed: usize,
    pub(super) wake: Wake,
}

impl PoreSystem {
    pub(in crate::components::system) fn new(root: Option<Rc<Root>>) -> PoreSystem {
        PoreSystem {
            root,
            pores: Pores::new(),
            clients: CommunicationMap::default(),
            data: Vec::new(),
            last_owner: 0,
            handed: 0,
            wake: Wake::default(),
        }
    }

    /// Frames that the kernel dropped before a pore could read them.
    pub(in crate::components::system) fn dropped(&mut self) -> u64 {
        self.pores.dropped()
    }

    /// The open pores, each with the communication that owns it.
    pub(in crate::components::system) fn list(&mut self) -> Vec<(Communication, PoreView)> {
        let PoreSystem { pores, clients, .. } = self;
        let open =
            clients.iter().filter_map(|(from, client)| Some((from, client.owner, client.pore?)));
        let view = |(from, owner, id): (Communication, OwnerId, PoreId)| {
            let pore = pores.get(owner, id).ok()?;
            // A pore broken by the peer reads and accepts nothing.
            let avail = pore.avail().unwrap_or_default();
            let (kind, number) = (pore.kind().name(), id.0);
            let (readable, writable) = (avail.readable > 0, avail.writable > 0);
            Some((from, PoreView { number, kind, readable, writable }))
        };
        open.filter_map(view).collect()
    }

    /// Returns the buffer, unless it has become large.
    pub(super) fn keep_for_data(&mut self, mut data: Vec<u8>) {
        if data.capacity() <= KEPT_BYTES_MAX {
            data.clear();
            self.data = data;
        }
    }

    pub(super) fn new_owner(&mut self) -> OwnerId {
        self.last_owner += 1;
        OwnerId(self.last_owner)
    }

    /// Its owner and id, if it is open.
    pub(super) fn pore_of(&self, from: Communication) -> Option<(OwnerId, PoreId)> {
        let client = self.clients.get(from)?;
        Some((client.owner, client.pore?))
    }
}

impl PoreClient {
    pub(super) fn new(owner: OwnerId) -> PoreClient {
        PoreClient {
            owner,
            pore: None,
            opening: None,
            watches: Vec::new(),
            ready: None,
            event: None,
            reads: None,
            accepted: 0,
            is_listed: false,
            is_touched: false,
            has_rung: false,
            shall_ring: false,
            spurious: 0,
            paused: None,
        }
    }
}

/// An event for a client.
pub(super) enum Notice {
    Event(Event),
    /// The bytes that were read, and the total number of bytes that would be accepted.
    Came(Vec<u8>, i64),
}

/// The work for the end of the turn, and the state of polling.
#[derive(Default)]
pub(super) struct Wake {
    /// Clients that rang or armed in this turn.
    pub(super) touched: Vec<Communication>,
    /// Armed clients, and possibly some that no longer are.
    pub(super) armed: Vec<Communication>,
    /// A buffer for the ids of pollable pores.
    pub(super) pollable: Vec<PoreId>,
    pub(super) is_scheduled: bool,
    /// The result of a fruitless poll in this turn.
    pub(super) fruitless_poll: Option<Polled>,
    pub(super) policy: AdaptivePoll,
    /// The start of the current wait, which may include sleeps.
    pub(super) waits_since: Option<Time>,
    pub(super) owner: Option<Owner>,
}

/// The result of polling for a stretch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Polled {
    /// A client has received an event.
    Came,
    /// Nothing yet; polling should continue after the loop has checked its descriptors.
    Later,
    /// It is time to sleep.
    Over,
}
