//! What users of other packet languages write first: GRE with keys, flags of TCP, several inputs of
//! one handler, hashes, assignments with an operator.

use tidemill_stdx::rng::Rng;

use crate::common::defined::{frame, is_right, run, run_linked, sum};

/// What `body` counts as `n`, packet by packet.
fn counts(program: &str, packets: &[Vec<u8>]) -> u64 {
    let (both, kept) = run(program, packets);
    assert_eq!(kept.len(), packets.len());
    let counts = both.compiled.app_stats("one").expect("it runs");
    counts.iter().find(|(name, _)| name == "n").expect("it counts").1
}

/// A frame of GRE over IPv4, with optional parts.
fn gre(checksum: bool, key: Option<u32>, sequence: Option<u32>) -> Vec<u8> {
    let mut bytes = vec![2; 12];
    bytes.extend([8, 0, 0x45, 0, 0, 60, 0, 0, 0, 0, 64, 47, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    let flags = u8::from(checksum) << 7 | u8::from(key.is_some()) << 5;
    bytes.extend([flags | u8::from(sequence.is_some()) << 4, 0, 8, 0]);
    if checksum {
        bytes.extend([0xAA; 4]);
    }
    let parts = [key, sequence].into_iter().flatten();
    parts.for_each(|part| bytes.extend(part.to_be_bytes()));
    bytes.extend([0x45, 7, 7, 7, 7, 7, 7, 7]);
    bytes
}

#[test]
fn optional_parts_of_gre_are_where_their_flags_put_them() {
    let program = "app P {
        ports { input in; output out; output other; }
        counter n;
        header inner after gre when protocol == 0x0800 { first: 8; rest: 24; }
        on packet(in) {
            when gre {
                when gre_key { count n by gre_key.key; gre_key.key = gre_key.key + 1; }
                when gre_sequence { count n by gre_sequence.sequence * 1000; }
            }
            when inner { count n by inner.first * 1000000; }
            send out;
        }
    }";
    for checksum in [false, true] {
        for key in [None, Some(77)] {
            for sequence in [None, Some(5)] {
                let packet = gre(checksum, key, sequence);
                let expected = u64::from(key.unwrap_or(0));
                let expected = expected + u64::from(sequence.unwrap_or(0)) * 1000 + 69_000_000;
                assert_eq!(counts(program, &[packet]), expected, "{checksum} {key:?} {sequence:?}");
            }
        }
    }
    let mut cut = gre(true, Some(77), None);
    cut.truncate(43);
    assert_eq!(counts(program, &[cut]), 0, "there is no key without its bytes");
}

#[test]
fn headers_of_gre_are_put_on_with_their_flags() {
    let made = |headers: &str, more: &str| {
        let program = format!(
            "app P {{
                ports {{ input in; output out; output other; }}
                on packet(in) {{
                    when gre {{ send out; }}
                    prepend ethernet, ipv4, {headers};
                    gre.protocol = 0x6558; {more}
                    ipv4.total_length = length - 14;
                    send out;
                }}
            }}"
        );
        let (_, mut kept) = run(&program, &[vec![9; 20]]);
        let bytes = kept.pop().expect("it is sent");
        assert_eq!((sum(&bytes[14..34], 0), &bytes[bytes.len() - 20..]), (0xFFFF, &[9; 20][..]));
        bytes[34..bytes.len() - 20].to_vec()
    };
    assert_eq!(made("gre", ""), [0, 0, 0x65, 0x58]);
    let keyed = made("gre, gre_key", "gre_key.key = 7;");
    assert_eq!(keyed, [0x20, 0, 0x65, 0x58, 0, 0, 0, 7]);
    let both = "gre_key.key = 7; gre_sequence.sequence = 0x01020304;";
    let both = made("gre, gre_key, gre_sequence", both);
    assert_eq!(both, [0x30, 0, 0x65, 0x58, 0, 0, 0, 7, 1, 2, 3, 4]);
    let sequenced = made("gre, gre_sequence", "gre_sequence.sequence = 9;");
    assert_eq!(sequenced, [0x10, 0, 0x65, 0x58, 0, 0, 0, 9]);
}

