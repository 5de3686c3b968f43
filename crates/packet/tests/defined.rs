//! Apps that a file defines: what they do to packets, the same in both engines.

use tidemill_diag::FileId;
use tidemill_packet::app::{Config, Direction};
use tidemill_packet::flow::code::ast::Definition;
use tidemill_packet::flow::code::lower::lower;
use tidemill_packet::flow::parse::{Item, parse};
use tidemill_packet::graph::Graph;
use tidemill_packet::kernel::table::{Change, Row, TableError};
use tidemill_stdx::rng::Rng;

use crate::common::both::Both;
use crate::common::defined::{KEPT, PACKET_NS, frame, graph_of, is_right, run, run_linked};

const REWRITER: &str = "app P {
    ports { input in; output out; output other; }
    state seen = 0;
    counter changed;
    on packet(in) {
        seen = seen + 0x123456789ABCDEF;
        when ipv4 {
            ipv4.source = seen >> 7;
            ipv4.destination = seen >> 13;
            ipv4.ttl = seen >> 3;
            ipv4.dscp = seen;
            ipv4.ecn = seen >> 9;
            ipv4.id = seen >> 11;
            count changed;
            when tcp { tcp.source = seen; tcp.flags = seen >> 4; tcp.sequence = seen >> 5; }
            else when udp { udp.destination = seen >> 2; }
        }
        when tcp { tcp.window = tcp.window * 3; }
        send out;
    }
}";

#[test]
fn checksums_stay_right() {
    let mut random = Rng::new(7);
    for tags in 0..3 {
        for protocol in [6, 17] {
            let packets: Vec<_> = (0..300).map(|_| frame(&mut random, tags, protocol)).collect();
            let (both, kept) = run(REWRITER, &packets);
            assert_eq!(kept.len(), 300);
            for (before, after) in packets.iter().zip(&kept) {
                assert_ne!(before, after);
                assert!(is_right(after, 14 + 4 * tags), "{before:x?}\n{after:x?}");
            }
            let counts = both.compiled.app_stats("two").expect("it runs");
            assert!(counts.contains(&("changed".to_owned(), 300)), "{counts:?}");
        }
    }
}

#[test]
fn a_datagram_without_checksum_keeps_none() {
    let mut bytes = frame(&mut Rng::new(1), 0, 17);
    let transport = 14 + usize::from(bytes[14] & 15) * 4;
    bytes[transport + 6..transport + 8].fill(0);
    let (_, kept) = run(REWRITER, &[bytes]);
    assert_eq!(kept[0][transport + 6..transport + 8], [0, 0]);
}

#[test]
fn the_book_shows_what_a_program_becomes() {
    let path = tidemill_support::root().join("docs/book/kernels.md");
    let page = std::fs::read_to_string(path).expect("the page");
    let shown = page.split("```flow\n").find(|part| part.starts_with("app OneOf"));
    let program = shown.and_then(|part| part.split("```").next()).expect("the program");
    let parsed = parse(FileId(0), program);
    let [(_, Item::App(definition))] = parsed.items.as_slice() else { panic!("one definition") };
    let (kernel, found) = lower(definition, &Config::new());
    assert_eq!(found, []);
    let kernel = kernel.expect("it is right").to_string();
    assert!(page.contains(&kernel), "{kernel}");
}

/// The programs of the book.
fn programs_of_the_book() -> Vec<Definition> {
    let path = tidemill_support::root().join("docs/book/kernels.md");
    let page = std::fs::read_to_string(path).expect("the page");
    let programs = page.split("```flow\n").skip(1).filter_map(|part| part.split("```").next());
    let mut found = Vec::new();
    for program in programs {
        let parsed = parse(FileId(0), program);
        assert_eq!(parsed.diagnostics, [], "{program}");
        for (_, item) in parsed.items {
            let Item::App(definition) = item else { continue };
            found.push(*definition);
        }
    }
    assert_eq!(found.len(), 19);
    found
}

