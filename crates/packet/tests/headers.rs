//! Headers that apps of a file take off, put on and find, and the checksums over them.

use tidemill_stdx::rng::Rng;

use crate::common::both::Both;
use crate::common::defined::{KEPT, frame, graph_of, is_right, run, run_linked, sum};

/// The packets of a program that leave by `other`, and by `out` after a second instance.
fn both_ways(program: &str, packets: &[Vec<u8>]) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
    let text = format!("app P {{ ports {{ input in; output out; output other; }} {program} }}");
    let (_, kept) = run_linked(&text, "one.other -> end.b", packets);
    let is_marked = |bytes: &Vec<u8>| bytes.first() == Some(&0xFE);
    kept.into_iter().partition(is_marked)
}

#[test]
fn what_is_put_into_a_tunnel_comes_out_of_it() {
    // The second instance takes off what the first has put on.
    let program = "
    header inner after vxlan { destination: 48; source: 48; type: 16; }
    header inner_ip after inner when type == 0x0800 { version: 4; words: 4; tos: 8; length: 16; }
    on packet(in) {
        when vxlan {
            when inner_ip { if vxlan.vni != 77 || inner_ip.version != 4 { drop wrong; } }
            else { drop no_inner; }
            clone other;
            strip vxlan;
            send out;
        }
        prepend ethernet, ipv4, udp, vxlan;
        ethernet.destination = \"fe:00:00:00:00:02\";
        ipv4.total_length = length - 14;
        ipv4.source = \"192.0.2.1\";
        ipv4.destination = \"192.0.2.2\";
        ipv4.dont_fragment = 1;
        udp.source = 50000;
        udp.length = length - 34;
        vxlan.vni = 77;
        send out;
    }";
    let mut random = Rng::new(3);
    let mut packets: Vec<_> = (0..20).map(|_| frame(&mut random, 0, 17)).collect();
    packets.iter_mut().for_each(|bytes| bytes[0] = 2);
    let (outer, inner) = both_ways(program, &packets);
    assert_eq!(inner, packets);
    assert_eq!(outer.len(), packets.len());
    for (outer, inner) in outer.iter().zip(&packets) {
        assert_eq!(outer[50..], inner[..]);
        assert_eq!(outer[12..16], [8, 0, 0x45, 0]);
        assert_eq!(sum(&outer[14..34], 0), 0xFFFF, "{outer:x?}");
        assert_eq!(outer[22..24], [64, 17]);
        assert_eq!(outer[36..38], 4789_u16.to_be_bytes());
        assert_eq!(outer[16..18], (outer.len() as u16 - 14).to_be_bytes());
        assert_eq!(outer[40..50], [0, 0, 8, 0, 0, 0, 0, 0, 77, 0]);
    }
}

#[test]
fn packets_grow_from_buffer_to_buffer() {
    let headers = "prepend ethernet, ipv4, udp, vxlan; vxlan.vni = 7;";
    let program =
        format!("on packet(in) {{ {headers} {headers} clone other; {headers} send out; }}");
    let packets: Vec<_> = (0..400).map(|at| vec![at as u8 | 1; 1200 + at]).collect();
    let (_, mut kept) = both_ways(&program, &packets);
    // Copies have two and five more stacks of headers, and what has passed both instances six.
    assert_eq!(kept.len(), 3 * packets.len());
    kept.sort_by_key(Vec::len);
    for bytes in kept {
        let fits = |more: usize| {
            let packet = packets.iter().find(|packet| packet.len() + more == bytes.len());
            packet.is_some_and(|packet| {
                bytes.ends_with(packet) && bytes[more - 4..more] == [0, 0, 7, 0]
            })
        };
        assert!(fits(100) || fits(250) || fits(300), "{} bytes", bytes.len());
    }
}

#[test]
fn new_headers_of_tunnels_have_what_receivers_ask_for() {
    let mut random = Rng::new(5);
    let packets: Vec<_> = (0..4).map(|_| frame(&mut random, 0, 1)).collect();
    for (headers, tail) in [
        ("ethernet, mpls", &[0x88, 0x47, 0, 0, 1, 64][..]),
        ("ethernet, ipv6, udp, vxlan", &[0x12, 0xB5, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0]),
        ("ethernet, ipv4, udp, geneve", &[0x17, 0xC1, 0, 0, 0, 0, 0, 0, 0x65, 0x58, 0, 0, 0, 0]),
    ] {
        let program = format!(
            "app P {{
                ports {{ input in; output out; output other; }}
                on packet(in) {{ prepend {headers}; send out; }}
            }}"
        );
        let (_, kept) = run(&program, &packets);
        assert_eq!(kept.len(), packets.len(), "{headers}");
        for (before, after) in packets.iter().zip(&kept) {
            let new = &after[..after.len() - before.len()];
            // The checksum of UDP over IPv6 covers what follows.
            let mut found = new[new.len() - tail.len()..].to_vec();
            if headers.contains("ipv6") {
                found[4..6].fill(0);
            }
            assert_eq!(found, tail, "{headers}");
        }
    }
}

