//! Traffic of a link as a capture, generated from a seed, with its true contents, which the counts
//! of programs are compared with.
//!
//! Flows send at random times, independently of each other, so captures of many flows are as mixed
//! as those of a busy link. One in a hundred sends forty times as often, and large packets; one in
//! twenty is a sensor with telemetry (see `examples/flows`). Packets are counted as they are
//! generated, without code shared with readers.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::io::{self, Write};

use tidemill_stdx::rng::Rng;

/// The beginning of captures: a full window of ten seconds, in nanoseconds since the epoch.
pub const START_NS: u64 = 1_795_255_200_000_000_000;
/// The window over which the bytes of sources are summed.
pub const WINDOW_NS: u64 = 10_000_000_000;
/// The bytes of a source in a window from which on it is heavy.
pub const HEAVY: u64 = 100_000;
/// The degrees from which on there is an alarm.
pub const HOT: f64 = 80.0;

/// The maximum gap between packets of a flow, except for pauses.
const GAP_NS_MAX: u64 = 8_000_000_000;
/// A pause is well over the 15 seconds that end a flow.
const PAUSE_NS: u64 = 20_000_000_000;
/// The bytes of a packet that are kept.
const SNAP: usize = 128;
/// The rate of bulk flows, relative to others.
const BULK_RATE: f64 = 40.0;
/// One in this many flows is bulk.
const BULK_EVERY: u32 = 100;
/// The mean relative rate of flows.
const MEAN_RATE: f64 = 1.0 + (BULK_RATE - 1.0) / BULK_EVERY as f64;
/// The size of bulk packets, if packets may be this large.
const BULK_BYTES: u32 = 1400;

/// The parameters of a capture.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Plan {
    /// The seed of all random numbers.
    pub seed: u64,
    /// Flows that send during the whole capture.
    pub flows: u32,
    /// The approximate number of packets.
    pub packets: u32,
    /// The duration.
    pub seconds: u32,
    /// The maximum size of a packet on the wire; each packet draws its own size.
    pub bytes_max: u32,
    /// One in this many flows pauses for longer than the idle time; 0: none.
    pub pauses: u32,
}

/// The contents of a capture.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Truth {
    /// Flows: same addresses, protocol and ports, until no packet comes for 15 seconds.
    pub flows: u64,
    /// Packets of flows.
    pub packets: u64,
    /// Their bytes on the wire.
    pub bytes: u64,
    /// Packets that are not of IPv4.
    pub others: u64,
    /// Pairs of a flow and a window in which it sent.
    pub parts: u64,
    /// Windows in which a source sent at least [`HEAVY`] bytes.
    pub heavy: u64,
    /// Readings of at least [`HOT`] degrees.
    pub alarms: u64,
    /// Packets to the telemetry port without telemetry.
    pub odd: u64,
}

impl Truth {
    /// The line with which the program of `examples/flows` ends.
    pub fn line(&self) -> String {
        let Truth { flows, packets, bytes, others, heavy, alarms, .. } = self;
        format!(
            "{flows} flows, {packets} packets, {bytes} bytes, {others} packets of other kinds, \
             {heavy} times heavy, {alarms} alarms"
        )
    }
}

/// One flow in progress.
struct Flow {
    source: u32,
    target: u32,
    is_tcp: bool,
    ports: [u16; 2],
    /// It is a sensor.
    is_sensor: bool,
    /// It is bulk.
    is_bulk: bool,
    /// The time of the last packet, and its window.
    last_ns: u64,
    window: u64,
    /// The time of its pause.
    pauses_at_ns: Option<u64>,
}

/// Generates and writes a capture.
struct Maker<'w, W> {
    output: &'w mut W,
    chance: Rng,
    truth: Truth,
    /// Bytes that sources sent in the current and the last windows.
    sent: HashMap<(u64, u32), u64>,
    /// The mean gap between two packets of a flow.
    gap_ns: f64,
    bytes_max: u32,
    frame: Vec<u8>,
}

