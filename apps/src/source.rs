//! Packets of zeros, as fast as they are taken.

use tidemill_packet::app::{App, Fault, Io, Progress, Start};

/// Packets of one breath at most.
const BURST: usize = 256;

tidemill_packet::declare! {
    /// Brings packets of zeros, as many as the link takes, for measurements and tests.
    app Source {
        config SourceConfig {
            /// Bytes of a packet.
            size: u16 = 60,
            /// How many packets there are; 0: no end.
            packets: u64 = 0,
        }
        ports {
            /// The packets.
            output: Output(Push, One),
        }
        traits { pulls }
    }
}

/// See [`Source::declaration`](tidemill_packet::app::Declared::declaration).
#[derive(Debug)]
pub struct Source {
    size: usize,
    left: Option<u64>,
}

impl App for Source {
    fn new(config: SourceConfig, _: &mut Start) -> Result<Source, Fault> {
        let left = (config.packets > 0).then_some(config.packets);
        Ok(Source { size: config.size.into(), left })
    }

    fn pull(&mut self, io: &mut Io) -> Result<Progress, Fault> {
        let room = io.room(0).min(BURST) as u64;
        let count = room.min(self.left.unwrap_or(u64::MAX));
        for _ in 0..count {
            let Some(mut packet) = io.packet() else { return Ok(Progress::Poll) };
            packet.resize(self.size)?;
            io.send(0, packet);
            if let Some(left) = &mut self.left {
                *left -= 1;
            }
        }
        Ok(if self.left == Some(0) { Progress::Done } else { Progress::Ready })
    }
}
