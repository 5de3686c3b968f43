//! Headers that others pass over: options of IPv4, extension headers of IPv6, tags.

use tidemill_stdx::rng::Rng;

use crate::common::both::Both;
use crate::common::defined::{frame, is_right, run};

fn assert_counts(both: &Both, expected: &[(&str, u64)]) {
    let counts = both.compiled.app_stats("one").expect("it runs");
    for &(name, count) in expected {
        assert!(counts.contains(&(name.to_owned(), count)), "{name} {count}: {counts:?}");
    }
}

#[test]
fn options_of_ipv4_are_set_with_its_checksum() {
    let program = "app P {
        ports { input in; output out; output other; }
        header option in ipv4 at 20 { kind: 8; bytes: 8; value: 16; }
        counter options;
        on packet(in) {
            when option { count options; option.kind = 7; option.value = 0x1234; }
            send out;
        }
    }";
    let mut random = Rng::new(3);
    let packets: Vec<_> = (0..300).map(|at| frame(&mut random, at % 3, 6)).collect();
    let (both, kept) = run(program, &packets);
    assert_eq!(kept.len(), packets.len());
    let mut options = 0;
    for (at, (before, after)) in packets.iter().zip(&kept).enumerate() {
        let network = 14 + 4 * (at % 3);
        assert!(is_right(after, network), "{before:x?}\n{after:x?}");
        let end = network + usize::from(before[network] & 15) * 4;
        if end >= network + 24 {
            options += 1;
            assert_eq!(
                (after[network + 20], after[network + 22..][..2].to_vec()),
                (7, vec![0x12, 0x34])
            );
        }
        assert_eq!(before[end..], after[end..]);
    }
    assert!(options > 100 && options < 280, "{options}");
    assert_counts(&both, &[("options", options)]);
}

/// A frame of IPv6 with these extension headers of 8 bytes each before UDP.
fn extended(extensions: &[u8]) -> Vec<u8> {
    let mut bytes = vec![2; 12];
    bytes.extend([0x86, 0xDD, 0x60, 0, 0, 0, 0, 8 + 8 * extensions.len() as u8]);
    let kinds = || extensions.iter().copied().chain([17]);
    bytes.extend([kinds().next().expect("udp"), 64]);
    bytes.extend([9; 32]);
    for next in kinds().skip(1) {
        bytes.extend([next, 0, 0, 1, 0, 0, 0, 5]);
    }
    bytes.extend([0, 7, 0, 9, 0, 8, 0, 0]);
    bytes
}

#[test]
fn the_first_extension_header_of_ipv6_is_a_header() {
    let program = "app P {
        ports { input in; output out; output other; }
        header fragment after ipv6 when next_header == 44 {
            next: 8; reserved: 8; offset: 13; bits: 2; more: 1; id: 32;
        }
        header options after ipv6 when next_header == 0, 60 { next: 8; units: 8; rest: 48; }
        header routing after options when next == 43 { next: 8; units: 8; kind: 8; left: 8; }
        header payload after ipv6 when next_header == 17 { source: 16; }
        counter fragments; counter ids; counter with_options; counter routed; counter payloads;
        on packet(in) {
            when fragment { if fragment.more == 1 { count fragments; count ids by fragment.id; } }
            when options { count with_options; when routing { count routed by routing.left; } }
            when payload { count payloads by payload.source; }
            send out;
        }
    }";
    let packets: Vec<_> =
        [&[][..], &[44], &[0], &[60, 43], &[43, 60], &[0, 44]].map(extended).into();
    let (both, kept) = run(program, &packets);
    assert_eq!(kept, packets);
    let counts = [("fragments", 1), ("ids", 5), ("with_options", 3), ("routed", 1)];
    assert_counts(&both, &counts);
    // The payload is behind all of them.
    assert_counts(&both, &[("payloads", 6 * 7)]);
}

#[test]
fn tags_are_headers() {
    let program = "app P {
        ports { input in; output out; output other; }
        header tag after ethernet when type == 0x8100, 0x88A8 {
            priority: 3; drop: 1; id: 12; type: 16;
        }
        header inner after vlan when type == 0x8100 { priority: 3; drop: 1; id: 12; type: 16; }
        header only after vlan when type == 0x0800 { version: 4; words: 4; }
        counter tags; counter inners; counter single;
        on packet(in) {
            when tag { count tags by tag.id; }
            when inner { count inners; inner.id = 99; }
            when only { count single by only.version; }
            send out;
        }
    }";
    let mut random = Rng::new(4);
    let packets: Vec<_> = (0..30).map(|at| frame(&mut random, at % 3, 17)).collect();
    let (both, kept) = run(program, &packets);
    assert_counts(&both, &[("tags", 20 * 7), ("inners", 10), ("single", 10 * 4)]);
    for (at, (before, after)) in packets.iter().zip(&kept).enumerate() {
        let mut expected = before.clone();
        if at % 3 == 2 {
            expected[19] = 99;
        }
        assert_eq!(after, &expected);
    }
}
