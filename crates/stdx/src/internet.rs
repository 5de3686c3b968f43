//! Internet checksums (RFC 1071), and those that the kernel has left to a device.
//!
//! A sending system leaves the checksums of TCP and UDP to the network card: the field holds the
//! sum of the pseudo header, not yet that of the rest. A frame that never meets a card, as between
//! the ends of a veth pair, comes to packet sockets in that state, and the kernel says so beside it
//! (TP_STATUS_CSUMNOTREADY). [`complete`] does what the card would have done.

/// The sum that checksums are made of, of bytes that begin at an even place.
pub fn sum(bytes: &[u8], start: u32) -> u32 {
    let (words, rest) = bytes.as_chunks::<4>();
    // In the order of the machine: swapping the bytes of all words swaps those of their sum.
    let swapped: u64 = words.iter().map(|word| u64::from(u32::from_ne_bytes(*word))).sum();
    let mut sum = u64::from(start) + u64::from(u16::from_be(folded(swapped) as u16));
    for pair in rest.chunks(2) {
        sum += u64::from(pair[0]) << 8 | u64::from(pair.get(1).copied().unwrap_or(0));
    }
    folded(sum)
}

/// 16 bits to which carries are added.
fn folded(mut sum: u64) -> u32 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u32
}

const ETHERNET: usize = 14;
const TYPE_IPV4: u16 = 0x0800;
const TYPE_IPV6: u16 = 0x86dd;
/// Tags of VLANs, of customers and of providers.
const TAGS: [u16; 2] = [0x8100, 0x88a8];
/// The most tags, and the most extension headers, that are skipped.
const LAYERS_MAX: usize = 8;

const TCP: u8 = 6;
const UDP: u8 = 17;
const ICMP6: u8 = 58;

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// The segment of a frame that a checksum is about.
struct Segment {
    start: usize,
    end: usize,
    protocol: u8,
    /// The sum of the pseudo header.
    pseudo: u32,
}

/// Completes the checksum of the TCP or UDP segment in an Ethernet frame that the kernel left
/// undone; whether it did. A frame that was cut, and one whose field does not hold the sum of its
/// pseudo header, such as a tunnel's, is left as it is.
pub fn complete(frame: &mut [u8]) -> bool {
    let Some(segment) = segment_of(frame) else { return false };
    let field = match segment.protocol {
        TCP => 16,
        UDP => 6,
        ICMP6 => 2,
        _ => return false,
    };
    let Some(bytes) = frame.get_mut(segment.start..segment.end) else { return false };
    match u16_at(bytes, field) {
        // There are two ways to write 0.
        Some(held) if u32::from(held) % 0xffff == segment.pseudo % 0xffff => {}
        _ => return false,
    }
    bytes[field..field + 2].fill(0);
    let checksum = match !(sum(bytes, segment.pseudo) as u16) {
        // 0 says of UDP that there is no checksum.
        0 if segment.protocol == UDP => 0xffff,
        checksum => checksum,
    };
    bytes[field..field + 2].copy_from_slice(&checksum.to_be_bytes());
    true
}

fn segment_of(frame: &[u8]) -> Option<Segment> {
    let mut at = ETHERNET - 2;
    for _ in 0..LAYERS_MAX {
        match u16_at(frame, at)? {
            TYPE_IPV4 => return ipv4(frame, at + 2),
            TYPE_IPV6 => return ipv6(frame, at + 2),
            kind if TAGS.contains(&kind) => at += 4,
            _ => return None,
        }
    }
    None
}

fn ipv4(frame: &[u8], start: usize) -> Option<Segment> {
    let fixed: &[u8; 20] = frame.get(start..)?.first_chunk()?;
    let (header, total) = (usize::from(fixed[0] & 15) * 4, usize::from(u16_at(fixed, 2)?));
    let is_fragment = u16_at(fixed, 6)? & 0x3fff != 0;
    if fixed[0] >> 4 != 4 || header < 20 || total < header || is_fragment {
        return None;
    }
    let protocol = fixed[9];
    let pseudo = sum(&fixed[12..20], u32::from(protocol) + (total - header) as u32);
    Some(Segment { start: start + header, end: start + total, protocol, pseudo })
}

