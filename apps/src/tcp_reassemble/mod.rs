//! TCP segments in the order of their bytes (RFC 9293), for those who look at streams.

mod segment;
mod stream;

use std::time::Duration;

use tidemill_packet::Packet;
use tidemill_packet::app::{App, ConfigError, Fault, Flushed, Io, Reconfigured, Start};
use tidemill_stdx::keyed::Map;
use tidemill_stdx::sorted::SortedSet;

use segment::{Direction, Segment};
use stream::{Order, Outcome, SEGMENT_COST, Stream, cost};

tidemill_packet::declare! {
    /// Passes TCP segments in the order of their bytes, each byte once.
    ///
    /// A segment that comes too early waits for those before it; what it has in common with one
    /// that was sent is cut off it. After `gap_ms`, or when too many bytes wait, what is missing is
    /// given up (`gaps`). Segments of which all has been sent go to `duplicates`, or without a link
    /// are dropped as `duplicate`: receivers behind the app may need them, if those before were
    /// lost on the way. Segments without bytes, and what is not TCP, a fragment or cut, pass.
    ///
    /// A connection that is first seen in its middle begins there. Those beyond `streams` pass as
    /// they come (`untracked`).
    app TcpReassemble {
        config TcpReassembleConfig {
            /// Milliseconds that a segment waits for those before it.
            gap_ms: u32 = 1000,
            /// Bytes of memory for all segments that wait.
            bytes: u32 = 16777216,
            /// Directions of connections at once.
            streams: u32 = 100000,
            /// Seconds without a segment after which a connection is forgotten.
            timeout: u32 = 300,
        }
        ports {
            /// Segments in any order.
            input: Input(Push, One),
            /// What is in order.
            output: Output(Push, One),
            /// Segments of which all has been sent before.
            duplicates: Output(Push, Optional),
        }
        traits {}
    }
}

const OUTPUT: usize = 0;
const DUPLICATES: usize = 1;

/// The period in which gaps are given up.
const TICK: Duration = Duration::from_millis(10);

/// The period in which connections are forgotten.
const FORGET_NS: u64 = 1_000_000_000;

/// See [`TcpReassemble::declaration`](tidemill_packet::app::Declared::declaration).
pub struct TcpReassemble {
    config: TcpReassembleConfig,
    streams: Map<Direction, Stream>,
    /// Those with segments that wait.
    waiting: SortedSet<Direction>,
    /// What all segments that wait cost.
    bytes: usize,
    forgotten_ns: u64,
    trimmed: u64,
    gaps: u64,
    untracked: u64,
}

/// Sends packets as what they are.
fn sender(io: &mut Io) -> impl FnMut(Order, Packet) + use<'_> {
    let is_linked = io.is_linked(DUPLICATES);
    move |order, packet| match order {
        Order::InOrder => io.send(OUTPUT, packet),
        Order::Duplicate if is_linked => io.send(DUPLICATES, packet),
        Order::Duplicate => io.drop(packet, "duplicate"),
    }
}

impl TcpReassemble {
    fn take(&mut self, packet: Packet, io: &mut Io) {
        let Some(segment) = Segment::of(&packet) else { return io.send(OUTPUT, packet) };
        let (direction, now_ns) = (segment.direction, io.now_ns());
        let may_add = self.streams.len() < self.config.streams as usize;
        if !may_add && !self.streams.contains_key(&direction) {
            self.untracked += 1;
            return io.send(OUTPUT, packet);
        }
        let new = || Stream::new(&segment, now_ns);
        let stream = self.streams.entry(direction).or_insert_with(new);
        let before = stream.cost();
        let may_hold = self.bytes + cost(&packet) <= self.config.bytes as usize;
        let outcome = stream.take((segment, packet), now_ns, may_hold, &mut sender(io));
        self.changed(direction, before, outcome);
    }

