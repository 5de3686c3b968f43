//! IPv4 fragments, put together (RFC 815 without its tricks).

use std::collections::VecDeque;
use std::net::Ipv4Addr;
use std::time::Duration;

use tidemill_packet::Packet;
use tidemill_packet::app::{App, ConfigError, Fault, Io, Reconfigured, Start};
use tidemill_packet::packet::BYTES_MAX;
use tidemill_stdx::keyed::Map;

use crate::fragment::finish;
use crate::net::{ETHERNET, Ipv4, ipv4};

tidemill_packet::declare! {
    /// Puts IPv4 fragments together again.
    ///
    /// Fragments that overlap others or end beyond 10 KiB spoil their datagram: all of it is
    /// dropped as `bad_fragment`; one that comes twice is dropped as `duplicate` and harms nothing.
    /// Datagrams that stay incomplete are dropped as `timed_out`, and the oldest, when there are
    /// too many at once or they keep too many bytes, as `too_many`. What is no fragment, and what
    /// has a VLAN tag, passes.
    app Reassemble {
        config ReassembleConfig {
            /// Seconds that a datagram may take.
            timeout: u32 = 30,
            /// Incomplete datagrams at once.
            datagrams: u32 = 1000,
            /// Bytes that all of them keep at most.
            bytes: u32 = 4194304,
        }
        ports {
            /// Fragments and whole packets.
            input: Input(Push, One),
            /// Whole packets.
            output: Output(Push, One),
        }
        traits {}
    }
}

/// Fragments of one datagram at most.
const FRAGMENTS_MAX: usize = 1300;

/// What fragments of one datagram share.
type Name = (Ipv4Addr, Ipv4Addr, u8, u16);

/// The cost of a fragment beside its bytes, about.
const FRAGMENT_COST: usize = 64;

/// A part of a datagram, at its size: no packet's buffer is held while others are awaited.
#[derive(Debug)]
struct Fragment {
    /// Bytes of the datagram's payload before it.
    start: usize,
    payload: Box<[u8]>,
}

impl Fragment {
    fn end(&self) -> usize {
        self.start + self.payload.len()
    }
}

/// The header fields of the first fragment.
#[derive(Debug)]
struct Head {
    /// The frame up to the payload.
    bytes: Box<[u8]>,
    time_ns: Option<i64>,
    mark: u64,
}

/// A datagram of which something is missing.
#[derive(Debug, Default)]
struct Partial {
    /// By offset, without overlaps.
    fragments: Vec<Fragment>,
    head: Option<Head>,
    /// Bytes of the payload, once the last fragment has arrived.
    total: Option<usize>,
    /// Bytes of it that have arrived.
    received: usize,
    /// Its share of the budget.
    cost: usize,
    since_ns: u64,
    serial: u64,
}

/// What became of a fragment.
enum Inserted {
    Incomplete,
    Complete,
    Duplicate,
    Bad,
}

/// See [`Reassemble::declaration`](tidemill_packet::app::Declared::declaration).
#[derive(Debug)]
pub struct Reassemble {
    partial: Map<Name, Partial>,
    /// In the order of their first fragments; some may be complete meanwhile.
    order: VecDeque<(Name, u64)>,
    timeout_ns: u64,
    datagrams_max: usize,
    bytes_max: usize,
    /// What all of them count for.
    bytes: usize,
    serial: u64,
    completed: u64,
}

impl App for Reassemble {
    const GAUGES: &'static [&'static str] = &["incomplete", "kept_bytes"];

    fn validate(config: &ReassembleConfig) -> Result<(), ConfigError> {
        let least = BYTES_MAX + FRAGMENT_COST;
        match (config.datagrams, config.bytes as usize) {
            (0, _) => Err(ConfigError::new("datagrams", "it must be 1 at least")),
            (_, bytes) if bytes < least => {
                Err(ConfigError::new("bytes", format!("it must be {least} at least")))
            }
            _ => Ok(()),
        }
    }

    fn new(config: ReassembleConfig, _: &mut Start) -> Result<Reassemble, Fault> {
        Ok(Reassemble {
            partial: Map::default(),
            order: VecDeque::new(),
            timeout_ns: u64::from(config.timeout) * 1_000_000_000,
            datagrams_max: config.datagrams as usize,
            bytes_max: config.bytes as usize,
            bytes: 0,
            serial: 0,
            completed: 0,
        })
    }

    /// The excess over a lower limit is dropped when the next fragment arrives.
    fn reconfigure(&mut self, config: ReassembleConfig) -> Reconfigured {
        self.timeout_ns = u64::from(config.timeout) * 1_000_000_000;
        self.datagrams_max = config.datagrams as usize;
        self.bytes_max = config.bytes as usize;
        Reconfigured::Kept
    }

    fn push(&mut self, io: &mut Io) -> Result<(), Fault> {
        while let Some(packet) = io.receive(0) {
            match ipv4(packet.bytes()) {
                Some(ip) if ip.is_fragment() => self.take(io, &packet, &ip),
                _ => io.send(0, packet),
            }
        }
        Ok(())
    }

    fn tick_every(&self) -> Option<Duration> {
        Some(Duration::from_secs(1))
    }

    fn tick(&mut self, io: &mut Io) -> Result<(), Fault> {
        let now_ns = io.now_ns();
        while let Some((name, serial)) = self.order.front().copied() {
            let partial = self.partial.get(&name).filter(|partial| partial.serial == serial);
            match partial {
                Some(partial) if now_ns.saturating_sub(partial.since_ns) < self.timeout_ns => break,
                Some(_) => self.give_up(io, &name, "timed_out"),
                None => {}
            }
            self.order.pop_front();
        }
        Ok(())
    }

    fn report(&self) -> Vec<(&'static str, u64)> {
        vec![
            ("completed", self.completed),
            ("incomplete", self.partial.len() as u64),
            ("kept_bytes", self.bytes as u64),
        ]
    }
}

