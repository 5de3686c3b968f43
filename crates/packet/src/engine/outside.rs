//! Packets to and from links, for what runs beside the graph on the same loop.

use super::{Engine, NoSuchPort};
use crate::packet::Packet;

impl Engine {
    /// Puts a packet on the link from an output, as if the app had sent it there. The driver must
    /// be woken too: see [`drive::wake`](crate::drive::wake).
    ///
    /// # Errors
    /// There is no such link; the packet comes back.
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

    /// Whether the graph has an app of this name and type.
    pub fn has_app(&self, name: &str, kind: &str) -> bool {
        self.graph.find(name).is_some_and(|at| self.graph.apps[at].kind.name == kind)
    }
}
