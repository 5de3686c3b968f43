//! Rules of which random packets have hardly an example: each with a packet that keeps it and one
//! that does not.

use tidemill_diag::{MORE_FINDINGS, Sources};
use tidemill_filter::{Seen, Settings, compile, interpret_seen};

use crate::common::{Captured, agree, graph, packets};

/// A frame of Ethernet of this type, or length, with this after it.
fn frame(kind: u16, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0, 1, 2, 10, 11, 12, 2, 0, 0, 0, 0, 7];
    bytes.extend(kind.to_be_bytes());
    bytes.extend(payload);
    bytes
}

/// Whether a filter matches a packet, by all engines.
fn matches(text: &str, bytes: &[u8]) -> bool {
    let graph = graph(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    agree(text, &graph, &[Captured { bytes: bytes.to_vec(), wire_length: bytes.len() as u32 }]) == 1
}

#[test]
fn both_access_points_and_the_snap_header_say_what_a_frame_carries() {
    for (text, head) in [
        ("iso", &[0xfe, 0xfe, 3][..]),
        ("netbeui", &[0xf0, 0xf0, 3]),
        ("atalk", &[0xaa, 0xaa, 3, 8, 0, 7, 0x80, 0x9b]),
        ("aarp", &[0xaa, 0xaa, 3, 0, 0, 0, 0x80, 0xf3]),
        ("ipx", &[0xaa, 0xaa, 3, 0, 0, 0, 0x81, 0x37]),
    ] {
        let mut head = head.to_vec();
        let length = head.len() as u16;
        assert!(matches(text, &frame(length, &head)), "{text}");
        assert!(!matches(text, &frame(0x88cc, &head)), "{text}");
        for at in 0..head.len().min(2) {
            head[at] ^= 1;
            assert!(!matches(text, &frame(length, &head)), "{text}: {at}");
            head[at] ^= 1;
        }
        if let [.., last] = &mut head[3..] {
            *last ^= 1;
            assert!(!matches(text, &frame(length, &head)), "{text}");
        }
    }
    // Without a kind the byte that distinguishes kinds is not read.
    assert!(matches("llc", &frame(2, &[0x42, 0x42])));
    assert!(!matches("llc u", &frame(2, &[0x42, 0x42])));
    assert!(matches("llc u", &frame(3, &[0x42, 0x42, 3])));
}

#[test]
fn a_session_has_its_own_numbers_of_protocols() {
    for (text, number) in [
        ("ip", 0x21u16),
        ("ip6", 0x57),
        ("decnet", 0x27),
        ("atalk", 0x29),
        ("ether proto 0x600", 0x25),
        ("iso", 0x23),
        ("stp", 0x31),
        ("ipx", 0x2b),
        ("mpls", 0x281),
        ("ether proto 0xc021", 0xc021),
    ] {
        let session = |number: u16| {
            let [high, low] = number.to_be_bytes();
            frame(0x8864, &[0x11, 0, 0, 17, 0, 60, high, low, 0x83, 27, 1, 0])
        };
        let text = format!("pppoes and {text}");
        assert!(matches(&text, &session(number)), "{text}");
        assert!(!matches(&text, &session(number ^ 1)), "{text}");
    }
}

/// IPv4 whose first byte is `first`, UDP to 6081, and Geneve without an Ethernet header around an
/// IPv4 header for TCP.
fn tunnel(first: u8) -> Vec<u8> {
    let mut bytes = vec![first, 0, 0, 90, 0, 7, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
    bytes.extend([0x9c, 0x40, 0x17, 0xc1, 0, 30, 0, 0]);
    bytes.extend([0, 0, 8, 0, 0, 0, 5, 0]);
    bytes.extend([0x45, 0, 0, 40, 0, 7, 0, 0, 64, 6, 0, 0, 10, 0, 0, 3, 10, 0, 0, 4]);
    bytes
}

#[test]
fn the_type_of_a_frame_says_how_long_the_header_around_a_tunnel_is() {
    let session = |first| {
        let mut bytes = vec![0x11, 0, 0, 17, 0, 60, 0, 0x21];
        bytes.extend(tunnel(first));
        frame(0x8864, &bytes)
    };
    // Where there is a type, the version is not read.
    for first in [0x45, 0x65] {
        assert!(matches("geneve 5 and tcp", &frame(0x0800, &tunnel(first))));
        assert!(matches("pppoes and geneve 5 and tcp", &session(first)));
        assert!(!matches("geneve 5 and udp", &frame(0x0800, &tunnel(first))));
        assert!(!matches("pppoes and geneve 5 and udp", &session(first)));
    }
    let mut labelled = vec![0, 0, 0x51, 64];
    labelled.extend(tunnel(0x45));
    let labelled = frame(0x8847, &labelled);
    assert!(matches("mpls and geneve and tcp", &labelled));
    // The labels are around the tunnel: the inner frame may be of any type.
    assert!(!matches("mpls and geneve and arp", &labelled));
}

/// Ways that have found no tunnel look where it would lead, and check what they read on the way.
#[test]
fn a_tunnel_that_is_not_there_is_looked_into_safely() {
    let packets = packets(31, 200);
    for text in ["not geneve and tcp", "not geneve and ether[0] & 1 = 0", "geneve or (ip and tcp)"]
    {
        agree(text, &graph(text).expect(text), &packets);
    }
}

#[test]
fn directions_are_those_of_the_device() {
    let mut sources = Sources::new();
    for (text, expected) in
        [("inbound", [true, false]), ("outbound", [false, true]), ("not outbound", [true, false])]
    {
        let file = sources.add("filter", text);
        let settings = Settings { netmask: None, has_directions: true };
        let graph = compile(file, &sources, &settings).0.expect(text);
        let found = [false, true].map(|is_outgoing| {
            interpret_seen(&graph, &Seen { bytes: &[], wire_length: 0, is_outgoing })
        });
        assert_eq!(found, expected, "{text}");
    }
}

/// 44 is the number of the fragment header only where a byte is compared with it.
#[test]
fn other_questions_with_the_number_of_the_fragment_header_are_answered() {
    let packet =
        |byte| frame(0x0800, &[&[0x45, 0, 0, 60, 0, 0, 0, 0, byte][..], &[6; 60]].concat());
    for (text, expected) in [
        ("ip[8] = 44", [false, true, false]),
        ("ip[8] > 44", [false, false, true]),
        ("ip[8] >= 44", [false, true, true]),
        ("ip[8] & 44 != 0", [true, true, false]),
    ] {
        let text = format!("ip and ip[9] = 6 and {text}");
        assert_eq!([43, 44, 64].map(|byte| matches(&text, &packet(byte))), expected, "{text}");
    }
}

/// Two questions about one bit that contradict each other.
#[test]
fn questions_that_overlap_are_asked_one_by_one() {
    let packet =
        |byte| frame(0x0800, &[&[0x45, 0, 0, 60, 0, 0, 0, 0, byte][..], &[6; 60]].concat());
    for (text, expected) in [
        ("ip[8] & 6 = 2 and ip[8] & 12 = 8", true),
        ("ip[8] & 6 = 2 and ip[8] & 12 = 12", false),
        ("ip[8] & 6 = 6 and ip[8] & 12 = 8", false),
    ] {
        assert_eq!((0..16).any(|byte| matches(&format!("ip and {text}"), &packet(byte))), expected);
    }
}

#[test]
fn a_filter_that_is_given_up_says_so() {
    let findings = |count: usize| {
        let mut sources = Sources::new();
        let file = sources.add("filter", "ip or ) and ".repeat(count) + "ip");
        let (graph, found) = compile(file, &sources, &Settings::default());
        assert!(graph.is_none());
        found.iter().map(|one| one.code).collect::<Vec<_>>()
    };
    let (few, many) = (findings(10), findings(300));
    assert!((10..50).contains(&few.len()) && !few.contains(&MORE_FINDINGS), "{few:?}");
    assert_eq!((many.len(), many.last()), (51, Some(&MORE_FINDINGS)), "{many:?}");
    assert_eq!(many.iter().filter(|code| **code == MORE_FINDINGS).count(), 1);
}
