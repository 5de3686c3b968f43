//! Many addresses behind one (RFC 3022: address and port translation; RFC 4787: any peer may answer
//! on a mapping's port, and mappings live as long as the inside uses them).

use std::net::Ipv4Addr;
use std::ops::RangeInclusive;
use std::time::Duration;

use tidemill_packet::Packet;
use tidemill_packet::app::{App, ConfigError, Fault, Io, Reconfigured, Start};
use tidemill_packet::fanout::{Fanout, PortBlocks};
use tidemill_stdx::keyed::Map;

use crate::net::{Ipv4, Ports4, adjust, ipv4};

tidemill_packet::declare! {
    /// Translates inside addresses and ports to one public address (TCP, UDP, ICMP echo).
    ///
    /// Drops: `no_mapping` (from outside, to a port nobody uses), `no_port` (all ports are in use),
    /// `untranslatable` (other protocols, fragments, what is not IPv4).
    ///
    /// Each of several workers has a block of the ports, and answers return to it by the port.
    app Nat44 {
        config Nat44Config {
            /// The public address.
            address: Ipv4Addr,
            /// The first port that mappings use.
            first_port: u16 = 1024,
            /// The last one.
            last_port: u16 = 65535,
            /// Seconds after which a mapping that the inside does not use is forgotten.
            timeout: u32 = 300,
        }
        ports {
            /// From inside.
            inside: Input(Push, One),
            /// From outside.
            outside: Input(Push, One),
            /// To the inside.
            inside: Output(Push, One),
            /// To the outside.
            outside: Output(Push, One),
        }
        traits {}
    }
}

const INSIDE: usize = 0;
const OUTSIDE: usize = 1;

/// Protocol, address and port of an inside host.
type Host = (u8, Ipv4Addr, u16);

/// See [`Nat44::declaration`](tidemill_packet::app::Declared::declaration).
#[derive(Debug)]
pub struct Nat44 {
    config: Nat44Config,
    fanout: Fanout,
    /// The public port of each host, and when the host used it last.
    ports: Map<Host, (u16, u64)>,
    /// The host of each protocol's public port.
    hosts: Map<(u8, u16), Host>,
    /// The free ports of each protocol.
    free: Map<u8, FreePorts>,
    /// Where the next port is looked for, so that one rests before another host gets it.
    next: u16,
}

/// Words of a set of ports, and words whose bits mark which of those are not 0.
const WORDS: usize = 1 << 10;
const SUMMARIES: usize = WORDS / 64;

/// The ports that no mapping of a protocol uses, as a set of bits with a summary above: the next
/// one is found by looking at some twenty words at most, however few are left.
#[derive(Debug)]
struct FreePorts {
    words: Box<[u64; WORDS]>,
    /// Bit n of all: word n is not 0.
    summary: [u64; SUMMARIES],
}

impl FreePorts {
    fn none() -> FreePorts {
        FreePorts { words: Box::new([0; WORDS]), summary: [0; SUMMARIES] }
    }

    fn insert(&mut self, port: u16) {
        let word = usize::from(port) / 64;
        self.words[word] |= 1 << (port % 64);
        self.summary[word / 64] |= 1 << (word % 64);
    }

    fn remove(&mut self, port: u16) {
        let word = usize::from(port) / 64;
        self.words[word] &= !(1 << (port % 64));
        if self.words[word] == 0 {
            self.summary[word / 64] &= !(1 << (word % 64));
        }
    }

    /// The least from `first` on.
    fn from(&self, first: u16) -> Option<u16> {
        let at = |word: usize, bits: u64| (word * 64) as u16 + bits.trailing_zeros() as u16;
        let word = usize::from(first) / 64;
        let here = self.words[word] & (u64::MAX << (first % 64));
        if here != 0 {
            return Some(at(word, here));
        }
        let next = word + 1;
        for group in next / 64..SUMMARIES {
            let before = if group == next / 64 { next % 64 } else { 0 };
            let bits = self.summary[group] & (u64::MAX << before);
            if bits != 0 {
                let word = group * 64 + bits.trailing_zeros() as usize;
                return Some(at(word, self.words[word]));
            }
        }
        None
    }

