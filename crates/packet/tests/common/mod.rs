//! Apps that tests are made of.
#![allow(dead_code, reason = "not every test that shares this module uses all of it")]

pub mod both;

use std::sync::Arc;
use std::time::Duration;

use tidemill_diag::Sources;
use tidemill_event::Loop;
use tidemill_packet::Packet;
use tidemill_packet::app::{
    App, Bell, Catalogue, Declared, Fault, Io, Progress, Reconfigured, Start,
};
use tidemill_packet::drive::{Driver, World};
use tidemill_packet::engine::{Engine, Options};
use tidemill_packet::flow;
use tidemill_packet::graph::Graph;
use tidemill_packet::kernel::{self, Running};
use tidemill_stdx::hash::hash_bytes;
use tidemill_stdx::rng::Rng;

macro_rules! app {
    ($(#[doc = $doc:literal])+ $name:ident $config:ident
        { $($key:ident: $type:ty $(= $default:expr)?,)* }
        ($($port:ident: $direction:ident($pacing:ident, $count:ident)),*)
        ($($trait:ident),*)) => {
        tidemill_packet::declare! {
            $(#[doc = $doc])+
            app $name {
                config $config { $(#[doc = " A key."] $key: $type $(= $default)?,)* }
                ports { $(#[doc = " A port."] $port: $direction($pacing, $count),)* }
                traits { $($trait),* }
            }
        }
    };
}

pub mod defined;

app! {
    /// Brings packets of 60 bytes, numbered by their marks.
    Feed FeedConfig { packets: u64, } (output: Output(Push, One)) (pulls)
}
pub struct Feed(u64, u64);
impl App for Feed {
    fn new(config: FeedConfig, _: &mut Start) -> Result<Feed, Fault> {
        Ok(Feed(0, config.packets))
    }
    fn pull(&mut self, io: &mut Io) -> Result<Progress, Fault> {
        for _ in 0..io.room(0).min(100) {
            if self.0 == self.1 {
                return Ok(Progress::Done);
            }
            let Some(mut packet) = io.packet_of(&[0; 60]) else { break };
            packet.set_mark(self.0);
            self.0 += 1;
            io.send(0, packet);
        }
        Ok(Progress::Ready)
    }
}

app! {
    /// Passes packets on.
    Pass PassConfig { tag: u64 = 0, }
    (input: Input(Either, One), output: Output(Either, One)) (passes)
}
pub struct Pass(u64);
impl App for Pass {
    fn new(config: PassConfig, _: &mut Start) -> Result<Pass, Fault> {
        Ok(Pass(config.tag))
    }
    fn push(&mut self, io: &mut Io) -> Result<(), Fault> {
        while let Some(packet) = io.receive(0) {
            io.send(0, packet);
        }
        Ok(())
    }
    fn reconfigure(&mut self, config: PassConfig) -> Reconfigured {
        self.0 = config.tag;
        Reconfigured::Kept
    }
}

app! {
    /// Takes packets.
    Collect CollectConfig { limit: u64 = 0, } (input: Input(Push, One)) ()
}
pub struct Collect(u64, u64);
impl App for Collect {
    fn new(config: CollectConfig, _: &mut Start) -> Result<Collect, Fault> {
        if config.limit == 666 {
            Err(Fault::new("this limit cannot be"))
        } else {
            Ok(Collect(0, 0))
        }
    }
    fn can_take(&self, config: &CollectConfig) -> Result<(), Fault> {
        match config.limit {
            667 => Err(Fault::new("this limit is not to be had")),
            _ => Ok(()),
        }
    }
    fn push(&mut self, io: &mut Io) -> Result<(), Fault> {
        while let Some(packet) = io.receive(0) {
            self.1 += u64::from(packet.mark() == self.0);
            self.0 += 1;
        }
        Ok(())
    }
    fn report(&self) -> Vec<(&'static str, u64)> {
        vec![("taken", self.0), ("in_order", self.1)]
    }
}

app! {
    /// Keeps packets.
    Hold HoldConfig {} (input: Input(Push, One), output: Output(Push, One)) ()
}
pub struct Hold(Vec<Packet>);
impl App for Hold {
    fn new(_: HoldConfig, _: &mut Start) -> Result<Hold, Fault> {
        Ok(Hold(Vec::new()))
    }
    fn push(&mut self, io: &mut Io) -> Result<(), Fault> {
        while let Some(packet) = io.receive(0) {
            self.0.push(packet);
        }
        Ok(())
    }
    fn report(&self) -> Vec<(&'static str, u64)> {
        vec![("held", self.0.len() as u64)]
    }
}

app! {
    /// Sends round what comes.
    Circle CircleConfig {}
    (input: Input(Push, One), back: Input(Push, One), output: Output(Push, One)) ()
}
pub struct Circle;
impl App for Circle {
    fn new(_: CircleConfig, _: &mut Start) -> Result<Circle, Fault> {
        Ok(Circle)
    }
    fn push(&mut self, io: &mut Io) -> Result<(), Fault> {
        for input in 0..2 {
            while let Some(packet) = io.receive(input) {
                io.send(0, packet);
            }
        }
        Ok(())
    }
}

app! {
    /// Copies.
    Fork ForkConfig {} (input: Input(Either, One), output: Output(Either, Many)) (passes)
}
pub struct Fork;
impl App for Fork {
    fn new(_: ForkConfig, _: &mut Start) -> Result<Fork, Fault> {
        Ok(Fork)
    }
    fn push(&mut self, io: &mut Io) -> Result<(), Fault> {
        while let Some(packet) = io.receive(0) {
            for output in 0..io.outputs() {
                if let Some(copy) = io.duplicate(&packet) {
                    io.send(output, copy);
                }
            }
        }
        Ok(())
    }
}

app! {
    /// Panics at a packet.
    Bad BadConfig { at: u64, } (input: Input(Push, One), output: Output(Push, One)) ()
}
pub struct Bad(u64, u64);
impl App for Bad {
    fn new(config: BadConfig, _: &mut Start) -> Result<Bad, Fault> {
        Ok(Bad(0, config.at))
    }
    fn push(&mut self, io: &mut Io) -> Result<(), Fault> {
        while let Some(packet) = io.receive(0) {
            self.0 += 1;
            match (self.0 == self.1, self.1) {
                (true, 1) => return Err(Fault::new("the first packet")),
                (true, _) => panic!("the third packet"),
                _ => io.send(0, packet),
            }
        }
        Ok(())
    }
}

app! {
    /// Takes packets at its own pace.
    Pacer PacerConfig {} (input: Input(Pull, One), output: Output(Push, One)) (pulls)
}
pub struct Pacer(u64);
impl App for Pacer {
    fn new(_: PacerConfig, _: &mut Start) -> Result<Pacer, Fault> {
        Ok(Pacer(0))
    }
    fn pull(&mut self, io: &mut Io) -> Result<Progress, Fault> {
        self.0 += 1;
        match io.receive(0) {
            Some(packet) => {
                io.send(0, packet);
                Ok(Progress::Ready)
            }
            None => Ok(Progress::Asleep),
        }
    }
    fn report(&self) -> Vec<(&'static str, u64)> {
        vec![("pulls", self.0)]
    }
}

app! {
    /// Brings nothing, and sleeps.
    Never NeverConfig {} (output: Output(Push, One)) (pulls)
}
pub struct Never;
impl App for Never {
    fn new(_: NeverConfig, _: &mut Start) -> Result<Never, Fault> {
        Ok(Never)
    }
    fn pull(&mut self, _: &mut Io) -> Result<Progress, Fault> {
        Ok(Progress::Asleep)
    }
}

app! {
    /// Brings one packet after so many seconds, and must be asked.
    Polled PolledConfig { from: u64, } (output: Output(Push, One)) (pulls)
}
pub struct Polled(u64, u64);
impl App for Polled {
    fn new(config: PolledConfig, _: &mut Start) -> Result<Polled, Fault> {
        Ok(Polled(config.from * 1_000_000_000, 0))
    }
    fn pull(&mut self, io: &mut Io) -> Result<Progress, Fault> {
        self.1 += 1;
        if io.now_ns() < self.0 {
            return Ok(Progress::Poll);
        }
        if let Some(packet) = io.packet() {
            io.send(0, packet);
        }
        Ok(Progress::Done)
    }
    fn report(&self) -> Vec<(&'static str, u64)> {
        vec![("pulls", self.1)]
    }
}

app! {
    /// Brings packets of random bytes and lengths.
    Noise NoiseConfig { packets: u64, seed: u64 = 1, burst: u64 = 100, }
    (output: Output(Push, Many)) (pulls)
}
pub struct Noise(Rng, u64, u64);
impl App for Noise {
    fn new(config: NoiseConfig, _: &mut Start) -> Result<Noise, Fault> {
        Ok(Noise(Rng::new(config.seed), config.packets, config.burst))
    }
    fn pull(&mut self, io: &mut Io) -> Result<Progress, Fault> {
        for _ in 0..self.0.below(self.2 + 1).min(io.room(0) as u64) {
            if self.1 == 0 {
                return Ok(Progress::Done);
            }
            self.1 -= 1;
            let length = self.0.below(100);
            let bytes: Vec<u8> = (0..length).map(|_| self.0.next_u64() as u8).collect();
            let Some(mut packet) = io.packet_of(&bytes) else { break };
            packet.set_mark(self.1);
            io.send(0, packet);
        }
        Ok(if self.1 == 0 { Progress::Done } else { Progress::Ready })
    }
}

app! {
    /// Takes packets, and remembers what they were in one number.
    Digest DigestConfig {} (input: Input(Push, Many)) ()
}
pub struct Digest(u64, u64);
impl App for Digest {
    fn new(_: DigestConfig, _: &mut Start) -> Result<Digest, Fault> {
        Ok(Digest(0, 0))
    }
    fn push(&mut self, io: &mut Io) -> Result<(), Fault> {
        for input in 0..io.inputs() {
            while let Some(packet) = io.receive(input) {
                self.0 += 1;
                let seen = hash_bytes(packet.bytes()) ^ packet.mark().rotate_left(17);
                self.1 = self.1.rotate_left(5).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ seen;
            }
        }
        Ok(())
    }
    fn report(&self) -> Vec<(&'static str, u64)> {
        vec![("taken", self.0), ("digest", self.1)]
    }
}

app! {
    /// A kernel, as text.
    Code CodeConfig { text: String, }
    (input: Input(Either, Many), output: Output(Either, Many)) (kernel)
}
pub struct Code(Running);
impl App for Code {
    fn new(config: CodeConfig, _: &mut Start) -> Result<Code, Fault> {
        let kernel = kernel::parse(&config.text, &|_| None)?;
        kernel.verify().map_err(|wrong| Fault::new(wrong.to_string()))?;
        Ok(Code(Running::new(Arc::new(kernel))))
    }
    fn push(&mut self, io: &mut Io) -> Result<(), Fault> {
        self.0.push(io);
        Ok(())
    }
    fn kernel(&self) -> Option<&Running> {
        Some(&self.0)
    }
}

app! {
    /// A source that a text says.
    Makes MakesConfig { text: String, } (output: Output(Push, Many)) (pulls, kernel)
}
pub struct Makes(Running);
impl App for Makes {
    fn new(config: MakesConfig, start: &mut Start) -> Result<Makes, Fault> {
        let config = CodeConfig { text: config.text };
        Ok(Makes(Code::new(config, start)?.0))
    }
    fn pull(&mut self, io: &mut Io) -> Result<Progress, Fault> {
        Ok(self.0.pull(io))
    }
    fn kernel(&self) -> Option<&Running> {
        Some(&self.0)
    }
}

app! {
    /// A source that is polled, and brings a packet whenever its bell rings: every so many ticks.
    Rings RingsConfig { every_ms: u64, } (output: Output(Push, Many)) (pulls)
}
pub struct Rings(Bell, Duration, u64);
impl App for Rings {
    fn new(config: RingsConfig, _: &mut Start) -> Result<Rings, Fault> {
        Ok(Rings(Bell::silent(), Duration::from_millis(config.every_ms), 0))
    }
    fn tick_every(&self) -> Option<Duration> {
        Some(self.1)
    }
    fn tick(&mut self, _: &mut Io) -> Result<(), Fault> {
        self.0.ring();
        Ok(())
    }
    fn bell(&self) -> Option<&Bell> {
        Some(&self.0)
    }
    fn pull(&mut self, io: &mut Io) -> Result<Progress, Fault> {
        assert!(self.0.rings(), "it is not called before");
        self.0.drain();
        self.2 += 1;
        if let Some(packet) = io.packet_of(&self.2.to_be_bytes()) {
            io.send(0, packet);
        }
        match self.2 % 7 {
            0 => Err(Fault::new("every seventh")),
            _ => Ok(Progress::Poll),
        }
    }
}

app! {
    /// Copies what comes from anywhere to everywhere.
    Fork2 Fork2Config {} (input: Input(Either, Many), output: Output(Either, Many)) (passes)
}
pub struct Fork2;
impl App for Fork2 {
    fn new(_: Fork2Config, _: &mut Start) -> Result<Fork2, Fault> {
        Ok(Fork2)
    }
    fn push(&mut self, io: &mut Io) -> Result<(), Fault> {
        for input in 0..io.inputs() {
            while let Some(packet) = io.receive(input) {
                for output in 0..io.outputs() {
                    // As long as there is little to do, so that cycles do not swell for ever.
                    if io.room(output) > 700
                        && let Some(copy) = io.duplicate(&packet)
                    {
                        io.send(output, copy);
                    }
                }
            }
        }
        Ok(())
    }
}

app! {
    /// Passes packets on, and panics at one now and then.
    Shaky ShakyConfig { at: u64, } (input: Input(Push, Many), output: Output(Push, Many)) ()
}
pub struct Shaky(u64, u64);
impl App for Shaky {
    fn new(config: ShakyConfig, _: &mut Start) -> Result<Shaky, Fault> {
        Ok(Shaky(0, config.at))
    }
    fn push(&mut self, io: &mut Io) -> Result<(), Fault> {
        for input in 0..io.inputs() {
            while let Some(packet) = io.receive(input) {
                self.0 += 1;
                if self.0 == self.1 {
                    panic!("shaken");
                }
                io.send(0, packet);
            }
        }
        Ok(())
    }
}

app! {
    /// Pulls at its own pace, three packets a breath.
    Takes TakesConfig {} (input: Input(Pull, Many), output: Output(Push, Many)) (pulls)
}
pub struct Takes;
impl App for Takes {
    fn new(_: TakesConfig, _: &mut Start) -> Result<Takes, Fault> {
        Ok(Takes)
    }
    fn pull(&mut self, io: &mut Io) -> Result<Progress, Fault> {
        let mut taken = 0;
        for input in 0..io.inputs() {
            while taken < 3
                && let Some(packet) = io.receive(input)
            {
                taken += 1;
                io.send(0, packet);
            }
        }
        Ok(if taken == 0 { Progress::Asleep } else { Progress::Ready })
    }
}

app! {
    /// Takes what is pushed into it when it is pulled, and now and then when it is pushed.
    Greedy GreedyConfig {} (input: Input(Push, Many), output: Output(Push, Many)) (pulls)
}
pub struct Greedy(u64);
impl App for Greedy {
    fn new(_: GreedyConfig, _: &mut Start) -> Result<Greedy, Fault> {
        Ok(Greedy(0))
    }
    fn pull(&mut self, io: &mut Io) -> Result<Progress, Fault> {
        self.0 += 1;
        for input in 0..io.inputs() {
            while let Some(packet) = io.receive(input) {
                io.send(0, packet);
            }
        }
        Ok(if self.0 < 40 { Progress::Poll } else { Progress::Done })
    }
    fn push(&mut self, io: &mut Io) -> Result<(), Fault> {
        if self.0.is_multiple_of(3) {
            self.pull(io)?;
        }
        Ok(())
    }
    fn report(&self) -> Vec<(&'static str, u64)> {
        vec![("calls", self.0)]
    }
}

/// All of them.
pub fn kinds() -> Catalogue {
    Catalogue::new(&[
        Feed::declaration(),
        Pass::declaration(),
        Collect::declaration(),
        Hold::declaration(),
        Circle::declaration(),
        Fork::declaration(),
        Bad::declaration(),
        Pacer::declaration(),
        Never::declaration(),
        Polled::declaration(),
        Noise::declaration(),
        Digest::declaration(),
        Code::declaration(),
        Makes::declaration(),
        Rings::declaration(),
        Fork2::declaration(),
        Shaky::declaration(),
        Takes::declaration(),
        Greedy::declaration(),
    ])
}

/// The graph of a text that is right.
pub fn graph_of(text: &str) -> Graph {
    let mut sources = Sources::new();
    let options = flow::Options::default();
    let loaded = flow::load_text("test.flow", text, &options, &kinds(), &mut sources);
    let found: String = loaded.diagnostics.iter().map(|one| sources.render(one)).collect();
    loaded.graph.unwrap_or_else(|| panic!("{found}"))
}

/// A world with a driver and nothing else.
pub struct OnlyPackets(Driver);

impl World for OnlyPackets {
    fn driver(&mut self) -> &mut Driver {
        &mut self.0
    }

    fn breathed(&mut self, _: &mut Loop<OnlyPackets>, _: tidemill_packet::engine::Rest) {}
}

/// A fresh one.
pub fn world() -> OnlyPackets {
    OnlyPackets(Driver::new(Engine::new(Options::default())))
}
