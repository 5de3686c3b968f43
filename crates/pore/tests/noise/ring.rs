//! A pore whose other side does what the input encodes: uses its rings correctly, or writes into
//! the shared memory. As long as it only uses them, what arrives is what was sent; else calls of
//! the tested side fail or do little, and never more than they may.

use std::collections::VecDeque;

use tidemill_pore::memfd::{Memfd, Shape};
use tidemill_pore::{Error, Pore, Wants, Width};

/// Places in the memory that mean something, and one in the data of each ring.
const PLACES: [u64; 13] = [0, 4, 8, 12, 64, 128, 192, 256, 320, 384, 4096, 4100, 4096 + 64];

/// The rest of the input.
struct Input<'a>(&'a [u8]);

impl Input<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (&first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(first)
    }

    /// A number that is small, near the last index, or anything.
    fn number(&mut self) -> Option<u64> {
        let kind = self.byte()?;
        let small = u64::from(self.byte()?);
        Some(match kind % 3 {
            0 => small,
            1 => u64::from(u32::MAX) - small,
            _ => u64::from(kind) << 24 | small << 16 | u64::from(self.byte()?) << 8 | small,
        })
    }
}

/// Both sides, and what is on its way while both keep to the rules.
struct Rings {
    ours: Memfd,
    theirs: Memfd,
    ring_bytes: usize,
    is_fair: bool,
    /// To the other side, and back: all bytes, or each message.
    on_way: [VecDeque<Vec<u8>>; 2],
    shape: Shape,
    sent: u8,
    carried: usize,
}

impl Rings {
    fn new(kind: u8) -> Rings {
        let shape = if kind & 1 == 0 { Shape::Bytes } else { Shape::Messages };
        let ring_bytes = 64u32 << (kind >> 1 & 3);
        let (ours, offer) = Memfd::create(shape, ring_bytes).expect("a memfd");
        let theirs = Memfd::attach(offer).expect("it is as it was made");
        let ring_bytes = ring_bytes as usize;
        let on_way = Default::default();
        Rings { ours, theirs, ring_bytes, is_fair: true, on_way, shape, sent: 0, carried: 0 }
    }

    fn write(&mut self, is_ours: bool, length: usize) {
        let bytes: Vec<u8> = (0..length).map(|_| self.next_byte()).collect();
        let side = if is_ours { &mut self.ours } else { &mut self.theirs };
        match side.write(&bytes) {
            Ok(count) => {
                assert!(count <= length && count <= self.ring_bytes, "{count} of {length}");
                let whole = self.shape == Shape::Bytes || count == length || count == 0;
                assert!(whole, "{count} of a message of {length}");
                if self.is_fair && count > 0 {
                    self.on_way[usize::from(!is_ours)].push_back(bytes[..count].to_vec());
                }
            }
            Err(error) => self.allowed(&error),
        }
    }

    fn next_byte(&mut self) -> u8 {
        self.sent = self.sent.wrapping_add(1);
        self.sent
    }

    fn read(&mut self, is_ours: bool, most: usize, takes: bool) {
        let mut into = vec![7; 3];
        let side = if is_ours { &mut self.ours } else { &mut self.theirs };
        let outcome = if takes { side.read(most, &mut into) } else { side.peek(most, &mut into) };
        assert_eq!(into[..3], [7; 3], "what was there stays");
        let read = &into[3..];
        match outcome {
            Ok(count) => {
                assert_eq!(count, read.len());
                assert!(count <= most && count <= self.ring_bytes, "{count} of {most}");
                if self.is_fair && count > 0 {
                    self.arrived(is_ours, read, takes);
                }
            }
            Err(error) => self.allowed(&error),
        }
    }

    /// Checks that what was read is what was sent first.
    fn arrived(&mut self, is_ours: bool, read: &[u8], takes: bool) {
        let on_way = &mut self.on_way[usize::from(is_ours)];
        if self.shape == Shape::Messages {
            assert_eq!(on_way.front().map(Vec::as_slice), Some(read));
            if takes {
                on_way.pop_front();
            }
        } else {
            let all: Vec<u8> = on_way.iter().flatten().copied().collect();
            assert!(all.starts_with(read), "{all:?} {read:?}");
            if takes {
                on_way.clear();
                on_way.push_back(all[read.len()..].to_vec());
            }
        }
        self.carried += read.len();
    }

    /// Only a side whose memory was overwritten may fail.
    fn allowed(&self, error: &Error) {
        let is_lied_to = matches!(error, Error::BadIndex { .. } | Error::BadLength(_));
        let is_own_mistake = matches!(error, Error::Malformed(_));
        assert!(is_own_mistake || is_lied_to && !self.is_fair, "{error}");
    }

    fn look(&mut self) {
        match self.ours.avail() {
            Ok(avail) => {
                assert!(avail.readable <= self.ring_bytes && avail.writable <= self.ring_bytes);
                let wants = Wants { readable: 1, writable: 0 };
                assert_eq!(self.ours.meets(wants).ok(), Some(avail.readable > 0));
            }
            Err(error) => self.allowed(&error),
        }
        if self.ours.is_ring_due() {
            self.ours.ring().expect("the bell is ours");
        }
        self.theirs.drain_doorbell();
    }
}

/// Carries the input out; how many bytes have arrived as they should.
pub fn carried(input: &[u8]) -> usize {
    let mut input = Input(input);
    let Some(kind) = input.byte() else { return 0 };
    let mut rings = Rings::new(kind);
    while let Some(step) = input.byte() {
        let amount = |input: &mut Input<'_>| input.byte().map_or(0, usize::from);
        match step % 8 {
            0 => {
                let place = PLACES[amount(&mut input) % PLACES.len()];
                let Some(value) = input.number() else { break };
                // Its own polling words do not affect the other side.
                rings.is_fair &= place == 384;
                rings.theirs.store(place, Width::Four, value).expect("it is within");
            }
            1 => rings.write(true, amount(&mut input)),
            2 | 3 => rings.read(true, amount(&mut input), step % 8 == 2),
            4 => rings.write(false, amount(&mut input)),
            5 => rings.read(false, amount(&mut input), true),
            6 => rings.look(),
            _ => {
                rings.ours.begin_polling();
                let _ = rings.ours.end_polling();
            }
        }
    }
    rings.carried
}

/// Panics if the side that is tested does what it may not.
pub fn check(input: &[u8]) {
    carried(input);
}
