//! The text form of kernels: what reads prints as it reads, and what is verified does the same to
//! packets interpreted and compiled.

use std::sync::Arc;
use std::time::Duration;

use tidemill_packet::app::{App, Config, Declared, Fault, Io, Start};
use tidemill_packet::engine::{Engine, EngineKind, Options};
use tidemill_packet::graph::Graph;
use tidemill_packet::kernel::{Kernel, Running, parse};

tidemill_packet::declare! {
    /// A kernel, as text.
    app Coded {
        config CodedConfig {
            /// The kernel.
            text: String,
        }
        ports {
            /// Packets.
            input: Input(Either, Many),
            /// Packets.
            output: Output(Either, Many),
        }
        traits { kernel }
    }
}

struct Coded(Running);

impl App for Coded {
    fn new(config: CodedConfig, start: &mut Start) -> Result<Coded, Fault> {
        Ok(Coded(Running::start(Arc::new(parse(&config.text, &|_| None)?), start)))
    }

    fn tick_every(&self) -> Option<Duration> {
        self.0.tick_every()
    }

    fn tick(&mut self, io: &mut Io) -> Result<(), Fault> {
        self.0.tick(io);
        Ok(())
    }

    fn push(&mut self, io: &mut Io) -> Result<(), Fault> {
        self.0.push(io);
        Ok(())
    }

    fn kernel(&self) -> Option<&Running> {
        Some(&self.0)
    }
}

tidemill_packet::declare! {
    /// Takes packets, and tells of their bytes.
    app Taker {
        config TakerConfig {}
        ports {
            /// Packets.
            input: Input(Push, Many),
        }
        traits {}
    }
}

struct Taker(u64, u64);

impl App for Taker {
    fn new(_: TakerConfig, _: &mut Start) -> Result<Taker, Fault> {
        Ok(Taker(0, 0))
    }

    fn push(&mut self, io: &mut Io) -> Result<(), Fault> {
        for input in 0..io.inputs() {
            while let Some(packet) = io.receive(input) {
                self.0 += 1;
                let bytes = packet.bytes().iter().map(|&byte| u64::from(byte));
                let marked = bytes.fold(packet.mark(), |sum, byte| sum.wrapping_mul(257) ^ byte);
                self.1 = self.1.wrapping_mul(31).wrapping_add(marked);
            }
        }
        Ok(())
    }

    fn report(&self) -> Vec<(&'static str, u64)> {
        vec![("taken", self.0), ("bytes", self.1)]
    }
}

/// A kernel that is right, or nothing.
fn read(text: &str) -> Option<Kernel> {
    let kernel = parse(text, &|_| None).ok()?;
    let printed = kernel.to_string();
    assert_eq!(parse(&printed, &|_| None).as_ref(), Ok(&kernel), "{printed}");
    kernel.verify().is_ok().then_some(kernel)
}

/// Two kernels in a row, then a taker, and a taker for the other outputs.
fn graph(text: &str) -> Graph {
    let mut graph = Graph::new();
    let config = || Config::new().with("text", text);
    let one = graph.app("one", Coded::declaration(), config());
    let two = graph.app("two", Coded::declaration(), config());
    let end = graph.app("end", Taker::declaration(), Config::new());
    graph.link((two, "back"), (end, "back"));
    graph.link((one, "on"), (two, "in"));
    graph.link((two, "out"), (end, "in"));
    // Links have two ends: an app that sends nothing.
    let nothing = Config::new().with("text", "kernel Nothing\nb0:\ntake\n");
    let feed = graph.app("feed", Coded::declaration(), nothing);
    graph.link((feed, "on"), (one, "in"));
    graph
}

/// Time between two breaths.
const BREATH_NS: u64 = 20_000_000;

/// Panics if reading, printing, interpreting and compiling `input` do not agree: a kernel up to the
/// first zero, then packets, each 40 bytes.
pub fn check(input: &[u8]) {
    let mut parts = input.splitn(2, |&byte| byte == 0);
    let Ok(text) = str::from_utf8(parts.next().unwrap_or_default()) else { return };
    if read(text).is_none() {
        return;
    }
    let packets = parts.next().unwrap_or_default();
    let mut seen = [EngineKind::Compiled, EngineKind::Dispatch].map(|kind| {
        let mut engine = Engine::new(Options { kind, ..Options::default() });
        engine.configure(graph(text)).expect("the kernel is right");
        for bytes in packets.chunks(40).chain([&[0; 90][..], &[], &[255; 17], &[3; 1640]]) {
            let packet = engine.pool().packet_of(bytes).expect("they are few");
            engine.inject("one", "in", packet).expect("it has this link");
        }
        for breath in 0..4 {
            engine.set_time(breath * BREATH_NS, 0);
            engine.breathe();
        }
        let names = ["one", "two", "end"];
        let apps: Vec<_> = names.iter().map(|name| engine.app_stats(name)).collect();
        let links: Vec<_> =
            engine.graph().links.iter().map(|link| engine.graph().link_name(link)).collect();
        let links: Vec<_> = links.iter().map(|link| engine.link_stats(link)).collect();
        (apps, links, engine.pool_stats().alive())
    });
    let [compiled, dispatched] = &mut seen;
    assert_eq!(compiled, dispatched, "{text}");
}

/// True for the text of a kernel that is right.
pub fn is_understood(input: &[u8]) -> bool {
    let text = input.split(|&byte| byte == 0).next().unwrap_or_default();
    str::from_utf8(text).is_ok_and(|text| read(text).is_some())
}
