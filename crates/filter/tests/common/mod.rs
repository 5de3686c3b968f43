//! Shared by the tests: packets of every kind, and captures of them.
#![allow(dead_code, reason = "not every test that shares this module uses all of it")]

pub mod machine;

use std::path::{Path, PathBuf};

use tidemill_diag::Sources;
use tidemill_filter::classic::program;
use tidemill_filter::optimise::optimise;
use tidemill_filter::{Filter, Frame, Graph, Settings, compile, interpret};
use tidemill_stdx::rng::Rng;

/// A packet as a capture has it.
#[derive(Clone, Debug, PartialEq)]
pub struct Captured {
    pub bytes: Vec<u8>,
    pub wire_length: u32,
}

/// A file of the corpus.
pub fn corpus(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/filter").join(name)
}

/// The settings with which `tcpdump -r` compiles.
pub const AS_TCPDUMP: Settings = Settings { netmask: Some(0), has_directions: false };

/// The graph of a text without optimisation, or its errors.
pub fn graph(text: &str) -> Result<Graph, String> {
    let mut sources = Sources::new();
    let file = sources.add("filter", text);
    let (graph, diagnostics) = compile(file, &sources, &AS_TCPDUMP);
    graph.ok_or_else(|| diagnostics.iter().map(|one| sources.render(one)).collect())
}

/// Which packets a filter keeps of all of them in one call.
pub fn kept_at_once(filter: &Filter, packets: &[Captured]) -> Vec<usize> {
    let frames: Vec<Frame<'_>> =
        packets.iter().map(|one| Frame::part(&one.bytes, one.wire_length)).collect();
    let mut kept = vec![usize::MAX; 3];
    filter.keep(&frames, &mut kept);
    kept
}

/// Interpreter and native code, each as written and optimised, one by one and all at once: how many
/// packets they keep.
pub fn agree(text: &str, graph: &Graph, packets: &[Captured]) -> usize {
    assert_eq!(graph.verify(), Ok(()), "{text}");
    let better = optimise(graph);
    assert_eq!(better.verify(), Ok(()), "{text}\n{better}");
    let plain = Filter::new(graph.clone()).expect("code");
    let native = Filter::new(better.clone()).expect("code");
    let mut kept = Vec::new();
    for (number, packet) in packets.iter().enumerate() {
        let (bytes, length) = (&packet.bytes[..], packet.wire_length);
        let verdict = interpret(graph, bytes, length);
        assert_eq!(interpret(&better, bytes, length), verdict, "{text}: {bytes:?}\n{better}");
        assert_eq!(native.matches_part(bytes, length), verdict, "{text}: {bytes:?}\n{better}");
        assert_eq!(plain.matches_part(bytes, length), verdict, "{text}: {bytes:?}\n{graph}");
        kept.extend(verdict.then_some(number));
    }
    // What sockets see is whole.
    if let Ok(program) = program(&better) {
        for packet in packets.iter().filter(|it| it.wire_length as usize == it.bytes.len()) {
            let passes = machine::run(&program, &packet.bytes, machine::Beside::default()) != 0;
            let verdict = interpret(&better, &packet.bytes, packet.wire_length);
            assert_eq!(passes, verdict, "{text}: {:?}\n{better}", packet.bytes);
        }
    }
    for filter in [&native, &plain] {
        assert_eq!(kept_at_once(filter, packets), kept, "{text}\n{better}");
    }
    kept.len()
}

const MACS: [[u8; 6]; 5] = [
    [0, 1, 2, 10, 11, 12],
    [2, 0, 0, 0, 0, 7],
    [0xff; 6],
    [1, 0, 0x5e, 0, 0, 5],
    [0x33, 0x33, 0, 0, 0, 1],
];
const FOURS: [[u8; 4]; 9] = [
    [10, 0, 0, 1],
    [10, 1, 2, 3],
    [10, 200, 0, 9],
    [192, 168, 1, 10],
    [192, 168, 1, 255],
    [172, 16, 5, 4],
    [8, 8, 8, 8],
    [224, 0, 0, 5],
    [255, 255, 255, 255],
];
const SIXES: [[u16; 8]; 5] = [
    [0x2001, 0xdb8, 0, 0, 0, 0, 0, 1],
    [0x2001, 0xdb8, 1, 0, 0, 0, 0, 2],
    [0xfe80, 0, 0, 0, 0, 0, 0, 1],
    [0xff02, 0, 0, 0, 0, 0, 0, 1],
    [0, 0, 0, 0, 0, 0, 0, 1],
];
const PORTS: [u16; 18] =
    [20, 21, 22, 25, 53, 80, 81, 123, 443, 443, 80, 5353, 6000, 6008, 8080, 40000, 65535, 0];

