//! The pores of a program, and what there is to be done for their clients.

use std::os::unix::net::UnixStream;
use std::rc::Rc;

use tidemill_event::{Owner, Time, TimerId, WatchId};
use tidemill_pore::adaptive_poll::AdaptivePoll;
use tidemill_pore::memfd::Shape;
use tidemill_pore::{Event, OwnerId, PoreId, Pores};
use tidemill_proc::{Communication, CommunicationMap};

use crate::components::system::confined::{Listener, Root};

/// Memory kept for the next read, at most.
const KEPT_BYTES_MAX: usize = 1 << 16;

/// A pore that waits for the other side before it is one.
pub(super) enum Opening {
    /// Somebody has to connect.
    Listener(Listener, Shape, u32),
    /// The other side has to send its descriptors.
    Rings(UnixStream),
    /// The same, of a page.
    Page(UnixStream),
}

/// What a client has.
pub(super) struct PoreClient {
    pub(super) owner: OwnerId,
    pub(super) pore: Option<PoreId>,
    pub(super) opening: Option<Opening>,
    pub(super) watches: Vec<WatchId>,
    /// The one among them that is watched only while an event is asked for.
    pub(super) ready: Option<WatchId>,
    /// An event that could not be sent between a question and its answer.
    pub(super) event: Option<Notice>,
    /// So much is to be read for the event.
    pub(super) reads: Option<usize>,
    /// Bytes accepted since it was opened.
    pub(super) accepted: i64,
    /// It is among those that are looked at, and those that are at the end of the turn.
    pub(super) is_listed: bool,
    pub(super) is_touched: bool,
    /// It has rung in this turn; rings again at its end, if asked to.
    pub(super) has_rung: bool,
    pub(super) shall_ring: bool,
    /// Rings of the other side in a row that told nothing.
    pub(super) vain: u32,
    /// When its bell is looked at again, after too many of these.
    pub(super) rest: Option<TimerId>,
}

/// A pore as it is now.
pub(crate) struct PoreView {
    /// What names it where it is handed over.
    pub(crate) number: u64,
    pub(crate) kind: &'static str,
    /// Something can be read; something would be accepted.
    pub(crate) readable: bool,
    pub(crate) writable: bool,
}

/// All pores of a program.
pub(in crate::components::system) struct PoreSystem {
    pub(super) root: Option<Rc<Root>>,
    pub(super) pores: Pores,
    pub(super) clients: CommunicationMap<PoreClient>,
    /// Memory for what is read.
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

    /// What is open, with the communication that owns each.
    pub(in crate::components::system) fn list(&mut self) -> Vec<(Communication, PoreView)> {
        let PoreSystem { pores, clients, .. } = self;
        let open =
            clients.iter().filter_map(|(from, client)| Some((from, client.owner, client.pore?)));
        let view = |(from, owner, id): (Communication, OwnerId, PoreId)| {
            let pore = pores.get(owner, id).ok()?;
            // A pore that the other side has broken gives and takes nothing.
            let avail = pore.avail().unwrap_or_default();
            let (kind, number) = (pore.kind().name(), id.0);
            let (readable, writable) = (avail.readable > 0, avail.writable > 0);
            Some((from, PoreView { number, kind, readable, writable }))
        };
        open.filter_map(view).collect()
    }

    /// Takes the buffer back, unless it has become large.
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

    /// Its owner and name, if it is open.
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
            vain: 0,
            rest: None,
        }
    }
}

/// What a client is told.
pub(super) enum Notice {
    Event(Event),
    /// What has been read, and how many bytes would be accepted in all.
    Came(Vec<u8>, i64),
}

/// What is to be done at the end of the turn, and what was learnt about polling.
#[derive(Default)]
pub(super) struct Wake {
    /// Who rang or armed in this turn.
    pub(super) touched: Vec<Communication>,
    /// Who is armed, and maybe some that no longer are.
    pub(super) armed: Vec<Communication>,
    /// Memory for the names of those that can be polled.
    pub(super) pollable: Vec<PoreId>,
    pub(super) is_scheduled: bool,
    /// What polling in this turn came to, if it was in vain.
    pub(super) polled_in_vain: Option<Polled>,
    pub(super) policy: AdaptivePoll,
    /// When the loop began to look for what it waits for, whether it has slept since or not.
    pub(super) waits_since: Option<Time>,
    pub(super) owner: Option<Owner>,
}

/// What became of a stretch of polling.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Polled {
    /// Somebody has been told.
    Came,
    /// Nothing yet, and it pays to go on after a look at the descriptors.
    Later,
    /// It is time to sleep.
    Over,
}