#[test]
fn programs_of_the_book_become_kernels_that_read_as_they_print() {
    for definition in programs_of_the_book() {
        let (kernel, found) = lower(&definition, &Config::new());
        assert_eq!(found, [], "{}", definition.source);
        let kernel = kernel.expect("it is right");
        let printed = kernel.to_string();
        let read = tidemill_packet::kernel::parse(&printed, &|_| None).expect("it reads");
        assert_eq!((&read, read.verify()), (&*kernel, Ok(())), "{printed}");
    }
}

/// A graph of one app of a definition, whose ports are all linked.
fn graph_around(definition: &Definition) -> Graph {
    let mut keys = Vec::new();
    for key in definition.keys.iter().filter(|key| key.default.is_none()) {
        let value = if key.kind.text == "ipv4" { "\"10.1.2.3\"" } else { "7" };
        keys.push(format!("{}: {value}", key.name.text));
    }
    let mut text = format!(
        "{}\nend :: Keep  it :: {} {{ {} }}\n",
        definition.source,
        definition.name.text,
        keys.join(", ")
    );
    for port in &definition.ports {
        let name = &port.name.text;
        text += &match port.direction {
            Direction::Input => format!("feed_{name} :: Mute  feed_{name} -> it.{name}\n"),
            Direction::Output => format!("it.{name} -> end.{name}\n"),
        };
    }
    graph_of(&text)
}

#[test]
fn programs_of_the_book_do_the_same_in_both_engines() {
    let mut random = Rng::new(9);
    // Few addresses and ports, so that tables find them again.
    let mut packets: Vec<_> = (0..300)
        .map(|at| {
            let mut bytes = frame(&mut random, at % 3, [6, 17, 6, 1][at % 4]);
            let network = 14 + 4 * (at % 3);
            let transport = network + usize::from(bytes[network] & 15) * 4;
            for at in [12, 16] {
                let address = [192, 168, 0, random.below(3) as u8];
                bytes[network + at..network + at + 4].copy_from_slice(&address);
            }
            for at in [0, 2] {
                let port = *random.pick(&[80, 53, 4789, 5000, 10_001, 10_002, 1234]).expect("some");
                bytes[transport + at..transport + at + 2].copy_from_slice(&u16::to_be_bytes(port));
            }
            bytes
        })
        .collect();
    packets.extend([vec![], vec![1; 13], vec![2; 60]]);
    for definition in programs_of_the_book() {
        let graph = graph_around(&definition);
        let inputs: Vec<&str> = definition
            .ports
            .iter()
            .filter(|port| port.direction == Direction::Input)
            .map(|port| port.name.text.as_str())
            .collect();
        let mut both = Both::new();
        both.configure(&graph);
        let mut seen = [Vec::new(), Vec::new()];
        for (engine, seen) in [&mut both.compiled, &mut both.dispatched].into_iter().zip(&mut seen)
        {
            KEPT.with_borrow_mut(Vec::clear);
            for (at, bytes) in packets.iter().enumerate() {
                engine.set_time(at as u64 * 40 * PACKET_NS, 0);
                let packet = engine.pool().packet_of(bytes).expect("they are few");
                engine.inject("it", inputs[at % inputs.len()], packet).expect("it has this link");
                (0..2).for_each(|_| _ = engine.breathe());
            }
            *seen = KEPT.take();
        }
        both.compare();
        assert_eq!(seen[0], seen[1], "{}", definition.source);
        assert!(seen[0].len() > 20, "{}: {}", definition.name.text, seen[0].len());
        for table in &definition.tables {
            let rows = both.compiled.table_rows("it", &table.name.text);
            assert_eq!(rows, both.dispatched.table_rows("it", &table.name.text));
        }
        let counts = both.compiled.app_stats("it").expect("it runs");
        let inserted: u64 =
            counts.iter().filter(|(name, _)| name.ends_with("_inserted")).map(|it| it.1).sum();
        assert_eq!(inserted > 0, !definition.tables.is_empty(), "{counts:?}");
    }
}