/// `count` packets, the same for the same seed.
pub fn packets(seed: u64, count: usize) -> Vec<Captured> {
    let rng = Rng::new(seed);
    (0..count as u64).map(|number| packet(&mut rng.fork(number))).collect()
}

fn pick<T: Copy>(rng: &mut Rng, from: &[T]) -> T {
    from[rng.below(from.len() as u64) as usize]
}

fn packet(rng: &mut Rng) -> Captured {
    let mut bytes = Vec::new();
    bytes.extend(pick(rng, &MACS));
    bytes.extend(pick(rng, &MACS));
    let tags = pick(rng, &[0, 0, 0, 0, 0, 1, 1, 2]);
    for _ in 0..tags {
        bytes.extend(pick(rng, &[0x8100u16, 0x88a8, 0x9100]).to_be_bytes());
        bytes.extend((pick(rng, &[7u16, 9, 100]) | 0x2000).to_be_bytes());
    }
    payload(rng, &mut bytes);
    if rng.chance(0.3) && bytes.len() < 60 {
        bytes.resize(60, 0);
    }
    let mut wire_length = bytes.len() as u32;
    // Some were cut by the capture, some claim to be longer than what they have.
    if rng.chance(0.25) {
        bytes.truncate(rng.below(bytes.len() as u64 + 1) as usize);
    }
    if rng.chance(0.05) {
        wire_length += rng.below(1400) as u32;
    }
    Captured { bytes, wire_length }
}

fn payload(rng: &mut Rng, bytes: &mut Vec<u8>) {
    let with_type = |bytes: &mut Vec<u8>, number: u16| bytes.extend(number.to_be_bytes());
    match rng.below(25) {
        20..=24 => {
            let is_four = rng.chance(0.6);
            with_type(bytes, if is_four { 0x0800 } else { 0x86dd });
            tunnel(rng, bytes, is_four);
        }
        0..=8 => {
            with_type(bytes, 0x0800);
            four(rng, bytes);
        }
        9..=13 => {
            with_type(bytes, 0x86dd);
            six(rng, bytes);
        }
        14 => {
            with_type(bytes, pick(rng, &[0x0806, 0x0806, 0x8035]));
            bytes.extend([0, 1, 8, 0, 6, 4, 0, pick(rng, &[1, 2])]);
            bytes.extend(pick(rng, &MACS));
            bytes.extend(pick(rng, &FOURS));
            bytes.extend(pick(rng, &MACS));
            bytes.extend(pick(rng, &FOURS));
        }
        15 => labelled(rng, bytes),
        16 | 17 => session(rng, bytes),
        18 => logical(rng, bytes),
        19 if rng.chance(0.5) => decnet(rng, bytes),
        _ => {
            with_type(bytes, pick(rng, &[0x88cc, 0x809b, 0x80f3, 0x8137, 0x6003, 0x6004, 0x9000]));
            noise(rng, bytes, 40);
        }
    }
}

/// DECnet: a length, one of four kinds of headers, and addresses wherever one may be.
fn decnet(rng: &mut Rng, bytes: &mut Vec<u8>) {
    bytes.extend([0x60, 0x03, 30, 0]);
    bytes.extend(pick(rng, &[&[0x02][..], &[0x0a], &[0x81, 0x02], &[0x06], &[0x81, 0x2e]]));
    for _ in 0..12 {
        let address = pick(rng, &[1u16 << 10 | 2, 10 << 10 | 15, 1 << 10 | 1023, 5]);
        bytes.extend(address.to_le_bytes());
    }
}

