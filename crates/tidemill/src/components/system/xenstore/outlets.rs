//! Connections to stores, and the clients that share them.

use std::rc::Rc;
use std::{fmt, io};

use tidemill_event::WatchId;
use tidemill_pore::xenstore::outlet::Outlet;
use tidemill_proc::{Communication, CommunicationMap};
use tidemill_stdx::sorted::SortedMap;

use crate::components::system::confined::Root;

pub(super) type Address = (Vec<u8>, Vec<u8>);

/// A connection and its clients.
pub(super) struct Shared {
    pub(super) outlet: Outlet,
    pub(super) clients: usize,
    pub(super) watch: Option<WatchId>,
}

/// Why there is no connection.
pub(super) enum OutletError {
    /// The run has no folder for sockets.
    NoFolder,
    /// The socket cannot be connected to.
    Socket(io::Error),
    /// The address is of another kind.
    NoSuchKind,
    /// The pore is refused.
    Pore(tidemill_pore::Error),
}

impl fmt::Display for OutletError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OutletError::NoFolder => f.write_str("there is no folder for sockets"),
            OutletError::Socket(error) => error.fmt(f),
            OutletError::NoSuchKind => f.write_str("no such kind of pore"),
            OutletError::Pore(error) => error.fmt(f),
        }
    }
}

/// All connections.
pub(in crate::components::system) struct Outlets {
    root: Option<Rc<Root>>,
    pub(super) shared: SortedMap<Address, Shared>,
    pub(super) clients: CommunicationMap<Address>,
    /// Clients that wait for an event.
    pub(super) waiting: SortedMap<Communication, Address>,
}

impl Outlets {
    pub(in crate::components::system) fn new(root: Option<Rc<Root>>) -> Outlets {
        let (shared, clients) = (SortedMap::new(), CommunicationMap::default());
        Outlets { root, shared, clients, waiting: SortedMap::new() }
    }

    /// The first client that waits for an event of this store.
    pub(super) fn first_waiting(&self, address: &Address) -> Option<Communication> {
        self.waiting.iter().find(|(_, at)| *at == address).map(|(whom, _)| *whom)
    }

    pub(super) fn connect(
        &mut self,
        from: Communication,
        address: Address,
    ) -> Result<(), OutletError> {
        if !self.shared.contains_key(&address) {
            let root = self.root.as_ref().ok_or(OutletError::NoFolder)?;
            let socket = root.connect(&address.1).map_err(OutletError::Socket)?;
            let outlet = match &address.0[..] {
                b"xenstore" => Outlet::page(socket),
                b"socket" => Outlet::stream(socket),
                _ => return Err(OutletError::NoSuchKind),
            };
            let outlet = outlet.map_err(OutletError::Pore)?;
            self.shared.insert(address.clone(), Shared { outlet, clients: 0, watch: None });
        }
        if let Some(shared) = self.shared.get_mut(&address) {
            shared.clients += 1;
        }
        self.clients.insert(from, address);
        Ok(())
    }
}
