//! Fields of headers by name: `ip.src`, `tcp.dport`, `len`.
//!
//! ```
//! use tidemill_packet::fields::{FieldValue, Fields};
//! use tidemill_packet::Pool;
//!
//! let fields = Fields::parse("len, eth.type, tcp.dport").unwrap();
//! let packet = Pool::new(1).packet_of(&[0; 60]).unwrap();
//! let values: Vec<FieldValue> = fields.of(&packet).collect();
//! assert_eq!(values, [FieldValue::Integer(60), FieldValue::Integer(0), FieldValue::Absent]);
//! ```
//! The headers of a packet are found once ([`Layers`]); each field is then read at its place. A
//! header that is not there, or is cut, has no fields. VLAN tags and IPv6 extension headers are
//! passed over; of fragments, only the first has ports.

mod layers;

use std::fmt;

pub use layers::Layers;

use crate::packet::Packet;
use tidemill_diag::nearest;

/// The type of a field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FieldType {
    /// An unsigned number of 48 bits at most.
    Integer,
    /// Bytes: addresses as in the header, payloads.
    Bytes,
    /// Nanoseconds since the epoch.
    Time,
}

/// A field of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FieldValue<'p> {
    /// The packet has none.
    Absent,
    /// See [`FieldType::Integer`].
    Integer(i64),
    /// See [`FieldType::Bytes`].
    Bytes(&'p [u8]),
    /// See [`FieldType::Time`].
    Time(i64),
}

/// Where a field is counted from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Base {
    Ethernet,
    Vlan,
    Arp,
    Ipv4,
    Ipv6,
    Tcp,
    Udp,
    Icmp,
    Icmp6,
    /// The ports of TCP, UDP and SCTP, which are in one place.
    Ports,
}

/// How a field is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Read {
    /// An integer of `bytes` bytes at an offset, shifted and masked.
    Integer {
        base: Base,
        at: u8,
        bytes: u8,
        shift: u8,
        mask: u32,
    },
    /// Bytes at an offset.
    Bytes {
        base: Base,
        at: u8,
        bytes: u8,
    },
    /// The bytes after a header.
    Payload(Base),
    EtherType,
    Protocol,
    WireLength,
    Length,
    Time,
    All,
}

const fn integer(base: Base, at: u8, bytes: u8) -> Read {
    Read::Integer { base, at, bytes, shift: 0, mask: u32::MAX }
}

const fn bits(base: Base, at: u8, bytes: u8, shift: u8, mask: u32) -> Read {
    Read::Integer { base, at, bytes, shift, mask }
}

const fn bytes(base: Base, at: u8, bytes: u8) -> Read {
    Read::Bytes { base, at, bytes }
}