/// A program that remembers the lengths of packets, with something to be changed in it.
fn lengths(size: u32, more: &str) -> String {
    format!(
        "app P {{ ports {{ input in; output out; }}
            table lengths(length: u16) -> (n: u64) {{ writer kernel; size {size}; full evict; }}
            on packet(in) {{
                find lengths(length) {{ count lengths.n; }}
                else {{ insert lengths(length) -> (1); }}
                {more}
                send out;
            }}
        }}
        mute :: Mute  one :: P  end :: Keep
        mute -> one -> end"
    )
}

#[test]
fn another_program_keeps_tables_that_it_declares_in_the_same_way() {
    let mut both = Both::new();
    both.configure(&graph_of(&lengths(2, "")));
    let rows = |both: &Both| {
        let rows = both.compiled.table_rows("one", "lengths").expect("it has one");
        assert_eq!(both.dispatched.table_rows("one", "lengths").as_ref(), Some(&rows));
        rows.into_iter().map(|row| (row.key[0], row.values[0])).collect::<Vec<_>>()
    };
    for bytes in [20, 30, 20, 40] {
        both.inject("one", "in", &vec![0; bytes]);
        both.breathe(0);
    }
    assert_eq!(rows(&both), [(30, 1), (40, 1)]);
    both.configure(&graph_of(&lengths(2, "mark = 1;")));
    both.inject("one", "in", &[0; 30]);
    both.breathe(0);
    assert_eq!(rows(&both), [(30, 2), (40, 1)]);
    let counts = both.compiled.app_stats("one").expect("it runs");
    assert!(counts.contains(&("lengths_evicted".to_owned(), 1)), "{counts:?}");
    both.configure(&graph_of(&lengths(3, "mark = 1;")));
    assert_eq!(rows(&both), []);
}

#[test]
fn meters_let_a_burst_pass_and_then_their_rate() {
    let program = "app P(rate: u32 = 1000) {
        ports { input in; output out; output other; }
        meter few packets { rate 50; burst 3; }
        meter all bytes { rate rate; burst 40; }
        on packet(in) {
            if length == 1 {
                within all by 15 { send out; } else { send other; }
            }
            within few { send out; } else { send other; }
        }
    }";
    // There is a packet every 10 ms, and 50 a second may pass: from the fourth on every second
    // does.
    let (both, _) = run(program, &vec![vec![0; 9]; 20]);
    let passed = both.compiled.link_stats("one.out->two.in").expect("a link").rx_packets;
    assert_eq!(passed, 3 + 1 + 8);
    // 40 bytes at once, and each packet adds 10.
    let (both, _) = run(program, &vec![vec![0; 1]; 20]);
    let passed = both.compiled.link_stats("one.out->two.in").expect("a link").rx_packets;
    assert_eq!(passed, (40 + 19 * 10) / 15);
}

#[test]
fn a_copy_is_as_the_packet_was_when_it_was_made() {
    let program = "app P {
        ports { input in; output out; output other; output never optional; }
        on packet(in) {
            when ethernet {
                clone other;
                ethernet.type = 7;
                clone other;
                clone never;
                ethernet.type = 8;
            }
            send out;
        }
    }";
    let (both, kept) = run(program, &[vec![0; 14]]);
    let types: Vec<u8> = kept.iter().map(|bytes| bytes[13]).collect();
    assert_eq!(types, [8, 0, 7, 8, 7]);
    let counts = both.compiled.app_stats("one").expect("it runs");
    assert_eq!(counts, [("drop_unlinked".to_owned(), 1)]);
}

#[test]
fn each_input_has_its_handler() {
    let program = "app P {
        ports { input in; input back optional; output out; output other; }
        state mine = 0;
        on packet(back) { mine = mine + 1; when ethernet { ethernet.type = mine; } send out; }
        on packet(in) { when ethernet { ethernet.source = 5; } clone other; send out; }
    }";
    let (_, kept) = run_linked(program, "one.other -> two.back", &[vec![0; 14], vec![0; 14]]);
    let seen: Vec<(u8, u8)> = kept.iter().map(|bytes| (bytes[11], bytes[13])).collect();
    assert_eq!(seen, [(5, 0), (5, 1), (5, 0), (5, 0), (5, 2), (5, 0)]);
}