    /// Continues after a change of a stream, whose waiting segments cost something before.
    fn changed(&mut self, direction: Direction, before: usize, outcome: Outcome) {
        self.trimmed += outcome.trimmed;
        self.gaps += outcome.gaps;
        let Some(stream) = self.streams.get(&direction) else { return };
        if before == 0 && !stream.waits() {
            return;
        }
        self.bytes = self.bytes + stream.cost() - before;
        if stream.waits() {
            self.waiting.insert(direction);
        } else {
            self.waiting.remove(&direction);
        }
    }

    /// Gives up what has been waited for too long.
    fn skip(&mut self, io: &mut Io) {
        let gap_ns = u64::from(self.config.gap_ms) * 1_000_000;
        let Some(since_ns) = io.now_ns().checked_sub(gap_ns) else { return };
        let waiting: Vec<Direction> = self.waiting.iter().copied().collect();
        for direction in waiting {
            let Some(stream) = self.streams.get_mut(&direction) else { continue };
            let before = stream.cost();
            let outcome = stream.skip_since(since_ns, &mut sender(io));
            self.changed(direction, before, outcome);
        }
    }

    fn forget(&mut self, now_ns: u64) {
        self.forgotten_ns = now_ns;
        let timeout_ns = u64::from(self.config.timeout) * 1_000_000_000;
        self.streams.retain(|_, stream| {
            stream.waits() || now_ns.saturating_sub(stream.used_ns) < timeout_ns
        });
    }
}

impl App for TcpReassemble {
    const GAUGES: &'static [&'static str] = &["streams", "waiting_bytes"];

    fn validate(config: &TcpReassembleConfig) -> Result<(), ConfigError> {
        let least = tidemill_packet::packet::MEMORY_MAX + SEGMENT_COST;
        match (config.streams, config.bytes as usize) {
            (0, _) => Err(ConfigError::new("streams", "it must be 1 at least")),
            (_, bytes) if bytes < least => {
                Err(ConfigError::new("bytes", format!("it must be {least} at least")))
            }
            _ => Ok(()),
        }
    }

    fn new(config: TcpReassembleConfig, start: &mut Start) -> Result<TcpReassemble, Fault> {
        Ok(TcpReassemble {
            config,
            streams: Map::default(),
            waiting: SortedSet::new(),
            bytes: 0,
            forgotten_ns: start.now_ns(),
            trimmed: 0,
            gaps: 0,
            untracked: 0,
        })
    }

    fn reconfigure(&mut self, config: TcpReassembleConfig) -> Reconfigured {
        self.config = config;
        Reconfigured::Kept
    }

    fn push(&mut self, io: &mut Io) -> Result<(), Fault> {
        while let Some(packet) = io.receive(0) {
            self.take(packet, io);
        }
        Ok(())
    }

    fn tick_every(&self) -> Option<Duration> {
        Some(TICK)
    }

    fn tick(&mut self, io: &mut Io) -> Result<(), Fault> {
        self.skip(io);
        if io.now_ns() >= self.forgotten_ns + FORGET_NS {
            self.forget(io.now_ns());
        }
        Ok(())
    }

    /// What waits is sent, stream by stream, although something before it is missing.
    fn flush(&mut self, io: &mut Io) -> Result<Flushed, Fault> {
        while let Some(direction) = self.waiting.iter().next().copied() {
            let Some(stream) = self.streams.get_mut(&direction) else { break };
            if io.room(OUTPUT) < stream.waiting() {
                return Ok(Flushed::Partly);
            }
            let before = stream.cost();
            let gaps = stream.give_up(&mut sender(io));
            self.changed(direction, before, Outcome { gaps, ..Outcome::default() });
        }
        Ok(Flushed::All)
    }

    fn report(&self) -> Vec<(&'static str, u64)> {
        vec![
            ("gaps", self.gaps),
            ("streams", self.streams.len() as u64),
            ("trimmed", self.trimmed),
            ("untracked", self.untracked),
            ("waiting_bytes", self.bytes as u64),
        ]
    }
}
