//! Apps for measurements, which use the public interface only.

use tidemill_packet::app::{App, Bell, ConfigError, Fault, Io, Progress, Start};

/// The maximum number of packets per breath, as in the sources of the catalogue.
pub const BURST: usize = 256;

/// The way of a source through packets that it brings again and again.
#[derive(Debug)]
pub struct Rounds {
    next: usize,
    left: u64,
}

impl Rounds {
    pub fn new(rounds: u64) -> Rounds {
        Rounds { next: 0, left: rounds }
    }

    /// Brings packets as long as there is room; each round but the first begins with packet `from`.
    pub fn bring<'p>(
        &mut self,
        io: &mut Io,
        (from, end): (usize, usize),
        packet: impl Fn(usize) -> &'p [u8],
    ) -> Progress {
        for _ in 0..io.room(0).min(BURST) {
            if self.left == 0 {
                return Progress::Done;
            }
            let Some(packet) = io.packet_of(packet(self.next)) else { break };
            io.send(0, packet);
            self.next += 1;
            if self.next == end {
                (self.next, self.left) = (from, self.left - 1);
            }
        }
        Progress::Ready
    }
}

tidemill_packet::declare! {
    /// A source that never has anything.
    app Still {
        config StillConfig {
            /// It must be asked in each breath; otherwise it sleeps until it is woken.
            polled: bool = false,
            /// If it must be asked, its bell may be asked instead.
            bell: bool = true,
        }
        ports {
            /// Nothing.
            output: Output(Push, Optional),
        }
        traits { pulls }
    }
}

/// See [`Still::declaration`](tidemill_packet::app::Declared::declaration).
#[derive(Debug)]
pub struct Still {
    polled: bool,
    bell: Option<Bell>,
}

impl App for Still {
    fn new(config: StillConfig, _: &mut Start) -> Result<Still, Fault> {
        let bell = (config.polled && config.bell).then(Bell::silent);
        Ok(Still { polled: config.polled, bell })
    }

    fn bell(&self) -> Option<&Bell> {
        self.bell.as_ref()
    }

    fn pull(&mut self, _: &mut Io) -> Result<Progress, Fault> {
        Ok(if self.polled { Progress::Poll } else { Progress::Asleep })
    }
}

tidemill_packet::declare! {
    /// A source that has nothing for some breaths, and then packets of zeros.
    app Gate {
        config GateConfig {
            /// Breaths without packets.
            breaths: u64,
            /// Packets after that.
            packets: u64,
            /// Bytes of a packet.
            size: u16 = 60,
        }
        ports {
            /// The packets.
            output: Output(Push, One),
        }
        traits { pulls }
    }
}

/// See [`Gate::declaration`](tidemill_packet::app::Declared::declaration).
#[derive(Debug)]
pub struct Gate {
    breaths: u64,
    left: u64,
    size: usize,
}

impl App for Gate {
    fn new(config: GateConfig, _: &mut Start) -> Result<Gate, Fault> {
        Ok(Gate { breaths: config.breaths, left: config.packets, size: config.size.into() })
    }

    fn pull(&mut self, io: &mut Io) -> Result<Progress, Fault> {
        if self.breaths > 0 {
            self.breaths -= 1;
            return Ok(Progress::Poll);
        }
        for _ in 0..self.left.min(io.room(0).min(BURST) as u64) {
            let Some(mut packet) = io.packet() else { break };
            packet.resize(self.size)?;
            io.send(0, packet);
            self.left -= 1;
        }
        Ok(if self.left == 0 { Progress::Done } else { Progress::Ready })
    }
}

tidemill_packet::declare! {
    /// A source whose traffic changes: phases of frames, each sent over one of two outputs.
    app Traffic {
        config TrafficConfig {
            /// The frames of each phase, as hexadecimal digits; they take turns.
            frames: Vec<Vec<String>>,
            /// To which output each phase goes, 0 or 1.
            outputs: Vec<u8>,
            /// How many packets each phase has.
            packets: Vec<u64>,
        }
        ports {
            /// Packets of the one direction.
            west: Output(Push, One),
            /// And of the other.
            east: Output(Push, One),
        }
        traits { pulls }
    }
}

