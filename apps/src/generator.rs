//! Frames as the graph writes them.

use tidemill_packet::app::{App, ConfigError, Fault, Io, Progress, Reconfigured, Start};
use tidemill_packet::fanout::Fanout;

use crate::frame;

/// Packets of one breath at most.
const BURST: usize = 256;

tidemill_packet::declare! {
    /// Sends the frames that its config gives as text, in a loop.
    ///
    /// A frame is written `SOURCE > DESTINATION`, then layers from the outside in, then bytes:
    ///   "02:00:00:00:00:01 > 02:00:00:00:00:02 vlan 5 ip 10.0.0.1 > 10.0.0.2 udp 7 > 53 bytes 18"
    /// or as hexadecimal digits: "hex 0200..."
    ///
    /// Each of several workers sends the frames of its flows; number and rate are those of all.
    app Generator {
        config GeneratorConfig {
            /// The frames.
            frames: Vec<String>,
            /// How many packets there are altogether; 0: each frame once.
            packets: u64 = 0,
            /// Packets a second; 0: as many as the link takes.
            rate: u64 = 0,
        }
        ports {
            /// The frames.
            output: Output(Push, One),
        }
        traits { pulls, divides }
    }
}

/// See [`Generator::declaration`](tidemill_packet::app::Declared::declaration).
#[derive(Debug)]
pub struct Generator {
    frames: Vec<Vec<u8>>,
    sent: u64,
    packets: u64,
    /// Nanoseconds from one packet to the next.
    gap_ns: u64,
    start_ns: u64,
    fanout: Fanout,
    /// The gap is another one than it was: the row of times begins anew.
    has_new_rate: bool,
}

/// The frames, how many there are altogether, and the gap between them.
fn plan(config: &GeneratorConfig) -> Result<(Vec<Vec<u8>>, u64, u64), Fault> {
    let frames: Result<Vec<Vec<u8>>, String> =
        config.frames.iter().map(|text| frame::parse(text)).collect();
    let frames = frames.map_err(Fault::new)?;
    let packets = if config.packets == 0 { frames.len() as u64 } else { config.packets };
    Ok((frames, packets, 1_000_000_000u64.checked_div(config.rate).unwrap_or(0)))
}

impl App for Generator {
    fn validate(config: &GeneratorConfig) -> Result<(), ConfigError> {
        if config.frames.is_empty() {
            return Err(ConfigError::new("frames", "one frame at least must be given"));
        }
        for text in &config.frames {
            frame::parse(text).map_err(|message| ConfigError::new("frames", message))?;
        }
        Ok(())
    }

    fn new(config: GeneratorConfig, start: &mut Start) -> Result<Generator, Fault> {
        let (frames, packets, gap_ns) = plan(&config)?;
        let (sent, start_ns, fanout) = (0, start.now_ns(), start.fanout().clone());
        let has_new_rate = false;
        Ok(Generator { frames, sent, packets, gap_ns, start_ns, fanout, has_new_rate })
    }

    fn reconfigure(&mut self, config: GeneratorConfig) -> Reconfigured {
        let Ok((frames, packets, gap_ns)) = plan(&config) else { return Reconfigured::Restart };
        self.has_new_rate |= gap_ns != self.gap_ns;
        (self.frames, self.packets, self.gap_ns) = (frames, packets, gap_ns);
        Reconfigured::Kept
    }

    fn pull(&mut self, io: &mut Io) -> Result<Progress, Fault> {
        if std::mem::take(&mut self.has_new_rate) {
            self.start_ns = io.now_ns().saturating_sub(self.sent.saturating_mul(self.gap_ns));
        }
        let elapsed = io.now_ns().saturating_sub(self.start_ns);
        let due = elapsed.checked_div(self.gap_ns).map_or(self.packets, |due| due + 1);
        let due = due.min(self.packets).saturating_sub(self.sent);
        for _ in 0..due.min(io.room(0).min(BURST) as u64) {
            let frame = &self.frames[(self.sent % self.frames.len() as u64) as usize];
            if self.fanout.takes(frame) {
                let Some(packet) = io.packet_of(frame) else { break };
                io.send(0, packet);
            }
            self.sent += 1;
        }
        if self.sent >= self.packets {
            return Ok(Progress::Done);
        }
        let next_ns = self.start_ns.saturating_add(self.sent.saturating_mul(self.gap_ns));
        Ok(if next_ns > io.now_ns() { Progress::Until(next_ns) } else { Progress::Ready })
    }
}
