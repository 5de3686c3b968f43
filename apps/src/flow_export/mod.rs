//! Flow records of the packets that pass, by IPFIX (RFC 7011 over UDP) or as messages of protobuf.
//!
//! | part | does |
//! |---|---|
//! | `key` | from a frame to the key of its flow |
//! | `table` | the flows that are under way, and when they end |
//! | `message` | flows as messages: `ipfix`, or `protobuf` by `flow.proto` |
//! | `envelope` | messages as packets |
//!
//! Flows that have ended wait until they fill a message or the next tick comes. They wait as flows
//! and not as bytes, so a new config holds for them.

mod envelope;
mod head;
mod ipfix;
mod key;
mod message;
mod protobuf;
mod table;

use std::net::IpAddr;
use std::time::Duration;

use tidemill_packet::Packet;
use tidemill_packet::app::{App, ConfigError, Fault, Flushed, Io, Mac, Reconfigured, Start};
use tidemill_stdx::rng::Rng;

use envelope::End;
use head::Head;
use key::{NoFlow, Observed};
use message::Format;
use table::{EndReason, Ended, FLOWS_MAX, FlowTable, Timeouts};

tidemill_packet::declare! {
    /// Counts the packets of each flow that passes and sends the flows to a collector, as IPFIX or
    /// protobuf.
    ///
    /// A flow is one direction: addresses, protocol, ports and VLAN of packets of IPv4 or IPv6. Its
    /// record has packets, bytes (those of IP), flags of TCP, the times of the first and the last
    /// packet, and why it ended. ICMP has type and code as destination port. All but the first
    /// fragment of a packet have port 0. Of several VLAN tags the outermost counts.
    ///
    /// A flow ends after `inactive` seconds without packets and after `active` seconds in any case
    /// (the next packet begins another), a second after a TCP connection was reset or finished by
    /// both sides, when the run ends, or, the oldest first, when there are too many: `evicted`.
    /// The timeouts are those of nfpcapd, and fit the files of five minutes that nfcapd writes.
    ///
    /// Counters: `flows` under way, `exported` flows, those `lost` as a message found no room,
    /// `messages`, `observed` packets, and packets in no flow: `not_ip`, `malformed`,
    /// `not_sampled`.
    app FlowExport {
        config FlowExportConfig {
            /// The address of the collector.
            collector: IpAddr,
            /// Its UDP port.
            port: u16 = 4739,
            /// The Ethernet address of the collector, or of the router to it; an `Arp` that follows
            /// puts both in.
            collector_mac: Mac = Mac([0; 6]),
            /// The address that messages come from, of the same family.
            address: IpAddr,
            /// `ipfix`, or `protobuf`: each datagram is a `Flows` of `tidemill.flow`.
            format: String = "ipfix".to_owned(),
            /// The UDP port that they come from.
            source_port: u16 = 4739,
            /// The Ethernet address that they come from.
            mac: Mac = Mac([0; 6]),
            /// The observation domain; that of worker N, counted from 0, is greater by N.
            domain: u32 = 0,
            /// Seconds after which a flow that goes on is exported.
            active: u32 = 300,
            /// Seconds without packets after which a flow is exported.
            inactive: u32 = 60,
            /// Flows at once, of 160 bytes at most.
            flows: u32 = 262144,
            /// N: one packet in N is counted, at random; collectors learn N and multiply by it.
            sample: u32 = 1,
            /// Seconds after which templates of IPFIX are sent again.
            templates: u32 = 60,
            /// Messages of flows after which templates are sent again; 0: only by time.
            templates_messages: u32 = 0,
            /// Bytes of a packet at most, its IP header included: 576 at least.
            mtu: u16 = 1500,
        }
        ports {
            /// What passes.
            input: Input(Push, One),
            /// The messages, in whole packets.
            export: Output(Push, One),
            /// What has passed, unchanged.
            output: Output(Push, Optional),
        }
        traits {}
    }
}