/// MPLS labels with an IP packet after them.
fn labelled(rng: &mut Rng, bytes: &mut Vec<u8>) {
    bytes.extend(0x8847u16.to_be_bytes());
    let labels = rng.range(1..=2);
    for label in 1..=labels {
        let number = pick(rng, &[5u32, 1000]);
        bytes.extend((number << 12 | u32::from(label == labels) << 8 | 64).to_be_bytes());
    }
    match rng.below(6) {
        0 | 1 => four(rng, bytes),
        2 | 3 => six(rng, bytes),
        kind => tunnel(rng, bytes, kind == 4),
    }
}

/// PPPoE.
fn session(rng: &mut Rng, bytes: &mut Vec<u8>) {
    let (number, code) = pick(rng, &[(0x8863u16, 9u8), (0x8864, 0), (0x8864, 0), (0x8864, 0)]);
    bytes.extend(number.to_be_bytes());
    bytes.extend([0x11, code]);
    bytes.extend(pick(rng, &[17u16, 18]).to_be_bytes());
    bytes.extend(60u16.to_be_bytes());
    match rng.below(4) {
        0 => {
            bytes.extend([0, 0x21]);
            four(rng, bytes);
        }
        1 => {
            let is_four = rng.chance(0.5);
            bytes.extend([0, if is_four { 0x21 } else { 0x57 }]);
            tunnel(rng, bytes, is_four);
        }
        2 => {
            bytes.extend([0, 0x57]);
            six(rng, bytes);
        }
        _ => {
            let kinds: [&[u8]; 6] = [
                &[0x02, 0x81],
                &[0, 0x31],
                &[0xc0, 0x21],
                &[0, 0x23, 0x83, 27, 1, 0, 0x0f],
                &[0, 0x23, 0x83, 27, 1, 0, 0x12],
                &[0, 0x23, 0x81, 27, 1, 0, 0x12],
            ];
            bytes.extend(pick(rng, &kinds));
            noise(rng, bytes, 20);
        }
    }
}

/// A length and IEEE 802.2.
fn logical(rng: &mut Rng, bytes: &mut Vec<u8>) {
    bytes.extend(pick(rng, &[38u16, 1500]).to_be_bytes());
    let head: &[u8] = pick(
        rng,
        &[
            &[0x42, 0x42, 3, 0, 0][..],
            &[0xfe, 0xfe, 3, 0x83, 27],
            &[0xfe, 0xfe, 3, 0x81],
            &[0xfe, 0xfe, 3, 0x82],
            &[0xf0, 0xf0, 3],
            &[0x06, 0x06, 3],
            &[0xe0, 0xe0, 3],
            &[0xff, 0xff, 0, 30],
            &[0xaa, 0xaa, 3, 8, 0, 7, 0x80, 0x9b],
            &[0xaa, 0xaa, 3, 0, 0, 0, 0x80, 0xf3],
            &[0xaa, 0xaa, 3, 0, 0, 0, 0x81, 0x37],
            &[0xaa, 0xaa, 3, 0, 0, 0, 8, 0],
            &[0x42, 0x42, 0x00, 0],
            &[0x42, 0x42, 0x01, 0],
            &[0x42, 0x42, 0x05, 0],
            &[0x42, 0x42, 0x09, 1],
            &[0x42, 0x42, 0x63],
            &[0x42, 0x42, 0x73],
            &[0x42, 0x42, 0x43],
            &[0x42, 0x42, 0x0f],
            &[0x42, 0x42, 0x6f],
            &[0x42, 0x42, 0xe3],
            &[0x42, 0x42, 0xaf],
            &[0x42, 0x42, 0x97],
            &[0xfe, 0xfe, 3, 0x83, 27, 1, 0, 0x0f],
            &[0xfe, 0xfe, 3, 0x83, 27, 1, 0, 0x10],
            &[0xfe, 0xfe, 3, 0x83, 27, 1, 0, 0x11],
            &[0xfe, 0xfe, 3, 0x83, 27, 1, 0, 0x12],
            &[0xfe, 0xfe, 3, 0x83, 27, 1, 0, 0x14],
            &[0xfe, 0xfe, 3, 0x83, 27, 1, 0, 0x18],
            &[0xfe, 0xfe, 3, 0x83, 27, 1, 0, 0x19],
            &[0xfe, 0xfe, 3, 0x83, 27, 1, 0, 0x1a],
            &[0xfe, 0xfe, 3, 0x83, 27, 1, 0, 0x1b],
        ],
    );
    bytes.extend(head);
    noise(rng, bytes, 40);
}

