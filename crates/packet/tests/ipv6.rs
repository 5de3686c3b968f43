//! Addresses of IPv6 in programs and tables, against numbers of 128 bits.

use std::net::Ipv6Addr;

use tidemill_diag::FileId;
use tidemill_packet::app::Config;
use tidemill_packet::flow::code::lower::lower;
use tidemill_packet::flow::parse::{Item, parse};
use tidemill_packet::kernel::table::{Change, Row};
use tidemill_stdx::rng::Rng;

use crate::common::both::Both;
use crate::common::defined::{KEPT, graph_of, sum};

/// Frames with random headers of IPv6 and TCP, whose checksum is right; addresses and the flow
/// label are given.
fn frame(random: &mut Rng, source: u128, destination: u128, label: u32) -> Vec<u8> {
    let mut bytes: Vec<u8> = (0..12).map(|_| random.below(256) as u8).collect();
    bytes.extend([0x86, 0xDD]);
    bytes.extend((0x6000_0000 | label & 0xF_FFFF).to_be_bytes());
    bytes.extend([0, 30, 6, 64]);
    bytes.extend(source.to_be_bytes());
    bytes.extend(destination.to_be_bytes());
    bytes.extend((0..30).map(|_| random.below(256) as u8));
    bytes[70..72].fill(0);
    let pseudo = sum(&bytes[22..54], 6 + 30);
    let made = !(sum(&bytes[54..], pseudo) as u16);
    bytes[70..72].copy_from_slice(&made.to_be_bytes());
    bytes
}

fn is_right(bytes: &[u8]) -> bool {
    sum(&bytes[54..], sum(&bytes[22..54], 6 + 30)) == 0xFFFF
}

fn address_at(bytes: &[u8], at: usize) -> u128 {
    u128::from_be_bytes(bytes[at..at + 16].try_into().expect("16 bytes"))
}

fn address(text: &str) -> u128 {
    text.parse::<Ipv6Addr>().expect(text).to_bits()
}

/// What one instance makes of packets, the same in both engines.
fn through(both: &mut Both, packets: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let mut seen = [Vec::new(), Vec::new()];
    for (engine, seen) in [&mut both.compiled, &mut both.dispatched].into_iter().zip(&mut seen) {
        KEPT.with_borrow_mut(Vec::clear);
        for bytes in packets {
            let packet = engine.pool().packet_of(bytes).expect("they are few");
            engine.inject("it", "in", packet).expect("it has this link");
            (0..2).for_each(|_| _ = engine.breathe());
        }
        *seen = KEPT.take();
    }
    both.compare();
    assert_eq!(seen[0], seen[1]);
    std::mem::take(&mut seen[0])
}

fn started(program: &str, config: &str) -> Both {
    let mut both = Both::new();
    let graph = format!(
        "{program} mute :: Mute  it :: P {{ {config} }}  end :: Keep
        mute -> it.in  it.out -> end"
    );
    both.configure(&graph_of(&graph));
    both
}

/// What an expression is of two addresses and a number.
type Model = fn(u128, u128, u32) -> u128;

/// Expressions that are addresses.
const ADDRESSES: [(&str, Model); 16] = [
    ("a & b", |a, b, _| a & b),
    ("a | b", |a, b, _| a | b),
    ("a ^ b", |a, b, _| a ^ b),
    ("~a", |a, _, _| !a),
    ("a << n", |a, _, n| a.checked_shl(n).unwrap_or(0)),
    ("a >> n", |a, _, n| a.checked_shr(n).unwrap_or(0)),
    ("a << 64", |a, _, _| a << 64),
    ("a >> 65", |a, _, _| a >> 65),
    ("a + n", |a, _, n| a.wrapping_add(n.into())),
    ("a - n", |a, _, n| a.wrapping_sub(n.into())),
    ("a + low(b)", |a, b, _| a.wrapping_add(b & u128::from(u64::MAX))),
    ("ipv6(low(a), high(b))", |a, b, _| a << 64 | b >> 64),
    ("~(~a >> n)", |a, _, n| !(!a).checked_shr(n).unwrap_or(0)),
    ("own", |_, _, _| 0x2001_0db8 << 96 | 7),
    ("\"fe80::1:0:0:2\"", |_, _, _| 0xfe80 << 112 | 1 << 48 | 2),
    ("last ^ seen", |a, b, _| a ^ b),
];

