//! What a sender has left to the network card, done here.
//!
//! Systems hand their cards checksums to complete and long frames to cut: one of 64 KiB is the
//! segments of many (GSO). A frame that never meets a card, as between the ends of a veth pair,
//! comes to packet sockets as it is, and so does what the kernel has joined while receiving (GRO).
//! The header that the kernel puts before each (`virtio_net_hdr`, PACKET_VNET_HDR) says what is
//! left to do:
//!
//! ```text
//! 0  flags u8: 1 the checksum is to be completed     1  kind of segments u8    2  header u16
//! 4  payload of a segment u16      6  start of the checksum u16      8  its field, from there u16
//! ```
//! The numbers are in the order of the machine.

use tidemill_stdx::internet::{self, Segment, TCP, UDP};

/// Bytes of the header.
pub(super) const HEADER_BYTES: usize = 10;

/// The checksum is to be completed.
const NEEDS_CHECKSUM: u8 = 1;
/// Kinds of segments: of TCP over IPv4 and IPv6, datagrams of UDP. A flag beside them is for ECN.
const TCP4: u8 = 1;
const TCP6: u8 = 4;
const DATAGRAMS: u8 = 5;
const ECN: u8 = 0x80;

/// Where the checksum of UDP is in its header.
const UDP_CHECKSUM: usize = 6;
const UDP_BYTES: usize = 8;
const TCP_CHECKSUM: usize = 16;
/// Flags of TCP that only the last segment has: FIN and PSH; and only the first: CWR.
const LAST_ONLY: u8 = 0x09;
const FIRST_ONLY: u8 = 0x80;

/// What is left to do for a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Offload {
    /// Where the checksum begins, and where its field is. The field holds the sum of the pseudo
    /// header.
    checksum: Option<(usize, usize)>,
    /// The protocol of the segments, and the bytes of payload of each.
    segments: Option<(u8, usize)>,
}

impl Offload {
    /// Reads the header of the kernel.
    pub(super) fn of(header: &[u8; HEADER_BYTES]) -> Offload {
        let number = |at: usize| usize::from(u16::from_ne_bytes([header[at], header[at + 1]]));
        let start = number(6);
        let protocol = match header[1] & !ECN {
            0 => None,
            TCP4 | TCP6 => Some(TCP),
            DATAGRAMS => Some(UDP),
            // Nothing that could be cut: see `segment`.
            _ => Some(0),
        };
        Offload {
            checksum: (header[0] & NEEDS_CHECKSUM != 0).then(|| (start, start + number(8))),
            segments: protocol.map(|protocol| (protocol, number(4))),
        }
    }

    /// The same for a frame to which a VLAN tag of this many bytes was added.
    pub(super) fn shifted(self, tag: usize) -> Offload {
        Offload { checksum: self.checksum.map(|(start, at)| (start + tag, at + tag)), ..self }
    }

    /// Does it, and calls `take` with each frame that there is then. False: the frame is longer
    /// than those of its kind can be, and cannot be cut.
    pub(super) fn finish(&self, frame: &mut [u8], take: &mut dyn FnMut(&[u8])) -> bool {
        if let Some((protocol, payload)) = self.segments {
            return segment(frame, protocol, payload, take).is_some();
        }
        if let Some((start, at)) = self.checksum {
            complete(frame, start, at);
        }
        take(frame);
        true
    }
}

/// Completes the checksum of all bytes from `start`, whose field is at `at`. Outside of the frame
/// there is nothing to complete.
fn complete(frame: &mut [u8], start: usize, at: usize) {
    let Some(covered) = frame.get(start..) else { return };
    let protocol = if at == start + UDP_CHECKSUM { UDP } else { TCP };
    let checksum = internet::checksum_of(internet::sum(covered, 0), protocol);
    if let Some(field) = frame.get_mut(at..).and_then(<[u8]>::first_chunk_mut) {
        *field = checksum.to_be_bytes();
    }
}

