//! One flow: its instance, and the stage of that.

use tidemill_packet::packet::Packet;
use tidemill_proc::{Communication, ComponentId};

use super::key::Key;

/// No flow.
pub(super) const NONE: u32 = u32::MAX;
/// No port.
pub(super) const NO_PORT: u16 = u16::MAX;

/// The mark of the communications of a flow.
pub(super) fn mark(at: u32) -> u32 {
    at + 1
}

/// The flow of a mark.
pub(super) fn marked(mark: u32) -> Option<u32> {
    mark.checked_sub(1)
}

/// An input and an output that an instance has opened.
#[derive(Clone, Copy, Debug)]
pub(super) struct OpenPorts {
    pub(super) name: Communication,
    /// The number of the input port in the app.
    pub(super) input: u16,
    pub(super) output: u16,
    /// A `Receive` is pending.
    pub(super) is_waiting: bool,
}

/// The stage of an instance.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stage {
    /// It gets the packets of its flow.
    Lives,
    /// It was asked to end, as it had no packet for long.
    Idle,
    /// It was asked to end with the program.
    Ends,
    /// It has failed.
    Failed,
}

/// A flow. There may be a million, so what few have at a time is in the backlog.
pub(super) struct Flow {
    pub(super) key: Key,
    pub(super) instance: ComponentId,
    /// The arrival of the last packet.
    pub(super) last_ns: u64,
    /// The capture time of the last received packet, which sent packets inherit; the least value:
    /// none.
    time_ns: i64,
    /// Neighbours in the list ordered by last packet.
    pub(super) older: u32,
    pub(super) newer: u32,
    /// The first ports that it opened, as [`OpenPorts`]; none: `Communication::NONE`.
    name: Communication,
    input: u16,
    output: u16,
    pub(super) app: u16,
    pub(super) stage: Stage,
    /// The flags below.
    flags: u8,
}

/// Flag: it has received a packet.
const HAS_RECEIVED: u8 = 1;
/// Flag: a `Receive` of its first ports is pending.
const IS_WAITING: u8 = 2;
/// Flag: it has a [`Backlog`](super::backlog::Backlog).
const HAS_BACKLOG: u8 = 4;

impl Flow {
    pub(super) fn new(app: u16, key: Key, instance: ComponentId) -> Flow {
        Flow {
            key,
            instance,
            last_ns: 0,
            time_ns: i64::MIN,
            older: NONE,
            newer: NONE,
            name: Communication::NONE,
            input: NO_PORT,
            output: NO_PORT,
            app,
            stage: Stage::Lives,
            flags: 0,
        }
    }

    fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    fn set(&mut self, flag: u8, is: bool) {
        self.flags = if is { self.flags | flag } else { self.flags & !flag };
    }

    pub(super) fn has_received(&self) -> bool {
        self.has(HAS_RECEIVED)
    }

    pub(super) fn has_backlog(&self) -> bool {
        self.has(HAS_BACKLOG)
    }

    pub(super) fn set_backlog(&mut self, has: bool) {
        self.set(HAS_BACKLOG, has);
    }

    pub(super) fn time_ns(&self) -> Option<i64> {
        (self.time_ns != i64::MIN).then_some(self.time_ns)
    }

    /// It has received a packet.
    pub(super) fn received(&mut self, packet: &Packet) {
        self.set(HAS_RECEIVED, true);
        self.time_ns = packet.time_ns().unwrap_or(i64::MIN);
    }

    /// The first ports that it opened.
    #[inline]
    pub(super) fn ports(&self) -> Option<OpenPorts> {
        let Flow { name, input, output, .. } = *self;
        let is_waiting = self.has(IS_WAITING);
        (name != Communication::NONE).then_some(OpenPorts { name, input, output, is_waiting })
    }

    pub(super) fn set_ports(&mut self, ports: Option<OpenPorts>) {
        let none = OpenPorts {
            name: Communication::NONE,
            input: NO_PORT,
            output: NO_PORT,
            is_waiting: false,
        };
        let OpenPorts { name, input, output, is_waiting } = ports.unwrap_or(none);
        (self.name, self.input, self.output) = (name, input, output);
        self.set(IS_WAITING, is_waiting);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With a million of them each word counts.
    #[test]
    fn a_flow_is_small() {
        assert_eq!(size_of::<Option<Flow>>(), 72);
    }
}
