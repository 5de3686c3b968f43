//! IPv4 fragments, put together (RFC 815 without its tricks).

use std::collections::VecDeque;
use std::net::Ipv4Addr;
use std::time::Duration;

use tidemill_packet::Packet;
use tidemill_packet::app::{App, Fault, Io, Start, Wrong};
use tidemill_packet::packet::BYTES_MAX;
use tidemill_stdx::hash::Map;

use crate::fragment::finish;
use crate::net::{Ipv4, ipv4};

tidemill_packet::declare! {
    /// Puts IPv4 fragments together again.
    ///
    /// Fragments that overlap others or end beyond 10 KiB spoil their datagram: all of it is
    /// dropped as `bad_fragment`. Datagrams that stay incomplete are dropped as `timed_out`, and
    /// the oldest, when there are too many at once, as `too_many`. What is no fragment passes.
    app Reassemble {
        config ReassembleConfig {
            /// Seconds that a datagram may take.
            timeout: u32 = 30,
            /// Incomplete datagrams at once.
            datagrams: u32 = 1000,
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

/// A datagram of which something is missing.
#[derive(Debug, Default)]
struct Partial {
    /// By offset, without overlaps.
    fragments: Vec<(usize, usize, Packet)>,
    /// Bytes of the payload, once the last fragment has come.
    total: Option<usize>,
    since_ns: u64,
    serial: u64,
}

/// See [`Reassemble::declaration`](tidemill_packet::app::Declared::declaration).
#[derive(Debug)]
pub struct Reassemble {
    partial: Map<Name, Partial>,
    /// In the order of their first fragments; some may be complete meanwhile.
    order: VecDeque<(Name, u64)>,
    timeout_ns: u64,
    datagrams_max: usize,
    serial: u64,
    completed: u64,
}

impl App for Reassemble {
    fn validate(config: &ReassembleConfig) -> Result<(), Wrong> {
        match config.datagrams {
            0 => Err(Wrong::new("datagrams", "it must be 1 at least")),
            _ => Ok(()),
        }
    }

    fn new(config: ReassembleConfig, _: &mut Start) -> Result<Reassemble, Fault> {
        Ok(Reassemble {
            partial: Map::default(),
            order: VecDeque::new(),
            timeout_ns: u64::from(config.timeout) * 1_000_000_000,
            datagrams_max: config.datagrams as usize,
            serial: 0,
            completed: 0,
        })
    }

    fn push(&mut self, io: &mut Io) -> Result<(), Fault> {
        while let Some(packet) = io.receive(0) {
            match ipv4(packet.bytes()) {
                Some(ip) if ip.is_fragment() => self.take(io, packet, &ip),
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
                Some(partial) if now_ns - partial.since_ns < self.timeout_ns => break,
                Some(_) => self.give_up(io, &name, "timed_out"),
                None => {}
            }
            self.order.pop_front();
        }
        Ok(())
    }

    fn report(&self) -> Vec<(&'static str, u64)> {
        vec![("completed", self.completed), ("incomplete", self.partial.len() as u64)]
    }
}

impl Reassemble {
    fn take(&mut self, io: &mut Io, packet: Packet, ip: &Ipv4) {
        let name = (ip.source, ip.destination, ip.protocol, ip.id);
        if !self.partial.contains_key(&name) {
            self.begin(io, name);
        }
        let Some(partial) = self.partial.get_mut(&name) else { return };
        match partial.insert(packet, ip) {
            Ok(false) => {}
            Ok(true) => {
                let Some(partial) = self.partial.remove(&name) else { return };
                match partial.join() {
                    Some(whole) => {
                        self.completed += 1;
                        io.send(0, whole);
                    }
                    None => io.count_drop("bad_fragment"),
                }
            }
            Err(packet) => {
                io.drop(packet, "bad_fragment");
                self.give_up(io, &name, "bad_fragment");
            }
        }
    }

    fn begin(&mut self, io: &mut Io, name: Name) {
        while self.partial.len() >= self.datagrams_max {
            let Some((oldest, serial)) = self.order.pop_front() else { break };
            if self.partial.get(&oldest).is_some_and(|partial| partial.serial == serial) {
                self.give_up(io, &oldest, "too_many");
            }
        }
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

    fn give_up(&mut self, io: &mut Io, name: &Name, reason: &'static str) {
        let Some(partial) = self.partial.remove(name) else { return };
        for (.., packet) in partial.fragments {
            io.drop(packet, reason);
        }
    }
}

impl Partial {
    /// Takes a fragment; whether nothing is missing now. One that cannot belong comes back.
    fn insert(&mut self, packet: Packet, ip: &Ipv4) -> Result<bool, Packet> {
        let length = ip.total - ip.header;
        let (start, end) = (ip.offset, ip.offset + length);
        let at = self.fragments.partition_point(|(other, ..)| *other < start);
        let is_clear = at.checked_sub(1).is_none_or(|at| self.fragments[at].1 <= start)
            && self.fragments.get(at).is_none_or(|(next, ..)| end <= *next);
        let known_end = if ip.more { self.total } else { Some(end) };
        let fits = known_end.is_none_or(|total| {
            end <= total && self.fragments.last().is_none_or(|(_, last, _)| *last <= total)
        }) && (ip.more || self.total.is_none_or(|total| total == end));
        let is_whole = !ip.more || length.is_multiple_of(8);
        let is_small = end + 60 <= BYTES_MAX && self.fragments.len() < FRAGMENTS_MAX;
        if !(is_clear && fits && is_whole && is_small && length > 0) {
            return Err(packet);
        }
        self.total = known_end;
        self.fragments.insert(at, (start, end, packet));
        let mut reached = 0;
        for (start, end, _) in &self.fragments {
            if *start != reached {
                return Ok(false);
            }
            reached = *end;
        }
        Ok(self.total == Some(reached))
    }

    /// The whole, built upon the first fragment.
    fn join(self) -> Option<Packet> {
        let mut fragments = self.fragments.into_iter();
        let (.., mut whole) = fragments.next()?;
        let head = ipv4(whole.bytes())?;
        whole.resize(head.end()).ok()?;
        for (.., packet) in fragments {
            let ip = ipv4(packet.bytes())?;
            whole.append(packet.bytes().get(ip.payload()..ip.end())?).ok()?;
        }
        let payload = whole.len() - head.payload();
        finish(&mut whole.bytes_mut()[head.start..head.payload()], payload, 0);
        Some(whole)
    }
}