/// Those that are truth values.
const TRUTHS: [(&str, Model); 14] = [
    ("a == b", |a, b, _| (a == b).into()),
    ("a != b", |a, b, _| (a != b).into()),
    ("a < b", |a, b, _| (a < b).into()),
    ("a <= b", |a, b, _| (a <= b).into()),
    ("a > b", |a, b, _| (a > b).into()),
    ("a >= b", |a, b, _| (a >= b).into()),
    ("a in \"2001:db8::/32\"", |a, _, _| (a >> 96 == 0x2001_0db8).into()),
    ("a in \"2001:db8:0:0:8000::/65\"", |a, _, _| (a >> 63 == 0x4002_1b70 << 33 | 1).into()),
    ("b in \"::/0\"", |_, _, _| 1),
    ("b in \"2001:db8::1/128\"", |_, b, _| (b == 0x2001_0db8 << 96 | 1).into()),
    ("a == own", |a, _, _| (a == 0x2001_0db8 << 96 | 7).into()),
    ("(a < b) == (n > 64)", |a, b, n| ((a < b) == (n > 64)).into()),
    ("(a < b) != is_on", |a, b, _| (a >= b).into()),
    ("ipv4_of in \"10.128.0.0/9\"", |a, _, _| (a as u32 >> 23 == 0x15).into()),
];

#[test]
fn expressions_are_those_of_128_bits() {
    let mut random = Rng::new(5);
    let near = [0, 1, u128::MAX, 0x2001_0db8 << 96 | 7, 0x2001_0db8 << 96, 1 << 64, 0x0a80_0001];
    let mut packets = Vec::new();
    for _ in 0..150 {
        let mut one = || match random.below(4) {
            0 => u128::from(random.next_u64()) << 64 | u128::from(random.next_u64()),
            1 => near[random.below(7) as usize] ^ 1 << random.below(128),
            _ => near[random.below(7) as usize],
        };
        let (a, b) = (one(), one());
        let label = random.below(140) as u32;
        packets.push(frame(&mut random, a, b, label));
    }
    for (at, (expression, model)) in ADDRESSES.into_iter().chain(TRUTHS).enumerate() {
        let set = if at < ADDRESSES.len() {
            format!("raw ipv6.source = {expression};")
        } else {
            format!("raw ipv6.source = \"::\"; if {expression} {{ raw ipv6.source = \"::1\"; }}")
        };
        let program = format!(
            "app P(own: ipv6 = \"2001:db8::7\") {{
                ports {{ input in; output out; }}
                state seen = \"::1\";
                state is_on = true;
                on packet(in) {{ when ipv6 {{
                    let a = ipv6.source; let b = ipv6.destination; let n = ipv6.flow_label;
                    let ipv4_of = low(a) & 0xFFFFFFFF;
                    var last = ipv6.destination; last = a; seen = b;
                    {set} }}
                    send out; }} }}"
        );
        let kept = through(&mut started(&program, ""), &packets);
        for (before, after) in packets.iter().zip(&kept) {
            let (a, b) = (address_at(before, 22), address_at(before, 38));
            let label = u32::from_be_bytes(before[14..18].try_into().expect("4")) & 0xF_FFFF;
            assert_eq!(address_at(after, 22), model(a, b, label), "{expression}: {a:x} {b:x}");
            assert_eq!(after[..22], before[..22]);
            assert_eq!(after[38..], before[38..]);
        }
        let differ: Vec<bool> = kept.iter().map(|bytes| address_at(bytes, 22) == 1).collect();
        assert!(expression == "b in \"::/0\"" || differ.contains(&false), "{expression}");
    }
}

