//! The source and sink of `kernels`.

use tidemill_packet::app::{App, Fault, Io, Progress, Start};

use crate::filter::trace::Trace;
use crate::packets::Rounds;

tidemill_packet::declare! {
    /// Brings the packets of a trace, again and again.
    app Replay {
        config ReplayConfig {
            /// Packets of the trace.
            packets: u32,
            /// The seed of the trace.
            seed: u64,
            /// How often.
            passes: u64,
        }
        ports {
            /// The packets.
            output: Output(Push, One),
        }
        traits { pulls }
    }
}

/// See [`Replay::declaration`](tidemill_packet::app::Declared::declaration).
pub struct Replay {
    trace: Trace,
    rounds: Rounds,
}

impl App for Replay {
    fn new(config: ReplayConfig, _: &mut Start) -> Result<Replay, Fault> {
        let trace = Trace::new(config.packets as usize, config.seed);
        Ok(Replay { trace, rounds: Rounds::new(config.passes) })
    }

    fn pull(&mut self, io: &mut Io) -> Result<Progress, Fault> {
        let Replay { trace, rounds } = self;
        Ok(rounds.bring(io, (0, trace.len()), |at| trace.packet(at)))
    }
}

tidemill_packet::declare! {
    /// Reads packets and frees them.
    app Read {
        config ReadConfig {
            /// All of each, for a digest; else the first bytes, as whoever looks at headers does.
            all: bool = false,
        }
        ports {
            /// The packets.
            input: Input(Either, One),
        }
        traits { }
    }
}

/// See [`Read::declaration`](tidemill_packet::app::Declared::declaration).
#[derive(Debug)]
pub struct Read {
    all: bool,
    packets: u64,
    seen: u64,
}

/// The number of bytes read of each packet.
const READ: usize = 56;

/// An odd constant with well-mixed bits.
const ODD: u64 = 0x9E37_79B9_7F4A_7C15;

/// A digest of a packet and those before it, in order: as `digest` of `bench/peers/c/trace.h`.
fn digest(sum: u64, bytes: &[u8]) -> u64 {
    bytes.chunks(8).fold((sum ^ bytes.len() as u64).wrapping_mul(ODD), |sum, chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        let sum = (sum ^ u64::from_le_bytes(word)).wrapping_mul(ODD);
        sum ^ sum >> 32
    })
}

impl App for Read {
    fn new(config: ReadConfig, _: &mut Start) -> Result<Read, Fault> {
        Ok(Read { all: config.all, packets: 0, seen: 0 })
    }

    fn push(&mut self, io: &mut Io) -> Result<(), Fault> {
        while let Some(packet) = io.receive(0) {
            let bytes = packet.bytes();
            self.packets += 1;
            if self.all {
                self.seen = digest(self.seen, bytes);
            } else {
                let words = bytes[..READ.min(bytes.len())].as_chunks::<8>().0;
                let words = words.iter().map(|word| u64::from_le_bytes(*word));
                self.seen ^= words.fold(0, |all, word| all ^ word);
            }
        }
        Ok(())
    }

    fn report(&self) -> Vec<(&'static str, u64)> {
        vec![("packets", self.packets), ("seen", self.seen)]
    }
}
