//! Packets of zeros, as fast as they are taken.

use tidemill_packet::app::{App, ConfigError, Fault, Io, Progress, Reconfigured, Start};
use tidemill_packet::fanout::Fanout;
use tidemill_packet::kernel::{Builder, Running};
use tidemill_packet::packet::BYTES_MAX;

use crate::code;

/// Packets of one breath at most.
const BURST: u32 = 256;

tidemill_packet::declare! {
    /// Sends packets of zeros as fast as the link takes them, for benchmarks and tests.
    ///
    /// Each of several workers sends its part of the number: zeros have no flow.
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
        traits { pulls, divides, kernel }
    }
}

/// See [`Source::declaration`](tidemill_packet::app::Declared::declaration).
#[derive(Debug)]
pub struct Source {
    running: Running,
    /// The number of packets; the greatest number: no end.
    packets: u64,
    fanout: Fanout,
}

impl Source {
    fn of(config: &SourceConfig, fanout: &Fanout) -> Result<Source, Fault> {
        let mut kernel = Builder::new("Source");
        let has_end = config.packets > 0;
        let packets = if has_end { fanout.part_of(config.packets) } else { u64::MAX };
        let left = kernel.state("left", packets);
        kernel.supply(config.size.into(), BURST, left);
        kernel.emit(0);
        Ok(Source { running: code::running(kernel)?, packets, fanout: fanout.clone() })
    }

    fn left(&self) -> u64 {
        self.running.word("left").unwrap_or(0)
    }
}

impl App for Source {
    fn validate(config: &SourceConfig) -> Result<(), ConfigError> {
        match usize::from(config.size) {
            0..=BYTES_MAX => Ok(()),
            _ => Err(ConfigError::new("size", format!("a packet has {BYTES_MAX} bytes at most"))),
        }
    }

    fn new(config: SourceConfig, start: &mut Start) -> Result<Source, Fault> {
        Source::of(&config, start.fanout())
    }

    fn pull(&mut self, io: &mut Io) -> Result<Progress, Fault> {
        Ok(self.running.pull(io))
    }

    fn kernel(&self) -> Option<&Running> {
        Some(&self.running)
    }

    /// Sent packets count: a source of 100 packets that is made one of 120 has 20 more.
    fn reconfigure(&mut self, config: SourceConfig) -> Reconfigured {
        let Ok(mut next) = Source::of(&config, &self.fanout) else {
            return Reconfigured::Restart;
        };
        if self.packets < u64::MAX && next.packets < u64::MAX {
            let sent = self.packets - self.left();
            next.running.set_word("left", next.packets.saturating_sub(sent));
        }
        *self = next;
        Reconfigured::Kept
    }
}