#[test]
fn what_is_put_on_has_right_checksums() {
    // A destination unreachable that quotes the packet, as RFC 792 has it.
    let error = "app P {
        ports { input in; output out; output other; }
        on packet(in) {
            when icmp { send out; }
            var source = 0;
            when ipv4 { source = ipv4.source; }
            when ethernet { strip ethernet; }
            shorten 28;
            prepend ethernet, ipv4, icmp;
            ethernet.source = \"02:00:00:00:00:01\";
            icmp.type = 3;
            icmp.code = 1;
            ipv4.total_length = length - 14;
            ipv4.source = \"192.0.2.1\";
            ipv4.destination = source;
            send out;
        }
    }";
    let mut random = Rng::new(7);
    let packets: Vec<_> = (0..40).map(|at| frame(&mut random, 0, [17, 6][at % 2])).collect();
    let (_, kept) = run(error, &packets);
    assert_eq!(kept.len(), packets.len());
    for (before, after) in packets.iter().zip(&kept) {
        let quoted = &before[14..before.len().min(42)];
        assert_eq!(&after[42..], quoted);
        assert_eq!(after[34..36], [3, 1]);
        assert_eq!(sum(&after[14..34], 0), 0xFFFF, "{after:x?}");
        assert_eq!(sum(&after[34..], 0), 0xFFFF, "{after:x?}");
        assert_eq!(after[30..34], before[26..30], "back to the sender");
    }
    // TCP, UDP and ICMPv6 of a payload, over both IPs, with fields that are set afterwards.
    for (ip, inner, field) in [
        ("ipv4", "tcp", "tcp.window"),
        ("ipv6", "tcp", "tcp.sequence"),
        ("ipv6", "udp", "udp.destination"),
        ("ipv6", "icmp6", "icmp6.sequence"),
    ] {
        let (length, is_six) =
            (if ip == "ipv6" { "ipv6.payload_length" } else { "ipv4.total_length" }, ip == "ipv6");
        let (head, source) = if is_six { (54, "ipv6.source_low") } else { (14, "ipv4.source") };
        let udp =
            if inner == "udp" { format!("udp.length = length - {head};") } else { String::new() };
        let program = format!(
            "app P {{
                ports {{ input in; output out; output other; }}
                on packet(in) {{
                    when {inner} {{ send out; }}
                    when ethernet {{ strip ethernet; }}
                    shorten 61;
                    prepend ethernet, {ip}, {inner};
                    {length} = length - {head};
                    {udp}
                    {source} = 0x0102030405060708;
                    {field} = 0x4321;
                    send out;
                }}
            }}"
        );
        let packets: Vec<_> = (0..40).map(|_| frame(&mut random, 0, 1)).collect();
        let (_, kept) = run(&program, &packets);
        assert_eq!(kept.len(), packets.len(), "{program}");
        for after in &kept {
            let (start, addresses) = if is_six { (54, 22..54) } else { (34, 26..34) };
            let protocol = after[if is_six { 20 } else { 23 }];
            let pseudo = u64::from(protocol) + (after.len() - start) as u64;
            let pseudo = sum(&after[addresses], pseudo);
            assert_eq!(sum(&after[start..], pseudo), 0xFFFF, "{program}\n{after:x?}");
        }
    }
}