#[test]
fn an_address_that_is_set_corrects_the_checksum() {
    let mut random = Rng::new(6);
    let program = "app P(to: ipv6) {
        ports { input in; output out; }
        header copy after tcp { first: 64; address: 128; }
        on packet(in) {
            when ipv6 { ipv6.destination = to; ipv6.source = ipv6.source ^ \"::ffff:0:0:1\"; }
            when copy { copy.address = copy.address + copy.first; }
            send out;
        }
    }";
    let mut both = started(program, "to: \"2001:db8::5\"");
    let of = |random: &mut Rng| u128::from(random.next_u64()) << 64 | u128::from(random.next_u64());
    let mut packets = Vec::new();
    for _ in 0..50 {
        let (a, b) = (of(&mut random), of(&mut random));
        let mut bytes = frame(&mut random, a, b, 3);
        // No options of TCP, so that ten bytes follow it; those of the header are within.
        bytes[66] = 0x50;
        bytes.extend([0; 20]);
        bytes[19] = 30;
        packets.push(bytes);
    }
    for bytes in &mut packets {
        bytes[70..72].fill(0);
        let made = !(sum(&bytes[54..], sum(&bytes[22..54], 6 + 30)) as u16);
        bytes[70..72].copy_from_slice(&made.to_be_bytes());
    }
    let kept = through(&mut both, &packets);
    for (before, after) in packets.iter().zip(&kept) {
        assert!(is_right(before) && is_right(after), "{after:x?}");
        assert_eq!(address_at(after, 38), address("2001:db8::5"));
        assert_eq!(address_at(after, 22), address_at(before, 22) ^ address("::ffff:0:0:1"));
        let first = u64::from_be_bytes(before[74..82].try_into().expect("8 bytes"));
        let copied = address_at(before, 82).wrapping_add(first.into());
        assert_eq!(address_at(after, 82), copied);
    }
}

#[test]
fn a_router_takes_the_longest_prefix() {
    let program = "app P {
        ports { input in; output out; }
        table routes prefix(vrf: u8, net: ipv6) -> (hop: u32, via: ipv6) {
            writer program; size 600;
        }
        on packet(in) {
            when ipv6 {
                find routes(ipv6.hop_limit & 1, ipv6.destination) {
                    ipv6.flow_label = routes.hop;
                    raw ipv6.source = routes.via & routes.net | routes.via;
                    send out;
                }
            }
            drop no_route;
        }
    }";
    let mut both = started(program, "");
    let (mut random, mut routes) = (Rng::new(2), Vec::new());
    let mask = |bits: u32| !u128::MAX.checked_shr(bits).unwrap_or(0);
    for hop in 0..500 {
        let bits = random.below(129) as u32;
        let net = address("2001:db8::") ^ u128::from(random.below(4)) << random.below(127);
        let (vrf, net) = (u128::from(random.below(2)), net & mask(bits));
        routes.retain(|&(known, at, length, _)| (known, at, length) != (vrf, net, bits));
        routes.push((vrf, net, bits, hop));
        let row = Row {
            key: vec![vrf, net],
            mask: vec![0xFF, mask(bits)],
            priority: 0,
            values: vec![hop.into(), u128::from(hop) << 100 | 5],
        };
        for engine in [&mut both.compiled, &mut both.dispatched] {
            assert_eq!(engine.write_table("it", "routes", &[Change::Insert(row.clone())]), Ok(()));
        }
    }
    let mut packets = Vec::new();
    for _ in 0..400 {
        let to = address("2001:db8::") ^ u128::from(random.below(8)) << random.below(127);
        let mut bytes = frame(&mut random, 1, to, 0);
        bytes[21] = random.below(2) as u8;
        packets.push(bytes);
    }
    let kept = through(&mut both, &packets);
    let longest = |bytes: &Vec<u8>| {
        let (vrf, to) = (u128::from(bytes[21] & 1), address_at(bytes, 38));
        let fitting =
            routes.iter().filter(|(of, net, bits, _)| *of == vrf && to & mask(*bits) == *net);
        fitting.max_by_key(|(_, _, bits, _)| *bits).map(|route| route.3)
    };
    let expected: Vec<u32> = packets.iter().filter_map(longest).collect();
    let hop = |bytes: &Vec<u8>| u32::from_be_bytes(bytes[14..18].try_into().expect("4")) & 0xFFFFF;
    assert_eq!(kept.iter().map(hop).collect::<Vec<_>>(), expected);
    let vias = kept.iter().map(|bytes| address_at(bytes, 22));
    assert!(
        vias.zip(&expected)
            .all(|(via, &hop)| via & 0xF_FFFF << 100 | 5 == u128::from(hop) << 100 | 5)
    );
    assert!(expected.len() > 100 && expected.iter().any(|hop| *hop != expected[0]));
}

