//! Headers of frames: Ethernet, VLAN tags, IPv4, checksums. All functions take what they are given
//! for hostile: lengths are checked before they are believed.

mod ipv4;

use tidemill_packet::Packet;
pub use tidemill_packet::app::Mac;
pub use tidemill_stdx::internet::u16_at;

pub use ipv4::{Ipv4, Ports4, adjust, checksum, checksum_with, ipv4, transport_checksum};

/// Ethernet types.
pub const TYPE_IPV4: u16 = 0x0800;
/// Of IPv6.
pub const TYPE_IPV6: u16 = 0x86DD;
/// Of ARP.
pub const TYPE_ARP: u16 = 0x0806;
/// Of a VLAN tag.
pub const TYPE_VLAN: u16 = 0x8100;

/// Bytes of an Ethernet header.
pub const ETHERNET: usize = 14;

/// Destination and source of a frame.
pub fn ethernet(frame: &[u8]) -> Option<(Mac, Mac)> {
    let destination = frame.first_chunk()?;
    let source = frame.get(6..)?.first_chunk()?;
    Some((Mac(*destination), Mac(*source)))
}

/// The type of a frame, without looking past VLAN tags.
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

/// Puts a VLAN tag after the addresses; false if there are none, or no room.
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
