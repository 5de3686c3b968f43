//! A bridge that learns the ports of addresses (IEEE 802.1D, without the spanning tree).

use tidemill_packet::app::{App, Fault, Io, Ports, Reconfigured, Start};
use tidemill_stdx::keyed::Map;

use crate::flooding_bridge::{flood, pairs};
use crate::net::{Mac, ethernet};

tidemill_packet::declare! {
    /// Sends each frame to the port where its destination was last heard, or to all others.
    ///
    /// An input and an output of one name are one port. Frames too short for addresses are dropped
    /// as `too_short`, those for the port they came from as `same_port`.
    app LearningBridge {
        config LearningBridgeConfig {
            /// Seconds after which an address that is not heard any more is forgotten.
            age: u32 = 300,
            /// Addresses that are remembered at most.
            addresses: u32 = 65536,
        }
        ports {
            /// Frames from a port.
            port: Input(Push, Many),
            /// Frames to a port.
            port: Output(Push, Many),
        }
        traits {}
    }
}

/// See [`LearningBridge::declaration`](tidemill_packet::app::Declared::declaration).
#[derive(Debug)]
pub struct LearningBridge {
    own: Vec<Option<usize>>,
    /// The port where an address was seen, as the number of an output, and when.
    seen: Map<Mac, (usize, u64)>,
    names: Vec<String>,
    age_ns: u64,
    addresses_max: usize,
}

impl App for LearningBridge {
    const GAUGES: &'static [&'static str] = &["addresses"];

    fn new(config: LearningBridgeConfig, _: &mut Start) -> Result<LearningBridge, Fault> {
        Ok(LearningBridge {
            own: Vec::new(),
            seen: Map::default(),
            names: Vec::new(),
            age_ns: u64::from(config.age) * 1_000_000_000,
            addresses_max: config.addresses as usize,
        })
    }

    fn reconfigure(&mut self, config: LearningBridgeConfig) -> Reconfigured {
        self.age_ns = u64::from(config.age) * 1_000_000_000;
        self.addresses_max = config.addresses as usize;
        if self.seen.len() > self.addresses_max {
            // Those that were seen last stay.
            let mut times: Vec<(u64, Mac)> =
                self.seen.iter().map(|(mac, (_, at))| (*at, *mac)).collect();
            times.sort_unstable();
            for (_, mac) in &times[..times.len() - self.addresses_max] {
                self.seen.remove(mac);
            }
        }
        Reconfigured::Kept
    }

    fn linked(&mut self, ports: &Ports<'_>) {
        self.own = pairs(ports);
        if self.names != ports.outputs {
            // The numbers mean other ports now.
            self.seen.clear();
            self.names = ports.outputs.to_vec();
        }
    }

    fn push(&mut self, io: &mut Io) -> Result<(), Fault> {
        for input in 0..io.inputs() {
            let own = self.own.get(input).copied().flatten();
            while let Some(packet) = io.receive(input) {
                let Some((destination, source)) = ethernet(packet.bytes()) else {
                    io.drop(packet, "too_short");
                    continue;
                };
                self.learn(source, own, io.now_ns());
                match self.find(destination, io.now_ns()) {
                    Some(output) if Some(output) == own => io.drop(packet, "same_port"),
                    Some(output) => io.send(output, packet),
                    None => flood(io, packet, own),
                }
            }
        }
        Ok(())
    }

    fn tick_every(&self) -> Option<std::time::Duration> {
        Some(std::time::Duration::from_secs(10))
    }

    fn tick(&mut self, io: &mut Io) -> Result<(), Fault> {
        let now_ns = io.now_ns();
        self.seen.retain(|_, (_, at)| now_ns.saturating_sub(*at) < self.age_ns);
        Ok(())
    }

    fn report(&self) -> Vec<(&'static str, u64)> {
        vec![("addresses", self.seen.len() as u64)]
    }
}

impl LearningBridge {
    fn learn(&mut self, source: Mac, own: Option<usize>, now_ns: u64) {
        let Some(own) = own.filter(|_| !source.is_group()) else { return };
        if self.seen.len() < self.addresses_max || self.seen.contains_key(&source) {
            self.seen.insert(source, (own, now_ns));
        }
    }

    fn find(&self, destination: Mac, now_ns: u64) -> Option<usize> {
        let (output, at) = self.seen.get(&destination)?;
        (now_ns.saturating_sub(*at) < self.age_ns).then_some(*output)
    }
}
