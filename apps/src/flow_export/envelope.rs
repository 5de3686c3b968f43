//! The packets that carry messages: Ethernet, IPv4 or IPv6, UDP.

use std::net::IpAddr;

use tidemill_packet::app::Mac;

use crate::net::{TYPE_IPV4, TYPE_IPV6, checksum, checksum_with};

const UDP: u8 = 17;
const UDP_HEADER: usize = 8;
const TTL: u8 = 64;

/// One end of the path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct End {
    pub mac: Mac,
    pub address: IpAddr,
    pub port: u16,
}

/// Bytes of a message in a packet of `mtu` bytes, its IP header included.
pub(super) fn message_bytes(mtu: u16, address: IpAddr) -> usize {
    usize::from(mtu).saturating_sub(UDP_HEADER + if address.is_ipv4() { 20 } else { 40 })
}

/// A frame that carries a message. Both addresses are of one family.
pub(super) fn frame(from: &End, to: &End, message: &[u8]) -> Vec<u8> {
    let mut udp = Vec::with_capacity(UDP_HEADER + message.len());
    let length = (UDP_HEADER + message.len()) as u16;
    for word in [from.port, to.port, length, 0] {
        udp.extend(word.to_be_bytes());
    }
    udp.extend(message);
    let mut frame = [to.mac.0, from.mac.0].concat();
    let addresses = match (from.address, to.address) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            frame.extend(TYPE_IPV4.to_be_bytes());
            let addresses = [from.octets(), to.octets()].concat();
            let mut ip = vec![0x45, 0];
            ip.extend((20 + length).to_be_bytes());
            // Not to be cut into fragments; without those the identification says nothing.
            ip.extend([0, 0, 0x40, 0, TTL, UDP, 0, 0]);
            ip.extend(&addresses);
            let sum = checksum(&ip);
            ip[10..12].copy_from_slice(&sum.to_be_bytes());
            frame.extend(ip);
            addresses
        }
        (from, to) => {
            frame.extend(TYPE_IPV6.to_be_bytes());
            let octets = |address: IpAddr| match address {
                IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
                IpAddr::V6(address) => address.octets(),
            };
            let addresses = [octets(from), octets(to)].concat();
            frame.extend([0x60, 0, 0, 0]);
            frame.extend(length.to_be_bytes());
            frame.extend([UDP, TTL]);
            frame.extend(&addresses);
            addresses
        }
    };
    let sum = checksum_with(&addresses, UDP, &udp);
    udp[6..8].copy_from_slice(&sum.to_be_bytes());
    frame.extend(udp);
    frame
}