#[test]
fn a_program_changes_its_tables_as_a_whole_or_not_at_all() {
    let definition = "app P {
        ports { input in; output out; }
        table routes prefix(net: ipv4) -> (mark: u16) { writer program; size 3; }
        table own exact(a: u8) { writer kernel; size 3; }
        counter lost;
        on packet(in) {
            when ipv4 {
                find routes(ipv4.destination) { ipv4.id = routes.mark; } else { count lost; }
            }
            send out;
        }
    }";
    let graph = format!("{definition} mute :: Mute  it :: P  end :: Keep  mute -> it -> end");
    let mut both = Both::new();
    both.configure(&graph_of(&graph));
    let row = |net: u128, bits: u32, mark: u128| Row {
        key: vec![net << (32 - bits)],
        mask: vec![(u128::from(u32::MAX) << (32 - bits)) & 0xFFFF_FFFF],
        priority: 0,
        values: vec![mark],
    };
    let write = |both: &mut Both, table: &str, changes: &[Change]| {
        let [one, other] = [&mut both.compiled, &mut both.dispatched]
            .map(|engine| engine.write_table("it", table, changes));
        assert_eq!(one, other);
        assert_eq!(
            both.compiled.table_rows("it", "routes"),
            both.dispatched.table_rows("it", "routes")
        );
        one
    };
    let insert = |net, bits, mark| Change::Insert(row(net, bits, mark));
    let delete = |net, bits| Change::Delete(row(net, bits, 0));
    write(&mut both, "routes", &[insert(10, 8, 1), insert(0x0A01, 16, 2)]).unwrap();
    // The marks of packets to 10.x.0.0.
    let mut bytes = frame(&mut Rng::new(1), 0, 17);
    let mut marked = |both: &mut Both, second: u8| {
        bytes[30..34].copy_from_slice(&[10, second, 0, 0]);
        bytes[18..20].fill(0);
        KEPT.with_borrow_mut(Vec::clear);
        both.inject("it", "in", &bytes);
        both.breathe(0);
        KEPT.take().iter().map(|kept| kept[19]).collect::<Vec<_>>()
    };
    assert_eq!(marked(&mut both, 1), [2, 2]);
    assert_eq!(marked(&mut both, 2), [1, 1]);
    // No room for the fourth: those before it are taken back, changed values and all.
    let before = both.compiled.table_rows("it", "routes");
    let batch =
        [delete(0x0A01, 16), insert(10, 8, 7), insert(1, 8, 3), insert(2, 8, 4), insert(3, 8, 5)];
    assert_eq!(write(&mut both, "routes", &batch), Err(TableError::Full(4)));
    assert_eq!(both.compiled.table_rows("it", "routes"), before);
    assert_eq!(marked(&mut both, 1), [2, 2]);
    let counts = both.compiled.app_stats("it").expect("it runs");
    assert!(counts.contains(&("routes_refused".to_owned(), 1)), "{counts:?}");
    write(&mut both, "routes", &[delete(0x0A01, 16), insert(10, 8, 9)]).unwrap();
    assert_eq!(marked(&mut both, 1), [9, 9]);
    let bad = |row: Row| [Change::Insert(row)];
    let no_prefix = Row { mask: vec![0xFF00_FF00], ..row(1, 8, 1) };
    let wide = Row { key: vec![1 << 32], ..row(1, 8, 1) };
    let large = Row { values: vec![1 << 16], ..row(1, 8, 1) };
    let short = Row { values: vec![], ..row(1, 8, 1) };
    for row in [no_prefix, wide, large, short] {
        assert_eq!(write(&mut both, "routes", &bad(row)), Err(TableError::BadRow(0)));
    }
    assert_eq!(write(&mut both, "own", &[]), Err(TableError::WrittenByKernel));
    assert_eq!(write(&mut both, "none", &[]), Err(TableError::NoSuchTable));
    // Another program that declares the table in the same way takes them over.
    both.configure(&graph_of(&graph.replace("counter lost;", "counter lost; counter more;")));
    assert_eq!(marked(&mut both, 1), [9, 9]);
}