/// All fields, by header.
const FIELDS: [(&str, Read); 44] = [
    ("len", Read::WireLength),
    ("caplen", Read::Length),
    ("time", Read::Time),
    ("bytes", Read::All),
    ("proto", Read::Protocol),
    ("sport", integer(Base::Ports, 0, 2)),
    ("dport", integer(Base::Ports, 2, 2)),
    ("eth.dst", bytes(Base::Ethernet, 0, 6)),
    ("eth.src", bytes(Base::Ethernet, 6, 6)),
    ("eth.type", Read::EtherType),
    ("vlan.id", bits(Base::Vlan, 0, 2, 0, 0xfff)),
    ("vlan.priority", bits(Base::Vlan, 0, 2, 13, 7)),
    ("arp.op", integer(Base::Arp, 6, 2)),
    ("arp.sha", bytes(Base::Arp, 8, 6)),
    ("arp.spa", bytes(Base::Arp, 14, 4)),
    ("arp.tha", bytes(Base::Arp, 18, 6)),
    ("arp.tpa", bytes(Base::Arp, 24, 4)),
    ("ip.src", bytes(Base::Ipv4, 12, 4)),
    ("ip.dst", bytes(Base::Ipv4, 16, 4)),
    ("ip.proto", integer(Base::Ipv4, 9, 1)),
    ("ip.ttl", integer(Base::Ipv4, 8, 1)),
    ("ip.tos", integer(Base::Ipv4, 1, 1)),
    ("ip.len", integer(Base::Ipv4, 2, 2)),
    ("ip.id", integer(Base::Ipv4, 4, 2)),
    ("ip.fragment", bits(Base::Ipv4, 6, 2, 0, 0x3fff)),
    ("ip6.src", bytes(Base::Ipv6, 8, 16)),
    ("ip6.dst", bytes(Base::Ipv6, 24, 16)),
    ("ip6.hops", integer(Base::Ipv6, 7, 1)),
    ("ip6.class", bits(Base::Ipv6, 0, 2, 4, 0xff)),
    ("ip6.flow", bits(Base::Ipv6, 0, 4, 0, 0xf_ffff)),
    ("tcp.sport", integer(Base::Tcp, 0, 2)),
    ("tcp.dport", integer(Base::Tcp, 2, 2)),
    ("tcp.seq", integer(Base::Tcp, 4, 4)),
    ("tcp.ack", integer(Base::Tcp, 8, 4)),
    ("tcp.flags", bits(Base::Tcp, 12, 2, 0, 0x1ff)),
    ("tcp.window", integer(Base::Tcp, 14, 2)),
    ("tcp.payload", Read::Payload(Base::Tcp)),
    ("udp.sport", integer(Base::Udp, 0, 2)),
    ("udp.dport", integer(Base::Udp, 2, 2)),
    ("udp.len", integer(Base::Udp, 4, 2)),
    ("udp.payload", Read::Payload(Base::Udp)),
    ("icmp.type", integer(Base::Icmp, 0, 1)),
    ("icmp.code", integer(Base::Icmp, 1, 1)),
    ("icmp6.type", integer(Base::Icmp6, 0, 1)),
];

/// A list of fields.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fields {
    reads: Vec<(&'static str, Read)>,
    /// Some are of headers.
    need_layers: bool,
}

/// There is no such field.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnknownField {
    /// As it was written; empty, where a name is missing.
    pub name: String,
    /// The one that was meant.
    pub nearest: Option<&'static str>,
}

impl fmt::Display for UnknownField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.name.is_empty() {
            return f.write_str("a name is missing between commas");
        }
        write!(f, "packets have no field `{}`", self.name)?;
        match self.nearest {
            Some(nearest) => write!(f, "; is `{nearest}` meant?"),
            None => Ok(()),
        }
    }
}

impl Fields {
    /// The fields of a list, separated by commas; of an empty text, none.
    ///
    /// # Errors
    /// The first name that is no field.
    pub fn parse(text: &str) -> Result<Fields, UnknownField> {
        let mut reads = Vec::new();
        if !text.trim().is_empty() {
            for name in text.split(',').map(str::trim) {
                let Some(found) = FIELDS.iter().find(|(known, _)| *known == name) else {
                    let nearest = nearest(name, names());
                    return Err(UnknownField { name: name.to_owned(), nearest });
                };
                reads.push(*found);
            }
        }
        let whole = [Read::WireLength, Read::Length, Read::Time, Read::All];
        let need_layers = reads.iter().any(|(_, read)| !whole.contains(read));
        Ok(Fields { reads, need_layers })
    }

    /// The number of fields.
    pub fn len(&self) -> usize {
        self.reads.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.reads.is_empty()
    }

    /// Names and types in the order of the list.
    pub fn types(&self) -> impl Iterator<Item = (&'static str, FieldType)> {
        self.reads.iter().map(|&(name, read)| (name, type_of(read)))
    }

    /// The fields of a packet in the order of the list.
    #[inline]
    pub fn of<'p>(&'p self, packet: &'p Packet) -> impl Iterator<Item = FieldValue<'p>> {
        let frame = packet.bytes();
        let layers = if self.need_layers { Layers::of(frame) } else { Layers::default() };
        self.reads.iter().map(move |&(_, read)| value(read, packet, frame, &layers))
    }
}