    /// Takes the next from `first` on, or after the last one the least.
    fn take(&mut self, first: u16) -> Option<u16> {
        let port = self.from(first).or_else(|| self.from(0))?;
        self.remove(port);
        Some(port)
    }
}

/// Why a packet is not translated.
type Reason = &'static str;

impl App for Nat44 {
    const GAUGES: &'static [&'static str] = &["mappings"];

    fn validate(config: &Nat44Config) -> Result<(), ConfigError> {
        if config.first_port <= config.last_port && config.first_port > 0 {
            Ok(())
        } else {
            Err(ConfigError::new("first_port", "it must be between 1 and last_port"))
        }
    }

    fn new(config: Nat44Config, start: &mut Start) -> Result<Nat44, Fault> {
        let (ports, hosts, free) = (Map::default(), Map::default(), Map::default());
        let fanout = start.fanout().clone();
        let next = *range(&config, &fanout)?.start();
        Ok(Nat44 { config, fanout, ports, hosts, free, next })
    }

    /// Mappings live on, those too whose port is not allocated any more. After a change of the
    /// public address they are of use to the inside only: no answer arrives for the old one.
    fn reconfigure(&mut self, config: Nat44Config) -> Reconfigured {
        let before = self.range();
        let Ok(range) = range(&config, &self.fanout) else { return Reconfigured::Restart };
        if range != before {
            for (protocol, free) in &mut self.free {
                *free = FreePorts::none();
                let is_free = |port: &u16| !self.hosts.contains_key(&(*protocol, *port));
                range.clone().filter(is_free).for_each(|port| free.insert(port));
            }
            self.next = *range.start();
        }
        self.config = config;
        Reconfigured::Kept
    }

    fn push(&mut self, io: &mut Io) -> Result<(), Fault> {
        while let Some(mut packet) = io.receive(INSIDE) {
            match self.outwards(&mut packet, io.now_ns()) {
                Ok(()) => io.send(OUTSIDE, packet),
                Err(reason) => io.drop(packet, reason),
            }
        }
        while let Some(mut packet) = io.receive(OUTSIDE) {
            match self.inwards(&mut packet) {
                Ok(()) => io.send(INSIDE, packet),
                Err(reason) => io.drop(packet, reason),
            }
        }
        Ok(())
    }

    fn tick_every(&self) -> Option<Duration> {
        Some(Duration::from_secs(1))
    }

    fn tick(&mut self, io: &mut Io) -> Result<(), Fault> {
        let timeout_ns = u64::from(self.config.timeout) * 1_000_000_000;
        let range = self.range();
        let (now_ns, hosts, free) = (io.now_ns(), &mut self.hosts, &mut self.free);
        self.ports.retain(|host, (port, used_ns)| {
            let lives = now_ns.saturating_sub(*used_ns) < timeout_ns;
            if !lives {
                hosts.remove(&(host.0, *port));
                if let Some(free) = free.get_mut(&host.0).filter(|_| range.contains(port)) {
                    free.insert(*port);
                }
            }
            lives
        });
        Ok(())
    }

    fn report(&self) -> Vec<(&'static str, u64)> {
        vec![("mappings", self.ports.len() as u64)]
    }
}

impl Nat44Config {
    /// The ports that mappings use, of which each instance of a graph has a block.
    pub fn blocks(&self) -> PortBlocks {
        PortBlocks { address: self.address, first: self.first_port, last: self.last_port }
    }
}

/// The ports that mappings of an instance use.
fn range(config: &Nat44Config, fanout: &Fanout) -> Result<RangeInclusive<u16>, Fault> {
    let range = config.blocks().of(fanout.instance(), fanout.instances());
    range.ok_or_else(|| Fault::new("there are fewer ports than workers"))
}

impl Nat44 {
    fn range(&self) -> RangeInclusive<u16> {
        // That there are enough has been checked for each config.
        range(&self.config, &self.fanout).unwrap_or(self.config.first_port..=self.config.last_port)
    }

    fn outwards(&mut self, packet: &mut Packet, now_ns: u64) -> Result<(), Reason> {
        let (ip, ports) = parts(packet.bytes())?;
        let own = port(packet.bytes(), ip.payload() + ports.source);
        let host = (ip.protocol, ip.source, own);
        let public = self.map(host, now_ns).ok_or("no_port")?;
        rewrite(packet.bytes_mut(), &ip, &ports, 12, ports.source, self.config.address, public);
        Ok(())
    }

