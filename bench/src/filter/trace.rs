//! A trace like that of a link at the edge of a network: many flows, most of them short, and a few
//! with most of the bytes.
//!
//! Of the packets some 80% are TCP (two thirds of that HTTPS), 15% UDP (QUIC and names), the rest
//! ICMP and ARP; a quarter is IPv6; a tenth of the flows is tagged. Sizes have three humps: empty
//! acknowledgements, small messages, full packets. All from one seed.

use tidemill_stdx::rng::Rng;

/// Packets stored one after the other.
pub struct Trace {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

struct Flow {
    header: Vec<u8>,
    /// The offset of the length of the IP packet, and the offset from which it counts.
    length: Option<(usize, usize)>,
    bulk: bool,
}

impl Trace {
    /// A trace of `packets` packets.
    pub fn new(packets: usize) -> Trace {
        let mut rng = Rng::new(11);
        let flows: Vec<Flow> = (0..packets / 12 + 1).map(|_| Flow::new(&mut rng)).collect();
        let mut trace = Trace { bytes: Vec::new(), ends: Vec::new() };
        while trace.ends.len() < packets {
            // The square favours the first flows: a few have most packets.
            let at = rng.f64() * rng.f64();
            let flow = &flows[(at * flows.len() as f64) as usize];
            for _ in 0..rng.range(1..=6) {
                flow.packet(&mut rng, &mut trace.bytes);
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
            return Flow { header, length: None, bulk: false };
        }
        let (protocol, port) = match rng.below(100) {
            0..=54 => (6, 443),
            55..=66 => (6, 80),
            67..=70 => (6, 22),
            71..=80 => (6, rng.range(1024..=40_000) as u16),
            81..=88 => (17, 443),
            89..=96 => (17, 53),
            _ => (1, 0),
        };
        let near = [10, rng.below(4) as u8, rng.below(250) as u8, rng.below(250) as u8];
        let far = (rng.next_u64() as u32 | 0x0b00_0000).to_be_bytes();
        let outward = rng.chance(0.5);
        let length = if rng.chance(0.25) && protocol != 1 {
            header.extend([0x86, 0xdd, 0x60, 0, 0, 0, 0, 0, protocol, 64]);
            let length = (header.len() - 4, header.len() + 32);
            let six = |tail: [u8; 4]| {
                let mut address = vec![0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0];
                address.extend(tail);
                address
            };
            let ends = if outward { [near, far] } else { [far, near] };
            ends.into_iter().for_each(|end| header.extend(six(end)));
            length
        } else {
            header.extend([8, 0]);
            let start = header.len();
            header.extend([0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, protocol, 0, 0]);
            let ends = if outward { [near, far] } else { [far, near] };
            ends.into_iter().for_each(|end| header.extend(end));
            (start + 2, start)
        };
        let own = rng.range(32_768..=60_999) as u16;
        let ports = if outward { [own, port] } else { [port, own] };
        match protocol {
            1 => header.extend([8, 0, 0, 0, 0, 1, 0, 1]),
            6 => {
                ports.iter().for_each(|port| header.extend(port.to_be_bytes()));
                header.extend([0, 0, 0, 1, 0, 0, 0, 1, 0x80, 0x10, 1, 0, 0, 0, 0, 0]);
                header.extend([1, 1, 8, 10, 0, 0, 0, 0, 0, 0, 0, 0]);
            }
            _ => {
                ports.iter().for_each(|port| header.extend(port.to_be_bytes()));
                header.extend([0; 4]);
            }
        }
        Flow { header, length: Some(length), bulk: rng.chance(0.4) }
    }

    fn packet(&self, rng: &mut Rng, bytes: &mut Vec<u8>) {
        let start = bytes.len();
        bytes.extend(&self.header);
        let payload = match (self.length.is_some(), rng.below(10)) {
            (false, _) | (true, 0..=2) => 0,
            (true, 3..=4) => rng.range(20..=300),
            (true, _) if self.bulk => 1400,
            (true, _) => rng.range(40..=1000),
        };
        bytes.resize(bytes.len() + payload as usize, 0x55);
        if let Some((at, from)) = self.length {
            let length = (bytes.len() - start - from) as u16;
            bytes[start + at..start + at + 2].copy_from_slice(&length.to_be_bytes());
        }
        bytes.resize(bytes.len().max(start + 60), 0);
    }
}