#[test]
fn flags_of_tcp_are_fields_and_assignments_have_operators() {
    let program = "app P {
        ports { input in; output out; output other; }
        counter n;
        state seen = 3;
        table t exact(a: u8) -> (sum: u16) { writer kernel; size 4; }
        on packet(in) {
            seen *= 5; seen <<= 1; seen -= 7; seen |= 1; seen %= 1000; seen ^= 3; seen &= 0xFFF;
            when tcp {
                if tcp.syn == 1 && tcp.ack == 0 { count n; }
                tcp.fin = tcp.rst;
                tcp.window += 9;
                tcp.ece = 1;
            }
            when ipv4 { ipv4.ttl -= 1; ipv4.id ^= seen; }
            find t(1) { t.sum += seen; t.sum /= 2; } else { insert t(1) -> (seen); }
            send out;
        }
    }";
    let mut random = Rng::new(4);
    let packets: Vec<_> = (0..100).map(|_| frame(&mut random, 0, 6)).collect();
    let transport = |bytes: &[u8]| 14 + usize::from(bytes[14] & 15) * 4;
    let flags = |bytes: &[u8]| bytes[transport(bytes) + 13];
    let expected = packets.iter().filter(|bytes| flags(bytes) & 0x12 == 2).count();
    assert_eq!(counts(program, &packets), expected as u64);
    let (both, kept) = run(program, &packets);
    let (mut seen, mut sum) = (3_u64, None);
    for (before, after) in packets.iter().zip(&kept) {
        seen = ((((((seen * 5) << 1) - 7) | 1) % 1000) ^ 3) & 0xFFF;
        sum = Some(sum.map_or(seen, |sum: u64| ((sum + seen) & 0xFFFF) / 2));
        assert!(is_right(after, 14));
        assert_eq!(flags(after) & 0x40, 0x40);
        assert_eq!(flags(after) & 1, flags(before) >> 2 & 1);
        assert_eq!(after[22], before[22].wrapping_sub(2), "two instances");
        let at = transport(before) + 14;
        let window = |bytes: &[u8]| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
        assert_eq!(window(after), window(before).wrapping_add(18));
    }
    let rows = both.compiled.table_rows("one", "t").expect("it is there");
    assert_eq!(rows[0].values, [u128::from(sum.expect("some"))]);
}

#[test]
fn a_handler_serves_several_inputs() {
    let program = "app P {
        ports { input in; input more optional; input back optional; output out; output other; }
        counter n;
        on packet(in, more) {
            if from(more) { count n by 100; mark += 1; send out; }
            count n;
            if mark == 3 { send other; }
            mark = 3;
            send other;
        }
        on packet(back) { count n by 10000; send out; }
    }";
    let packets: Vec<Vec<u8>> = (0..7).map(|at| vec![at; 20]).collect();
    for (input, expected) in [("more", 700), ("back", 70_000)] {
        let (both, kept) = run_linked(program, &format!("one.other -> two.{input}"), &packets);
        assert_eq!(kept, packets);
        for (app, n) in [("one", 7), ("two", expected)] {
            let counts = both.compiled.app_stats(app).expect("it runs");
            assert!(counts.contains(&("n".to_owned(), n)), "{input} {app}: {counts:?}");
        }
    }
}

#[test]
fn hashes_spread_and_bounds_are_kept() {
    // A sketch that counts how often each byte comes, in three rows of 64 slots.
    let program = "app P {
        ports { input in; output out; output other; }
        counter n;
        table t exact(row: u8, slot: u8) -> (packets: u32) { writer kernel; size 256; }
        on packet(in) {
            var least = 0xFFFFFFFF;
            for row in 0..3 {
                let slot = hash(row, byte(0), \"::1\") % 64;
                find t(row, slot) {
                    t.packets += 1;
                    least = min(least, t.packets);
                } else {
                    insert t(row, slot) -> (1);
                    least = 1;
                }
            }
            if least > max(8, byte(1)) { count n; }
            send out;
        }
    }";
    let of = |byte: u8| vec![byte, 10, 0, 0];
    let mut packets: Vec<Vec<u8>> = (0..40).map(of).collect();
    packets.extend((0..15).map(|_| of(200)));
    // Only the frequent byte is counted more than ten times, from the eleventh packet on.
    assert_eq!(counts(program, &packets), 5);
}

#[test]
fn connections_have_the_time_of_their_state() {
    // Opening ones stay two seconds, others ten.
    let program = "app P {
        ports { input in; output out; output other; }
        counter n;
        table t exact(a: u8) -> (seconds: u16, packets: u32) {
            writer kernel; size 64; expire seconds;
        }
        on packet(in) {
            find t(byte(0)) {
                t.packets += 1;
                refresh t;
                if t.packets == 2 { t.seconds = 10; }
            }
            else { insert t(byte(0)) -> (2, 1); }
            send out;
        }
        on expire(t) { count n by t.packets + t.seconds * 1000; }
    }";
    // A hundred packets a second.
    let mut packets: Vec<Vec<u8>> = vec![vec![1; 20], vec![2; 20], vec![2; 20]];
    packets.extend((0..400).map(|_| vec![9; 20]));
    assert_eq!(counts(program, &packets), 2001, "the first has expired");
    packets.extend((0..800).map(|_| vec![9; 20]));
    assert_eq!(counts(program, &packets), 2001 + 10_002, "and the second");
}