#[test]
fn numbers_have_64_bits() {
    let program = "app P {
        ports { input in; output out; output other; }
        state hash = 0xCBF29CE484222325;
        counter wrong;
        on packet(in) {
            hash = (hash ^ byte(0)) * 0x100000001B3;
            if hash != 0xAF63DC4C8601EC8C { count wrong; }
            if 0xFFFF_FFFF_FFFF_FFFF != -1 || 18446744073709551615 != ~0 { count wrong; }
            if -0x8000000000000000 != 0x8000000000000000 || length -0x8000000000000000 == length {
                count wrong;
            }
            send out;
        }
    }";
    // The hash FNV-1a of "a".
    let (both, kept) = run(program, &[vec![b'a'; 60]]);
    assert_eq!(kept.len(), 1);
    let counts = both.compiled.app_stats("one").expect("it runs");
    assert!(counts.contains(&("wrong".to_owned(), 0)), "{counts:?}");
}

#[test]
fn keys_are_addresses_too() {
    let program = "app P(own: mac = \"02:00:00:00:00:0A\", outside: ipv4 = \"192.0.2.7\") {
        ports { input in; output out; output other; }
        on packet(in) {
            when ethernet { ethernet.source = own; ethernet.destination = \"0a:00:00:00:00:01\"; }
            when ipv4 { ipv4.source = outside; }
            send out;
        }
    }";
    let (_, kept) = run(program, &[frame(&mut Rng::new(5), 0, 6)]);
    assert_eq!(kept[0][..12], [0x0A, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0x0A]);
    assert_eq!(kept[0][26..30], [192, 0, 2, 7]);
}

#[test]
fn long_packets_are_compared_once_for_all_bytes() {
    let program = "app P {
        ports { input in; output out; output other; }
        counter sum;
        on packet(in) {
            var all = 0;
            for i in 0..6 { all = all * 31 + byte(i * 5 + 3); }
            count sum by all;
            send out;
        }
    }";
    let bytes_of = |length: u8| (0..length).map(|at| at * 5 + 3).collect();
    let packets: Vec<Vec<u8>> = (0..40).map(bytes_of).collect();
    let (both, kept) = run(program, &packets);
    assert_eq!(kept, packets);
    let sum = |packet: &Vec<u8>| {
        let byte = |at: usize| packet.get(at).copied().map_or(0, u64::from);
        (0..6).fold(0, |all, i| all * 31 + byte(i * 5 + 3))
    };
    let expected = ("sum".to_owned(), packets.iter().map(sum).sum());
    let counts = both.compiled.app_stats("two").expect("it runs");
    assert!(counts.contains(&expected), "{expected:?}: {counts:?}");
    let listing = both.compiled.listing().expect("it is kept");
    assert!(listing.contains("cmpq $0x1d,"), "29 bytes are enough: {listing}");
}

#[test]
fn look_ups_in_large_tables_are_prepared() {
    let prepared = |size: u32, before: &str| {
        let program = format!(
            "app P {{
                ports {{ input in; output out; output other; }}
                counter known;
                table t exact(a: u32) -> (n: u64) {{ writer kernel; size {size}; full evict; }}
                on packet(in) {{
                    var key = byte(3) * 256 + byte(2);
                    {before}
                    find t(key) {{ count known; t.n = t.n + 1; }} else {{ insert t(key) -> (1); }}
                    send out;
                }}
            }}"
        );
        let packets: Vec<Vec<u8>> = (0..40).map(|at| vec![at / 2; 12]).collect();
        let (both, kept) = run(&program, &packets);
        assert_eq!(kept.len(), packets.len(), "{size} {before}");
        let counts = both.compiled.app_stats("one").expect("it runs");
        assert!(counts.contains(&("known".to_owned(), 20)), "{size} {before}: {counts:?}");
        both.compiled.listing().expect("it is kept").contains("table.ahead")
    };
    assert!(prepared(40_000, ""));
    assert!(!prepared(100, ""), "a small table is in the cache");
    assert!(!prepared(40_000, "prepend ethernet;"), "the packet begins elsewhere");
}
