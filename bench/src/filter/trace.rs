//! A trace like that of a link at the edge of a network: many flows, most of them short, and a few
//! with most of the bytes.
//!
//! Of the packets some 80% are TCP (two thirds of that HTTPS), 15% UDP (QUIC and names), the rest
//! ICMP and ARP; a quarter is IPv6; a tenth of the flows is tagged. Sizes have three humps: empty
//! acknowledgements, small messages, full packets. Identifications and sequence numbers change
//! from packet to packet, and all checksums are right. All from a seed.

use tidemill_stdx::internet::sum;
use tidemill_stdx::rng::Rng;

const ICMP: u8 = 1;
const TCP: u8 = 6;
const UDP: u8 = 17;

/// Packets stored one after the other.
pub struct Trace {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

struct Flow {
    header: Vec<u8>,
    ip: Option<Ip>,
    bulk: bool,
}

/// Where IP is in the header of a flow.
struct Ip {
    start: usize,
    /// Where TCP, UDP or ICMP begins.
    transport: usize,
    is_six: bool,
    protocol: u8,
}

impl Trace {
    /// A trace of `packets` packets.
    pub fn new(packets: usize, seed: u64) -> Trace {
        let mut rng = Rng::new(seed);
        let flows: Vec<Flow> = (0..packets / 12 + 1).map(|_| Flow::new(&mut rng)).collect();
        let mut trace = Trace { bytes: Vec::new(), ends: Vec::new() };
        while trace.ends.len() < packets {
            // The square favours the first flows: a few have most packets.
            let at = rng.f64() * rng.f64();
            let flow = &flows[(at * flows.len() as f64) as usize];
            for _ in 0..rng.range(1..=6) {
                let number = trace.ends.len() as u32;
                flow.packet(&mut rng, number, &mut trace.bytes);
                trace.ends.push(trace.bytes.len());
            }
        }
        trace
    }

    /// All packets.
    pub fn packets(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(&0).chain(&self.ends);
        starts.zip(&self.ends).map(|(&start, &end)| &self.bytes[start..end])
    }

    /// A packet by number.
    pub fn packet(&self, at: usize) -> &[u8] {
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start..self.ends[at]]
    }

    /// The number of packets.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// The trace as a capture file.
    pub fn capture(&self) -> Vec<u8> {
        let mut file = Vec::new();
        let mut words = |words: &[u32], bytes: &[u8]| {
            words.iter().for_each(|word| file.extend(word.to_le_bytes()));
            file.extend(bytes);
        };
        words(&[0xa1b2_c3d4, 0x0004_0002, 0, 0, 262_144, 1], &[]);
        for packet in self.packets() {
            let length = packet.len() as u32;
            words(&[0, 0, length, length], packet);
        }
        file
    }
}

