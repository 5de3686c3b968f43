//! Links of a simulation: Ethernet switches, and the devices that are plugged in.

use std::collections::HashMap;

use tidemill_stdx::sorted::SortedMap;

/// The maximum number of addresses that a link learns; then it forgets all, and learns again.
const LEARNED_MAX: usize = 1 << 16;

/// A device of the graph at a link.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Plug {
    /// The app that replaces the one with the device.
    pub(crate) app: String,
    /// The name of the device in the graph.
    pub(crate) device: String,
    /// The link.
    pub(crate) link: String,
}

impl Plug {
    /// The name of a node's device in the network.
    pub(crate) fn name_at(&self, address: &str) -> String {
        format!("{address}/{}", self.device)
    }
}

/// An Ethernet address.
type Mac = [u8; 6];

/// A link of a simulation.
#[derive(Default, Debug)]
pub(crate) struct Switch {
    /// The names in the network of the devices at it.
    members: Vec<String>,
    /// By address: the device behind which it is. Read by key only, never in order.
    learned: HashMap<Mac, usize>,
}

impl Switch {
    /// Adds a device.
    pub(crate) fn add(&mut self, name: String) {
        self.members.push(name);
    }

    /// The number of a device.
    pub(crate) fn member(&self, name: &str) -> Option<usize> {
        self.members.iter().position(|member| member == name)
    }

    /// The devices that receive a frame of one of them; learns the sender's address from the frame.
    pub(crate) fn route(&mut self, from: usize, frame: &[u8]) -> impl Iterator<Item = &str> {
        let address = |at: usize| frame.get(at..at + 6).and_then(|bytes| Mac::try_from(bytes).ok());
        let is_group = |address: Mac| address[0] & 1 != 0;
        if let Some(sender) = address(6).filter(|sender| !is_group(*sender)) {
            if self.learned.len() >= LEARNED_MAX && !self.learned.contains_key(&sender) {
                self.learned.clear();
            }
            self.learned.insert(sender, from);
        }
        let known = address(0).filter(|to| !is_group(*to)).and_then(|to| self.learned.get(&to));
        let to = known.map_or(0..self.members.len(), |&at| at..at + 1);
        to.filter(move |at| *at != from).map(|at| self.members[at].as_str())
    }
}

/// The names in the network of the devices of a node.
pub(crate) fn names(plugs: &[Plug], address: &str) -> Vec<String> {
    plugs.iter().map(|plug| plug.name_at(address)).collect()
}

/// The links by name.
pub(crate) type Switches = SortedMap<String, Switch>;

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(to: u8, from: u8) -> Vec<u8> {
        let mut frame = vec![0; 60];
        frame[0..6].copy_from_slice(&[if to == 0xff { 0xff } else { 2 }, 0, 0, 0, 0, to]);
        frame[6..12].copy_from_slice(&[2, 0, 0, 0, 0, from]);
        frame
    }

    #[test]
    fn a_switch_learns_where_addresses_are() {
        let mut switch = Switch::default();
        ["a", "b", "c"].into_iter().for_each(|name| switch.add(name.to_owned()));
        let mut route = |from: &str, frame: &[u8]| {
            let from = switch.member(from).expect("a device");
            switch.route(from, frame).map(str::to_owned).collect::<Vec<String>>()
        };
        assert_eq!(route("a", &frame(2, 1)), ["b", "c"]);
        assert_eq!(route("b", &frame(1, 2)), ["a"]);
        assert_eq!(route("a", &frame(2, 1)), ["b"]);
        assert_eq!(route("b", &frame(0xff, 2)), ["a", "c"]);
        // Addresses on its own side of the link, one that has moved, and an invalid frame.
        assert_eq!(route("b", &frame(2, 7)), Vec::<&str>::new());
        assert_eq!(route("c", &frame(9, 2)), ["a", "b"]);
        assert_eq!(route("a", &frame(2, 1)), ["c"]);
        assert_eq!(route("a", &[1, 2]), ["b", "c"]);
    }
}