impl Reassemble {
    fn take(&mut self, io: &mut Io, packet: &Packet, ip: &Ipv4) {
        let name = (ip.source, ip.destination, ip.protocol, ip.id);
        if !self.partial.contains_key(&name) {
            self.begin(io, name);
        }
        let Some(partial) = self.partial.get_mut(&name) else { return };
        let before = partial.cost;
        let inserted = partial.insert(packet, ip);
        self.bytes += partial.cost - before;
        match inserted {
            Inserted::Incomplete => self.keep_budget(io),
            Inserted::Complete => {
                let Some(partial) = self.partial.remove(&name) else { return };
                self.bytes -= partial.cost;
                let Some((bytes, head)) = partial.join() else {
                    return io.count_drop("bad_fragment");
                };
                if let Some(mut whole) = io.packet_of(&bytes) {
                    self.completed += 1;
                    whole.set_time_ns(head.time_ns);
                    whole.set_mark(head.mark);
                    io.send(0, whole);
                }
            }
            Inserted::Duplicate => io.count_drop("duplicate"),
            Inserted::Bad => {
                io.count_drop("bad_fragment");
                self.give_up(io, &name, "bad_fragment");
            }
        }
    }

    fn begin(&mut self, io: &mut Io, name: Name) {
        while self.partial.len() >= self.datagrams_max && self.give_up_oldest(io) {}
        if self.order.len() > 2 * self.datagrams_max {
            let partial = &self.partial;
            let lives = |(name, serial): &(Name, u64)| {
                partial.get(name).is_some_and(|partial| partial.serial == *serial)
            };
            self.order.retain(lives);
        }
        self.serial += 1;
        self.order.push_back((name, self.serial));
        let (since_ns, serial) = (io.now_ns(), self.serial);
        self.partial.insert(name, Partial { since_ns, serial, ..Partial::default() });
    }

    /// Gives up the oldest while all keep more than they may.
    fn keep_budget(&mut self, io: &mut Io) {
        while self.bytes > self.bytes_max && self.give_up_oldest(io) {}
    }

    /// False if there is none.
    fn give_up_oldest(&mut self, io: &mut Io) -> bool {
        let Some((oldest, serial)) = self.order.pop_front() else { return false };
        if self.partial.get(&oldest).is_some_and(|partial| partial.serial == serial) {
            self.give_up(io, &oldest, "too_many");
        }
        true
    }

    fn give_up(&mut self, io: &mut Io, name: &Name, reason: &'static str) {
        let Some(partial) = self.partial.remove(name) else { return };
        self.bytes -= partial.cost;
        partial.fragments.iter().for_each(|_| io.count_drop(reason));
    }
}

impl Partial {
    /// Takes a fragment.
    fn insert(&mut self, packet: &Packet, ip: &Ipv4) -> Inserted {
        let Some(payload) = packet.bytes().get(ip.payload()..ip.end()) else {
            return Inserted::Bad;
        };
        let (start, end) = (ip.offset, ip.offset + payload.len());
        let at = self.fragments.partition_point(|other| other.start < start);
        if self.fragments.get(at).is_some_and(|it| it.start == start && *it.payload == *payload)
            && (ip.more || self.total == Some(end))
        {
            return Inserted::Duplicate;
        }
        let is_clear = at.checked_sub(1).is_none_or(|at| self.fragments[at].end() <= start)
            && self.fragments.get(at).is_none_or(|next| end <= next.start);
        let known_end = if ip.more { self.total } else { Some(end) };
        let fits = known_end.is_none_or(|total| {
            end <= total && self.fragments.last().is_none_or(|last| last.end() <= total)
        }) && (ip.more || self.total.is_none_or(|total| total == end));
        let is_whole = !ip.more || payload.len().is_multiple_of(8);
        let is_small = end + 60 <= BYTES_MAX && self.fragments.len() < FRAGMENTS_MAX;
        if !(is_clear && fits && is_whole && is_small && !payload.is_empty()) {
            return Inserted::Bad;
        }
        if start == 0 {
            let bytes: Box<[u8]> = packet.bytes()[..ip.payload()].into();
            self.cost += bytes.len();
            self.head = Some(Head { bytes, time_ns: packet.time_ns(), mark: packet.mark() });
        }
        self.total = known_end;
        self.received += payload.len();
        self.cost += payload.len() + FRAGMENT_COST;
        self.fragments.insert(at, Fragment { start, payload: payload.into() });
        // Nothing overlaps, and nothing ends beyond the total.
        if self.total == Some(self.received) { Inserted::Complete } else { Inserted::Incomplete }
    }

    /// The bytes of the whole frame, headed as the first fragment.
    fn join(self) -> Option<(Vec<u8>, Head)> {
        let head = self.head?;
        let mut frame = head.bytes.to_vec();
        self.fragments.iter().for_each(|part| frame.extend_from_slice(&part.payload));
        let payload = frame.len() - head.bytes.len();
        finish(frame.get_mut(ETHERNET..head.bytes.len())?, payload, 0);
        (frame.len() <= BYTES_MAX).then_some((frame, head))
    }
}
