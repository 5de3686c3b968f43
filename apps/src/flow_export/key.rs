//! What a frame says of its flow: the key, the bytes of the IP packet, the flags of TCP.
//!
//! ```text
//! Ethernet | VLAN tags | IPv4, or IPv6 and its extension headers | the first bytes behind them
//! ```
//! Captures may have only the front of a frame, so lengths are compared with that on the wire.

use std::net::IpAddr;

use tidemill_packet::Packet;
use tidemill_packet::fields::Layers;
use tidemill_stdx::keyed::Secret;

use crate::net::{TYPE_IPV4, TYPE_IPV6, u16_at};

/// A VLAN tag with this number does not exist.
const UNTAGGED: u16 = 0xFFFF;

const ICMP: u8 = 1;
const TCP: u8 = 6;
const ICMP6: u8 = 58;
/// TCP, UDP, DCCP, SCTP, UDP-Lite: the first four bytes are the ports.
const WITH_PORTS: [u8; 5] = [TCP, 17, 33, 132, 136];

/// The key of a flow in one direction.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct FlowKey {
    /// Those of IPv4 are in the first four bytes.
    source: [u8; 16],
    destination: [u8; 16],
    /// 0 where there are none: in later fragments, and behind what was cut.
    pub source_port: u16,
    /// Likewise; for ICMP, type and code.
    pub destination_port: u16,
    vlan: u16,
    pub protocol: u8,
    is_six: bool,
}

impl FlowKey {
    /// The addresses.
    pub fn addresses(&self) -> (IpAddr, IpAddr) {
        let address = |bytes: [u8; 16]| match (self.is_six, bytes) {
            (true, bytes) => IpAddr::from(bytes),
            (false, [a, b, c, d, ..]) => IpAddr::from([a, b, c, d]),
        };
        (address(self.source), address(self.destination))
    }

    pub fn is_six(&self) -> bool {
        self.is_six
    }

    /// The outermost VLAN, of a flow that has a tag.
    pub fn vlan(&self) -> Option<u16> {
        (self.vlan != UNTAGGED).then_some(self.vlan)
    }

    /// The key of the other direction.
    pub fn reversed(&self) -> FlowKey {
        FlowKey {
            source: self.destination,
            destination: self.source,
            source_port: self.destination_port,
            destination_port: self.source_port,
            ..*self
        }
    }

    pub fn hash(&self, secret: &Secret) -> u64 {
        let word = |bytes: &[u8; 16], at: usize| {
            bytes[at..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
        };
        let rest = u64::from(self.source_port) << 48
            | u64::from(self.destination_port) << 32
            | u64::from(self.vlan) << 16
            | u64::from(self.protocol) << 8
            | u64::from(self.is_six);
        let words = [
            word(&self.source, 0),
            word(&self.destination, 0),
            word(&self.source, 8),
            word(&self.destination, 8),
        ];
        // The upper halves of IPv4 addresses are 0.
        let count = if self.is_six { 4 } else { 2 };
        words[..count].iter().fold(secret.word(rest), |hash, &word| secret.combine(hash, word))
    }
}

/// A packet as its flow counts it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Observed {
    pub key: FlowKey,
    /// Bytes of the IP packet.
    pub bytes: u64,
    /// The control bits of TCP, with the three that RFC 9293 reserves or gave up.
    pub flags: u16,
}

/// Why a frame belongs to no flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum NoFlow {
    NotIp,
    Malformed,
}

/// What a packet is to its flow.
pub(super) fn observe(packet: &Packet) -> Result<Observed, NoFlow> {
    let (frame, wire_bytes) = (packet.bytes(), packet.wire_len());
    let layers = Layers::of(frame);
    let word = |at: usize| u16_at(frame, at).map_or(0, usize::from);
    let (start, is_six, bytes) = match (layers.ipv4, layers.ipv6, layers.ether_type) {
        // Without a length it is one of segments that the hardware would have cut.
        (Some(at), ..) if word(at + 2) == 0 => (at, false, wire_bytes - at),
        (Some(at), ..) => (at, false, word(at + 2)),
        (_, Some(at), _) => (at, true, 40 + word(at + 4)),
        (.., Some(TYPE_IPV4 | TYPE_IPV6)) => return Err(NoFlow::Malformed),
        _ => return Err(NoFlow::NotIp),
    };
    if start + bytes > wire_bytes {
        return Err(NoFlow::Malformed);
    }
    let (first, length) = if is_six { (8, 16) } else { (12, 4) };
    let address = |at: usize| {
        let mut address = [0; 16];
        let from = frame.get(at..at + length).unwrap_or_default();
        address.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
        address
    };
    let key = FlowKey {
        source: address(start + first),
        destination: address(start + first + length),
        source_port: 0,
        destination_port: 0,
        vlan: layers.vlan.map_or(UNTAGGED, |at| word(at) as u16 & 0xFFF),
        protocol: layers.protocol.unwrap_or(0),
        is_six,
    };
    let payload = layers.transport.and_then(|at| frame.get(at..layers.end)).unwrap_or_default();
    Ok(with_ports(key, bytes as u64, payload))
}

/// Completes a key by what is behind the IP header, as far as it is there.
fn with_ports(mut key: FlowKey, bytes: u64, payload: &[u8]) -> Observed {
    let word = |at: usize| u16_at(payload, at);
    match key.protocol {
        ICMP | ICMP6 => key.destination_port = word(0).unwrap_or(0),
        protocol if WITH_PORTS.contains(&protocol) => {
            if let (Some(source), Some(destination)) = (word(0), word(2)) {
                (key.source_port, key.destination_port) = (source, destination);
            }
        }
        _ => {}
    }
    // The 12 bits behind the length of the header.
    let flags = if key.protocol == TCP { word(12).unwrap_or(0) & 0xFFF } else { 0 };
    Observed { key, bytes, flags }
}