const EXPORT: usize = 0;
const OUTPUT: usize = 1;

const S: u64 = 1_000_000_000;

/// How long a flow that has ended waits for others, and the pause if a link is full.
const TICK: Duration = Duration::from_millis(100);

/// Packets that are looked at before the first of them is counted.
const BATCH: usize = 32;

/// Flows that are sent at once at the end: their packets are in memory together.
const FLUSHED_MAX: usize = 1000;

/// See [`FlowExport::declaration`](tidemill_packet::app::Declared::declaration).
pub struct FlowExport {
    config: FlowExportConfig,
    /// That of its name in the config.
    format: Format,
    table: FlowTable,
    rng: Rng,
    /// Flows for the next message.
    waiting: Vec<Ended>,
    /// Bytes of their records.
    waiting_bytes: usize,
    /// Flows for which a lower limit left no room.
    surplus: Vec<Ended>,
    /// The number of this instance of the graph.
    instance: u32,
    /// Records sent in this domain.
    sequence: u64,
    /// When templates were sent last, and messages since; none, if the collector has none.
    templates_sent: Option<(u64, u32)>,
    counts: Counts,
}

/// A packet of a batch.
struct Arrived {
    packet: Packet,
    /// What it is to its flow, if it is in one.
    observed: Option<Observed>,
    /// That of the flow's key.
    hash: u64,
}

#[derive(Default)]
struct Counts {
    exported: u64,
    lost: u64,
    messages: u64,
    observed: u64,
    not_ip: u64,
    malformed: u64,
    not_sampled: u64,
    evicted: u64,
}

impl FlowExportConfig {
    fn timeouts(&self) -> Timeouts {
        Timeouts {
            active_ns: u64::from(self.active) * S,
            inactive_ns: u64::from(self.inactive) * S,
        }
    }

    fn from(&self) -> End {
        End { mac: self.mac, address: self.address, port: self.source_port }
    }

    fn to(&self) -> End {
        End { mac: self.collector_mac, address: self.collector, port: self.port }
    }

    fn format(&self) -> Format {
        // Checked before: there is no other.
        Format::parse(&self.format).unwrap_or(Format::Ipfix)
    }
}

