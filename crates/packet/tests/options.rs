//! Headers in the options of others, tags that are put on with other headers, and what a new
//! header says of the one that follows it.

use tidemill_stdx::rng::Rng;

use crate::common::defined::{frame, is_right, run, sum};

#[test]
fn options_of_tcp_are_set_with_its_checksum() {
    let program = "app P(largest: u16 = 1000, where: u8 = 26) {
        ports { input in; output out; output other; }
        header first in tcp at 20 { kind: 8; bytes: 8; value: 16; }
        header odd in tcp at where + 1 { value: 24; }
        header next after first { kind: 8; }
        counter options; counter odds;
        on packet(in) {
            when first { count options; first.value = min(first.value, largest); first.kind = 2; }
            when odd { count odds; odd.value += 12345; }
            when next { next.kind += 1; }
            send out;
        }
    }";
    let mut random = Rng::new(11);
    let packets: Vec<_> = (0..600).map(|at| frame(&mut random, at % 3, 6)).collect();
    let (both, kept) = run(program, &packets);
    assert_eq!(kept.len(), packets.len());
    let (mut options, mut odds) = (0, 0);
    for (at, (before, after)) in packets.iter().zip(&kept).enumerate() {
        let network = 14 + 4 * (at % 3);
        let tcp = network + usize::from(before[network] & 15) * 4;
        assert!(is_right(after, network), "{before:x?}\n{after:x?}");
        // Options lie within the header, and within the packet.
        let end = usize::from(before[tcp + 12] >> 4) * 4;
        let has = |last: usize| end >= last && before.len() >= tcp + last;
        options += u64::from(has(24));
        odds += u64::from(has(30));
        let value = |bytes: &[u8]| u16::from_be_bytes([bytes[tcp + 22], bytes[tcp + 23]]);
        let is_same = |from: usize, to: usize| before[from..to] == after[from..to];
        if has(24) {
            assert_eq!((after[tcp + 20], value(after)), (2, value(before).min(1000)));
        } else {
            let rest = tcp + 20..before.len().min(tcp + 24);
            assert!(is_same(rest.start, rest.end), "{before:x?}\n{after:x?}");
        }
        if !has(30) && before.len() > tcp + 27 {
            assert!(is_same(tcp + 27, before.len()), "{before:x?}\n{after:x?}");
        }
    }
    let counts = both.compiled.app_stats("one").expect("it runs");
    for (name, count) in [("options", options), ("odds", odds)] {
        assert!(count > 50 && count < 550, "{name}: {count}");
        assert!(counts.contains(&(name.to_owned(), count)), "{name} {count}: {counts:?}");
    }
}

/// Some packets, and what they are after `prepend`.
fn with_headers(headers: &str, declared: &str, sets: &str) -> Vec<(Vec<u8>, Vec<u8>)> {
    let program = format!(
        "app P {{
            ports {{ input in; output out; output other; }}
            {declared}
            on packet(in) {{
                if mark == 1 {{ send out; }}
                prepend {headers};
                {sets}
                mark = 1;
                send out;
            }}
        }}"
    );
    let mut random = Rng::new(5);
    let packets: Vec<_> = (0..20).map(|_| frame(&mut random, 1, 17)).collect();
    let (_, kept) = run(&program, &packets);
    assert_eq!(kept.len(), packets.len(), "{program}");
    packets.into_iter().zip(kept).collect()
}

/// What `prepend` puts in front of each of some packets.
fn put_on(headers: &str, declared: &str, sets: &str) -> Vec<Vec<u8>> {
    let new = |(before, after): (Vec<u8>, Vec<u8>)| {
        assert!(after.ends_with(&before), "{headers}: {sets}");
        after[..after.len() - before.len()].to_vec()
    };
    with_headers(headers, declared, sets).into_iter().map(new).collect()
}

