//! Apps that a file defines, with packets through two of them in both engines.

use std::cell::RefCell;

use tidemill_diag::Sources;
use tidemill_packet::app::{App, Catalogue, Declared, Fault, Io, Start};
use tidemill_packet::flow::{Options, load_text};
use tidemill_packet::graph::Graph;
use tidemill_stdx::rng::Rng;

use super::both::Both;

thread_local! {
    /// Packets that `Keep` has taken.
    pub static KEPT: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

app! {
    /// Keeps the bytes of packets.
    Keep KeepConfig {} (input: Input(Push, Many)) ()
}
struct Keep;
impl App for Keep {
    fn new(_: KeepConfig, _: &mut Start) -> Result<Keep, Fault> {
        Ok(Keep)
    }
    fn push(&mut self, io: &mut Io) -> Result<(), Fault> {
        for input in 0..io.inputs() {
            while let Some(packet) = io.receive(input) {
                KEPT.with_borrow_mut(|kept| kept.push(packet.bytes().to_vec()));
            }
        }
        Ok(())
    }
}

app! {
    /// Sends nothing.
    Mute MuteConfig {} (output: Output(Push, One)) ()
}
struct Mute;
impl App for Mute {
    fn new(_: MuteConfig, _: &mut Start) -> Result<Mute, Fault> {
        Ok(Mute)
    }
}

/// The graph of a text that is right.
pub fn graph_of(text: &str) -> Graph {
    load(text).unwrap_or_else(|found| panic!("{found}\n{text}"))
}

/// The graph of a text, or its errors.
pub fn load(text: &str) -> Result<Graph, String> {
    let mut sources = Sources::new();
    let kinds = Catalogue::new(&[Keep::declaration(), Mute::declaration()]);
    let loaded = load_text("test.flow", text, &Options::default(), &kinds, &mut sources);
    let found: String = loaded.diagnostics.iter().map(|one| sources.render(one)).collect();
    loaded.graph.ok_or(found)
}

/// Time between two packets.
pub const PACKET_NS: u64 = 10_000_000;

/// What two instances of a program in a row make of packets: the same in both engines.
pub fn run(program: &str, packets: &[Vec<u8>]) -> (Both, Vec<Vec<u8>>) {
    run_linked(program, "one.other -> end.b", packets)
}

/// The same, where the other output of the first leads elsewhere.
pub fn run_linked(program: &str, other: &str, packets: &[Vec<u8>]) -> (Both, Vec<Vec<u8>>) {
    let text = format!(
        "{program}
        mute :: Mute  one :: P  two :: P  end :: Keep
        mute -> one.in  one.out -> two.in  two.out -> end  {other}  two.other -> end.c"
    );
    let mut both = Both::new();
    both.configure(&graph_of(&text));
    let mut seen = [Vec::new(), Vec::new()];
    for (engine, seen) in [&mut both.compiled, &mut both.dispatched].into_iter().zip(&mut seen) {
        KEPT.with_borrow_mut(Vec::clear);
        for (at, bytes) in packets.iter().enumerate() {
            engine.set_time((at as u64 + 1) * PACKET_NS, 0);
            let packet = engine.pool().packet_of(bytes).expect("they are few");
            engine.inject("one", "in", packet).expect("it has this link");
            (0..3).for_each(|_| _ = engine.breathe());
        }
        *seen = KEPT.take();
    }
    both.compare();
    for (app, table) in
        ["one", "two"].into_iter().flat_map(|app| ["t", "p", "q", "r", "y"].map(|it| (app, it)))
    {
        let rows = [&both.compiled, &both.dispatched].map(|engine| engine.table_rows(app, table));
        assert_eq!(rows[0], rows[1], "{text}");
    }
    let [compiled, dispatched] = seen;
    assert_eq!(compiled, dispatched, "{text}");
    (both, compiled)
}

/// The sum of RFC 1071 of bytes.
pub fn sum(bytes: &[u8], before: u64) -> u64 {
    let words = bytes.chunks(2);
    let all = words.map(|word| u64::from(word[0]) << 8 | u64::from(*word.get(1).unwrap_or(&0)));
    let mut sum = before + all.sum::<u64>();
    while sum > 0xFFFF {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    sum
}

/// A frame with tags, options of IPv4 and right checksums.
pub fn frame(random: &mut Rng, tags: usize, protocol: u8) -> Vec<u8> {
    let mut bytes: Vec<u8> = (0..12).map(|_| random.below(256) as u8).collect();
    (0..tags).for_each(|_| bytes.extend([0x81, 0, 0x20, 7]));
    bytes.extend([8, 0]);
    let network = bytes.len();
    let words = 5 + random.below(3) as u8;
    let transport = network + usize::from(words) * 4;
    let payload = 20 + random.below(40) as usize;
    bytes.resize(transport + payload, 0);
    bytes[network + 1..].iter_mut().for_each(|byte| *byte = random.below(256) as u8);
    bytes[network] = 0x40 | words;
    let total = (transport + payload - network) as u16;
    bytes[network + 2..network + 4].copy_from_slice(&total.to_be_bytes());
    bytes[network + 6..network + 8].copy_from_slice(&[0x40, 0]);
    bytes[network + 9] = protocol;
    bytes[network + 10..network + 12].fill(0);
    let header = !(sum(&bytes[network..transport], 0) as u16);
    bytes[network + 10..network + 12].copy_from_slice(&header.to_be_bytes());
    if protocol == 17 {
        bytes[transport + 4..transport + 6].copy_from_slice(&(payload as u16).to_be_bytes());
    }
    let field = transport + if protocol == 6 { 16 } else { 6 };
    bytes[field..field + 2].fill(0);
    let pseudo = u64::from(protocol) + payload as u64;
    let pseudo = sum(&bytes[network + 12..network + 20], pseudo);
    let made = match !(sum(&bytes[transport..], pseudo) as u16) {
        0 => 0xFFFF,
        made => made,
    };
    bytes[field..field + 2].copy_from_slice(&made.to_be_bytes());
    assert!(is_right(&bytes, network), "made right");
    bytes
}

/// Whether the checksums of a frame are right.
pub fn is_right(bytes: &[u8], network: usize) -> bool {
    let transport = network + usize::from(bytes[network] & 15) * 4;
    let protocol = bytes[network + 9];
    let pseudo = u64::from(protocol) + (bytes.len() - transport) as u64;
    let pseudo = sum(&bytes[network + 12..network + 20], pseudo);
    let field = transport + 6;
    let has_none = protocol == 17 && bytes[field..field + 2] == [0, 0];
    sum(&bytes[network..transport], 0) == 0xFFFF
        && (has_none || sum(&bytes[transport..], pseudo) == 0xFFFF)
}