impl App for FlowExport {
    const GAUGES: &'static [&'static str] = &["flows"];

    fn validate(config: &FlowExportConfig) -> Result<(), ConfigError> {
        let least = |key, number: u32, least: u32| {
            if number < least {
                Err(ConfigError::new(key, format!("it must be {least} at least")))
            } else {
                Ok(())
            }
        };
        if config.collector.is_ipv4() != config.address.is_ipv4() {
            let message = "it must be of the same family as the collector's";
            return Err(ConfigError::new("address", message));
        }
        if Format::parse(&config.format).is_none() {
            return Err(ConfigError::new("format", "it is ipfix or protobuf"));
        }
        if config.flows > FLOWS_MAX {
            return Err(ConfigError::new("flows", format!("it must be {FLOWS_MAX} at most")));
        }
        least("active", config.active, 1)?;
        least("inactive", config.inactive, 1)?;
        least("flows", config.flows, 1)?;
        least("sample", config.sample, 1)?;
        least("templates", config.templates, 1)?;
        least("mtu", config.mtu.into(), 576)
    }

    fn new(config: FlowExportConfig, start: &mut Start) -> Result<FlowExport, Fault> {
        Ok(FlowExport {
            format: config.format(),
            table: FlowTable::new(config.flows, config.timeouts()),
            rng: start.rng(),
            waiting: Vec::new(),
            waiting_bytes: 0,
            surplus: Vec::new(),
            instance: start.fanout().instance(),
            sequence: 0,
            templates_sent: None,
            counts: Counts::default(),
            config,
        })
    }

    /// Flows go on. Another collector, domain or format gets templates first, and a sequence of its
    /// own.
    fn reconfigure(&mut self, config: FlowExportConfig) -> Reconfigured {
        let before = std::mem::replace(&mut self.config, config);
        let config = &self.config;
        self.format = config.format();
        if config.timeouts() != before.timeouts() || config.flows != before.flows {
            // The clock is not at hand, and flows that are over by now end for lack of room, too.
            self.surplus.extend(self.table.change(config.flows, config.timeouts(), 0));
        }
        let is_other = config.from() != before.from()
            || config.to() != before.to()
            || config.domain != before.domain
            || config.format != before.format;
        if is_other {
            self.sequence = 0;
        }
        if is_other || config.sample != before.sample {
            self.templates_sent = None;
        }
        Reconfigured::Kept
    }

    fn push(&mut self, io: &mut Io) -> Result<(), Fault> {
        loop {
            // What all of them read is fetched before the first is counted.
            let mut batch = [const { None::<Arrived> }; BATCH];
            let mut count = 0;
            while count < BATCH
                && let Some(packet) = io.receive(0)
            {
                let observed = self.observe(&packet);
                let hash = observed.map_or(0, |it| self.table.hash_ahead(&it.key));
                batch[count] = Some(Arrived { packet, observed, hash });
                count += 1;
            }
            for arrived in batch[..count].iter().flatten() {
                self.table.prefetch(arrived.hash);
            }
            for arrived in batch.iter_mut().take(count).filter_map(Option::take) {
                if let Some(observed) = arrived.observed {
                    self.count(io, &arrived.packet, (&observed, arrived.hash));
                }
                if io.is_linked(OUTPUT) {
                    io.send(OUTPUT, arrived.packet);
                }
            }
            if count < BATCH {
                return Ok(());
            }
        }
    }

    fn tick_every(&self) -> Option<Duration> {
        Some(TICK)
    }

    fn tick(&mut self, io: &mut Io) -> Result<(), Fault> {
        let now_ns = io.now_ns();
        while has_room(io) {
            let Some(ended) = self.surplus.pop() else { break };
            self.export(io, ended);
        }
        while has_room(io) {
            let Some(ended) = self.table.expired(now_ns) else { break };
            self.export(io, ended);
        }
        self.send(io);
        Ok(())
    }

    fn flush(&mut self, io: &mut Io) -> Result<Flushed, Fault> {
        self.tick(io)?;
        let now_ns = io.now_ns();
        for _ in 0..FLUSHED_MAX {
            let ended = if has_room(io) { self.table.force(now_ns) } else { None };
            let Some(ended) = ended else { break };
            self.export(io, ended);
        }
        self.send(io);
        let is_all = self.table.len() == 0 && self.surplus.is_empty();
        Ok(if is_all { Flushed::All } else { Flushed::Partly })
    }

    fn report(&self) -> Vec<(&'static str, u64)> {
        let counts = &self.counts;
        vec![
            ("evicted", counts.evicted),
            ("exported", counts.exported),
            ("flows", self.table.len() as u64),
            ("lost", counts.lost),
            ("malformed", counts.malformed),
            ("messages", counts.messages),
            ("not_ip", counts.not_ip),
            ("not_sampled", counts.not_sampled),
            ("observed", counts.observed),
        ]
    }
}

/// Whether the link takes a message, and templates before it, and those that may be due meanwhile.
fn has_room(io: &Io) -> bool {
    io.room(EXPORT) >= 4
}

impl FlowExport {
    /// What a packet is to its flow, if it is in one and in the sample.
    fn observe(&mut self, packet: &Packet) -> Option<Observed> {
        let observed = match key::observe(packet) {
            Ok(observed) => observed,
            Err(NoFlow::NotIp) => {
                self.counts.not_ip += 1;
                return None;
            }
            Err(NoFlow::Malformed) => {
                self.counts.malformed += 1;
                return None;
            }
        };
        let sample = u64::from(self.config.sample);
        if sample > 1 && self.rng.below(sample) != 0 {
            self.counts.not_sampled += 1;
            return None;
        }
        self.counts.observed += 1;
        Some(observed)
    }

