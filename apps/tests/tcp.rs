//! Streams of TCP that are put in order: random orders, copies and cuts of segments beside the
//! bytes that were sent.

use std::collections::BTreeMap;

use crate::common::{Folder, graph_of, read, run_to_end, write};
use tidemill_apps::capture::Format;
use tidemill_apps::net::{checksum, checksum_with};
use tidemill_packet::engine::{Engine, Options};
use tidemill_stdx::rng::Rng;

const FIN: u8 = 1;
const SYN: u8 = 2;
const ACK: u8 = 16;

/// A direction of a connection.
#[derive(Clone, Copy)]
struct Direction {
    port: u16,
    first: u32,
    is_ipv6: bool,
}

impl Direction {
    fn frame(&self, sequence: u32, flags: u8, payload: &[u8]) -> Vec<u8> {
        let mut tcp = [self.port.to_be_bytes(), 443u16.to_be_bytes()].concat();
        tcp.extend(sequence.to_be_bytes());
        tcp.extend([0, 0, 0, 1, 0x60, flags, 16, 0, 0, 0, 0, 0, 1, 1, 1, 0]);
        tcp.extend(payload);
        let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];
        let addresses = if self.is_ipv6 {
            frame.extend([0x86, 0xdd, 0x60, 0, 0, 0]);
            frame.extend((tcp.len() as u16).to_be_bytes());
            frame.extend([6, 64]);
            frame.extend([0x20; 32]);
            22..54
        } else {
            frame.extend([8, 0, 0x45, 0]);
            frame.extend((tcp.len() as u16 + 20).to_be_bytes());
            frame.extend([0, 0, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
            let sum = checksum(&frame[14..34]);
            frame[24..26].copy_from_slice(&sum.to_be_bytes());
            26..34
        };
        let sum = checksum_with(&frame[addresses], 6, &tcp);
        tcp[16..18].copy_from_slice(&sum.to_be_bytes());
        frame.extend(tcp);
        frame
    }
}

/// Port, sequence number, flags and payload of a frame whose checksums are right.
fn parsed(frame: &[u8]) -> (u16, u32, u8, Vec<u8>) {
    let is_ipv6 = frame[12] == 0x86;
    let (tcp, addresses) = if is_ipv6 { (54, 22..54) } else { (34, 26..34) };
    let length =
        u16::from_be_bytes(if is_ipv6 { [frame[18], frame[19]] } else { [frame[16], frame[17]] });
    let header = if is_ipv6 { 54 } else { 14 };
    assert_eq!(header + usize::from(length), frame.len());
    if !is_ipv6 {
        assert_eq!(checksum(&frame[14..34]), 0);
    }
    assert_eq!(checksum_with(&frame[addresses], 6, &frame[tcp..]), 0);
    let port = u16::from_be_bytes([frame[tcp], frame[tcp + 1]]);
    let sequence = u32::from_be_bytes(*frame[tcp + 4..].first_chunk().expect("whole"));
    (port, sequence, frame[tcp + 13], frame[tcp + 24..].to_vec())
}

/// The bytes of a direction.
fn bytes_of(direction: Direction, count: usize) -> Vec<u8> {
    (0..count).map(|at| (at * 7 + usize::from(direction.port)) as u8 ^ (at >> 8) as u8).collect()
}

/// What is in order, what had been sent, and the counts.
type Through = (Vec<Vec<u8>>, Vec<Vec<u8>>, BTreeMap<String, u64>);

/// Runs frames through the app: what is in order, what had been sent, and the counts.
fn through(frames: &[Vec<u8>], more: &str) -> Through {
    let folder = Folder::new();
    write(&folder.path("in.pcap"), Format::Pcap, frames);
    let counts = run_to_end(&format!(
        "src :: PcapReader {{ file: {:?} }}
         app :: TcpReassemble {{ {more} }}
         out :: PcapWriter {{ file: {:?} }}
         rest :: PcapWriter {{ file: {:?} }}
         src -> app
         app.output -> out
         app.duplicates -> rest",
        folder.path("in.pcap"),
        folder.path("out.pcap"),
        folder.path("duplicates.pcap")
    ));
    let read = |name| read(folder.path(name));
    (read("out.pcap"), read("duplicates.pcap"), counts.into_iter().collect())
}

/// Segments of a direction: in order, then copies, other cuts, all within a window of each other.
fn segments(rng: &mut Rng, direction: Direction, bytes: &[u8]) -> Vec<Vec<u8>> {
    let number = |at: usize| direction.first.wrapping_add(1 + at as u32);
    let mut cuts = vec![(0, direction.frame(direction.first, SYN, &[]))];
    let mut at = 0;
    while at < bytes.len() {
        let end = (at + 1 + rng.below(1400) as usize).min(bytes.len());
        cuts.push((at, direction.frame(number(at), ACK, &bytes[at..end])));
        if rng.below(4) == 0 {
            // What was sent again, cut otherwise.
            let (from, to) =
                (at.saturating_sub(rng.below(900) as usize), (end + 300).min(bytes.len()));
            cuts.push((at, direction.frame(number(from), ACK, &bytes[from..to])));
        }
        if rng.below(8) == 0 {
            cuts.push((at, direction.frame(number(at), ACK, &[])));
        }
        at = end;
    }
    cuts.push((at, direction.frame(number(at), FIN | ACK, &[])));
    // Each is late by some kilobytes, but the first.
    let mut late: Vec<_> = cuts
        .into_iter()
        .map(|(at, frame)| (if at == 0 { 0 } else { at + rng.below(5000) as usize }, frame))
        .collect();
    late.sort_by_key(|(at, _)| *at);
    late.into_iter().map(|(_, frame)| frame).collect()
}

#[test]
fn each_byte_leaves_once_and_in_its_order() {
    for seed in 0..20 {
        let mut rng = Rng::new(seed);
        let directions = [
            Direction { port: 1000, first: 77, is_ipv6: false },
            // The numbers wrap around.
            Direction { port: 1001, first: u32::MAX - 5000, is_ipv6: false },
            Direction { port: 1002, first: 5, is_ipv6: true },
        ];
        let all: Vec<_> = directions
            .iter()
            .map(|direction| {
                let bytes = bytes_of(*direction, 30_000);
                let frames = segments(&mut rng, *direction, &bytes);
                (*direction, bytes, frames)
            })
            .collect();
        // One of each in turns.
        let longest = all.iter().map(|(_, _, frames)| frames.len()).max().unwrap_or(0);
        let turns = (0..longest).flat_map(|at| all.iter().filter_map(move |it| it.2.get(at)));
        let frames: Vec<Vec<u8>> = turns.cloned().collect();
        let (out, duplicates, counts) = through(&frames, "");
        assert_eq!(counts["gaps"], 0, "{seed}: {counts:?}");
        assert_eq!(counts["waiting_bytes"], 0, "{seed}");
        assert!(counts["trimmed"] > 0 && !duplicates.is_empty(), "{seed}: {counts:?}");
        assert_eq!(out.len() + duplicates.len(), frames.len(), "{seed}");
        for (direction, bytes, _) in &all {
            let (mut next, mut received) = (direction.first, Vec::new());
            for (port, sequence, flags, payload) in out.iter().map(|frame| parsed(frame)) {
                let taken = payload.len() as u32 + u32::from(flags & (SYN | FIN) != 0);
                if port != direction.port || taken == 0 {
                    continue;
                }
                assert_eq!(sequence, next, "{seed}");
                next = next.wrapping_add(taken);
                received.extend(payload);
            }
            assert!(received == *bytes, "{seed}: port {}", direction.port);
            assert_eq!(next, direction.first.wrapping_add(30_002), "{seed}: SYN and FIN count");
        }
    }
}

#[test]
fn what_is_missing_is_given_up_in_the_end() {
    let direction = Direction { port: 7, first: 100, is_ipv6: false };
    let frame = |number: u32| direction.frame(number, ACK, &[number as u8; 10]);
    let frames: Vec<_> = [100, 110, 130, 120, 160, 150].map(frame).into();
    let (out, duplicates, _) = through(&frames, "");
    let order: Vec<u32> = out.iter().map(|frame| parsed(frame).1).collect();
    assert_eq!((order, duplicates.len()), (vec![100, 110, 120, 130, 150, 160], 0));
}

#[test]
fn what_is_missing_is_given_up_after_a_while() {
    let folder = Folder::new();
    let direction = Direction { port: 7, first: 100, is_ipv6: false };
    let frame = |number: u32| direction.frame(number, ACK, &[number as u8; 10]);
    write(&folder.path("in.pcap"), Format::Pcap, &[100, 120, 140].map(frame));
    let graph = format!(
        "src :: PcapReader {{ file: {:?} }}
         app :: TcpReassemble {{ gap_ms: 50 }}
         end :: Sink
         src -> app
         app.output -> end",
        folder.path("in.pcap")
    );
    let mut engine = Engine::new(Options::default());
    engine.configure(graph_of(&graph)).expect("it starts");
    let mut seen = Vec::new();
    for ms in [0, 10, 40, 60, 80] {
        engine.set_time(ms * 1_000_000, 0);
        engine.breathe();
        engine.breathe();
        let counts: BTreeMap<_, _> =
            engine.app_stats("app").expect("the app").into_iter().collect();
        seen.push((counts["gaps"], counts["waiting_bytes"] > 0));
    }
    assert_eq!(seen, [(0, true), (0, true), (0, true), (2, false), (2, false)]);
    assert_eq!(engine.link_stats("app.output->end.app").expect("the link").rx_packets, 3);
}

#[test]
fn a_connection_on_the_ports_of_another_begins_anew() {
    let direction = Direction { port: 7, first: 0, is_ipv6: false };
    let old = [5000, 5010].map(|number| direction.frame(number, ACK, &[1; 10]));
    let new = [
        direction.frame(100, SYN, &[]),
        direction.frame(100, SYN, &[]),
        direction.frame(111, ACK, &[3; 10]),
        direction.frame(101, ACK, &[2; 10]),
    ];
    let (out, duplicates, counts) = through(&[&old[..], &new[..]].concat(), "");
    let order: Vec<u32> = out.iter().map(|frame| parsed(frame).1).collect();
    assert_eq!(order, [5000, 5010, 100, 101, 111]);
    assert_eq!((duplicates.len(), counts["gaps"]), (1, 0));
}

#[test]
fn memory_has_a_limit() {
    let direction = Direction { port: 7, first: 0, is_ipv6: false };
    // The first of them is missing.
    let frames: Vec<_> =
        (1..40).map(|at| direction.frame(at * 1000, ACK, &[at as u8; 1000])).collect();
    let mut frames = [vec![direction.frame(0, ACK, &[0; 10])], frames].concat();
    frames.push(vec![0; 60]);
    let (out, _, counts) = through(&frames, "bytes: 12000");
    assert_eq!(out.len(), frames.len());
    assert_eq!((counts["gaps"], counts["waiting_bytes"]), (1, 0));
    let (_, _, counts) = through(&frames, "streams: 1");
    assert_eq!(counts["untracked"], 0);
    let other = Direction { port: 8, first: 0, is_ipv6: false };
    let both = [frames[0].clone(), other.frame(5, ACK, &[1]), other.frame(3, ACK, &[1])];
    let (out, _, counts) = through(&both, "streams: 1");
    assert_eq!((out.len(), counts["untracked"]), (3, 2));
}
