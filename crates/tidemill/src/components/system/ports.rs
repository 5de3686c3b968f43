//! The ports of an app that is a program of components: Packets leads to them when a program is an
//! app of a graph, not beside it.
//!
//! ```text
//! link -> input: a queue -> a client receives  ...  a client sends -> output: a queue -> link
//! ```
//! The app fills the inputs and empties the outputs between two runs of the program. Both queues
//! are bounded: packets that an input has no room for stay on its link, and packets that an output
//! has no room for are not sent, which is reported to the program and counted by the app.

use std::collections::VecDeque;
use std::fmt;

use tidemill_packet::packet::Packet;

/// The maximum number of packets in an input or output.
const QUEUED_MAX: usize = 1024;

/// A port and its queue.
struct Port<T> {
    name: String,
    queue: VecDeque<T>,
}

/// A packet sent by the program.
pub(crate) struct Outgoing {
    pub(crate) bytes: Vec<u8>,
    /// The capture time that it inherits, if any.
    pub(crate) time_ns: Option<i64>,
}

/// The two ports of a name: `FROM -> TO`, or one name for both.
pub(crate) fn ends(name: &str) -> (&str, &str) {
    name.split_once("->").map_or((name, name), |(from, to)| (from.trim(), to.trim()))
}

/// All ports of the app.
#[derive(Default)]
pub(crate) struct Ports {
    inputs: Vec<Port<Packet>>,
    outputs: Vec<Port<Outgoing>>,
    /// Packets refused by a full output since the last call of `refused`.
    refused: u64,
}

/// Why a pair of ports cannot be opened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum NoPort {
    /// Neither an input nor an output has this name.
    Either(String),
    /// No input has this name.
    Input(String),
    /// No output has this name.
    Output(String),
}

impl fmt::Display for NoPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoPort::Either(name) => write!(f, "no link leads from or to `{name}`"),
            NoPort::Input(name) => write!(f, "no link leads here from `{name}`"),
            NoPort::Output(name) => write!(f, "no link leads from here to `{name}`"),
        }
    }
}

/// Renames ports; a port keeps its queue if its name stays.
fn renamed<T>(old: Vec<Port<T>>, names: &[String]) -> Vec<Port<T>> {
    let mut old: Vec<Option<Port<T>>> = old.into_iter().map(Some).collect();
    let kept = |name: &String| {
        let same = |port: &&mut Option<Port<T>>| port.as_ref().is_some_and(|it| it.name == *name);
        let kept = old.iter_mut().find(same).and_then(Option::take);
        kept.unwrap_or_else(|| Port { name: name.clone(), queue: VecDeque::new() })
    };
    names.iter().map(kept).collect()
}

impl Ports {
    /// Sets the names of the ports, in the order of the graph.
    pub(crate) fn name(&mut self, inputs: &[String], outputs: &[String]) {
        self.inputs = renamed(std::mem::take(&mut self.inputs), inputs);
        self.outputs = renamed(std::mem::take(&mut self.outputs), outputs);
    }

    /// The number of packets that an input has room for.
    pub(crate) fn room(&self, input: usize) -> usize {
        self.inputs.get(input).map_or(0, |port| QUEUED_MAX - port.queue.len().min(QUEUED_MAX))
    }

    /// Queues a packet at an input, if there is room.
    pub(crate) fn put(&mut self, input: usize, packet: Packet) {
        if self.room(input) > 0 {
            self.inputs[input].queue.push_back(packet);
        }
    }

    /// The name of an input.
    pub(super) fn input(&self, input: usize) -> &str {
        self.inputs.get(input).map_or("", |port| &port.name)
    }

    /// Takes the sent packets, by output.
    pub(crate) fn sent(&mut self) -> impl Iterator<Item = (usize, VecDeque<Outgoing>)> {
        let queues = self.outputs.iter_mut().map(|port| std::mem::take(&mut port.queue));
        queues.enumerate().filter(|(_, queue)| !queue.is_empty())
    }

