//! Internet checksums (RFC 1071), and where the segments that they cover are in a frame.

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

/// Protocol numbers of TCP and UDP.
pub const TCP: u8 = 6;
/// Of UDP.
pub const UDP: u8 = 17;

/// The two bytes at `at`, as they are sent: the higher one first.
#[inline]
pub fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// What IPv4 or IPv6 carries in an Ethernet frame, extension headers skipped: offsets in the frame
/// that may lie beyond its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Segment {
    /// Where the header of IP begins.
    pub network: usize,
    /// Where the segment begins.
    pub start: usize,
    /// One past its end.
    pub end: usize,
    /// Its protocol number.
    pub protocol: u8,
    /// The sum of its pseudo header.
    pub pseudo: u32,
}

/// The checksum of UDP and TCP for this sum of all that they cover.
pub fn checksum_of(sum: u32, protocol: u8) -> u16 {
    match !(sum as u16) {
        // 0 says of UDP that there is no checksum.
        0 if protocol == UDP => 0xffff,
        checksum => checksum,
    }
}

/// The segment that a frame carries behind up to eight VLAN tags; none, if it carries no IP, or a
/// fragment.
pub fn segment_of(frame: &[u8]) -> Option<Segment> {
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
    let (network, start, end) = (start, start + header, start + total);
    Some(Segment { network, start, end, protocol, pseudo })
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
    Some(Segment { network: start, start: at, end, protocol, pseudo })
}

#[cfg(test)]
mod tests {
    use super::*;

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

    /// A datagram of UDP behind VLAN tags, and behind options of each hop in IPv6.
    fn datagram(tags: usize, is_six: bool, payload: &[u8]) -> Vec<u8> {
        let mut frame = vec![2; 12];
        frame.extend([0x81, 0, 0, 7].repeat(tags));
        let length = 8 + payload.len() as u16;
        if is_six {
            frame.extend([0x86, 0xdd, 0x60, 0, 0, 0]);
            frame.extend((length + 8).to_be_bytes());
            frame.extend([0, 64]);
            frame.extend((1..=32).map(|it| it * 7));
            frame.extend([UDP, 0, 1, 4, 0, 0, 0, 0]);
        } else {
            frame.extend([0x08, 0, 0x45, 0]);
            frame.extend((20 + length).to_be_bytes());
            frame.extend([0, 1, 0x40, 0, 64, UDP, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        }
        frame.extend([0, 7, 0, 9]);
        frame.extend(length.to_be_bytes());
        frame.extend([0, 0]);
        frame.extend(payload);
        frame
    }

    #[test]
    fn segments_are_found_behind_tags_and_options() {
        for (tags, is_six, network) in [(0, false, 14), (1, false, 18), (2, true, 22)] {
            let frame = datagram(tags, is_six, b"abc");
            let segment = segment_of(&frame).expect("a segment");
            let start = network + if is_six { 48 } else { 20 };
            assert_eq!((segment.network, segment.start), (network, start));
            assert_eq!((segment.end, segment.protocol), (frame.len(), UDP));
        }
    }

    #[test]
    fn what_is_cut_or_a_fragment_has_no_segment() {
        let whole = datagram(1, false, b"abc");
        for length in 0..38 {
            assert_eq!(segment_of(&whole[..length]), None, "{length}");
        }
        let mut fragment = whole;
        fragment[24] = 0x20;
        assert_eq!(segment_of(&fragment), None);
    }

    #[test]
    fn a_sum_of_zero_is_written_as_ones_for_udp() {
        assert_eq!(checksum_of(0xffff, UDP), 0xffff);
        assert_eq!(checksum_of(0xffff, TCP), 0);
        assert_eq!(checksum_of(0x1234, UDP), 0xedcb);
    }
}
