//! Frames that are cut, grown, of no length, of the greatest length, or changed in any place. No
//! app fails, and no packet is lost.

use crate::common::{Folder, frames, graph_of, read, run_to_end, write};
use tidemill_apps::capture::Format;
use tidemill_packet::app::{Count, Direction, Pacing};
use tidemill_packet::engine::{Engine, Options, Rest};
use tidemill_packet::graph::Graph;
use tidemill_packet::packet::BYTES_MAX;
use tidemill_stdx::rng::Rng;

/// Configs for the types that need one.
const CONFIGS: [(&str, &str); 13] = [
    ("Arp", "{ mac: \"02:00:00:00:00:02\", address: \"10.0.0.2\", gateway: \"10.0.0.1\" }"),
    ("Filter", "{ expr: \"tcp port 80 or vlan 42 and ip[6:2] & 0x1fff = 0\" }"),
    ("FlowExport", "{ collector: \"10.0.0.9\", address: \"10.0.0.8\", flows: 50 }"),
    ("Fragment", "{ mtu: 576 }"),
    ("IcmpEcho", "{ address: \"10.0.0.99\" }"),
    ("Mark", "{ mark: 7 }"),
    ("Nat44", "{ address: \"10.0.0.99\", first_port: 1000, last_port: 1010 }"),
    ("PcapTap", "{ file: \"/dev/null\" }"),
    ("PcapWriter", "{ file: \"/dev/null\" }"),
    ("RateLimiter", "{ rate: 1000000 }"),
    ("Sample", "{ every: 2 }"),
    ("Truncate", "{ length: 60 }"),
    ("VlanTag", "{ tag: 42 }"),
];

fn config(kind: &str) -> &'static str {
    let given = CONFIGS.iter().find(|(name, _)| *name == kind);
    match kind {
        "VlanUntag" => "{ tag: 42 }",
        _ => given.map_or("", |(_, config)| config),
    }
}

/// A name for a port that graphs name.
fn port_name(kind: &str, number: usize) -> String {
    match kind {
        "VlanMux" => ["vlan42", "vlan7", "native"][number].to_owned(),
        _ => format!("port{number}"),
    }
}

/// An app with something at all its ports; the inputs' names.
fn graph(kind: &str, declaration: &tidemill_packet::app::Declaration) -> (Graph, Vec<String>) {
    let mut text = format!("app :: {kind} {}\n", config(kind));
    let (mut inputs, mut number) = (Vec::new(), 0);
    for port in declaration.ports {
        let names: Vec<String> = match port.count {
            Count::Many => (0..3).map(|number| port_name(kind, number)).collect(),
            _ => vec![port.name.to_owned()],
        };
        for name in names {
            number += 1;
            if port.direction == Direction::Input {
                // It sends nothing by itself: frames are put on the link.
                let frames = "frames: [\"hex 00\"], packets: 1000000000, rate: 1";
                text +=
                    &format!("g{number} :: Generator {{ {frames} }}\ng{number} -> app.{name}\n");
                inputs.push(name);
            } else {
                text += &format!("s{number} :: Sink\napp.{name} -> s{number}\n");
            }
        }
    }
    (graph_of(&text), inputs)
}

/// A frame with random changes.
fn tampered(frames: &[Vec<u8>], random: &mut Rng) -> Vec<u8> {
    let mut bytes = frames[random.below(frames.len() as u64) as usize].clone();
    match random.below(8) {
        0 => bytes.truncate(random.below(bytes.len() as u64 + 1) as usize),
        1 => bytes.truncate(random.below(60) as usize),
        2 => bytes.resize(BYTES_MAX - random.below(5) as usize, 0xff),
        3 => bytes.clear(),
        _ => {}
    }
    // Mostly the headers, where lengths and offsets are.
    for _ in 0..random.below(6) {
        let most = if random.chance(0.8) { bytes.len().min(60) } else { bytes.len() };
        if most > 0 {
            let value = [0, 0xff, 0x45, 0x20, random.next_u64() as u8][random.below(5) as usize];
            bytes[random.below(most as u64) as usize] = value;
        }
    }
    bytes
}

