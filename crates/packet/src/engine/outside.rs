//! Packets to and from links, for what runs beside the graph on the same loop.

use super::{Engine, NoSuchPort};
use crate::app::Direction;
use crate::graph::LinkSpec;
use crate::packet::Packet;

impl Engine {
    /// Puts a packet on the link from an output, as if the app had sent it there. The driver must
    /// be woken too: see [`drive::wake`](crate::drive::wake).
    ///
    /// # Errors
    /// There is no such link; the packet is returned.
    pub fn send_from(&mut self, app: &str, port: &str, packet: Packet) -> Result<(), NoSuchPort> {
        let at = self.graph.find(app).and_then(|app| {
            let mut links = self.graph.links.iter();
            links.position(|link| link.from.app == app && link.from.port == port)
        });
        match at {
            Some(at) => {
                self.links[at].link.ring().send(packet);
                Ok(())
            }
            None => Err(NoSuchPort(packet)),
        }
    }

    /// Takes the next packet from the links to an input, whose app takes none itself.
    pub fn take_from(&mut self, app: &str, port: &str) -> Option<Packet> {
        let app = self.graph.find(app)?;
        let links = self.graph.links.iter().zip(&self.links);
        let mut rings = links
            .filter(|(link, _)| link.to.app == app && link.to.port == port)
            .map(|(_, slot)| slot.link.ring());
        rings.find_map(|ring| ring.receive_before(ring.written()))
    }

    /// The links to an app, or from it, with the names of its ports: positions that hold until the
    /// graph changes.
    pub fn links_of(&self, app: &str, direction: Direction) -> Vec<(usize, String)> {
        let Some(app) = self.graph.find(app) else { return Vec::new() };
        let end = |link: &LinkSpec| match direction {
            Direction::Input => link.to.clone(),
            Direction::Output => link.from.clone(),
        };
        let ends = self.graph.links.iter().map(end).enumerate();
        ends.filter(|(_, end)| end.app == app).map(|(at, end)| (at, end.port)).collect()
    }

    /// Takes the next packet from a link whose app takes none itself.
    pub fn take_link(&mut self, link: usize) -> Option<Packet> {
        let ring = self.links.get(link)?.link.ring();
        ring.receive_before(ring.written())
    }

    /// Whether packets are on a link.
    pub fn waits_at(&self, link: usize) -> bool {
        self.links.get(link).is_some_and(|slot| !slot.link.ring().is_empty())
    }

    /// Puts a packet on a link, as if the app before it had sent it; the link drops what it has no
    /// room for. The driver must be woken too: see [`drive::wake`](crate::drive::wake).
    ///
    /// # Errors
    /// There is no such link; the packet is returned.
    pub fn send_link(&mut self, link: usize, packet: Packet) -> Result<(), NoSuchPort> {
        match self.links.get(link) {
            Some(slot) => {
                slot.link.ring().send(packet);
                Ok(())
            }
            None => Err(NoSuchPort(packet)),
        }
    }

    /// Whether the graph has an app of this name and type.
    pub fn has_app(&self, name: &str, kind: &str) -> bool {
        self.graph.find(name).is_some_and(|at| self.graph.apps[at].kind.name == kind)
    }
}