fn noise(rng: &mut Rng, bytes: &mut Vec<u8>, length_max: u64) {
    let mut noise = vec![0; rng.below(length_max) as usize];
    rng.fill(&mut noise);
    bytes.extend(noise);
}

const CARRIED: [u8; 15] = [6, 6, 6, 17, 17, 132, 1, 2, 9, 47, 50, 51, 58, 103, 112];

fn four(rng: &mut Rng, bytes: &mut Vec<u8>) {
    let start = bytes.len();
    let words = pick(rng, &[5u8, 5, 5, 5, 6, 8, 15]);
    let protocol = pick(rng, &CARRIED);
    let fragment = pick(rng, &[0u16, 0, 0, 0x4000, 0x2000, 0x2005, 0x0100, 0x1fff]);
    bytes.extend([0x40 | words, pick(rng, &[0, 0x10, 4]), 0, 0, 0, 7]);
    bytes.extend(fragment.to_be_bytes());
    bytes.extend([pick(rng, &[1, 63, 64, 255]), protocol, 0, 0]);
    bytes.extend(pick(rng, &FOURS));
    bytes.extend(pick(rng, &FOURS));
    bytes.extend(vec![1; 4 * (usize::from(words) - 5)]);
    if rng.chance(0.1) {
        authentication(rng, bytes, start + 9, protocol);
    }
    transport(rng, bytes, protocol);
    let length = (bytes.len() - start) as u16;
    bytes[start + 2..start + 4].copy_from_slice(&length.to_be_bytes());
}

/// An authentication header; the field at `before` now names it.
fn authentication(rng: &mut Rng, bytes: &mut Vec<u8>, before: usize, next: u8) {
    bytes[before] = 51;
    let words = pick(rng, &[1u8, 4]);
    bytes.extend([next, words]);
    bytes.extend(vec![3; 4 * (usize::from(words) + 2) - 2]);
}

fn six(rng: &mut Rng, bytes: &mut Vec<u8>) {
    let start = bytes.len();
    let protocol = pick(rng, &[6u8, 6, 17, 17, 58, 58, 132, 59, 50]);
    bytes.extend([0x60, 0, 0, 0, 0, 0, protocol, pick(rng, &[1, 64, 255])]);
    for _ in 0..2 {
        bytes.extend(pick(rng, &SIXES).iter().flat_map(|word| word.to_be_bytes()));
    }
    let mut before = start + 6;
    let headers = pick(rng, &[0, 0, 0, 0, 1, 1, 2, 3]);
    for _ in 0..headers {
        let at = bytes.len();
        if rng.chance(0.15) {
            authentication(rng, bytes, before, protocol);
        } else {
            let kind = pick(rng, &[0u8, 43, 44, 44, 60]);
            let eights = if kind == 44 { 0 } else { pick(rng, &[0u8, 1]) };
            bytes[before] = kind;
            bytes.extend([protocol, eights]);
            bytes.extend(vec![0; 8 * (usize::from(eights) + 1) - 2]);
        }
        before = at;
    }
    transport(rng, bytes, protocol);
    let length = (bytes.len() - start - 40) as u16;
    bytes[start + 4..start + 6].copy_from_slice(&length.to_be_bytes());
}

/// IP with Geneve after it; some are fragments.
fn tunnel(rng: &mut Rng, bytes: &mut Vec<u8>, is_four: bool) {
    if is_four {
        let words = pick(rng, &[5u8, 5, 6, 9]);
        bytes.extend([0x40 | words, 0, 0, 90, 0, 7]);
        bytes.extend(pick(rng, &[0u16, 0, 0, 0x4000, 0x0005]).to_be_bytes());
        bytes.extend([64, 17, 0, 0]);
        bytes.extend(pick(rng, &FOURS));
        bytes.extend(pick(rng, &FOURS));
        bytes.extend(vec![1; 4 * (usize::from(words) - 5)]);
    } else {
        bytes.extend([0x60, 0, 0, 0, 0, 90, 17, 64]);
        for _ in 0..2 {
            bytes.extend(pick(rng, &SIXES).iter().flat_map(|word| word.to_be_bytes()));
        }
    }
    geneve(rng, bytes);
}