#[test]
fn a_shortened_packet_was_no_longer_on_the_wire() {
    let program = "app P {
        ports { input in; output out; output other; }
        counter wire;
        on packet(in) {
            when ipv4 {
                shorten mark + 100;
                when ethernet { ethernet.type = wire_length; }
            }
            send out;
        }
    }";
    let text = format!(
        "{program} mute :: Mute  it :: P  end :: Keep
        mute -> it.in  it.out -> end  it.other -> end.b"
    );
    let mut both = Both::new();
    both.configure(&graph_of(&text));
    let bytes = frame(&mut Rng::new(1), 0, 17);
    for engine in [&mut both.compiled, &mut both.dispatched] {
        KEPT.with_borrow_mut(Vec::clear);
        // One that was cut before, one that is longer than that, one that is shorter.
        for (held, wire) in [(60, 1000), (60, 70), (60, 60)] {
            let mut packet =
                engine.pool().packet_of(&bytes.repeat(3)[..held]).expect("they are few");
            packet.set_wire_len(wire);
            engine.inject("it", "in", packet).expect("it has this link");
        }
        let mut packet = engine.pool().packet_of(&bytes.repeat(9)[..150]).expect("they are few");
        packet.set_wire_len(200);
        engine.inject("it", "in", packet).expect("it has this link");
        (0..3).for_each(|_| _ = engine.breathe());
        let seen: Vec<(usize, [u8; 2])> =
            KEPT.take().iter().map(|bytes| (bytes.len(), [bytes[12], bytes[13]])).collect();
        assert_eq!(seen, [(60, [0, 100]), (60, [0, 70]), (60, [0, 60]), (100, [0, 100])]);
    }
    both.compare();
}

#[test]
fn checksums_cover_the_headers_that_a_program_declares() {
    let program = "app P {
        ports { input in; output out; output other; }
        header one after udp { kind: 4; flags: 12; value: 24; odd: 8; wide: 56; rest: 8;
            size 14 + one.kind; }
        header two after one { a: 8; b: 16; c: 40; }
        header tail after tcp when urgent == 7 { a: 8; b: 32; c: 3; d: 5; }
        state s = 1;
        counter changed;
        on packet(in) {
            s = s * 0x5851F42D4C957F2D + 1;
            when one {
                one.flags = s; one.value = s >> 9; one.odd = s >> 20; one.wide = s >> 3;
                one.rest = s >> 50;
                when two { two.a = s >> 31; two.b = s >> 40; two.c = s; count changed; }
            }
            when tail { tail.b = s; tail.d = s >> 7; tail.a = s >> 9; }
            send out;
        }
    }";
    let mut random = Rng::new(5);
    let packets: Vec<_> = (0..400).map(|at| frame(&mut random, at % 3, [17, 6][at % 2])).collect();
    let (both, kept) = run(program, &packets);
    for (at, (before, after)) in packets.iter().zip(&kept).enumerate() {
        assert!(is_right(after, 14 + 4 * (at % 3)), "{before:x?}\n{after:x?}");
    }
    let counts = both.compiled.app_stats("one").expect("it runs");
    assert!(counts.iter().any(|(name, count)| name == "changed" && *count > 100), "{counts:?}");
}

/// An IPv6 frame with extension headers, each a type and its bytes, and a right checksum.
fn ipv6(extensions: &[(u8, Vec<u8>)], protocol: u8, payload: usize) -> Vec<u8> {
    let mut bytes = vec![2; 12];
    bytes.extend([0x86, 0xDD, 0x60, 0, 0, 0, 0, 0]);
    let mut chain: Vec<u8> = extensions.iter().map(|(kind, _)| *kind).collect();
    chain.push(protocol);
    bytes.extend([chain[0], 64]);
    bytes.extend((0..32).map(|at| at * 7));
    for ((_, extension), next) in extensions.iter().zip(&chain[1..]) {
        bytes.push(*next);
        bytes.extend(extension);
    }
    let start = bytes.len();
    bytes.extend((0..payload).map(|at| at as u8 * 3));
    let length = (bytes.len() - 54) as u16;
    bytes[18..20].copy_from_slice(&length.to_be_bytes());
    let field = start + [16, 6, 2][usize::from(protocol != 6) + usize::from(protocol == 58)];
    bytes[field..field + 2].fill(0);
    let pseudo = sum(&bytes[22..54], u64::from(protocol) + payload as u64);
    let made = !(sum(&bytes[start..], pseudo) as u16);
    bytes[field..field + 2].copy_from_slice(&made.to_be_bytes());
    bytes
}

