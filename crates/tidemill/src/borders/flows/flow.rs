//! One flow: its instance, the ports that this has opened, and the packets that wait.

use std::collections::VecDeque;
use std::num::NonZeroU32;

use tidemill_packet::packet::Packet;
use tidemill_proc::{Communication, ComponentId};

use super::key::Key;

/// No flow.
pub(super) const NONE: u32 = u32::MAX;
/// No port.
pub(super) const NO_PORT: u16 = u16::MAX;

/// The number of a flow, in a form that leaves room for none.
#[derive(Clone, Copy, Debug)]
pub(super) struct FlowId(NonZeroU32);

impl FlowId {
    pub(super) fn of(number: u32) -> FlowId {
        FlowId(NonZeroU32::MIN.saturating_add(number))
    }

    pub(super) fn number(self) -> u32 {
        self.0.get() - 1
    }
}

/// A way in and out that an instance has opened.
#[derive(Clone, Copy, Debug)]
pub(super) struct Door {
    pub(super) name: Communication,
    /// Ports by their number among those of the app.
    pub(super) input: u16,
    pub(super) output: u16,
    /// It has asked for a packet.
    pub(super) is_waiting: bool,
}

/// How it stands with an instance.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stage {
    /// The packets of its flow are for it.
    Lives,
    /// It has been told to end.
    Ends,
    /// It has failed.
    Failed,
}

/// A flow.
pub(super) struct Flow {
    pub(super) key: Key,
    pub(super) instance: ComponentId,
    /// When the last packet came.
    pub(super) last_ns: u64,
    /// The time of the packet received last, which those sent then bear; the least: none.
    time_ns: i64,
    /// Its neighbours in the order of their last packets.
    pub(super) older: u32,
    pub(super) newer: u32,
    pub(super) app: u16,
    pub(super) stage: Stage,
    /// It has received a packet.
    pub(super) has_received: bool,
    door: Option<Door>,
    #[expect(clippy::box_collection, reason = "nearly all flows have none")]
    more_doors: Option<Box<Vec<Door>>>,
    pub(super) queue: Queue,
}

impl Flow {
    pub(super) fn new(app: u16, key: Key, instance: ComponentId) -> Flow {
        Flow {
            key,
            instance,
            last_ns: 0,
            time_ns: i64::MIN,
            older: NONE,
            newer: NONE,
            app,
            stage: Stage::Lives,
            has_received: false,
            door: None,
            more_doors: None,
            queue: Queue::default(),
        }
    }

    pub(super) fn time_ns(&self) -> Option<i64> {
        (self.time_ns != i64::MIN).then_some(self.time_ns)
    }

    /// It has received a packet.
    pub(super) fn received(&mut self, packet: &Packet) {
        self.has_received = true;
        self.time_ns = packet.time_ns().unwrap_or(i64::MIN);
    }

    #[inline]
    pub(super) fn doors(&self) -> impl Iterator<Item = &Door> {
        self.door.iter().chain(self.more_doors.iter().flat_map(|more| more.iter()))
    }

    #[inline]
    fn doors_mut(&mut self) -> impl Iterator<Item = &mut Door> {
        self.door.iter_mut().chain(self.more_doors.iter_mut().flat_map(|more| more.iter_mut()))
    }

    #[inline]
    pub(super) fn door_mut(&mut self, name: Communication) -> Option<&mut Door> {
        self.doors_mut().find(|door| door.name == name)
    }

    /// Takes a way that waits for packets of an input.
    #[inline]
    pub(super) fn take_waiting(&mut self, input: u16) -> Option<Communication> {
        let door = self.doors_mut().find(|door| door.is_waiting && door.input == input)?;
        door.is_waiting = false;
        Some(door.name)
    }

    pub(super) fn open(&mut self, door: Door) {
        match &self.door {
            None => self.door = Some(door),
            Some(_) => self.more_doors.get_or_insert_default().push(door),
        }
    }

    pub(super) fn close(&mut self, name: Communication) {
        if self.door.is_some_and(|door| door.name == name) {
            self.door = self.more_doors.as_mut().and_then(|more| more.pop());
        } else if let Some(more) = &mut self.more_doors {
            more.retain(|door| door.name != name);
        }
        self.more_doors.take_if(|more| more.is_empty());
    }
}

/// Packets that wait, with the numbers of their inputs. Most flows never have more than one.
#[derive(Default)]
pub(super) struct Queue {
    first: Option<Packet>,
    #[expect(clippy::box_collection, reason = "nearly all flows have none")]
    rest: Option<Box<VecDeque<(Packet, u16)>>>,
    first_input: u16,
}

impl Queue {
    #[inline]
    pub(super) fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.rest.as_ref().map_or(0, |rest| rest.len())
    }

    #[inline]
    pub(super) fn push(&mut self, packet: Packet, input: u16) {
        match &self.first {
            None => (self.first, self.first_input) = (Some(packet), input),
            Some(_) => self.rest.get_or_insert_default().push_back((packet, input)),
        }
    }

    /// The input of the next.
    #[inline]
    pub(super) fn first_input(&self) -> Option<u16> {
        self.first.as_ref().map(|_| self.first_input)
    }

    /// Takes the next.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<(Packet, u16)> {
        let first = (self.first.take()?, self.first_input);
        if let Some(rest) = &mut self.rest {
            if let Some((packet, input)) = rest.pop_front() {
                (self.first, self.first_input) = (Some(packet), input);
            }
            self.rest.take_if(|rest| rest.is_empty());
        }
        Some(first)
    }

    /// Takes the first that is of an input; one of another that stands before it stays.
    pub(super) fn take(&mut self, input: u16) -> Option<Packet> {
        if self.first_input().is_none_or(|of| of == input) {
            return self.pop().map(|(packet, _)| packet);
        }
        let rest = self.rest.as_mut()?;
        let at = rest.iter().position(|(_, of)| *of == input)?;
        let found = rest.remove(at);
        self.rest.take_if(|rest| rest.is_empty());
        found.map(|(packet, _)| packet)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidemill_packet::packet::Pool;

    #[test]
    fn packets_leave_in_order_input_by_input() {
        let pool = Pool::new(8);
        let mut queue = Queue::default();
        for (byte, input) in [(1, 0), (2, 1), (3, 0), (4, 1)] {
            queue.push(pool.packet_of(&[byte]).expect("a packet"), input);
        }
        let taken = queue.take(1).map(|packet| packet.bytes()[0]);
        assert_eq!((taken, queue.len()), (Some(2), 3));
        let rest =
            std::iter::from_fn(|| queue.pop()).map(|(packet, input)| (packet.bytes()[0], input));
        assert_eq!(rest.collect::<Vec<_>>(), [(1, 0), (3, 0), (4, 1)]);
        assert!(queue.take(0).is_none());
        assert_eq!(pool.stats().alive(), 0);
    }
}