/// Cuts a frame into segments, each with at most this much payload; nothing if it is not of this
/// protocol, as in a tunnel.
fn segment(frame: &[u8], protocol: u8, payload: usize, take: &mut dyn FnMut(&[u8])) -> Option<()> {
    let whole = internet::segment_of(frame)?;
    let header = match protocol {
        TCP => usize::from(frame.get(whole.start + 12)? >> 4) * 4,
        UDP => UDP_BYTES,
        _ => return None,
    };
    let begin = whole.start + header;
    if whole.protocol != protocol || payload == 0 || header < UDP_BYTES {
        return None;
    }
    let (headers, data) = (frame.get(..begin)?, frame.get(begin..whole.end)?);
    let count = data.len().div_ceil(payload);
    let mut one = Vec::with_capacity(begin + payload);
    for (index, part) in data.chunks(payload).enumerate() {
        one.clear();
        one.extend_from_slice(headers);
        one.extend_from_slice(part);
        write_lengths(&mut one, &whole, index)?;
        match protocol {
            TCP => {
                let ports = one.get_mut(whole.start..)?.first_chunk_mut::<20>()?;
                let sequence = u32::from_be_bytes([ports[4], ports[5], ports[6], ports[7]]);
                let sequence = sequence.wrapping_add((index * payload) as u32);
                ports[4..8].copy_from_slice(&sequence.to_be_bytes());
                let mut cleared = if index > 0 { FIRST_ONLY } else { 0 };
                cleared |= if index + 1 < count { LAST_ONLY } else { 0 };
                ports[13] &= !cleared;
            }
            _ => {
                let length = (UDP_BYTES + part.len()) as u16;
                one.get_mut(whole.start + 4..)?
                    .first_chunk_mut::<2>()?
                    .copy_from_slice(&length.to_be_bytes());
            }
        }
        write_checksum(&mut one)?;
        take(&one);
    }
    Some(())
}

/// Sets the length in the header of IP to that of the frame, and what follows from it.
fn write_lengths(frame: &mut [u8], whole: &Segment, index: usize) -> Option<()> {
    let length = frame.len() - whole.network;
    let ip = frame.get_mut(whole.network..whole.start)?;
    if ip.first()? >> 4 == 6 {
        let length = u16::try_from(length - 40).ok()?;
        ip.get_mut(4..6)?.copy_from_slice(&length.to_be_bytes());
        return Some(());
    }
    let identification = u16::from_be_bytes([*ip.get(4)?, *ip.get(5)?]).wrapping_add(index as u16);
    ip.get_mut(2..4)?.copy_from_slice(&u16::try_from(length).ok()?.to_be_bytes());
    ip.get_mut(4..6)?.copy_from_slice(&identification.to_be_bytes());
    ip.get_mut(10..12)?.fill(0);
    let checksum = !(internet::sum(ip, 0) as u16);
    ip.get_mut(10..12)?.copy_from_slice(&checksum.to_be_bytes());
    Some(())
}

