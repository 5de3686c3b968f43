//! IPv4 (RFC 791) and the ports of TCP, UDP and ICMP echo.

use std::net::Ipv4Addr;

use tidemill_stdx::internet::{checksum_of, sum};

use super::{ETHERNET, TYPE_IPV4, ether_type, u16_at};

/// An IPv4 header within a frame, checked: lengths fit the frame. The checksum is not checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ipv4 {
    /// Where the header begins in the frame.
    pub start: usize,
    /// Bytes of the header.
    pub header: usize,
    /// Bytes of header and payload.
    pub total: usize,
    /// The identification, which fragments share.
    pub id: u16,
    /// Must not be cut into fragments.
    pub dont_fragment: bool,
    /// More fragments follow.
    pub more: bool,
    /// Bytes of the payload before this fragment's.
    pub offset: usize,
    /// The protocol: 1 ICMP, 6 TCP, 17 UDP.
    pub protocol: u8,
    /// Where from.
    pub source: Ipv4Addr,
    /// Where to.
    pub destination: Ipv4Addr,
}

impl Ipv4 {
    /// Where the payload begins in the frame.
    pub fn payload(&self) -> usize {
        self.start + self.header
    }

    /// One past the payload.
    pub fn end(&self) -> usize {
        self.start + self.total
    }

    /// Whether it is a part of a datagram only.
    pub fn is_fragment(&self) -> bool {
        self.more || self.offset > 0
    }
}

/// The IPv4 header of a frame without VLAN tags.
pub fn ipv4(frame: &[u8]) -> Option<Ipv4> {
    if ether_type(frame)? != TYPE_IPV4 {
        return None;
    }
    let ip = frame.get(ETHERNET..)?;
    let fixed: &[u8; 20] = ip.first_chunk()?;
    let (header, total) = (usize::from(fixed[0] & 15) * 4, usize::from(u16_at(fixed, 2)?));
    if fixed[0] >> 4 != 4 || header < 20 || total < header || total > ip.len() {
        return None;
    }
    let flags = u16_at(fixed, 6)?;
    let address = |at: usize| Some(Ipv4Addr::from(*fixed.get(at..)?.first_chunk::<4>()?));
    Some(Ipv4 {
        start: ETHERNET,
        header,
        total,
        id: u16_at(fixed, 4)?,
        dont_fragment: flags & 0x4000 != 0,
        more: flags & 0x2000 != 0,
        offset: usize::from(flags & 0x1fff) * 8,
        protocol: fixed[9],
        source: address(12)?,
        destination: address(16)?,
    })
}

/// The Internet checksum of some bytes.
pub fn checksum(bytes: &[u8]) -> u16 {
    !(sum(bytes, 0) as u16)
}

/// The checksum of TCP and UDP: with the addresses, the protocol and the length.
pub fn transport_checksum(
    source: Ipv4Addr,
    destination: Ipv4Addr,
    protocol: u8,
    payload: &[u8],
) -> u16 {
    let mut addresses = [0; 8];
    addresses[..4].copy_from_slice(&source.octets());
    addresses[4..].copy_from_slice(&destination.octets());
    checksum_with(&addresses, protocol, payload)
}

/// The same with the addresses of IPv4 or IPv6 as they are in the header, source first.
pub fn checksum_with(addresses: &[u8], protocol: u8, payload: &[u8]) -> u16 {
    let pseudo = sum(addresses, u32::from(protocol) + payload.len() as u32);
    checksum_of(sum(payload, pseudo), protocol)
}

/// A checksum after some of what it covers has changed (RFC 1624); both of the same even length.
pub fn adjust(checksum: u16, before: &[u8], after: &[u8]) -> u16 {
    let mut start = u32::from(!checksum);
    for pair in before.chunks_exact(2) {
        start += u32::from(!u16::from_be_bytes([pair[0], pair[1]]));
    }
    !(sum(after, start) as u16)
}

/// The offsets of source port, destination port and checksum in the payload. For ICMP echo both
/// ports are the identifier.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ports4 {
    /// The port of the sender.
    pub source: usize,
    /// The port of the receiver.
    pub destination: usize,
    /// The checksum.
    pub checksum: usize,
    /// Whether addresses are part of it.
    pub covers_addresses: bool,
}

impl Ports4 {
    /// For the first fragment or whole of a datagram; nothing for protocols without ports.
    pub fn of(ip: &Ipv4, frame: &[u8]) -> Option<Ports4> {
        let payload = frame.get(ip.payload()..ip.end())?;
        if ip.offset > 0 {
            return None;
        }
        let (at, least, covers) = match ip.protocol {
            6 => ([0, 2, 16], 20, true),
            17 => ([0, 2, 6], 8, true),
            1 if matches!(payload.first()?, 0 | 8) => ([4, 4, 2], 8, false),
            _ => return None,
        };
        let [source, destination, checksum] = at;
        let ports = Ports4 { source, destination, checksum, covers_addresses: covers };
        (payload.len() >= least).then_some(ports)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_follow_changes() {
        let mut bytes = *b"\x12\x34\x00\x00\xff\xff\x01\x02\x00\x00\x80\x07";
        for seed in 0..2000u32 {
            let at = (seed as usize % 6) * 2;
            let before = [bytes[at], bytes[at + 1]];
            let old = checksum(&bytes);
            let after = (seed.wrapping_mul(40503) as u16).to_be_bytes();
            bytes[at..at + 2].copy_from_slice(&after);
            let new = adjust(old, &before, &after);
            // There are two ways to write 0.
            assert_eq!(u32::from(new) % 0xffff, u32::from(checksum(&bytes)) % 0xffff, "{seed}");
        }
    }

    #[test]
    fn the_example_of_the_rfc() {
        let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(checksum(&bytes), !0xddf2);
    }

    #[test]
    fn lengths_that_do_not_fit_are_no_header() {
        let frame = crate::frame::parse(
            "02:00:00:00:00:01 > 02:00:00:00:00:02 ip 10.0.0.1 > 10.0.0.2 udp 7 > 53 bytes 18",
        );
        let frame = frame.expect("a frame");
        assert!(ipv4(&frame).is_some());
        for length in 0..frame.len() {
            assert!(ipv4(&frame[..length]).is_none(), "{length}");
        }
    }
}