impl Flow {
    fn new(rng: &mut Rng) -> Flow {
        let mut header = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, rng.below(200) as u8];
        if rng.chance(0.1) {
            header.extend([0x81, 0, 0, rng.range(2..=9) as u8]);
        }
        if rng.chance(0.02) {
            header.extend([8, 6, 0, 1, 8, 0, 6, 4, 0, 1]);
            header.extend([2, 0, 0, 0, 0, 7, 10, 0, 0, 1, 0, 0, 0, 0, 0, 0, 10, 0, 0, 2]);
            return Flow { header, ip: None, bulk: false };
        }
        let (protocol, port) = match rng.below(100) {
            0..=54 => (TCP, 443),
            55..=66 => (TCP, 80),
            67..=70 => (TCP, 22),
            71..=80 => (TCP, rng.range(1024..=40_000) as u16),
            81..=88 => (UDP, 443),
            89..=96 => (UDP, 53),
            _ => (ICMP, 0),
        };
        let near = [10, rng.below(4) as u8, rng.below(250) as u8, rng.below(250) as u8];
        let far = (rng.next_u64() as u32 | 0x0b00_0000).to_be_bytes();
        let outward = rng.chance(0.5);
        let is_six = rng.chance(0.25) && protocol != ICMP;
        let start = header.len() + 2;
        let ends = if outward { [near, far] } else { [far, near] };
        let hops = 64 + near[3] % 64;
        if is_six {
            header.extend([0x86, 0xdd, 0x60, 0, 0, 0, 0, 0, protocol, hops]);
            for end in ends {
                header.extend([0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0]);
                header.extend(end);
            }
        } else {
            header.extend([8, 0, 0x45, 0, 0, 0, 0, 0, 0x40, 0, hops, protocol, 0, 0]);
            ends.into_iter().for_each(|end| header.extend(end));
        }
        let ip = Some(Ip { start, transport: header.len(), is_six, protocol });
        let own = rng.range(32_768..=60_999) as u16;
        let ports = if outward { [own, port] } else { [port, own] };
        if protocol == ICMP {
            header.extend([8, 0, 0, 0, 0, 1, 0, 1]);
        } else {
            ports.iter().for_each(|port| header.extend(port.to_be_bytes()));
        }
        match protocol {
            TCP => {
                header.extend([0, 0, 0, 1, 0, 0, 0, 1, 0x80, 0x10, 1, 0, 0, 0, 0, 0]);
                header.extend([1, 1, 8, 10, 0, 0, 0, 0, 0, 0, 0, 0]);
            }
            UDP => header.extend([0; 4]),
            _ => {}
        }
        Flow { header, ip, bulk: rng.chance(0.4) }
    }

    /// Adds a packet, which is the `number`th of the trace.
    fn packet(&self, rng: &mut Rng, number: u32, bytes: &mut Vec<u8>) {
        let start = bytes.len();
        bytes.extend(&self.header);
        let payload = match (self.ip.is_some(), rng.below(10)) {
            (false, _) | (true, 0..=2) => 0,
            (true, 3..=4) => rng.range(20..=300),
            (true, _) if self.bulk => 1400,
            (true, _) => rng.range(40..=1000),
        };
        bytes.resize(bytes.len() + payload as usize, 0x55);
        if let Some(ip) = &self.ip {
            ip.complete(number, &mut bytes[start..]);
        }
        bytes.resize(bytes.len().max(start + 60), 0);
    }
}

impl Ip {
    /// Writes lengths, numbers and checksums into a frame.
    fn complete(&self, number: u32, frame: &mut [u8]) {
        let (ip, segment) = frame[self.start..].split_at_mut(self.transport - self.start);
        let length = segment.len();
        let put = |bytes: &mut [u8], at: usize, word: usize| {
            bytes[at..at + 2].copy_from_slice(&(word as u16).to_be_bytes());
        };
        if self.is_six {
            put(ip, 4, length);
        } else {
            put(ip, 2, ip.len() + length);
            put(ip, 4, number as usize);
            let checksum = !sum(ip, 0);
            put(ip, 10, checksum as usize);
        }
        let addresses = if self.is_six { 8..40 } else { 12..20 };
        let pseudo = sum(&ip[addresses], u32::from(self.protocol) + length as u32);
        let (field, pseudo) = match self.protocol {
            TCP => {
                segment[4..8].copy_from_slice(&number.to_be_bytes());
                (16, pseudo)
            }
            UDP => {
                put(segment, 4, length);
                (6, pseudo)
            }
            _ => {
                put(segment, 6, number as usize);
                (2, 0)
            }
        };
        segment[field..field + 2].fill(0);
        let checksum = match !sum(segment, pseudo) as u16 {
            // 0 says of UDP that there is no checksum.
            0 if self.protocol == UDP => 0xffff,
            checksum => checksum,
        };
        put(segment, field, checksum.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_right() {
        let trace = Trace::new(500, 11);
        let mut seen = [0; 2];
        for packet in trace.packets() {
            let tag = if packet[12..14] == [0x81, 0] { 4 } else { 0 };
            let ip = &packet[14 + tag..];
            let (header, length, addresses) = match packet[12 + tag..14 + tag] {
                [8, 0] => (20, u16::from_be_bytes([ip[2], ip[3]]).into(), 12..20),
                [0x86, 0xdd] => (40, 40 + usize::from(u16::from_be_bytes([ip[4], ip[5]])), 8..40),
                _ => continue,
            };
            if header == 20 {
                assert_eq!(sum(&ip[..20], 0), 0xffff, "{packet:x?}");
            }
            let protocol = if header == 20 { ip[9] } else { ip[6] };
            let segment = &ip[header..length];
            let pseudo = sum(&ip[addresses], u32::from(protocol) + segment.len() as u32);
            let pseudo = if protocol == ICMP { 0 } else { pseudo };
            assert_eq!(sum(segment, pseudo), 0xffff, "{packet:x?}");
            seen[usize::from(header == 40)] += 1;
        }
        assert!(seen.iter().all(|count| *count > 50), "{seen:?}");
    }
}
