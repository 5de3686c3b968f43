//! Packets later.

use std::collections::VecDeque;

use tidemill_packet::Packet;
use tidemill_packet::app::{App, ConfigError, Fault, Flushed, Io, Progress, Reconfigured, Start};

tidemill_packet::declare! {
    /// Sends each packet on a time after it has arrived, in the order of arrival.
    ///
    /// It makes a link as slow as a long way, and keeps packets for what is awaited: the address
    /// of a neighbour. What comes while it is full is dropped as `full`. When the run ends, what it
    /// still keeps is sent at once.
    app Delay {
        config DelayConfig {
            /// Seconds from the arrival of a packet to its departure.
            seconds: f64,
            /// Packets that are kept at most.
            packets: u32 = 1000,
            /// Bytes of memory that all of them take at most.
            bytes: u64 = 4194304,
        }
        ports {
            /// What is delayed.
            input: Input(Pull, One),
            /// The same packets.
            output: Output(Push, One),
        }
        traits { pulls }
    }
}

/// A day; longer ones are taken for a mistake.
const SECONDS_MAX: f64 = 86_400.0;

/// See [`Delay::declaration`](tidemill_packet::app::Declared::declaration).
#[derive(Debug)]
pub struct Delay {
    delay_ns: u64,
    packets_max: usize,
    bytes_max: usize,
    /// Packets and the times of their arrival.
    kept: VecDeque<(u64, Packet)>,
    /// The memory of those.
    bytes: usize,
}

impl App for Delay {
    const GAUGES: &'static [&'static str] = &["kept", "kept_bytes"];

    fn validate(config: &DelayConfig) -> Result<(), ConfigError> {
        if !(0.0..=SECONDS_MAX).contains(&config.seconds) {
            return Err(ConfigError::new("seconds", "it must be 0 to 86400"));
        }
        if config.packets == 0 {
            return Err(ConfigError::new("packets", "it must be 1 at least"));
        }
        Ok(())
    }

    fn new(config: DelayConfig, _: &mut Start) -> Result<Delay, Fault> {
        let (kept, bytes) = (VecDeque::new(), 0);
        let mut delay = Delay { delay_ns: 0, packets_max: 0, bytes_max: 0, kept, bytes };
        delay.set(&config);
        Ok(delay)
    }

    /// Packets that are kept leave by the new delay, and none of them is dropped by new limits.
    fn reconfigure(&mut self, config: DelayConfig) -> Reconfigured {
        self.set(&config);
        Reconfigured::Kept
    }

    fn pull(&mut self, io: &mut Io) -> Result<Progress, Fault> {
        while let Some(packet) = io.receive(0) {
            self.keep(io, packet);
        }
        let now_ns = io.now_ns();
        self.send(io, now_ns);
        Ok(match self.due_ns() {
            // Its link is full.
            Some(due_ns) if due_ns <= now_ns => Progress::Ready,
            Some(due_ns) => Progress::Until(due_ns),
            None => Progress::Asleep,
        })
    }

    fn flush(&mut self, io: &mut Io) -> Result<Flushed, Fault> {
        self.send(io, u64::MAX);
        Ok(if self.kept.is_empty() { Flushed::All } else { Flushed::Partly })
    }

    fn report(&self) -> Vec<(&'static str, u64)> {
        vec![("kept", self.kept.len() as u64), ("kept_bytes", self.bytes as u64)]
    }
}

impl Delay {
    fn set(&mut self, config: &DelayConfig) {
        self.delay_ns = (config.seconds * 1e9) as u64;
        self.packets_max = config.packets as usize;
        self.bytes_max = usize::try_from(config.bytes).unwrap_or(usize::MAX);
    }

    fn keep(&mut self, io: &mut Io, packet: Packet) {
        let bytes = self.bytes + packet.memory();
        if self.kept.len() >= self.packets_max || bytes > self.bytes_max {
            return io.drop(packet, "full");
        }
        self.bytes = bytes;
        self.kept.push_back((io.now_ns(), packet));
    }

    /// When the oldest packet leaves.
    fn due_ns(&self) -> Option<u64> {
        let (since_ns, _) = self.kept.front()?;
        Some(since_ns.saturating_add(self.delay_ns))
    }

    /// Sends what is due, as far as the link has room.
    fn send(&mut self, io: &mut Io, now_ns: u64) {
        for _ in 0..io.room(0) {
            if self.due_ns().is_none_or(|due_ns| due_ns > now_ns) {
                return;
            }
            let Some((_, packet)) = self.kept.pop_front() else { return };
            self.bytes -= packet.memory();
            io.send(0, packet);
        }
    }
}
