//! Packets whose verdict is pending.
//!
//! A node processes events in order, so packets wait in a queue in the order of their numbers; held
//! packets move to a table.

use std::collections::{HashMap, VecDeque};

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
    is_held: bool,
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
        self.waiting.push_back(Some(Entry { packet, link: None, is_held: false }));
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

    /// Holds a packet beyond its turn; returns false if it is gone, or too many are held.
    pub(super) fn hold(&mut self, id: i64) -> bool {
        let is_full = self.held.len() >= HELD_MAX;
        match self.get(id) {
            Some(entry) if entry.is_held || !is_full => {
                entry.is_held = true;
                true
            }
            _ => false,
        }
    }

    /// Removes the packets that this turn sends, in order, with their links.
    pub(super) fn each_decided(&mut self, mut take: impl FnMut(usize, Packet)) {
        let mut decided = std::mem::take(&mut self.decided);
        for id in decided.drain(..) {
            if let Some((link, packet)) = self.remove(id) {
                take(link, packet);
            }
        }
        // Keeps the buffer.
        self.decided = decided;
    }

    fn remove(&mut self, id: i64) -> Option<(usize, Packet)> {
        let at = usize::try_from(id.checked_sub(self.first)?);
        let entry = match at {
            Ok(at) => self.waiting.get_mut(at)?.take(),
            Err(_) => self.held.remove(&id),
        }?;
        Some((entry.link?, entry.packet))
    }

    /// The turn of a packet has ended: drops it, and earlier ones whose turns were abandoned,
    /// unless they are held.
    pub(super) fn end(&mut self, id: i64) {
        while self.first <= id
            && let Some(entry) = self.waiting.pop_front()
        {
            if let Some(entry) = entry.filter(|entry| entry.is_held) {
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

    /// The hold time of a packet is over: drops it.
    pub(super) fn release(&mut self, id: i64) {
        self.held.remove(&id);
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
        kept.each_decided(|link, packet| sent.push((link, packet)));
        assert_eq!(
            sent.iter().map(|(link, it)| (*link, it.bytes()[0])).collect::<Vec<_>>(),
            [(8, 1)]
        );
        assert!(kept.hold(2));
        // The turn of 0 was abandoned.
        kept.end(2);
        drop((copy, sent));
        assert_eq!(pool.stats().alive(), 3);
        assert!(matches!(kept.send(Some(0), 7), Verdict::Stale));
        assert!(matches!(kept.send(Some(2), 7), Verdict::Waits));
        let mut links = Vec::new();
        kept.each_decided(|link, _| links.push(link));
        assert_eq!(links, [7]);
        assert!(kept.hold(3));
        kept.end(3);
        kept.release(3);
        assert!(matches!(kept.send(Some(3), 7), Verdict::Stale));
        assert!(matches!(kept.send(Some(9), 7), Verdict::Stale));
        assert!(matches!(kept.send(Some(i64::MIN), 7), Verdict::Stale));
        assert_eq!(pool.stats().alive(), 1);
    }
}
