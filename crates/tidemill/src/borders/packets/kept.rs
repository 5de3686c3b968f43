//! Packets whose verdict is pending.
//!
//! A node processes events in order, so packets wait in a queue in the order of their numbers; held
//! packets move to a table. A held packet stays there until its time is over: what is sent are
//! copies.

use std::collections::{HashMap, VecDeque};

use tidemill_event::Time;
use tidemill_packet::packet::Packet;

/// The maximum number of packets held beyond their turns.
const HELD_MAX: usize = 4096;

/// Packets by number.
#[derive(Default)]
pub(super) struct Kept {
    /// Packets whose turn has not ended; the first has the number `first`.
    waiting: VecDeque<Option<Entry>>,
    first: i64,
    held: HashMap<i64, Entry>,
    /// Numbers of the packets that are sent at the end of this turn.
    decided: Vec<i64>,
}

/// A packet, and the link that it is sent to at the end of the turn.
struct Entry {
    packet: Packet,
    link: Option<usize>,
    /// The end of its time, if it is held.
    held_until: Option<Time>,
}

/// The result of a verdict that sends a packet.
pub(super) enum Verdict {
    /// It is sent at the end of the turn.
    Waits,
    /// It already has another link: this is a copy for the new one, if there was a buffer.
    Again(usize, Option<Packet>),
    /// It is gone.
    Stale,
}

impl Kept {
    /// No packets yet; the first will have this number.
    pub(super) fn from(first: i64) -> Kept {
        Kept { first, ..Kept::default() }
    }

    /// The number of the next packet that is [put](Kept::put) here.
    pub(super) fn next_id(&self) -> i64 {
        self.first + self.waiting.len() as i64
    }

    /// Keeps a packet until its turn ends.
    pub(super) fn put(&mut self, packet: Packet) {
        self.waiting.push_back(Some(Entry { packet, link: None, held_until: None }));
    }

    /// Numbers a packet that does not wait.
    pub(super) fn pass(&mut self) {
        if self.waiting.is_empty() {
            self.first += 1;
        } else {
            self.waiting.push_back(None);
        }
    }

    fn get(&mut self, id: i64) -> Option<&mut Entry> {
        let at = usize::try_from(id.checked_sub(self.first)?);
        match at {
            Ok(at) => self.waiting.get_mut(at)?.as_mut(),
            Err(_) => self.held.get_mut(&id),
        }
    }

    /// Has a packet sent to a link when the turn ends.
    pub(super) fn send(&mut self, id: Option<i64>, link: usize) -> Verdict {
        let Some((id, entry)) = id.and_then(|id| Some((id, self.get(id)?))) else {
            return Verdict::Stale;
        };
        match entry.link.replace(link) {
            Some(before) => Verdict::Again(before, entry.packet.duplicate()),
            None => {
                self.decided.push(id);
                Verdict::Waits
            }
        }
    }

    /// Holds a packet beyond its turn; the last call decides until when. Returns false if it is
    /// gone, or too many are held.
    pub(super) fn hold(&mut self, id: i64, until: Time) -> bool {
        let is_full = self.held.len() >= HELD_MAX;
        match self.get(id) {
            Some(entry) if entry.held_until.is_some() || !is_full => {
                entry.held_until = Some(until);
                true
            }
            _ => false,
        }
    }

    /// What this turn sends, in order, with the links: copies of packets that are held, if there
    /// were buffers, and the others themselves.
    pub(super) fn each_decided(&mut self, mut take: impl FnMut(usize, Option<Packet>)) {
        let mut decided = std::mem::take(&mut self.decided);
        for id in decided.drain(..) {
            let Some(entry) = self.get(id) else { continue };
            let Some(link) = entry.link.take() else { continue };
            let packet = match entry.held_until {
                Some(_) => entry.packet.duplicate(),
                None => self.remove(id),
            };
            take(link, packet);
        }
        // Keeps the buffer.
        self.decided = decided;
    }

    fn remove(&mut self, id: i64) -> Option<Packet> {
        let at = usize::try_from(id.checked_sub(self.first)?);
        let entry = match at {
            Ok(at) => self.waiting.get_mut(at)?.take(),
            Err(_) => self.held.remove(&id),
        };
        Some(entry?.packet)
    }

    /// The turn of a packet has ended: drops it, and earlier ones whose turns were abandoned,
    /// unless they are held.
    pub(super) fn end(&mut self, id: i64) {
        while self.first <= id
            && let Some(entry) = self.waiting.pop_front()
        {
            if let Some(entry) = entry.filter(|entry| entry.held_until.is_some()) {
                self.held.insert(self.first, entry);
            }
            self.first += 1;
        }
    }