    /// Takes the number of packets that outputs refused.
    pub(crate) fn refused(&mut self) -> u64 {
        std::mem::take(&mut self.refused)
    }

    /// Drops the packets at inputs; returns their number.
    pub(crate) fn forget(&mut self) -> usize {
        self.inputs.iter_mut().map(|port| std::mem::take(&mut port.queue).len()).sum()
    }

    /// Checks that this pair of ports can be opened: one of them must exist.
    pub(super) fn check(&self, from: &str, to: &str) -> Result<(), NoPort> {
        let has_input = self.inputs.iter().any(|port| port.name == from);
        let has_output = self.outputs.iter().any(|port| port.name == to);
        match from == to {
            true if has_input || has_output => Ok(()),
            true => Err(NoPort::Either(from.to_owned())),
            false if !has_input => Err(NoPort::Input(from.to_owned())),
            false if !has_output => Err(NoPort::Output(to.to_owned())),
            false => Ok(()),
        }
    }

    /// Sends a packet; returns whether there is such an output with room.
    pub(super) fn send(&mut self, to: &str, bytes: &[u8], time_ns: Option<i64>) -> bool {
        let at = self.outputs.iter().position(|port| port.name == to);
        at.is_some_and(|at| self.send_at(at, bytes, time_ns))
    }

    /// Sends a packet to an output by number.
    pub(crate) fn send_at(&mut self, to: usize, bytes: &[u8], time_ns: Option<i64>) -> bool {
        let Some(port) = self.outputs.get_mut(to) else { return false };
        let has_room = port.queue.len() < QUEUED_MAX;
        if has_room {
            port.queue.push_back(Outgoing { bytes: bytes.to_vec(), time_ns });
        } else {
            self.refused += 1;
        }
        has_room
    }

    /// Takes the next packet of an input.
    pub(super) fn take(&mut self, from: &str) -> Option<Packet> {
        self.inputs.iter_mut().find(|port| port.name == from)?.queue.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidemill_packet::packet::Pool;

    fn names(all: &[&str]) -> Vec<String> {
        all.iter().map(|&name| name.to_owned()).collect()
    }

    #[test]
    fn queues_are_bounded_and_stay_with_their_names() {
        let pool = Pool::new(4096);
        let mut ports = Ports::default();
        ports.name(&names(&["a", "b"]), &names(&["x"]));
        for _ in 0..2000 {
            ports.put(1, pool.packet_of(&[1]).expect("a packet"));
        }
        assert_eq!((ports.room(1), ports.room(0), ports.room(7)), (0, QUEUED_MAX, 0));
        assert_eq!(pool.stats().alive(), QUEUED_MAX as u64);
        ports.name(&names(&["b", "c"]), &names(&["x", "y"]));
        assert_eq!((ports.room(0), ports.room(1)), (0, QUEUED_MAX));
        assert!(ports.take("b").is_some() && ports.take("a").is_none());
        assert_eq!((0..2000).filter(|_| ports.send("x", b"1", None)).count(), QUEUED_MAX);
        assert!(!ports.send("z", b"1", None));
        assert_eq!((ports.refused(), ports.refused()), (2000 - QUEUED_MAX as u64, 0));
        let sent: Vec<_> = ports.sent().map(|(at, queue)| (at, queue.len())).collect();
        assert_eq!(sent, [(0, QUEUED_MAX)]);
    }

    #[test]
    fn ways_have_ends_that_are_there() {
        let mut ports = Ports::default();
        ports.name(&names(&["a", "both"]), &names(&["x", "both"]));
        for (from, to) in [("a", "a"), ("x", "x"), ("both", "both"), ("a", "x"), ("both", "x")] {
            assert_eq!(ports.check(from, to), Ok(()), "{from} -> {to}");
        }
        for (from, to) in [("x", "a"), ("a", "z"), ("z", "x"), ("z", "z"), ("", "")] {
            assert!(ports.check(from, to).is_err(), "{from} -> {to}");
        }
    }
}