impl Plan {
    /// Writes the capture; returns its contents.
    ///
    /// # Errors
    /// Those of the output.
    pub fn write<W: Write>(&self, output: &mut W) -> io::Result<Truth> {
        let end_ns = START_NS + u64::from(self.seconds) * 1_000_000_000;
        let gap_ns = f64::from(self.seconds) * 1e9 * f64::from(self.flows);
        let mut maker = Maker {
            output,
            chance: Rng::new(self.seed),
            truth: Truth::default(),
            sent: HashMap::new(),
            gap_ns: gap_ns / f64::from(self.packets.max(1)) * MEAN_RATE,
            bytes_max: self.bytes_max.max(100),
            frame: Vec::new(),
        };
        maker.head()?;
        let mut flows: Vec<Flow> = (0..self.flows).map(|number| maker.flow(number, self)).collect();
        let first = |(number, flow): (usize, &Flow)| Reverse((flow.last_ns, number));
        let mut due: BinaryHeap<_> = flows.iter().enumerate().map(first).collect();
        while let Some(Reverse((at_ns, number))) = due.pop() {
            if at_ns >= end_ns {
                continue;
            }
            maker.packet(at_ns, number as u32, &mut flows[number])?;
            if maker.truth.packets % 1000 == 7 {
                maker.other(at_ns)?;
            }
            let flow = &mut flows[number];
            let is_pause = flow.pauses_at_ns.take_if(|pause| *pause <= at_ns).is_some();
            let pause_ns = if is_pause { PAUSE_NS } else { 0 };
            due.push(Reverse((at_ns + pause_ns + maker.gap(flow), number)));
        }
        let Maker { mut truth, sent, .. } = maker;
        truth.heavy = sent.values().filter(|bytes| **bytes >= HEAVY).count() as u64;
        Ok(truth)
    }
}