#[test]
fn no_frame_makes_an_app_fail_or_lose_packets() {
    let frames = frames(100);
    let mut count = 0;
    for declaration in tidemill_apps::catalogue().types() {
        let kind = declaration.name;
        let takes = declaration.ports(Direction::Input).any(|port| port.pacing != Pacing::Pull);
        // Those that use the system: `devices.rs`.
        if !takes || declaration.device || kind == "UnixSocket" {
            continue;
        }
        count += 1;
        let (graph, inputs) = graph(kind, declaration);
        let mut engine = Engine::new(Options::default());
        engine.configure(graph).unwrap_or_else(|why| panic!("{kind}: {why}"));
        let mut random = Rng::new(count);
        for at in 0..20_000u64 {
            let packet = engine.pool().packet_of(&tampered(&frames, &mut random));
            let input = &inputs[random.below(inputs.len() as u64) as usize];
            engine.inject("app", input, packet.expect("it fits")).expect("there is the port");
            if at % 16 == 0 {
                // Ticks and time-outs, too: 20 minutes altogether.
                engine.set_time(at * 60_000_000, at as i64 * 60_000_000);
                engine.breathe();
            }
            assert_eq!(engine.take_notes(), [], "{kind} after {at} frames");
        }
        for _ in 0..4 {
            engine.breathe();
        }
        assert_eq!(engine.stats().faults, 0, "{kind}");
        engine.configure(Graph::new()).expect("all apps can go");
        assert_eq!(engine.pool_stats().alive(), 0, "{kind} loses packets");
    }
    assert!(count >= 20, "{count} types");
}

/// The pool may be empty at any time: packets that cannot be made are counted, and all continues.
#[test]
fn without_packets_apps_go_on() {
    let text = "src :: Source { packets: 5000 } -> tee :: Tee\n\
        tee.a -> a :: Sink\ntee.b -> b :: Repeater -> c :: Sink\n";
    let mut engine = Engine::new(Options { packets_max: 64, ..Options::default() });
    engine.configure(graph_of(text)).unwrap_or_else(|why| panic!("{why}"));
    for at in 0..500u64 {
        engine.set_time(at * 1_000_000, 0);
        engine.breathe();
    }
    assert_eq!(engine.take_notes(), []);
    let counts = engine.app_stats("tee").expect("it is there");
    assert!(
        counts.iter().any(|(name, count)| name == "drop_no_packet" && *count > 0),
        "{counts:?}"
    );
    engine.configure(Graph::new()).expect("all apps can go");
    assert_eq!(engine.pool_stats().alive(), 0);
}

/// The result of reading these bytes as a capture: packets that arrived, and whether the reader
/// failed.
fn read_through(folder: &Folder, bytes: &[u8]) -> (u64, bool) {
    let path = folder.path("in.pcap");
    std::fs::write(&path, bytes).expect("writable");
    let text = format!("in :: PcapReader {{ file: \"{path}\" }} -> end :: Sink");
    let mut engine = Engine::new(Options::default());
    if engine.configure(graph_of(&text)).is_err() {
        return (0, true);
    }
    while engine.breathe() == Rest::Busy {}
    let failed = engine.stats().faults > 0;
    let arrived = engine.link_stats("in.output->end.in").expect("the link").rx_packets;
    engine.configure(Graph::new()).expect("all apps can go");
    assert_eq!(engine.pool_stats().alive(), 0);
    for note in engine.take_notes() {
        // The reader reports the error of the file; nothing else fails, and nothing panics.
        assert!(
            note.to_string().contains("in.pcap") && !note.to_string().contains("panic"),
            "{note}"
        );
    }
    (arrived, failed)
}

#[test]
fn captures_that_are_cut_or_changed_end_in_counts_or_faults() {
    let folder = Folder::new();
    for format in [Format::Pcap, Format::Pcapng] {
        let path = folder.path("whole");
        write(&path, format, &frames(20));
        let whole = std::fs::read(&path).expect("readable");
        assert_eq!(read_through(&folder, &whole), (20, false));
        let mut random = Rng::new(3);
        let (mut cut, mut failed) = (0, 0);
        for _ in 0..300 {
            let mut bytes = whole.clone();
            if random.chance(0.5) {
                bytes.truncate(random.below(bytes.len() as u64) as usize);
            }
            for _ in 0..random.below(4) {
                // Often the header of the file.
                let most = if random.chance(0.3) { 24 } else { bytes.len().max(1) };
                let at = random.below(most as u64) as usize;
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = random.next_u64() as u8;
                }
            }
            let (arrived, has_failed) = read_through(&folder, &bytes);
            cut += u64::from(arrived < 20);
            failed += u64::from(has_failed);
        }
        assert!(cut > 100 && failed > 0, "{cut} were cut, {failed} failed");
    }
}

#[test]
fn packets_beyond_ten_kilobytes_are_cut() {
    let folder = Folder::new();
    let (before, after) = (folder.path("in.pcap"), folder.path("out.pcap"));
    let lengths = [BYTES_MAX - 1, BYTES_MAX, BYTES_MAX + 1, 65_000, 14, 0];
    let long: Vec<Vec<u8>> = lengths.iter().map(|&length| vec![7; length]).collect();
    write(&before, Format::Pcap, &long);
    run_to_end(&format!(
        "in :: PcapReader {{ file: \"{before}\" }} -> app :: Tee
         app.out -> out :: PcapWriter {{ file: \"{after}\" }}"
    ));
    let arrived: Vec<usize> = read(&after).iter().map(Vec::len).collect();
    assert_eq!(arrived, lengths.map(|length| length.min(BYTES_MAX)));
}
