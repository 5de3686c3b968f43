//! What a frame says of its flow: the key, the bytes of the IP packet, the flags of TCP.
//!
//! ```text
//! Ethernet | VLAN tags | IPv4, or IPv6 and its extension headers | the first bytes behind them
//! ```
//! Captures may have only the front of a frame, so lengths are compared with that on the wire.

use std::net::IpAddr;

use tidemill_packet::Packet;
use tidemill_stdx::keyed::Secret;

use crate::net::{ETHERNET, TYPE_IPV4, TYPE_IPV6, TYPE_QINQ, TYPE_VLAN, u16_at};

/// The most VLAN tags, and the most extension headers, that are skipped.
const LAYERS_MAX: usize = 8;

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
    let (frame, mut at) = (packet.bytes(), ETHERNET - 2);
    let mut vlan = UNTAGGED;
    for _ in 0..LAYERS_MAX {
        let start = at + 2;
        match u16_at(frame, at).ok_or(NoFlow::NotIp)? {
            TYPE_VLAN | TYPE_QINQ => {
                let tag = u16_at(frame, start).ok_or(NoFlow::Malformed)? & 0xFFF;
                if vlan == UNTAGGED {
                    vlan = tag;
                }
                at = start + 2;
            }
            TYPE_IPV4 => return ipv4(packet, start, vlan).ok_or(NoFlow::Malformed),
            TYPE_IPV6 => return ipv6(packet, start, vlan).ok_or(NoFlow::Malformed),
            _ => return Err(NoFlow::NotIp),
        }
    }
    Err(NoFlow::NotIp)
}

fn ipv4(packet: &Packet, start: usize, vlan: u16) -> Option<Observed> {
    let fixed: &[u8; 20] = packet.bytes().get(start..)?.first_chunk()?;
    let (header, total) = (usize::from(fixed[0] & 15) * 4, usize::from(u16_at(fixed, 2)?));
    if fixed[0] >> 4 != 4 || header < 20 || total < header || start + total > packet.wire_len() {
        return None;
    }
    let is_first = u16_at(fixed, 6)? & 0x1FFF == 0;
    let address = |at: usize| {
        let mut address = [0; 16];
        address[..4].copy_from_slice(&fixed[at..at + 4]);
        address
    };
    let key = FlowKey {
        source: address(12),
        destination: address(16),
        source_port: 0,
        destination_port: 0,
        vlan,
        protocol: fixed[9],
        is_six: false,
    };
    let payload = start + header..start + total;
    Some(with_ports(packet, key, total, if is_first { payload } else { 0..0 }))
}

fn ipv6(packet: &Packet, start: usize, vlan: u16) -> Option<Observed> {
    let frame = packet.bytes();
    let fixed: &[u8; 40] = frame.get(start..)?.first_chunk()?;
    let end = start + 40 + usize::from(u16_at(fixed, 4)?);
    if fixed[0] >> 4 != 6 || end > packet.wire_len() {
        return None;
    }
    let (mut at, mut protocol, mut is_first) = (start + 40, fixed[6], true);
    for _ in 0..LAYERS_MAX {
        // Options of each hop, a route, options of the destination; a fragment; authentication.
        let Some(&[next, length]) =
            frame.get(at..end.min(frame.len())).and_then(<[u8]>::first_chunk)
        else {
            break;
        };
        let length = match protocol {
            0 | 43 | 60 => (usize::from(length) + 1) * 8,
            44 => {
                is_first &= u16_at(frame, at + 2).is_some_and(|offset| offset & 0xFFF8 == 0);
                8
            }
            51 => (usize::from(length) + 2) * 4,
            _ => break,
        };
        (at, protocol) = (at + length, next);
        if !is_first {
            break;
        }
    }
    let key = FlowKey {
        source: *fixed[8..].first_chunk()?,
        destination: *fixed[24..].first_chunk()?,
        source_port: 0,
        destination_port: 0,
        vlan,
        protocol,
        is_six: true,
    };
    Some(with_ports(packet, key, end - start, if is_first { at..end } else { 0..0 }))
}

/// Completes a key by what is behind the IP header, as far as it is there.
fn with_ports(
    packet: &Packet,
    mut key: FlowKey,
    bytes: usize,
    payload: std::ops::Range<usize>,
) -> Observed {
    let end = payload.end.min(packet.len());
    let payload = packet.bytes().get(payload.start..end).unwrap_or_default();
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
    Observed { key, bytes: bytes as u64, flags }
}