impl<W: Write> Maker<'_, W> {
    fn head(&mut self) -> io::Result<()> {
        let words: [u32; 6] = [0xa1b2_3c4d, 4 << 16 | 2, 0, 0, SNAP as u32, 1];
        words.iter().try_for_each(|word| self.output.write_all(&word.to_le_bytes()))
    }

    fn gap(&mut self, flow: &Flow) -> u64 {
        let mean_ns = if flow.is_bulk { self.gap_ns / BULK_RATE } else { self.gap_ns };
        (self.chance.exponential(mean_ns) as u64).clamp(1000, GAP_NS_MAX)
    }

    /// Flow number `number`: all are distinct.
    fn flow(&mut self, number: u32, plan: &Plan) -> Flow {
        let is_sensor = number % 20 == 3;
        // 1000 sources; ports distinguish the flows of one source.
        let (source, nth) = (number % 1000, number / 1000);
        let source = (10 << 24) + ((source / 250) << 16) + source % 250 + 1;
        let spread_ns = (self.gap_ns as u64).clamp(1, GAP_NS_MAX);
        let first_ns = START_NS + self.chance.below(spread_ns);
        let pauses = plan.pauses > 0 && number % plan.pauses == 1;
        let half_ns = u64::from(plan.seconds) * 500_000_000;
        Flow {
            source,
            target: 0xc000_0200 | self.chance.below(250) as u32,
            is_tcp: !is_sensor && self.chance.chance(0.8),
            ports: [1024 + nth as u16, if is_sensor { 5000 } else { 443 }],
            is_sensor,
            is_bulk: number.is_multiple_of(BULK_EVERY),
            last_ns: first_ns,
            window: 0,
            pauses_at_ns: pauses.then(|| START_NS + self.chance.below(half_ns.max(1))),
        }
    }

    fn packet(&mut self, at_ns: u64, number: u32, flow: &mut Flow) -> io::Result<()> {
        let is_new = flow.window == 0 || at_ns - flow.last_ns >= PAUSE_NS;
        let window = at_ns / WINDOW_NS;
        self.truth.flows += u64::from(is_new);
        self.truth.parts += u64::from(is_new || window != flow.window);
        (flow.last_ns, flow.window) = (at_ns, window);
        let payload = match flow.is_sensor {
            true => self.reading(number),
            false if flow.is_bulk => vec![0; self.bytes_max.min(BULK_BYTES) as usize - 54],
            false => vec![0; self.chance.below(u64::from(self.bytes_max) - 54) as usize],
        };
        let transport = if flow.is_tcp { 20 } else { 8 };
        let length = 14 + 20 + transport + payload.len();
        self.truth.packets += 1;
        self.truth.bytes += length as u64;
        *self.sent.entry((window, flow.source)).or_default() += length as u64;
        self.frame.clear();
        let frame = &mut self.frame;
        frame.extend_from_slice(&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0]);
        let total = ((length - 14) as u16).to_be_bytes();
        let protocol = if flow.is_tcp { 6 } else { 17 };
        frame.extend_from_slice(&[0x45, 0, total[0], total[1], 0, 0, 0, 0, 64, protocol, 0, 0]);
        frame.extend_from_slice(&flow.source.to_be_bytes());
        frame.extend_from_slice(&flow.target.to_be_bytes());
        let sum = !frame[14..34].chunks(2).fold(0u32, |sum, pair| {
            let sum = sum + u32::from(u16::from_be_bytes([pair[0], pair[1]]));
            (sum & 0xffff) + (sum >> 16)
        }) as u16;
        frame[24..26].copy_from_slice(&sum.to_be_bytes());
        flow.ports.iter().for_each(|port| frame.extend_from_slice(&port.to_be_bytes()));
        if flow.is_tcp {
            frame.extend_from_slice(&[0, 0, 0, 1, 0, 0, 0, 1, 0x50, 0x10, 32, 0, 0, 0, 0, 0])
        } else {
            let length = (8 + payload.len()) as u16;
            frame.extend_from_slice(&length.to_be_bytes());
            frame.extend_from_slice(&[0, 0]);
        }
        frame.extend_from_slice(&payload);
        self.record(at_ns, length)
    }

    /// A message of a sensor, or now and then something else.
    fn reading(&mut self, device: u32) -> Vec<u8> {
        if self.chance.chance(0.02) {
            self.truth.odd += 1;
            return vec![0xff; 9];
        }
        let celsius = if self.chance.chance(0.1) { 95.75 } else { 21.5 };
        self.truth.alarms += u64::from(celsius >= HOT);
        let mut message = vec![0x08];
        varint(&mut message, device);
        message.push(0x11);
        message.extend_from_slice(&f64::to_le_bytes(celsius));
        message.extend_from_slice(b"\x1a\x02\x06\x07\x22\x04mill");
        message
    }

    /// An ARP request.
    fn other(&mut self, at_ns: u64) -> io::Result<()> {
        self.truth.others += 1;
        self.frame.clear();
        self.frame.extend_from_slice(&[0xff; 6]);
        self.frame.extend_from_slice(&[2, 0, 0, 0, 0, 1, 8, 6, 0, 1, 8, 0, 6, 4, 0, 1]);
        self.frame.resize(60, 0);
        self.record(at_ns, 60)
    }

    fn record(&mut self, at_ns: u64, length: usize) -> io::Result<()> {
        self.frame.truncate(SNAP);
        let (seconds, rest) = (at_ns / 1_000_000_000, at_ns % 1_000_000_000);
        for word in [seconds as u32, rest as u32, self.frame.len() as u32, length as u32] {
            self.output.write_all(&word.to_le_bytes())?;
        }
        self.output.write_all(&self.frame)
    }
}

fn varint(out: &mut Vec<u8>, mut number: u32) {
    while number > 0x7f {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

#[cfg(test)]
mod tests {
    use super::Plan;

    #[test]
    fn a_seed_gives_the_same_capture_and_another_gives_another() {
        let plan =
            Plan { seed: 1, flows: 40, packets: 900, seconds: 60, bytes_max: 1500, pauses: 4 };
        let made = |seed| {
            let mut bytes = Vec::new();
            let truth = Plan { seed, ..plan }.write(&mut bytes).expect("memory takes all");
            (bytes, truth)
        };
        let (bytes, truth) = made(1);
        assert_eq!((&bytes, &truth), (&made(1).0, &made(1).1));
        assert_ne!(bytes, made(2).0);
        assert!((40..=60).contains(&truth.flows), "{truth:?}");
        assert!(truth.packets > 700 && truth.parts > 100 && truth.alarms > 0, "{truth:?}");
    }
}