/// A phase of [`Traffic`].
#[derive(Debug)]
struct Phase {
    frames: Vec<Vec<u8>>,
    output: usize,
    packets: u64,
}

/// See [`Traffic::declaration`](tidemill_packet::app::Declared::declaration).
#[derive(Debug)]
pub struct Traffic {
    phases: Vec<Phase>,
    phase: usize,
    sent: u64,
}

fn bytes(text: &str) -> Result<Vec<u8>, String> {
    tidemill_apps::frame::parse(&format!("hex {text}"))
}

impl App for Traffic {
    fn validate(config: &TrafficConfig) -> Result<(), ConfigError> {
        let phases = config.frames.len();
        if config.outputs.len() != phases || config.packets.len() != phases {
            return Err(ConfigError::new("frames", "each phase has frames, an output, a count"));
        }
        if config.outputs.iter().any(|&output| output > 1) {
            return Err(ConfigError::new("outputs", "there are the outputs 0 and 1"));
        }
        if config.frames.iter().any(Vec::is_empty) {
            Err(ConfigError::new("frames", "a phase without frames"))
        } else {
            Ok(())
        }
    }

    fn new(config: TrafficConfig, _: &mut Start) -> Result<Traffic, Fault> {
        let phases = config.frames.iter().zip(config.outputs).zip(config.packets);
        let phases = phases.map(|((texts, output), packets)| {
            let frames: Result<_, String> = texts.iter().map(|text| bytes(text)).collect();
            Ok(Phase { frames: frames?, output: output.into(), packets })
        });
        let phases: Result<_, String> = phases.collect();
        Ok(Traffic { phases: phases.map_err(Fault::new)?, phase: 0, sent: 0 })
    }

    fn pull(&mut self, io: &mut Io) -> Result<Progress, Fault> {
        let Some(phase) = self.phases.get(self.phase) else { return Ok(Progress::Done) };
        let room = io.room(phase.output).min(BURST) as u64;
        for _ in 0..room.min(phase.packets - self.sent) {
            let frame = &phase.frames[(self.sent % phase.frames.len() as u64) as usize];
            let Some(packet) = io.packet_of(frame) else { break };
            io.send(phase.output, packet);
            self.sent += 1;
        }
        if self.sent == phase.packets {
            (self.phase, self.sent) = (self.phase + 1, 0);
        }
        Ok(if self.phase == self.phases.len() { Progress::Done } else { Progress::Ready })
    }

    fn report(&self) -> Vec<(&'static str, u64)> {
        vec![("phase", self.phase as u64), ("sent", self.sent)]
    }
}

tidemill_packet::declare! {
    /// Tells frames apart by what they carry.
    app Classify {
        config ClassifyConfig {}
        ports {
            /// Frames.
            input: Input(Either, One),
            /// IPv4, whole.
            v4: Output(Either, One),
            /// Fragments of IPv4.
            v4_fragment: Output(Either, One),
            /// IPv6, whole.
            v6: Output(Either, One),
            /// Fragments of IPv6.
            v6_fragment: Output(Either, One),
            /// With a VLAN tag.
            tagged: Output(Either, One),
            /// All others.
            other: Output(Either, One),
        }
        traits { passes }
    }
}

/// See [`Classify::declaration`](tidemill_packet::app::Declared::declaration).
#[derive(Debug)]
pub struct Classify;

/// The output for a frame.
fn class(frame: &[u8]) -> usize {
    let byte = |at: usize| frame.get(at).copied().unwrap_or(0);
    match (byte(12), byte(13)) {
        (0x08, 0x00) => usize::from(byte(20) & 0x3f != 0 || byte(21) != 0),
        (0x86, 0xdd) => 2 + usize::from(byte(20) == 44),
        (0x81, 0x00) => 4,
        _ => 5,
    }
}

impl App for Classify {
    fn new(_: ClassifyConfig, _: &mut Start) -> Result<Classify, Fault> {
        Ok(Classify)
    }

    fn push(&mut self, io: &mut Io) -> Result<(), Fault> {
        while let Some(packet) = io.receive(0) {
            let output = class(packet.bytes());
            io.send(output, packet);
        }
        Ok(())
    }
}