    fn count(&mut self, io: &mut Io, packet: &Packet, observed: (&Observed, u64)) {
        let time_ns = packet.time_ns().unwrap_or_else(|| io.wall_ns());
        let time_ms = u64::try_from(time_ns).unwrap_or(0) / 1_000_000;
        if let Some(ended) = self.table.count(observed, io.now_ns(), time_ms) {
            self.export(io, ended);
        }
    }

    /// Bytes for the records of a message.
    fn room(&self) -> usize {
        self.format.room(envelope::message_bytes(self.config.mtu, self.config.collector))
    }

    /// Takes a flow into the next message, after that has been sent if it is full.
    fn export(&mut self, io: &mut Io, ended: Ended) {
        self.counts.evicted += u64::from(ended.reason == EndReason::LackOfResources);
        let bytes = self.format.record_bytes(&ended);
        if self.waiting_bytes + bytes > self.room() {
            self.send(io);
        }
        self.waiting.push(ended);
        self.waiting_bytes += bytes;
    }

    /// Sends the flows that wait, in as many messages as the present MTU requires.
    fn send(&mut self, io: &mut Io) {
        let waiting = std::mem::take(&mut self.waiting);
        let (format, room) = (self.format, self.room());
        let (mut start, mut bytes) = (0, 0);
        for (at, ended) in waiting.iter().enumerate() {
            let more = format.record_bytes(ended);
            if bytes + more > room {
                self.send_flows(io, &waiting[start..at]);
                (start, bytes) = (at, 0);
            }
            bytes += more;
        }
        if start < waiting.len() {
            self.send_flows(io, &waiting[start..]);
        }
        self.waiting = waiting;
        self.waiting.clear();
        self.waiting_bytes = 0;
    }

    fn send_flows(&mut self, io: &mut Io, flows: &[Ended]) {
        let (format, sample) = (self.format, self.config.sample);
        if format.has_templates() {
            self.send_templates(io);
        }
        let message = format.flows(self.head(io), sample, flows);
        let is_sent = self.transmit(io, &message, flows.len() as u32);
        let count = if is_sent { &mut self.counts.exported } else { &mut self.counts.lost };
        *count += flows.len() as u64;
        if let Some((_, messages)) = &mut self.templates_sent {
            *messages = messages.saturating_add(1);
        }
    }

    /// Sends templates, if they are due.
    fn send_templates(&mut self, io: &mut Io) {
        let (config, now_ns) = (&self.config, io.now_ns());
        let is_known = self.templates_sent.is_some_and(|(sent_ns, messages)| {
            let is_recent = now_ns.saturating_sub(sent_ns) < u64::from(config.templates) * S;
            let limit = config.templates_messages;
            is_recent && (limit == 0 || messages < limit)
        });
        if is_known {
            return;
        }
        let (message, records) = ipfix::templates(self.head(io), config.sample);
        if self.transmit(io, &message, records) {
            self.templates_sent = Some((now_ns, 0));
        }
    }

    fn head(&self, io: &Io) -> Head {
        Head {
            time_ns: io.wall_ns(),
            sequence: self.sequence,
            domain: self.config.domain.wrapping_add(self.instance),
        }
    }

    /// Sends a message, if the link has room and the pool a packet. Collectors see by the sequence
    /// that records are missing.
    fn transmit(&mut self, io: &mut Io, message: &[u8], records: u32) -> bool {
        self.sequence = self.sequence.wrapping_add(records.into());
        let frame = envelope::frame(&self.config.from(), &self.config.to(), message);
        if io.room(EXPORT) == 0 {
            return false;
        }
        let Some(packet) = io.packet_of(&frame) else { return false };
        io.send(EXPORT, packet);
        self.counts.messages += 1;
        true
    }
}