    fn inwards(&mut self, packet: &mut Packet) -> Result<(), Reason> {
        let (ip, ports) = parts(packet.bytes())?;
        let public = port(packet.bytes(), ip.payload() + ports.destination);
        if ip.destination != self.config.address {
            return Err("no_mapping");
        }
        let host = self.hosts.get(&(ip.protocol, public)).ok_or("no_mapping")?;
        rewrite(packet.bytes_mut(), &ip, &ports, 16, ports.destination, host.1, host.2);
        Ok(())
    }

    /// The public port of a host.
    fn map(&mut self, host: Host, now_ns: u64) -> Option<u16> {
        if let Some((port, used_ns)) = self.ports.get_mut(&host) {
            *used_ns = now_ns;
            return Some(*port);
        }
        let range = self.range();
        let (first, last) = (*range.start(), *range.end());
        let free = self.free.entry(host.0).or_insert_with(|| {
            let mut all = FreePorts::none();
            range.for_each(|port| all.insert(port));
            all
        });
        let port = free.take(self.next)?;
        self.next = if port >= last { first } else { port + 1 };
        self.hosts.insert((host.0, port), host);
        self.ports.insert(host, (port, now_ns));
        Some(port)
    }
}

fn parts(frame: &[u8]) -> Result<(Ipv4, Ports4), Reason> {
    let ip = ipv4(frame).filter(|ip| !ip.is_fragment()).ok_or("untranslatable")?;
    let ports = Ports4::of(&ip, frame).ok_or("untranslatable")?;
    Ok((ip, ports))
}

fn port(frame: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([frame[at], frame[at + 1]])
}

/// Puts another address and port in place, with all checksums.
fn rewrite(
    frame: &mut [u8],
    ip: &Ipv4,
    ports: &Ports4,
    address_at: usize,
    port_at: usize,
    address: Ipv4Addr,
    new_port: u16,
) {
    let (address_at, port_at) = (ip.start + address_at, ip.payload() + port_at);
    let mut before = frame[address_at..address_at + 4].to_vec();
    frame[address_at..address_at + 4].copy_from_slice(&address.octets());
    change(frame, ip.start + 10, &before, &address.octets());
    let mut after = address.octets().to_vec();
    if !ports.covers_addresses {
        before.clear();
        after.clear();
    }
    before.extend_from_slice(&frame[port_at..port_at + 2]);
    after.extend(new_port.to_be_bytes());
    frame[port_at..port_at + 2].copy_from_slice(&new_port.to_be_bytes());
    let sum_at = ip.payload() + ports.checksum;
    // UDP may do without a checksum.
    if !(ip.protocol == 17 && port(frame, sum_at) == 0) {
        change(frame, sum_at, &before, &after);
        if ip.protocol == 17 && port(frame, sum_at) == 0 {
            frame[sum_at..sum_at + 2].fill(0xff);
        }
    }
}

fn change(frame: &mut [u8], sum_at: usize, before: &[u8], after: &[u8]) {
    let sum = adjust(port(frame, sum_at), before, after);
    frame[sum_at..sum_at + 2].copy_from_slice(&sum.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use tidemill_stdx::rng::Rng;

    use super::FreePorts;

    #[test]
    fn free_ports_are_found_as_by_a_plain_set() {
        let (mut random, mut free, mut plain) = (Rng::new(5), FreePorts::none(), BTreeSet::new());
        for round in 0..200_000u32 {
            let port = random.next_u64() as u16;
            let port = if round % 3 == 0 { port } else { port | 0xff00 };
            match random.below(3) {
                0 => {
                    free.insert(port);
                    plain.insert(port);
                }
                1 => {
                    free.remove(port);
                    plain.remove(&port);
                }
                _ => {
                    let next = plain.range(port..).next().or_else(|| plain.first()).copied();
                    assert_eq!(free.take(port), next);
                    next.map(|next| plain.remove(&next));
                }
            }
        }
        assert_eq!(free.from(0), plain.first().copied());
    }
}
