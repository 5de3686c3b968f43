//! What few flows have at a time: queued packets, and further ports.

use std::collections::VecDeque;

use tidemill_packet::packet::Packet;

use super::flow::OpenPorts;

/// The backlog of one flow. Most flows never queue more than one packet, while the instance starts.
#[derive(Default)]
pub(super) struct Backlog {
    first: Option<Packet>,
    first_input: u16,
    /// Packets after the first, with the numbers of their inputs.
    rest: VecDeque<(Packet, u16)>,
    /// Further ports opened by the instance.
    pub(super) further_ports: Vec<OpenPorts>,
}

impl Backlog {
    /// The number of queued packets.
    #[inline]
    pub(super) fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.rest.len()
    }

    /// Whether it is empty.
    pub(super) fn is_nothing(&self) -> bool {
        self.first.is_none() && self.further_ports.is_empty()
    }

    #[inline]
    pub(super) fn push(&mut self, packet: Packet, input: u16) {
        match &self.first {
            None => (self.first, self.first_input) = (Some(packet), input),
            Some(_) => self.rest.push_back((packet, input)),
        }
    }

    /// The input of the oldest packet.
    #[inline]
    pub(super) fn first_input(&self) -> Option<u16> {
        self.first.as_ref().map(|_| self.first_input)
    }

    /// Removes the oldest packet.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<(Packet, u16)> {
        let first = (self.first.take()?, self.first_input);
        if let Some((packet, input)) = self.rest.pop_front() {
            (self.first, self.first_input) = (Some(packet), input);
        }
        Some(first)
    }

    /// Removes the first packet of an input; earlier ones of other inputs stay.
    pub(super) fn take(&mut self, input: u16) -> Option<Packet> {
        if self.first_input().is_none_or(|of| of == input) {
            return self.pop().map(|(packet, _)| packet);
        }
        let at = self.rest.iter().position(|(_, of)| *of == input)?;
        self.rest.remove(at).map(|(packet, _)| packet)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidemill_packet::packet::Pool;

    #[test]
    fn packets_leave_in_order_input_by_input() {
        let pool = Pool::new(8);
        let mut more = Backlog::default();
        for (byte, input) in [(1, 0), (2, 1), (3, 0), (4, 1)] {
            more.push(pool.packet_of(&[byte]).expect("a packet"), input);
        }
        let taken = more.take(1).map(|packet| packet.bytes()[0]);
        assert_eq!((taken, more.len()), (Some(2), 3));
        let rest =
            std::iter::from_fn(|| more.pop()).map(|(packet, input)| (packet.bytes()[0], input));
        assert_eq!(rest.collect::<Vec<_>>(), [(1, 0), (3, 0), (4, 1)]);
        assert!(more.take(0).is_none() && more.is_nothing());
        assert_eq!(pool.stats().alive(), 0);
    }
}