#[test]
fn headers_behind_extensions_of_ipv6_are_found() {
    let program = "app P {
        ports { input in; output out; output other; }
        state s = 1;
        on packet(in) {
            s = s * 0x5851F42D4C957F2D + 1;
            when ipv6 {
                ipv6.source_low = s;
                ipv6.destination_high = s >> 9;
                when icmp6 { icmp6.id = s >> 3; send out; }
            }
            when tcp { tcp.window = s; send out; }
            when udp { udp.source = s; send out; }
            drop neither;
        }
    }";
    let options = |length: u8| {
        let mut bytes = vec![length];
        bytes.resize(usize::from(length) * 8 + 7, 0);
        bytes
    };
    let ah = |length: u8| {
        let mut bytes = vec![length];
        bytes.resize(usize::from(length) * 4 + 7, 0);
        bytes
    };
    let fragment = |offset: u8| vec![0, 0, offset, 1, 2, 3, 4];
    let chains = [
        vec![],
        vec![(0, options(0))],
        vec![(0, options(2)), (43, options(1)), (60, options(0))],
        vec![(51, ah(4)), (44, fragment(0))],
        vec![(0, options(0)), (44, fragment(1)), (60, options(3)), (51, ah(1))],
    ];
    let mut packets = Vec::new();
    for chain in &chains {
        packets.extend([6, 17, 58].map(|protocol| ipv6(chain, protocol, 30)));
    }
    let (_, kept) = run(program, &packets);
    assert_eq!(kept.len(), packets.len());
    for (at, after) in kept.iter().enumerate() {
        let protocol = [6, 17, 58][at % 3];
        let start = after.len() - 30;
        let pseudo = sum(&after[22..54], protocol + 30);
        assert_eq!(sum(&after[start..], pseudo), 0xFFFF, "{at}: {after:x?}");
        assert_ne!(&packets[at][start..], &after[start..], "{at}");
    }
    // A later fragment carries no header, a fifth extension is not passed over, a cut one ends it.
    let later = ipv6(&[(44, vec![0, 0, 8, 1, 2, 3, 4])], 6, 30);
    let many = ipv6(&vec![(60, options(0)); 5], 17, 30);
    let mut cut = ipv6(&[(0, options(3))], 17, 30);
    cut.truncate(58);
    assert_eq!(run(program, &[later, many, cut]).1.len(), 0);
}

#[test]
fn tunnels_are_found_behind_tags_and_by_their_flags() {
    let program = "app P {
        ports { input in; output out; output other; }
        header inner after gre when protocol == 0x0800 { version: 4; words: 4; }
        header option after geneve { class: 16; }
        on packet(in) {
            when mpls { mpls.ttl = mpls.ttl - 1; mark = mpls.label; strip mpls; send out; }
            when gre { when inner { if inner.version == 4 { strip gre; send out; } } }
            when geneve { when option { if option.class == 0x1234 { strip geneve; send out; } } }
            send other;
        }
    }";
    let mpls = [&[2; 12][..], &[0x81, 0, 0, 5, 0x88, 0x47, 0, 1, 2 << 4 | 1, 64, 0x45, 9]].concat();
    let gre = |flags: u8, optional: usize| {
        let mut bytes = frame(&mut Rng::new(1), 1, 17);
        let start = 18 + usize::from(bytes[18] & 15) * 4;
        bytes.truncate(start);
        bytes[27] = 47;
        bytes.extend([flags, 0, 8, 0]);
        bytes.resize(bytes.len() + optional, 0);
        bytes.extend([0x45, 1, 2, 3]);
        bytes
    };
    let mut geneve = frame(&mut Rng::new(1), 0, 17);
    let udp = 14 + usize::from(geneve[14] & 15) * 4;
    geneve.truncate(udp + 8);
    geneve[udp + 2..udp + 4].copy_from_slice(&6081_u16.to_be_bytes());
    geneve.extend([2, 0, 0x65, 0x58, 0, 0, 9, 0, 1, 1, 1, 1, 2, 2, 2, 2, 0x12, 0x34]);
    let packets = [mpls, gre(0, 0), gre(0xB0, 12), gre(0x20, 4), gre(0x20, 0), geneve];
    let (_, kept) = run(program, &packets);
    // What has left a tunnel is in none for the second instance. A header whose length differs from
    // its flags is cut by these, or is none.
    let mut shown: Vec<Vec<u8>> = kept;
    shown.iter_mut().for_each(|bytes| bytes.truncate(4));
    assert_eq!(shown.len(), 6);
    let inner = vec![0x45, 1, 2, 3];
    assert_eq!(shown[0], [0x45, 9]);
    assert_eq!(shown[1..4], [inner.clone(), inner.clone(), inner]);
    assert_eq!(shown[5], [0x12, 0x34]);
}