/// Computes the checksum of the segment in a frame.
fn write_checksum(frame: &mut [u8]) -> Option<()> {
    let Segment { start, end, protocol, pseudo, .. } = internet::segment_of(frame)?;
    let segment = frame.get_mut(start..end)?;
    let at = if protocol == UDP { UDP_CHECKSUM } else { TCP_CHECKSUM };
    segment.get_mut(at..at + 2)?.fill(0);
    let checksum = internet::checksum_of(internet::sum(segment, pseudo), protocol);
    segment.get_mut(at..at + 2)?.copy_from_slice(&checksum.to_be_bytes());
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The header of the kernel for segments of this kind and payload, with a checksum to complete.
    fn header(kind: u8, payload: u16, start: u16, field: u16) -> [u8; HEADER_BYTES] {
        let mut header = [0; HEADER_BYTES];
        (header[0], header[1]) = (NEEDS_CHECKSUM, kind);
        header[4..6].copy_from_slice(&payload.to_ne_bytes());
        header[6..8].copy_from_slice(&start.to_ne_bytes());
        header[8..10].copy_from_slice(&field.to_ne_bytes());
        header
    }

    /// A frame with a segment whose field holds the sum of the pseudo header, and where it begins.
    fn frame(tags: usize, is_six: bool, protocol: u8, payload: usize) -> (Vec<u8>, usize) {
        let least = if protocol == TCP { 32 } else { 8 };
        let mut frame = vec![2; 12];
        frame.extend([0x81, 0, 0, 7].repeat(tags));
        let length = (least + payload) as u16;
        if is_six {
            frame.extend([0x86, 0xdd, 0x60, 0, 0, 0]);
            frame.extend(length.to_be_bytes());
            frame.extend([protocol, 64]);
            frame.extend((1..=32).map(|it| it * 7));
        } else {
            frame.extend([0x08, 0, 0x45, 0]);
            frame.extend((20 + length).to_be_bytes());
            frame.extend([0xff, 0xfe, 0x40, 0, 64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        }
        let start = frame.len();
        frame.extend((0..usize::from(length)).map(|at| ((at * at) >> 3) as u8));
        if protocol == TCP {
            // The sequence number wraps; ACK, PSH, FIN, CWR.
            frame[start + 4..start + 8].copy_from_slice(&[0xff, 0xff, 0xff, 0x00]);
            (frame[start + 12], frame[start + 13]) = (8 << 4, 0x99);
        }
        let at = start + if protocol == TCP { TCP_CHECKSUM } else { UDP_CHECKSUM };
        let pseudo = internet::segment_of(&frame).expect("a segment").pseudo as u16;
        frame[at..at + 2].copy_from_slice(&pseudo.to_be_bytes());
        (frame, start)
    }

    fn is_right(frame: &[u8]) -> bool {
        let Segment { network, start, end, pseudo, .. } =
            internet::segment_of(frame).expect("a segment");
        let is_four = frame[network] >> 4 == 4;
        (!is_four || internet::sum(&frame[network..start], 0) == 0xffff)
            && end == frame.len()
            && internet::sum(&frame[start..end], pseudo) == 0xffff
    }

    #[test]
    fn checksums_are_completed() {
        for (tags, is_six) in [(0, false), (1, false), (2, true)] {
            for (protocol, payload) in [(TCP, 0), (TCP, 33), (UDP, 1), (UDP, 1000)] {
                let (mut frame, start) = frame(tags, is_six, protocol, payload);
                if !is_six {
                    // The header of IP is complete.
                    let at = start - 20;
                    let sum = !(internet::sum(&frame[at..start], 0) as u16);
                    frame[at + 10..at + 12].copy_from_slice(&sum.to_be_bytes());
                }
                let field = if protocol == TCP { TCP_CHECKSUM } else { UDP_CHECKSUM };
                let offload = Offload::of(&header(0, 0, start as u16, field as u16));
                let mut frames = Vec::new();
                assert!(offload.finish(&mut frame, &mut |it| frames.push(it.to_vec())));
                assert!(frames.len() == 1 && is_right(&frames[0]), "{tags} {is_six} {protocol}");
            }
        }
    }

    #[test]
    fn long_frames_are_cut() {
        for (tags, is_six) in [(0, false), (1, true)] {
            for (protocol, kind) in [(TCP, if is_six { TCP6 | ECN } else { TCP4 }), (UDP, 5)] {
                for (payload, size) in [(3000, 1000), (3001, 1000), (10, 1000), (7, 1)] {
                    let (mut frame, start) = frame(tags, is_six, protocol, payload);
                    let whole = frame.clone();
                    let offload = Offload::of(&header(kind, size, start as u16, 16));
                    let mut frames = Vec::new();
                    assert!(offload.finish(&mut frame, &mut |it| frames.push(it.to_vec())));
                    assert_eq!(frames.len(), payload.div_ceil(size.into()));
                    let begin = start + if protocol == TCP { 32 } else { 8 };
                    let data: Vec<u8> = frames.iter().flat_map(|it| it[begin..].to_vec()).collect();
                    assert_eq!(data, whole[begin..]);
                    for (index, it) in frames.iter().enumerate() {
                        assert!(is_right(it), "{protocol} {payload} {size} {index}");
                        if protocol == UDP {
                            continue;
                        }
                        let (first, last) = (index == 0, index + 1 == frames.len());
                        let cwr = if first { 0x80 } else { 0 };
                        assert_eq!(it[start + 13], 0x10 | cwr | if last { 9 } else { 0 });
                        let sequence = 0xffff_ff00_u32.wrapping_add((index * size as usize) as u32);
                        assert_eq!(it[start + 4..start + 8], sequence.to_be_bytes());
                    }
                }
            }
        }
    }

    #[test]
    fn what_does_not_fit_is_no_frame() {
        let (whole, start) = frame(0, false, TCP, 2000);
        let tcp = header(TCP4, 1000, start as u16, 16);
        let cut = |header: &[u8; HEADER_BYTES], frame: &[u8]| {
            let mut frames = 0;
            Offload::of(header).finish(&mut frame.to_vec(), &mut |_| frames += 1) && frames == 2
        };
        assert!(cut(&tcp, &whole));
        for length in 0..whole.len() {
            assert!(!cut(&tcp, &whole[..length]), "{length}");
        }
        assert!(!cut(&header(DATAGRAMS, 1000, start as u16, 6), &whole));
        assert!(!cut(&header(TCP4, 0, start as u16, 16), &whole));
        assert!(!cut(&header(3, 1000, start as u16, 16), &whole));
        // A checksum outside of the frame changes nothing.
        for start in [2000, 65_535] {
            let mut frame = whole.clone();
            let mut same = false;
            let offload = Offload::of(&header(0, 0, start, 65_535));
            assert!(offload.finish(&mut frame, &mut |it| same = it == whole));
            assert!(same);
        }
    }
}