#[test]
fn flows_and_rules_of_ipv6_have_five_columns() {
    let program = "app P {
        ports { input in; output out; }
        counter again;
        counter denied;
        table flows exact(source: ipv6, destination: ipv6, from: u16, to: u16, protocol: u8)
            -> (packets: u64, first: ipv6) { writer kernel; size 4096; full evict; }
        table acl ternary(source: ipv6, destination: ipv6, protocol: u8) -> (allow: bool) {
            writer kernel; size 16;
        }
        state is_set = false;
        on packet(in) {
            if !is_set {
                is_set = true;
                insert acl(\"2001:db8::1\", \"::\", 6) mask (\"::f\", \"::\", 0xFF)
                    priority 5 -> (false);
                insert acl(\"::\", \"::\", 0) mask (\"::\", \"::\", 0) -> (true);
            }
            when ipv6 {
                find acl(ipv6.source, ipv6.destination, ipv6.next_header) {
                    if acl.allow == false { count denied; drop denied; }
                }
                when tcp {
                    find flows(ipv6.source, ipv6.destination, tcp.source, tcp.destination, 6) {
                        count again;
                        count flows.packets;
                        flows.first = flows.first + 1;
                        if flows.source != ipv6.source || flows.to != tcp.destination { drop bad; }
                    } else {
                        insert flows(ipv6.source, ipv6.destination, tcp.source, tcp.destination, 6)
                            -> (1, \"::fffe\");
                    }
                }
            }
            send out;
        }
    }";
    let mut both = started(program, "");
    let mut random = Rng::new(9);
    let mut packets = Vec::new();
    for _ in 0..200 {
        let (a, b) = (u128::from(random.below(4)) << 62, u128::from(random.below(4)) << 126);
        let a = a + u128::from(random.below(2));
        let mut bytes = frame(&mut random, a, b, 0);
        bytes[54..58].copy_from_slice(&[0, random.below(2) as u8, 0, 80]);
        packets.push(bytes);
    }
    let is_denied = |bytes: &&Vec<u8>| bytes[37] & 15 == 1;
    let denied = packets.iter().filter(is_denied).count();
    let kept = through(&mut both, &packets);
    assert_eq!(kept.len(), packets.len() - denied);
    let rows = both.compiled.table_rows("it", "flows").expect("it is there");
    assert_eq!(both.dispatched.table_rows("it", "flows").as_ref(), Some(&rows));
    let counts: u128 = rows.iter().map(|row| row.values[0]).sum();
    assert_eq!((counts as usize, rows[0].key.len()), (kept.len(), 5));
    assert!(rows.iter().all(|row| row.values[1] == 0xFFFE + row.values[0] - 1));
    let counts = both.compiled.app_stats("it").expect("it runs");
    for expected in [("denied", denied), ("again", kept.len() - rows.len())] {
        assert!(counts.contains(&(expected.0.to_owned(), expected.1 as u64)), "{counts:?}");
    }
}

#[test]
fn kernels_with_addresses_read_as_they_print() {
    let program = "app P(own: ipv6 = \"2001:db8::1\") {
        ports { input in; output out; }
        state last = \"fe80::1\";
        table t prefix(vrf: u8, net: ipv6) -> (seconds: u8, via: ipv6) {
            writer kernel; size 9; expire seconds; report 2;
        }
        on packet(in) {
            when ipv6 {
                last = ipv6.source;
                insert t(1, last) prefix 9 -> (3, own);
                find t(2, ipv6.destination) { t.via = ~t.net; }
            }
            send out;
        }
    }";
    let parsed = parse(FileId(0), program);
    let [(_, Item::App(definition))] = parsed.items.as_slice() else { panic!("one definition") };
    let (kernel, found) = lower(definition, &Config::new());
    assert_eq!(found, []);
    let kernel = kernel.expect("it is right");
    let printed = kernel.to_string();
    let table = "t prefix kernel 9 refuse 1000000000 by 0 report 2000000000 \
                 key vrf:8 net:ipv6 values seconds:8 via:ipv6";
    assert!(printed.contains(table), "{printed}");
    let read = tidemill_packet::kernel::parse(&printed, &|_| None).expect("it reads");
    assert_eq!((&read, read.verify()), (&*kernel, Ok(())), "{printed}");
}
