//! The table of open communications with system components. Each place holds the server's end,
//! which bears the name of the communication that has the place now, and its data:
//!
//! ```text
//! wait        name            condition      number that the embedder gave the system component
//! flags       NOTED, HELD, PENDING           index of the channel: the embedder's mark
//! ```
//! So a communication that waits costs its block and an address, and the block alone leads to all
//! of its data.

use crate::communication::Communication;
use crate::handle::ProcessRef;

/// Flag of a server's end: it is in the list of those with something to take.
pub(crate) const NOTED: u16 = 256;
/// Flag of a server's end: its messages are left where they are.
pub(crate) const HELD: u16 = 512;
/// Flag of a server's end: answers wait for room.
pub(crate) const PENDING: u16 = 1024;

/// All that are open.
#[derive(Default)]
pub(crate) struct Servers {
    /// Null where none is.
    places: Vec<ProcessRef>,
    free: Vec<u32>,
    /// The number of communications opened so far.
    count: u32,
}

impl Servers {
    /// Enters a server's end, and gives it its name.
    pub(crate) fn insert(&mut self, server: ProcessRef) {
        let place = self.free.pop().unwrap_or_else(|| {
            self.places.push(ProcessRef::NULL);
            self.places.len() as u32 - 1
        });
        self.count = self.count.wrapping_add(1).max(1);
        let name = Communication::new(place, self.count);
        server.set_wait(name.0);
        self.places[name.place()] = server;
    }

    /// The server's end of a communication, while that is open.
    #[inline]
    pub(crate) fn get(&self, name: Communication) -> Option<ProcessRef> {
        let server = self.places.get(name.place())?.some()?;
        (name_of(server) == name).then_some(server)
    }

    /// The server's end at the place of a communication, without reading its block.
    #[inline]
    pub(crate) fn at(&self, name: Communication) -> Option<ProcessRef> {
        self.places.get(name.place())?.some()
    }

    pub(crate) fn remove(&mut self, server: ProcessRef) {
        let place = name_of(server).place();
        self.places[place] = ProcessRef::NULL;
        self.free.push(place as u32);
    }

    /// All of them, by place.
    pub(crate) fn iter(&self) -> impl Iterator<Item = ProcessRef> {
        self.places.iter().filter_map(|server| server.some())
    }
}

/// The name of the communication.
#[inline]
pub(crate) fn name_of(server: ProcessRef) -> Communication {
    Communication(server.wait())
}

/// The number that the embedder gave the system component.
#[inline]
pub(crate) fn system_of(server: ProcessRef) -> u32 {
    server.condition()
}