fn ipv6(frame: &[u8], start: usize) -> Option<Segment> {
    let fixed: &[u8; 40] = frame.get(start..)?.first_chunk()?;
    let end = start + 40 + usize::from(u16_at(fixed, 4)?);
    let (mut at, mut protocol) = (start + 40, fixed[6]);
    for _ in 0..LAYERS_MAX {
        // Options of each hop, a route, options of the destination.
        if ![0, 43, 60].contains(&protocol) {
            break;
        }
        let next: &[u8; 2] = frame.get(at..)?.first_chunk()?;
        protocol = next[0];
        at += (usize::from(next[1]) + 1) * 8;
    }
    let length = end.checked_sub(at)? as u32;
    let pseudo = sum(&fixed[8..40], u32::from(protocol) + length);
    Some(Segment { start: at, end, protocol, pseudo })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A frame with a segment whose field holds the sum of the pseudo header.
    fn undone(tags: usize, is_six: bool, protocol: u8, payload: usize) -> (Vec<u8>, usize) {
        let (field, least) = if protocol == TCP { (16, 20) } else { (6, 8) };
        let mut frame = vec![2; 12];
        frame.extend([0x81, 0, 0, 7].repeat(tags));
        let length = least + payload;
        if is_six {
            frame.extend([0x86, 0xdd, 0x60, 0, 0, 0]);
            frame.extend((length as u16).to_be_bytes());
            frame.extend([protocol, 64]);
            frame.extend((1..=32).map(|it| it * 7));
        } else {
            frame.extend([0x08, 0, 0x45, 0]);
            frame.extend((20 + length as u16).to_be_bytes());
            frame.extend([0, 1, 0x40, 0, 64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        }
        let start = frame.len();
        frame.extend((0..length).map(|at| at as u8 ^ 0x5a));
        let pseudo = segment_of(&frame).expect("a segment").pseudo as u16;
        frame[start + field..start + field + 2].copy_from_slice(&pseudo.to_be_bytes());
        (frame, start)
    }

    #[test]
    fn sums_are_those_of_words_one_by_one() {
        let bytes: Vec<u8> = (0..200_u32).map(|at| ((at * at * 37) >> 3) as u8).collect();
        for end in 0..bytes.len() {
            for start in [0, 5, 0xffff, u32::MAX] {
                let words = bytes[..end].chunks(2);
                let word =
                    |pair: &[u8]| u64::from(pair[0]) << 8 | u64::from(*pair.get(1).unwrap_or(&0));
                let expected = folded(words.map(word).sum::<u64>() + u64::from(start));
                assert_eq!(sum(&bytes[..end], start), expected, "{end} bytes");
            }
        }
        assert_eq!(sum(&[0xff; 64], 0), 0xffff);
    }

    #[test]
    fn what_was_left_undone_is_done_once() {
        for (tags, is_six) in [(0, false), (1, false), (2, true), (0, true)] {
            for (protocol, payload) in [(TCP, 0), (TCP, 33), (UDP, 1), (UDP, 1000)] {
                let (mut frame, start) = undone(tags, is_six, protocol, payload);
                let pseudo = segment_of(&frame).expect("a segment").pseudo;
                // Behind the datagram there may be padding.
                frame.extend([0xee; 5]);
                assert!(complete(&mut frame));
                let end = frame.len() - 5;
                assert_eq!(sum(&frame[start..end], pseudo), 0xffff, "{tags} {is_six} {protocol}");
                let before = frame.clone();
                assert!(!complete(&mut frame) && frame == before, "it is right now");
            }
        }
    }

    #[test]
    fn what_is_cut_or_foreign_stays() {
        let (whole, _) = undone(1, false, TCP, 40);
        for length in 0..whole.len() {
            let mut frame = whole[..length].to_vec();
            assert!(!complete(&mut frame), "{length}");
            assert_eq!(frame, whole[..length]);
        }
        let mut other = whole.clone();
        other[27] = 47;
        assert!(!complete(&mut other));
        let mut fragment = whole;
        fragment[24] = 0x20;
        assert!(!complete(&mut fragment));
    }

    #[test]
    fn a_sum_of_zero_is_written_as_ones_for_udp() {
        let (mut frame, start) = undone(0, false, UDP, 2);
        let pseudo = segment_of(&frame).expect("a segment").pseudo;
        frame[start + 6..start + 8].fill(0);
        frame[start + 8..start + 10].fill(0);
        let rest = !(sum(&frame[start..], pseudo) as u16);
        frame[start + 8..start + 10].copy_from_slice(&rest.to_be_bytes());
        frame[start + 6..start + 8].copy_from_slice(&(pseudo as u16).to_be_bytes());
        assert!(complete(&mut frame));
        assert_eq!(frame[start + 6..start + 8], [0xff, 0xff]);
    }
}