/// The names of all fields.
pub fn names() -> impl Iterator<Item = &'static str> {
    FIELDS.iter().map(|(name, _)| *name)
}

fn type_of(read: Read) -> FieldType {
    match read {
        Read::Bytes { .. } | Read::Payload(_) | Read::All => FieldType::Bytes,
        Read::Time => FieldType::Time,
        _ => FieldType::Integer,
    }
}

#[inline]
fn value<'p>(read: Read, packet: &'p Packet, frame: &'p [u8], layers: &Layers) -> FieldValue<'p> {
    let value = match read {
        Read::WireLength => Some(FieldValue::Integer(packet.wire_len() as i64)),
        Read::Length => Some(FieldValue::Integer(packet.len() as i64)),
        Read::Time => packet.time_ns().map(FieldValue::Time),
        Read::All => Some(FieldValue::Bytes(frame)),
        Read::EtherType => layers.ether_type.map(|it| FieldValue::Integer(it.into())),
        Read::Protocol => layers.protocol.map(|it| FieldValue::Integer(it.into())),
        Read::Payload(base) => payload(base, frame, layers).map(FieldValue::Bytes),
        Read::Bytes { base, at, bytes } => {
            slice(base, at, bytes, frame, layers).map(FieldValue::Bytes)
        }
        Read::Integer { base, at, bytes, shift, mask } => {
            let number = slice(base, at, bytes, frame, layers).map(big_endian);
            number.map(|it| FieldValue::Integer(i64::from(it >> shift & mask)))
        }
    };
    value.unwrap_or(FieldValue::Absent)
}

/// An integer of four bytes at most; most have two.
#[inline]
fn big_endian(bytes: &[u8]) -> u32 {
    match *bytes {
        [one] => one.into(),
        [one, two] => u16::from_be_bytes([one, two]).into(),
        _ => bytes.iter().fold(0, |all, &byte| all << 8 | u32::from(byte)),
    }
}

/// Where a header begins.
#[inline]
fn start(base: Base, layers: &Layers) -> Option<usize> {
    match base {
        Base::Ethernet => Some(0),
        Base::Vlan => layers.vlan,
        Base::Arp => layers.arp,
        Base::Ipv4 => layers.ipv4,
        Base::Ipv6 => layers.ipv6,
        Base::Tcp => transport(layers, |it| it == 6),
        Base::Udp => transport(layers, |it| it == 17),
        Base::Icmp => transport(layers, |it| it == 1),
        Base::Icmp6 => transport(layers, |it| it == 58),
        Base::Ports => transport(layers, |it| matches!(it, 6 | 17 | 132)),
    }
}

/// Where the header after IP begins, if its protocol is one of these.
#[inline]
fn transport(layers: &Layers, is_one: impl Fn(u8) -> bool) -> Option<usize> {
    layers.transport.filter(|_| layers.protocol.is_some_and(is_one))
}

#[inline]
fn slice<'p>(base: Base, at: u8, bytes: u8, frame: &'p [u8], layers: &Layers) -> Option<&'p [u8]> {
    let from = start(base, layers)? + usize::from(at);
    // The length in IP may end the packet within the frame.
    let inside = if base == Base::Ethernet { frame } else { frame.get(..layers.end)? };
    inside.get(from..from + usize::from(bytes))
}

/// The bytes after a TCP or UDP header, as far as the packet has them.
fn payload<'p>(base: Base, frame: &'p [u8], layers: &Layers) -> Option<&'p [u8]> {
    let start = start(base, layers)?;
    let (header, end) = match base {
        Base::Tcp => (usize::from(frame.get(start + 12)? >> 4) * 4, layers.end),
        _ => {
            let length = frame.get(start + 4..start + 6)?;
            let length = usize::from(u16::from_be_bytes([length[0], length[1]]));
            // 0 is a jumbogram, which ends by the length in IP.
            let end = if length == 0 { layers.end } else { layers.end.min(start + length) };
            (8, end)
        }
    };
    frame.get(start + header..end.min(frame.len()))
}

#[cfg(test)]
mod tests;