    /// Drops all packets; returns their number. Numbering continues.
    pub(super) fn clear(&mut self) -> u64 {
        let waiting = self.waiting.iter().flatten().count() + self.held.len();
        self.first = self.next_id();
        self.waiting.clear();
        self.held.clear();
        self.decided.clear();
        waiting as u64
    }

    /// Drops a packet whose hold time is over now.
    pub(super) fn release(&mut self, id: i64, now: Time) {
        let is_over = |entry: &mut Entry| entry.held_until.is_some_and(|until| until <= now);
        if self.get(id).is_some_and(is_over) {
            self.remove(id);
        }
    }
}

#[cfg(test)]
mod tests {
    use tidemill_packet::Pool;

    use super::*;

    #[test]
    fn packets_that_do_not_wait_have_numbers() {
        let pool = Pool::new(16);
        let mut kept = Kept::from(40);
        kept.pass();
        assert_eq!(kept.next_id(), 41);
        kept.put(pool.packet_of(&[1]).expect("room"));
        kept.pass();
        assert_eq!(kept.next_id(), 43);
        assert!(matches!(kept.send(Some(42), 7), Verdict::Stale));
        assert!(matches!(kept.send(Some(41), 7), Verdict::Waits));
    }

    #[test]
    fn packets_live_for_a_turn_or_as_long_as_they_are_held() {
        let pool = Pool::new(16);
        let mut kept = Kept::default();
        for byte in 0..5 {
            assert_eq!(kept.next_id(), i64::from(byte));
            kept.put(pool.packet_of(&[byte]).expect("room"));
        }
        assert!(matches!(kept.send(Some(1), 7), Verdict::Waits));
        let Verdict::Again(7, Some(copy)) = kept.send(Some(1), 8) else { panic!("a copy") };
        assert_eq!(copy.bytes(), [1]);
        let mut sent = Vec::new();
        kept.each_decided(|link, packet| sent.push((link, packet.expect("it is not held"))));
        assert_eq!(
            sent.iter().map(|(link, it)| (*link, it.bytes()[0])).collect::<Vec<_>>(),
            [(8, 1)]
        );
        assert!(kept.hold(2, Time(20)));
        // The turn of 0 was abandoned.
        kept.end(2);
        drop((copy, sent));
        assert_eq!(pool.stats().alive(), 3);
        assert!(matches!(kept.send(Some(0), 7), Verdict::Stale));
        assert!(kept.hold(3, Time(30)));
        kept.end(3);
        kept.release(3, Time(30));
        assert!(matches!(kept.send(Some(3), 7), Verdict::Stale));
        assert!(matches!(kept.send(Some(9), 7), Verdict::Stale));
        assert!(matches!(kept.send(Some(i64::MIN), 7), Verdict::Stale));
        assert_eq!(pool.stats().alive(), 2);
    }

    #[test]
    fn held_packets_are_sent_until_their_time_is_over() {
        let pool = Pool::new(16);
        let mut kept = Kept::default();
        kept.put(pool.packet_of(&[7]).expect("room"));
        let decided = |kept: &mut Kept| {
            let mut sent = Vec::new();
            kept.each_decided(|link, packet| sent.push((link, packet.expect("room"))));
            sent.into_iter().map(|(link, it)| (link, it.bytes().to_vec())).collect::<Vec<_>>()
        };
        // In its own turn, and twice in a later one.
        assert!(matches!(kept.send(Some(0), 1), Verdict::Waits));
        assert!(kept.hold(0, Time(10)));
        assert_eq!(decided(&mut kept), [(1, vec![7])]);
        kept.end(0);
        assert!(matches!(kept.send(Some(0), 2), Verdict::Waits));
        assert!(matches!(kept.send(Some(0), 3), Verdict::Again(2, Some(_))));
        assert_eq!(decided(&mut kept), [(3, vec![7])]);
        // The last call decides for how long.
        assert!(kept.hold(0, Time(30)));
        kept.release(0, Time(10));
        assert!(matches!(kept.send(Some(0), 4), Verdict::Waits));
        assert_eq!(decided(&mut kept), [(4, vec![7])]);
        assert_eq!(decided(&mut kept), []);
        kept.release(0, Time(30));
        assert!(matches!(kept.send(Some(0), 5), Verdict::Stale));
        assert_eq!(pool.stats().alive(), 0);
    }
}
