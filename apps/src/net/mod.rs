//! Headers of frames: Ethernet, VLAN tags, IPv4, checksums. All functions take what they are given
//! for hostile: lengths are checked before they are believed.

mod ipv4;

use std::fmt;
use std::str::FromStr;

use tidemill_packet::Packet;
use tidemill_packet::app::{Setting, Value};

pub use ipv4::{Ipv4, Ports4, adjust, checksum, ipv4, transport_checksum};

/// Ethernet types.
pub const TYPE_IPV4: u16 = 0x0800;
/// Of ARP.
pub const TYPE_ARP: u16 = 0x0806;
/// Of a VLAN tag.
pub const TYPE_VLAN: u16 = 0x8100;

/// Bytes of an Ethernet header.
pub const ETHERNET: usize = 14;

/// An Ethernet address.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Mac(pub [u8; 6]);

impl Mac {
    /// To all.
    pub const BROADCAST: Mac = Mac([0xff; 6]);

    /// Whether it addresses several stations: multicast or broadcast.
    pub fn is_group(self) -> bool {
        self.0[0] & 1 == 1
    }
}

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

/// The text is no Ethernet address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoMac;

impl FromStr for Mac {
    type Err = NoMac;

    fn from_str(text: &str) -> Result<Mac, NoMac> {
        let mut mac = Mac([0; 6]);
        let mut parts = text.split(':');
        for byte in &mut mac.0 {
            let part = parts.next().filter(|part| part.len() == 2).ok_or(NoMac)?;
            *byte = u8::from_str_radix(part, 16).map_err(|_| NoMac)?;
        }
        if parts.next().is_some() { Err(NoMac) } else { Ok(mac) }
    }
}

impl Setting for Mac {
    const TYPE: &'static str = "an Ethernet address";

    fn read(value: &Value) -> Result<Mac, String> {
        let error = || "an Ethernet address is expected, such as \"02:00:00:00:00:01\"".to_owned();
        match value {
            Value::Text(text) => text.parse().map_err(|_| error()),
            _ => Err(error()),
        }
    }

    fn value(&self) -> Value {
        Value::Text(self.to_string())
    }
}

/// The two bytes at `at`.
pub fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// Destination and source of a frame.
pub fn ethernet(frame: &[u8]) -> Option<(Mac, Mac)> {
    let destination = frame.first_chunk()?;
    let source = frame.get(6..)?.first_chunk()?;
    Some((Mac(*destination), Mac(*source)))
}

/// The type of a frame, without looking behind VLAN tags.
pub fn ether_type(frame: &[u8]) -> Option<u16> {
    u16_at(frame, 12)
}

/// The outermost VLAN tag.
pub fn vlan_of(frame: &[u8]) -> Option<u16> {
    match ether_type(frame)? {
        TYPE_VLAN if frame.len() >= ETHERNET + 4 => Some(u16_at(frame, 14)? & 0xfff),
        _ => None,
    }
}

/// Puts a VLAN tag behind the addresses; false if there are none, or no room.
pub fn add_vlan(packet: &mut Packet, tag: u16) -> bool {
    if packet.len() < ETHERNET || packet.prepend(&[0; 4]).is_err() {
        return false;
    }
    let bytes = packet.bytes_mut();
    bytes.copy_within(4..16, 0);
    bytes[12..14].copy_from_slice(&TYPE_VLAN.to_be_bytes());
    bytes[14..16].copy_from_slice(&tag.to_be_bytes());
    true
}

/// Takes the outermost VLAN tag off a frame that has one.
pub fn remove_vlan(packet: &mut Packet) {
    if vlan_of(packet.bytes()).is_some() {
        packet.bytes_mut().copy_within(0..12, 4);
        packet.strip(4);
    }
}
