//! The buffer between two activities, of the same capacity as in ours.

const SLOTS: u8 = 4;

#[derive(Clone, Debug, Default)]
pub struct Channel {
    slots: [u64; SLOTS as usize],
    head: u8,
    len: u8,
}

impl Channel {
    /// Returns false if it is full.
    pub fn send(&mut self, message: u64) -> bool {
        if self.len == SLOTS {
            return false;
        }
        self.slots[usize::from((self.head + self.len) % SLOTS)] = message;
        self.len += 1;
        true
    }

    /// `None` if it is empty.
    pub fn receive(&mut self) -> Option<u64> {
        if self.len == 0 {
            return None;
        }
        let message = self.slots[usize::from(self.head)];
        self.head = (self.head + 1) % SLOTS;
        self.len -= 1;
        Some(message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_in_first_out_and_never_more_than_four() {
        let mut channel = Channel::default();
        for round in 0..3 {
            assert!((0..4).all(|i| channel.send(round + i)));
            assert!(!channel.send(9));
            assert_eq!(channel.receive(), Some(round));
            assert!(channel.send(round + 4));
            for i in 1..5 {
                assert_eq!(channel.receive(), Some(round + i));
            }
            assert_eq!(channel.receive(), None);
        }
    }
}