#[test]
fn tags_are_put_on_between_ethernet_and_what_follows() {
    for (follows, declared, kind) in [
        ("ipv4, udp, vxlan", "", [8, 0]),
        ("ipv6, udp, geneve", "", [0x86, 0xDD]),
        ("arp", "", [8, 6]),
        ("mpls", "", [0x88, 0x47]),
        ("own", "header own after ethernet when type == 0x1234 { a: 16; }", [0x12, 0x34]),
    ] {
        let headers = format!("ethernet, vlan, {follows}");
        let sets = "vlan.priority = 5; vlan.id = 0x123; ethernet.source = 7;";
        for new in put_on(&headers, declared, sets) {
            assert_eq!(new[..12], [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7]);
            assert_eq!(new[12..18], [0x81, 0, 0xA1, 0x23, kind[0], kind[1]], "{headers}");
            if follows.starts_with("ipv4") {
                assert_eq!(new.len(), 14 + 4 + 20 + 8 + 8);
                assert_eq!((new[18], new[27]), (0x45, 17));
                assert_eq!(sum(&new[18..38], 0), 0xFFFF);
            }
        }
    }
}

#[test]
fn options_are_put_on_behind_their_header() {
    let declared = "
        header mss in tcp at 20 when header_words == 6 { kind: 8; bytes: 8; value: 16; }
        header opt in geneve at 8 when options_words == 2 { class: 16; kind: 8; words: 8; d: 32; }
        header payload after tcp { a: 8; }";
    let sets = "mss.kind = 2; mss.bytes = 4; mss.value = 1400; tcp.syn = 1;
        ipv4.total_length = length - 14; ipv4.source = 1; when payload { payload.a += 0; }";
    for new in put_on("ethernet, ipv4, tcp, mss", declared, sets) {
        assert_eq!(new.len(), 14 + 20 + 24);
        assert_eq!(new[46..48], [0x60, 2], "six words, SYN");
        assert_eq!(new[54..58], [2, 4, 5, 0x78]);
    }
    for new in put_on("ethernet, ipv4, udp, geneve, opt", declared, "opt.d = 7; opt.words = 1;") {
        assert_eq!(new.len(), 14 + 20 + 8 + 8 + 8);
        assert_eq!(new[42..46], [2, 0, 0x65, 0x58]);
        assert_eq!(new[50..58], [0, 0, 0, 1, 0, 0, 0, 7]);
    }
}

/// Options of IPv4 are covered by its checksum, and the checksum of what follows is right behind
/// them, also after an address has changed.
#[test]
fn options_of_ipv4_are_put_on() {
    let declared = "
        header alert in ipv4 at 20 when header_words == 6 { kind: 8; bytes: 8; value: 16; }
        header more in ipv4 at 24 when header_words == 7 { all: 32; }";
    let sets = "alert.kind = 148; alert.bytes = 4; alert.value = 5;
        ipv4.total_length = length - 14; ipv4.source = \"10.1.2.3\"; ipv4.ttl = 9;";
    let with_tcp = format!("{sets} tcp.window = 7;");
    for (_, new) in with_headers("ethernet, ipv4, alert, tcp", declared, &with_tcp) {
        assert_eq!((new[14], new[23], new[22]), (0x46, 6, 9));
        assert_eq!(new[34..38], [148, 4, 0, 5]);
        assert!(is_right(&new, 14), "{new:x?}");
    }
    let with_udp = format!("{sets} more.all = 0x01010101; udp.length = length - 42;");
    for (_, new) in with_headers("ethernet, ipv4, alert, more, udp", declared, &with_udp) {
        assert_eq!((new[14], new[23], new[38]), (0x47, 17, 1));
        assert!(is_right(&new, 14), "{new:x?}");
    }
}

#[test]
fn a_new_header_announces_what_follows_it() {
    // By itself a label is the last one, and Geneve carries Ethernet.
    let next = "header next after mpls when bottom == 0 { label: 20; class: 3; last: 1; ttl: 8; }";
    let sets = "mpls.label = 1; next.label = 2; next.last = 1; next.ttl = 9;";
    for new in put_on("ethernet, mpls, next", next, sets) {
        assert_eq!(new[14..22], [0, 0, 0x10, 64, 0, 0, 0x21, 9]);
    }
    let inner = "header inner after geneve when protocol == 0x0800 { version: 4; words: 4; }";
    for new in put_on("ethernet, ipv4, udp, geneve, inner", inner, "inner.version = 4;") {
        assert_eq!(new[42..46], [0, 0, 8, 0]);
    }
}