/// UDP and Geneve, and what is inside.
fn geneve(rng: &mut Rng, bytes: &mut Vec<u8>) {
    bytes.extend(pick(rng, &PORTS).to_be_bytes());
    bytes.extend(6081u16.to_be_bytes());
    bytes.extend([0, 30, 0, 0]);
    let words = pick(rng, &[0u8, 0, 1, 5]);
    let kind = pick(rng, &[0x6558u16, 0x6558, 0x0800, 0x86dd, 0x1234]);
    bytes.extend([words | pick(rng, &[0, 0, 0, 0, 0, 0, 0x40]), pick(rng, &[0, 0x80])]);
    bytes.extend(kind.to_be_bytes());
    bytes.extend(pick(rng, &[[0, 0, 5, 0], [0, 1, 0, 0], [1, 0, 5, 7]]));
    bytes.extend(vec![9; 4 * usize::from(words)]);
    match kind {
        0x6558 => {
            bytes.extend(pick(rng, &MACS));
            bytes.extend(pick(rng, &MACS));
            if rng.chance(0.3) {
                bytes.extend([0x81, 0, 0, 7]);
            }
            payload(rng, bytes);
        }
        0x0800 => four(rng, bytes),
        0x86dd => six(rng, bytes),
        _ => noise(rng, bytes, 40),
    }
}

fn transport(rng: &mut Rng, bytes: &mut Vec<u8>, protocol: u8) {
    match protocol {
        6 => {
            bytes.extend(pick(rng, &PORTS).to_be_bytes());
            bytes.extend(pick(rng, &PORTS).to_be_bytes());
            bytes.extend([0, 0, 0, 1, 0, 0, 0, 2]);
            let words = pick(rng, &[5u8, 5, 8]);
            bytes.extend([words << 4, pick(rng, &[2, 18, 16, 24, 17, 4]), 1, 0, 0, 0, 0, 0]);
            bytes.extend(vec![1; 4 * (usize::from(words) - 5)]);
            if rng.chance(0.3) {
                bytes.extend(b"GET / HTTP/1.1\r\n");
            }
        }
        17 if rng.chance(0.2) => return geneve(rng, bytes),
        17 | 132 => {
            bytes.extend(pick(rng, &PORTS).to_be_bytes());
            bytes.extend(pick(rng, &PORTS).to_be_bytes());
            bytes.extend([0, 30, 0, 0]);
        }
        1 => bytes.extend([pick(rng, &[0, 3, 8, 11]), pick(rng, &[0, 1, 3]), 0, 0, 0, 1, 0, 1]),
        58 => bytes.extend([pick(rng, &[1, 128, 129, 135, 136]), 0, 0, 0, 0, 1, 0, 1]),
        2 => bytes.extend([pick(rng, &[0x11, 0x16]), 0, 0, 0]),
        _ => {}
    }
    noise(rng, bytes, 60);
}

/// A capture file; packet number n was seen n seconds after the epoch.
pub fn capture(packets: &[Captured]) -> Vec<u8> {
    let mut file = Vec::new();
    let words = |file: &mut Vec<u8>, words: &[u32]| {
        words.iter().for_each(|word| file.extend(word.to_le_bytes()));
    };
    words(&mut file, &[0xa1b2_c3d4, 0x0004_0002, 0, 0, 262_144, 1]);
    for (packet, number) in packets.iter().zip(0..) {
        words(&mut file, &[number, 0, packet.bytes.len() as u32, packet.wire_length]);
        file.extend(&packet.bytes);
    }
    file
}

/// The numbers of the packets in a capture.
pub fn numbers(file: &[u8]) -> Vec<usize> {
    let word = |at: usize| {
        file.get(at..at + 4)
            .map(|bytes| u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    };
    let (mut at, mut numbers) = (24, Vec::new());
    while let (Some(number), Some(length)) = (word(at), word(at + 8)) {
        numbers.push(number as usize);
        at += 16 + length as usize;
    }
    numbers
}
