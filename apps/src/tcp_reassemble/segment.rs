//! A TCP segment in a frame, and a segment without its first bytes.

use tidemill_packet::Packet;
use tidemill_packet::fields::Layers;

use crate::net::{checksum, checksum_with, u16_at};

const TCP: u8 = 6;

/// Bytes of a header without options.
const HEADER: usize = 20;

/// Flags of a segment.
pub const FIN: u8 = 1;
pub const SYN: u8 = 2;
pub const RST: u8 = 4;

/// One direction of a connection: addresses (of IPv4, the last bytes are zeros) and ports.
pub type Direction = ([u8; 16], [u8; 16], u16, u16);

/// A segment, whose header and payload are whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Segment {
    pub direction: Direction,
    /// The number of its first byte.
    pub sequence: u32,
    pub flags: u8,
    /// Where the IP header is, and whether it is one of IPv6.
    ip: usize,
    is_ipv6: bool,
    /// Where the TCP header is, the payload, and its end.
    tcp: usize,
    payload: usize,
    end: usize,
}

impl Segment {
    /// The segment in a packet; `None` for other packets, fragments, and what has been cut.
    pub fn of(packet: &Packet) -> Option<Segment> {
        let frame = packet.bytes();
        let layers = Layers::of(frame);
        let tcp = layers.transport_of(&[TCP])?;
        let (ip, is_ipv6) = match (layers.ipv4, layers.ipv6) {
            (Some(ip), _) => (ip, false),
            (None, ip) => (ip?, true),
        };
        let mut direction = ([0; 16], [0; 16], u16_at(frame, tcp)?, u16_at(frame, tcp + 2)?);
        let is_fragment = if is_ipv6 {
            direction.0.copy_from_slice(frame.get(ip + 8..ip + 24)?);
            direction.1.copy_from_slice(frame.get(ip + 24..ip + 40)?);
            // A fragment has a header of its own before that of TCP.
            frame[ip + 6] == 44
        } else {
            direction.0[..4].copy_from_slice(frame.get(ip + 12..ip + 16)?);
            direction.1[..4].copy_from_slice(frame.get(ip + 16..ip + 20)?);
            u16_at(frame, ip + 6)? & 0x3fff != 0
        };
        let header = frame.get(tcp..tcp + HEADER)?;
        let payload = tcp + usize::from(header[12] >> 4) * 4;
        let is_whole = packet.missing() == 0 && !is_fragment;
        let fits = payload >= tcp + HEADER && payload <= layers.end;
        (is_whole && fits).then_some(Segment {
            direction,
            sequence: u32::from_be_bytes(*header[4..].first_chunk()?),
            flags: header[13],
            ip,
            is_ipv6,
            tcp,
            payload,
            end: layers.end,
        })
    }

    /// The sequence numbers that it takes: its bytes, and one each for SYN and FIN.
    pub fn length(&self) -> u32 {
        let flags = u32::from(self.flags & SYN != 0) + u32::from(self.flags & FIN != 0);
        (self.end - self.payload) as u32 + flags
    }

    /// The number after its last.
    pub fn next(&self) -> u32 {
        self.sequence.wrapping_add(self.length())
    }

    /// Takes the first `count` numbers off a segment that has more; lengths and checksums follow.
    pub fn trim(&mut self, packet: &mut Packet, count: u32) {
        let syn = u32::from(self.flags & SYN != 0 && count > 0);
        self.flags &= if syn > 0 { !SYN } else { !0 };
        let bytes = (count - syn) as usize;
        let frame = packet.bytes_mut();
        frame.copy_within(self.payload + bytes..self.end, self.payload);
        self.end -= bytes;
        self.sequence = self.sequence.wrapping_add(count);
        frame[self.tcp + 4..self.tcp + 8].copy_from_slice(&self.sequence.to_be_bytes());
        frame[self.tcp + 13] = self.flags;
        let (ip, tcp, end) = (self.ip, self.tcp, self.end);
        let addresses = if self.is_ipv6 {
            let length = (end - ip - 40) as u16;
            frame[ip + 4..ip + 6].copy_from_slice(&length.to_be_bytes());
            ip + 8..ip + 40
        } else {
            let length = (end - ip) as u16;
            frame[ip + 2..ip + 4].copy_from_slice(&length.to_be_bytes());
            frame[ip + 10..ip + 12].fill(0);
            let sum = checksum(&frame[ip..ip + usize::from(frame[ip] & 15) * 4]);
            frame[ip + 10..ip + 12].copy_from_slice(&sum.to_be_bytes());
            ip + 12..ip + 20
        };
        frame[tcp + 16..tcp + 18].fill(0);
        let sum = checksum_with(&frame[addresses], TCP, &frame[tcp..end]);
        frame[tcp + 16..tcp + 18].copy_from_slice(&sum.to_be_bytes());
        packet.shorten(end);
    }
}

/// How far a sequence number is from another: negative if it comes before.
pub fn distance(from: u32, to: u32) -> i32 {
    to.wrapping_sub(from).cast_signed()
}
