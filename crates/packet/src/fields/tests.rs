//! Fields of handwritten frames, of frames that are cut anywhere, and of noise.

use tidemill_stdx::rng::Rng;

use super::*;
use crate::packet::Pool;

/// Ethernet, a VLAN tag, IPv4 with options, UDP to port 53, four bytes.
const UDP: &str = "020000000002 020000000001 8100 2065 0800 \
    46 00 0024 1234 4000 40 11 0000 0a000001 0a000002 01010101 1000 0035 000c 0000 61626364 ffff";

/// Ethernet, IPv6 with a hop-by-hop header, TCP.
const TCP6: &str = "020000000002 020000000001 86dd 6ab12345 001e 00 40 \
    20010db8000000000000000000000001 20010db8000000000000000000000002 \
    0600 000000000000 01bb d903 00000001 00000002 5012 0400 0000 0000 6869";

fn frame(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.bytes().filter(u8::is_ascii_hexdigit).collect();
    let text = |pair: &[u8]| String::from_utf8(pair.to_vec()).expect("digits");
    digits.chunks(2).map(|pair| u8::from_str_radix(&text(pair), 16).expect("a byte")).collect()
}

/// The fields of a frame, as text.
fn shown(names: &str, frame: &[u8]) -> String {
    let fields = Fields::parse(names).expect("fields");
    let packet = Pool::new(1).packet_of(frame).expect("room");
    let show = |value| match value {
        FieldValue::Absent => "-".to_owned(),
        FieldValue::Integer(number) => number.to_string(),
        FieldValue::Bytes(bytes) => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
        FieldValue::Time(time) => format!("{time}t"),
    };
    fields.of(&packet).map(show).collect::<Vec<_>>().join(" ")
}

#[test]
fn fields_are_read_behind_tags_options_and_extension_headers() {
    let udp = frame(UDP);
    let names = "eth.dst, eth.src, eth.type, vlan.id, vlan.priority, ip.src, ip.dst, ip.proto";
    let expected = "020000000002 020000000001 2048 101 1 0a000001 0a000002 17";
    assert_eq!(shown(names, &udp), expected);
    let names = "ip.ttl, ip.tos, ip.len, ip.id, ip.fragment, udp.sport, udp.dport, udp.len";
    assert_eq!(shown(names, &udp), "64 0 36 4660 0 4096 53 12");
    let names = "udp.payload, tcp.dport, sport, dport, proto, ip6.src, icmp.type, time, len";
    assert_eq!(shown(names, &udp), "61626364 - 4096 53 17 - - - 56");
    let tcp = frame(TCP6);
    let names = "ip6.src, ip6.hops, ip6.class, ip6.flow, proto, tcp.sport, tcp.dport, tcp.flags";
    let expected = "20010db8000000000000000000000001 64 171 74565 6 443 55555 18";
    assert_eq!(shown(names, &tcp), expected);
    assert_eq!(shown("tcp.payload, udp.payload, ip.src", &tcp), "6869 - -");
    let arp = frame(
        "ffffffffffff 020000000001 0806 0001 0800 06 04 0001 020000000001 0a000001 \
         000000000000 0a000002",
    );
    assert_eq!(shown("arp.op, arp.spa, arp.tpa, ip.src", &arp), "1 0a000001 0a000002 -");
}

#[test]
fn later_fragments_have_a_protocol_and_no_ports() {
    let mut later = frame(UDP);
    later[24..26].copy_from_slice(&[0x20, 0x01]);
    assert_eq!(shown("ip.proto, udp.dport, udp.payload", &later), "17 - -");
}

#[test]
fn names_that_are_none_are_refused_with_the_nearest() {
    assert_eq!(
        Fields::parse("len, ip.scr").unwrap_err().to_string(),
        "packets have no field `ip.scr`; is `ip.src` meant?"
    );
    assert_eq!(
        Fields::parse("len,,time").unwrap_err().to_string(),
        "a name is missing between commas"
    );
    assert!(Fields::parse("  ").unwrap().is_empty());
    let all: Vec<&str> = names().collect();
    assert_eq!(Fields::parse(&all.join(",")).unwrap().len(), all.len());
}

#[test]
fn cut_and_changed_frames_have_no_field_beyond_their_end() {
    let all: Vec<&str> = names().collect();
    let all = all.join(",");
    let mut rng = Rng::new(7);
    for hex in [UDP, TCP6] {
        let whole = frame(hex);
        for length in 0..=whole.len() {
            let text = shown(&all, &whole[..length]);
            assert!(length >= 14 || text.contains("- - -"), "{length}: {text}");
        }
        for _ in 0..5000 {
            let mut changed = whole.clone();
            for _ in 0..4 {
                let at = rng.below(changed.len() as u64) as usize;
                changed[at] = rng.next_u64() as u8;
            }
            changed.truncate(rng.below(changed.len() as u64 + 1) as usize);
            shown(&all, &changed);
        }
    }
}
