//! Repeats packets again and again.

use tidemill_packet::Packet;
use tidemill_packet::app::{App, ConfigError, Fault, Io, Progress, Reconfigured, Start};
use tidemill_packet::fanout::Fanout;

/// Packets of one breath at most.
const BURST: usize = 256;

tidemill_packet::declare! {
    /// Keeps the packets that it receives, and sends copies of them in a loop.
    app Repeater {
        config RepeaterConfig {
            /// Packets that are kept at most; what comes later is dropped as `full`.
            kept: u32 = 10000,
            /// Packets that are sent altogether; 0: no end.
            packets: u64 = 0,
        }
        ports {
            /// What is repeated.
            input: Input(Push, One),
            /// The copies.
            output: Output(Push, One),
        }
        traits { pulls, divides }
    }
}

/// See [`Repeater::declaration`](tidemill_packet::app::Declared::declaration).
#[derive(Debug)]
pub struct Repeater {
    kept: Vec<Packet>,
    kept_max: usize,
    next: usize,
    left: Option<u64>,
    sent: u64,
    fanout: Fanout,
}

impl App for Repeater {
    fn validate(config: &RepeaterConfig) -> Result<(), ConfigError> {
        if config.kept == 0 {
            return Err(ConfigError::new("kept", "one packet at least must be kept"));
        }
        Ok(())
    }

    fn new(config: RepeaterConfig, start: &mut Start) -> Result<Repeater, Fault> {
        let fanout = start.fanout().clone();
        let left = (config.packets > 0).then(|| fanout.part_of(config.packets));
        let (kept, kept_max) = (Vec::new(), config.kept as usize);
        Ok(Repeater { kept, kept_max, next: 0, left, sent: 0, fanout })
    }

    fn reconfigure(&mut self, config: RepeaterConfig) -> Reconfigured {
        self.kept_max = config.kept as usize;
        let packets = self.fanout.part_of(config.packets);
        self.left = (config.packets > 0).then(|| packets.saturating_sub(self.sent));
        Reconfigured::Kept
    }

    fn push(&mut self, io: &mut Io) -> Result<(), Fault> {
        while let Some(packet) = io.receive(0) {
            if self.kept.len() < self.kept_max {
                self.kept.push(packet)
            } else {
                io.drop(packet, "full")
            }
        }
        Ok(())
    }

    fn pull(&mut self, io: &mut Io) -> Result<Progress, Fault> {
        if self.kept.is_empty() {
            return Ok(Progress::Poll);
        }
        let room = io.room(0).min(BURST) as u64;
        for _ in 0..room.min(self.left.unwrap_or(u64::MAX)) {
            let Some(copy) = io.duplicate(&self.kept[self.next]) else { break };
            io.send(0, copy);
            self.sent += 1;
            self.next = (self.next + 1) % self.kept.len();
            if let Some(left) = &mut self.left {
                *left -= 1;
            }
        }
        Ok(if self.left == Some(0) { Progress::Done } else { Progress::Ready })
    }
}
