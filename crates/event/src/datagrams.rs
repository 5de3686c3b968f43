//! Datagrams that are taken together.

use crate::source::Address;

/// The datagrams taken by [`Transport::recv_all`](crate::Transport::recv_all), in the order in
/// which they came, and room for the next ones.
///
/// ```text
/// bytes  | first datagram ...      | second ...              | ...
///        |<----- SLOT_BYTES ------>|
/// ```
/// The room is used from its start, and the system makes its pages when they are first written: it
/// has as many as the longest datagram at each place has needed.
#[derive(Debug, Default)]
pub struct Datagrams {
    bytes: Vec<u8>,
    taken: Vec<Taken>,
}

/// A datagram that has been taken.
#[derive(Clone, Copy, Debug)]
struct Taken {
    slot: usize,
    length: usize,
    from: Address,
}

impl Datagrams {
    /// The most that are taken by one system call. Its cost for each is little then, and the next
    /// ones do not wait long.
    pub const MOST: usize = 16;

    /// The length of the longest that fits, in bytes: that of any datagram of IP.
    pub const BYTES_MAX: usize = 1 << 16;

    /// Bytes from one slot to the next. Were they a power of two, the first bytes of all slots
    /// would compete for the same lines of the caches.
    const SLOT_BYTES: usize = Datagrams::BYTES_MAX + 5 * 64;

    /// No datagrams, and no room yet.
    pub fn new() -> Datagrams {
        Datagrams::default()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.taken.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.taken.is_empty()
    }

    /// The bytes of each, which may be changed in their place, and its sender.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (&mut [u8], Address)> {
        let slots = self.bytes.chunks_mut(Datagrams::SLOT_BYTES).enumerate();
        let mut taken = self.taken.iter().copied().peekable();
        slots.filter_map(move |(slot, bytes)| {
            let Taken { length, from, .. } = taken.next_if(|it| it.slot == slot)?;
            Some((&mut bytes[..length], from))
        })
    }

    /// Forgets what has been taken, and returns the slots for the next ones.
    pub(crate) fn begin(&mut self) -> impl Iterator<Item = &mut [u8]> {
        self.taken.clear();
        if self.bytes.is_empty() {
            self.bytes = vec![0; Datagrams::MOST * Datagrams::SLOT_BYTES];
        }
        let slots = self.bytes.chunks_mut(Datagrams::SLOT_BYTES);
        slots.map(|slot| &mut slot[..Datagrams::BYTES_MAX])
    }

    /// Notes that a datagram lies in a slot, which comes after those noted before.
    pub(crate) fn note(&mut self, slot: usize, length: usize, from: Address) {
        debug_assert!(self.taken.last().is_none_or(|last| last.slot < slot));
        self.taken.push(Taken { slot, length, from });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn datagrams_lie_in_their_slots_and_empty_slots_are_passed_over() {
        let mut datagrams = Datagrams::new();
        assert_eq!((datagrams.len(), datagrams.iter_mut().count()), (0, 0));
        for round in 0..2 {
            for (number, slot) in (0u8..).zip(datagrams.begin()) {
                assert_eq!(slot.len(), Datagrams::BYTES_MAX);
                slot[..3].fill(number + round);
            }
            datagrams.note(0, 3, Address::Sim(7));
            datagrams.note(2, 1, Address::Sim(8));
            let all: Vec<_> = datagrams.iter_mut().map(|(it, from)| (it.to_vec(), from)).collect();
            let first = (vec![round; 3], Address::Sim(7));
            assert_eq!(all, [first, (vec![2 + round], Address::Sim(8))]);
            assert!(datagrams.len() == 2 && !datagrams.is_empty());
        }
    }
}
