//! Flow records against an oracle: flows that are counted from the list of all packets, and
//! messages that are read by their templates.

use std::collections::BTreeMap;

use crate::common::{Folder, graph_of, read};
use tidemill_packet::engine::{Engine, EngineKind, Options};
use tidemill_stdx::rng::Rng;
use tidemill_support::ipfix::{Record, Session};
use tidemill_wire::proto::{Texts, compile};
use tidemill_wire::{Message, MessageRef};

const MS: u64 = 1_000_000;
const S: u64 = 1000 * MS;
/// The wall clock at time 0, in milliseconds since the epoch.
const EPOCH_MS: u64 = 1_795_255_200_000;

/// Headers of Ethernet, IPv4 and UDP before a message.
const HEADERS: usize = 42;

const FIN: u16 = 1;
const SYN: u16 = 2;
const RST: u16 = 4;

/// What a packet is made of, and the key of its flow.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Key {
    source: Vec<u8>,
    destination: Vec<u8>,
    ports: [u16; 2],
    protocol: u8,
    vlan: Option<u16>,
}

impl Key {
    fn reversed(&self) -> Key {
        let [source, destination] = self.ports;
        Key {
            source: self.destination.clone(),
            destination: self.source.clone(),
            ports: [destination, source],
            ..self.clone()
        }
    }

    /// A frame with `payload` bytes behind the header of TCP, UDP or ICMP.
    fn frame(&self, flags: u16, payload: usize) -> Vec<u8> {
        let [source, destination] = self.ports.map(u16::to_be_bytes);
        let mut upper = match self.protocol {
            6 => {
                let mut tcp = vec![0; 20];
                tcp[12..14].copy_from_slice(&(0x5000 | flags).to_be_bytes());
                tcp
            }
            _ => vec![0; 8],
        };
        match self.protocol {
            1 | 58 => upper[..2].copy_from_slice(&destination),
            _ => upper[..4].copy_from_slice(&[source, destination].concat()),
        }
        upper.resize(upper.len() + payload, 7);
        let mut frame = vec![2; 12];
        if let Some(vlan) = self.vlan {
            frame.extend([0x81, 0, (vlan >> 8) as u8 | 0x60, vlan as u8]);
        }
        if self.source.len() == 4 {
            let length = (20 + upper.len()) as u16;
            frame.extend([8, 0, 0x45, 0]);
            frame.extend(length.to_be_bytes());
            frame.extend([0, 0, 0, 0, 64, self.protocol, 0, 0]);
        } else {
            // A header of options before the protocol.
            let length = (8 + upper.len()) as u16;
            frame.extend([0x86, 0xDD, 0x60, 0, 0, 0]);
            frame.extend(length.to_be_bytes());
            frame.extend([0, 64]);
            upper.splice(..0, [self.protocol, 0, 1, 4, 0, 0, 0, 0]);
        }
        frame.extend(self.source.iter().chain(&self.destination));
        frame.extend(upper);
        frame
    }
}

/// A flow, as a record has it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Flow {
    key: Key,
    packets: u64,
    bytes: u64,
    start_ms: u64,
    end_ms: u64,
    flags: u16,
    reason: u8,
}

struct Open {
    flow: Flow,
    first_ns: u64,
    last_ns: u64,
    is_closing: bool,
}

struct Oracle {
    active_ns: u64,
    inactive_ns: u64,
    open: BTreeMap<Key, Open>,
    ended: Vec<Flow>,
}

impl Oracle {
    /// When a flow ends if no packet comes, and why.
    fn deadline(&self, open: &Open) -> (u64, u8) {
        let (wait_ns, reason) =
            if open.is_closing { (S.min(self.inactive_ns), 3) } else { (self.inactive_ns, 1) };
        let (idle_ns, active_ns) = (open.last_ns + wait_ns, open.first_ns + self.active_ns);
        if idle_ns <= active_ns { (idle_ns, reason) } else { (active_ns, 2) }
    }

    fn packet(&mut self, key: &Key, now_ns: u64, bytes: u64, flags: u16) {
        if let Some(open) = self.open.get(key) {
            let (deadline_ns, mut reason) = self.deadline(open);
            let is_again = open.is_closing && flags & SYN != 0;
            if now_ns < deadline_ns && is_again {
                reason = 3;
            }
            if now_ns >= deadline_ns || is_again {
                let open = self.open.remove(key).expect("it is open");
                self.ended.push(Flow { reason, ..open.flow });
            }
        }
        let now_ms = EPOCH_MS + now_ns / MS;
        let open = self.open.entry(key.clone()).or_insert_with(|| Open {
            flow: Flow {
                key: key.clone(),
                packets: 0,
                bytes: 0,
                start_ms: now_ms,
                end_ms: now_ms,
                flags: 0,
                reason: 0,
            },
            first_ns: now_ns,
            last_ns: now_ns,
            is_closing: false,
        });
        open.flow.packets += 1;
        open.flow.bytes += bytes;
        open.flow.flags |= flags;
        (open.flow.end_ms, open.last_ns) = (now_ms, now_ns);
        let (has_finished, reverse) = (open.flow.flags & FIN != 0, key.reversed());
        let other = self.open.get(&reverse).filter(|other| now_ns < self.deadline(other).0);
        let both = has_finished && other.is_some_and(|other| other.flow.flags & FIN != 0);
        if flags & RST != 0 || flags & FIN != 0 && both {
            let reverse = other.map(|_| &reverse);
            for key in [Some(key), reverse].into_iter().flatten() {
                if let Some(open) = self.open.get_mut(key) {
                    open.is_closing = true;
                }
            }
        }
    }

    fn end(mut self, now_ns: u64) -> Vec<Flow> {
        for open in std::mem::take(&mut self.open).into_values() {
            let (deadline_ns, reason) = self.deadline(&open);
            let reason = if now_ns >= deadline_ns { reason } else { 4 };
            self.ended.push(Flow { reason, ..open.flow });
        }
        self.ended.sort();
        self.ended
    }
}

/// What messages contain.
#[derive(Default)]
struct Collector {
    flows: Vec<Flow>,
    /// Selector, interval and space of sampling.
    sampling: Vec<[u64; 3]>,
    template_sets: usize,
}

impl Collector {
    /// Reads messages in the order in which they were sent.
    fn read(frames: &[Vec<u8>], domain: u64) -> Collector {
        let (mut own, mut session, mut records) = (Collector::default(), Session::default(), 0);
        for frame in frames {
            let text = tidemill_apps::frame::describe(frame);
            assert!(text.contains(" ip 192.0.2.1 > 192.0.2.9 df udp 5000 > 4739 "), "{text}");
            assert!(frame.len() - 14 <= 600, "{text}");
            let read = session.read(&frame[HEADERS..]);
            let message = read.unwrap_or_else(|why| panic!("{why}: {text}"));
            assert_eq!(message.sequence, records, "the sequence counts records");
            assert_eq!(message.domain, domain);
            records += message.records.len() as u64;
            own.template_sets += message.template_sets;
            message.records.iter().for_each(|record| own.record(record));
        }
        own.flows.sort();
        own
    }

    /// As [`Collector::read`], by the schema of the records.
    fn read_protobuf(frames: &[Vec<u8>], (domain, sample): (u64, u64)) -> Collector {
        let text = include_str!("../src/flow_export/flow.proto");
        let files = Texts::from_iter([("flow.proto", text)]);
        let schema = compile(&["flow.proto"], &files).schema.expect("the schema is right");
        let mut own = Collector::default();
        for frame in frames {
            assert!(frame.len() - 14 <= 600, "{}", frame.len());
            let bytes = &frame[HEADERS..];
            let message = Message::from_bytes(&schema, "tidemill.flow.Flows", bytes);
            let message = message.expect("it decodes");
            let number = |name| message.get(name).expect("a field").as_u64();
            let head = ["sequence", "sent_ms"].map(number);
            assert_eq!(head[0], Some(own.flows.len() as u64), "the sequence counts flows");
            assert!(head[1] >= Some(EPOCH_MS));
            let small = |name| message.get(name).expect("a field").as_u32().map(u64::from);
            assert_eq!(["domain", "sample"].map(small), [Some(domain), Some(sample)]);
            let flows = message.get("flows").expect("a field").as_list().expect("a list");
            for flow in flows.iter() {
                own.flows.push(flow_of(&flow.as_message().expect("a message")));
            }
        }
        own.flows.sort();
        own
    }

    fn record(&mut self, record: &Record) {
        let get = |element: u16| record.number(element);
        if record.bytes(302).is_some() {
            return self.sampling.push([get(302), get(305), get(306)]);
        }
        let either =
            |four: u16, six: u16| record.bytes(four).or(record.bytes(six)).expect("one").to_vec();
        self.flows.push(Flow {
            key: Key {
                source: either(8, 27),
                destination: either(12, 28),
                ports: [get(7) as u16, get(11) as u16],
                protocol: get(4) as u8,
                vlan: record.bytes(58).map(|_| get(58) as u16),
            },
            packets: get(2),
            bytes: get(1),
            start_ms: get(152),
            end_ms: get(153),
            flags: get(6) as u16,
            reason: get(136) as u8,
        });
    }
}

/// A `tidemill.flow.Flow`.
fn flow_of(message: &MessageRef<'_>) -> Flow {
    let get = |name| message.get(name).expect("a field");
    let bytes = |name| get(name).as_bytes().expect("bytes").to_vec();
    let small = |name| get(name).as_u32().expect("a number") as u16;
    let number = |name| get(name).as_u64().expect("a number");
    Flow {
        key: Key {
            source: bytes("source"),
            destination: bytes("destination"),
            ports: ["source_port", "destination_port"].map(small),
            protocol: small("protocol") as u8,
            vlan: message.has("vlan").expect("a field").then(|| small("vlan")),
        },
        packets: number("packets"),
        bytes: number("bytes"),
        start_ms: number("first_ms"),
        end_ms: number("last_ms"),
        flags: small("tcp_flags"),
        reason: get("end").as_enum().expect("an enum") as u8,
    }
}

/// The app in a graph, with time as the test sets it.
struct Bench {
    engine: Engine,
    export: String,
    now_ns: u64,
    _folder: Folder,
}

impl Bench {
    fn new(kind: EngineKind, settings: &str) -> Bench {
        let folder = Folder::new();
        let export = folder.path("export.pcap");
        let mut engine = Engine::new(Options { kind, ..Options::default() });
        engine.set_time(0, (EPOCH_MS * MS) as i64);
        engine.configure(graph_of(&Bench::graph(&export, settings))).expect("it starts");
        Bench { engine, export, now_ns: 0, _folder: folder }
    }

    fn graph(export: &str, settings: &str) -> String {
        format!(
            "app :: FlowExport {{ collector: \"192.0.2.9\", address: \"192.0.2.1\",
                source_port: 5000, mtu: 600, {settings} }}
             in :: Outside -> app.input
             app.export -> written :: PcapWriter {{ file: {export:?} }}
             app.output -> passed :: Sink"
        )
    }

    fn change(&mut self, settings: &str) {
        self.engine.breathe();
        let graph = graph_of(&Bench::graph(&self.export, settings));
        let changes = self.engine.configure(graph).expect("it goes on");
        assert_eq!(changes.reconfigured, ["app"], "{changes:?}");
    }

    /// Lets time pass. What was sent without a pause is taken in at once.
    fn wait(&mut self, ns: u64) {
        if ns == 0 {
            return;
        }
        self.engine.breathe();
        self.now_ns += ns;
        self.engine.set_time(self.now_ns, (EPOCH_MS * MS + self.now_ns) as i64);
        self.engine.breathe();
    }

    fn send(&mut self, frame: &[u8]) {
        let packet = self.engine.pool().packet_of(frame).expect("a packet");
        self.engine.inject("app", "input", packet).expect("the link");
    }

    fn count(&mut self, name: &str) -> u64 {
        self.engine.breathe();
        let all = self.engine.app_stats("app").expect("the app");
        all.iter().find(|(own, _)| own == name).map_or(0, |(_, count)| *count)
    }

    /// Packets that have passed.
    fn passed(&mut self) -> u64 {
        self.engine.breathe();
        self.engine.link_stats("app.output->passed.app").expect("the link").rx_packets
    }

    /// What has been exported when all flows have ended.
    fn end(&mut self) -> Vec<Vec<u8>> {
        self.engine.breathe();
        self.engine.flush();
        assert_eq!(self.count("flows"), 0);
        let messages = self.count("messages");
        self.engine.stop();
        let frames = read(&self.export);
        assert_eq!(frames.len() as u64, messages);
        frames
    }
}

fn any_key(random: &mut Rng) -> Key {
    let host = |random: &mut Rng| random.below(3) as u8;
    let (a, b) = (host(random), host(random));
    let is_six = random.below(3) == 0;
    let address = |last: u8| {
        if is_six {
            [&[0x20, 1, 0xD, 0xB8][..], &[0; 11], &[last]].concat()
        } else {
            vec![10, 0, 0, last]
        }
    };
    let protocol = *random.pick(&[6, 6, 17, if is_six { 58 } else { 1 }]).expect("one");
    let ports = match protocol {
        1 | 58 => [0, 0x0800],
        _ => [random.below(3) as u16 + 1000, random.below(3) as u16 + 1000],
    };
    let vlan = (random.below(4) == 0).then(|| random.below(2) as u16 + 0xA00);
    Key { source: address(a), destination: address(b), ports, protocol, vlan }
}

#[test]
fn flows_are_those_of_the_oracle() {
    for (seed, kind) in (1..=40).zip([EngineKind::Compiled, EngineKind::Dispatch].iter().cycle()) {
        let mut random = Rng::new(seed);
        let (active, inactive) = (random.range(1..=20), random.range(1..=8));
        // Every third collector reads protobuf.
        let format = if seed % 3 == 0 { "protobuf" } else { "ipfix" };
        let settings = format!(
            "active: {active}, inactive: {inactive}, domain: 7, templates: 3, format: \"{format}\""
        );
        let mut bench = Bench::new(*kind, &settings);
        let (active_ns, inactive_ns) = (active * S, inactive * S);
        let (open, ended) = (BTreeMap::new(), Vec::new());
        let mut oracle = Oracle { active_ns, inactive_ns, open, ended };
        let (mut packets, mut bytes) = (0, 0);
        for _ in 0..random.range(1..=600) {
            bench.wait(random.below(400) * MS * random.below(3));
            let key = any_key(&mut random);
            let flags = match key.protocol {
                6 => random.pick(&[SYN, 16, 16, 16 | FIN, RST]).copied().unwrap_or(0),
                _ => 0,
            };
            let frame = key.frame(flags, random.below(900) as usize);
            let network = if key.vlan.is_some() { 18 } else { 14 };
            let length = (frame.len() - network) as u64;
            bench.send(&frame);
            oracle.packet(&key, bench.now_ns, length, flags);
            (packets, bytes) = (packets + 1, bytes + length);
        }
        bench.engine.breathe();
        bench.engine.flush();
        let exported = bench.count("exported");
        let frames = bench.end();
        let collected = match format {
            "protobuf" => Collector::read_protobuf(&frames, (7, 1)),
            _ => Collector::read(&frames, 7),
        };
        let expected = oracle.end(bench.now_ns);
        for (collected, expected) in collected.flows.iter().zip(&expected) {
            assert_eq!(collected, expected, "seed {seed}, {settings}");
        }
        assert_eq!(collected.flows.len(), expected.len(), "seed {seed}, {settings}");
        assert_eq!(expected.iter().map(|flow| flow.packets).sum::<u64>(), packets);
        assert_eq!(expected.iter().map(|flow| flow.bytes).sum::<u64>(), bytes);
        assert_eq!(bench.passed(), packets, "they pass");
        assert_eq!(exported, expected.len() as u64);
        let again = bench.now_ns / (30 * S);
        if format == "ipfix" {
            assert!(collected.template_sets as u64 > again.min(1), "templates come again");
        }
    }
}

#[test]
fn too_many_flows_push_out_the_oldest() {
    let mut bench = Bench::new(EngineKind::Compiled, "flows: 3, domain: 1");
    let key = |port: u16| Key {
        source: vec![10, 0, 0, 1],
        destination: vec![10, 0, 0, 2],
        ports: [port, 53],
        protocol: 17,
        vlan: None,
    };
    for port in [1, 2, 3, 1, 4, 5] {
        bench.wait(MS);
        bench.send(&key(port).frame(0, 10));
    }
    assert_eq!((bench.count("flows"), bench.count("evicted")), (3, 2));
    bench.change("flows: 1, domain: 1");
    bench.wait(S);
    assert_eq!((bench.count("flows"), bench.count("evicted")), (1, 4));
    let collected = Collector::read(&bench.end(), 1);
    let all: Vec<(u16, u64, u8)> = (collected.flows.iter())
        .map(|flow| (flow.key.ports[0], flow.packets, flow.reason))
        .collect();
    assert_eq!(all, [(1, 2, 5), (2, 1, 5), (3, 1, 5), (4, 1, 5), (5, 1, 4)]);
}

#[test]
fn more_flows_than_a_link_holds_are_exported_at_the_end() {
    let mut bench = Bench::new(EngineKind::Compiled, "domain: 1");
    for port in 0..12_000 {
        let (source, destination) = (vec![10, 0, 0, 1], vec![10, 0, 0, 2]);
        let key = Key { source, destination, ports: [port, 53], protocol: 17, vlan: None };
        bench.send(&key.frame(0, 10));
        if port % 500 == 0 {
            bench.wait(MS);
        }
    }
    bench.change("flows: 10, domain: 1");
    let flows = Collector::read(&bench.end(), 1).flows;
    assert_eq!(flows.len(), 12_000);
}

#[test]
fn a_sample_says_its_rate() {
    let mut bench = Bench::new(EngineKind::Compiled, "sample: 10, domain: 3");
    let mut random = Rng::new(4);
    for _ in 0..2000 {
        bench.wait(MS);
        bench.send(&any_key(&mut random).frame(0, 10));
    }
    let counts = ["observed", "not_sampled"].map(|name| bench.count(name));
    let collected = Collector::read(&bench.end(), 3);
    assert!(!collected.sampling.is_empty());
    assert!(collected.sampling.iter().all(|one| *one == [1, 1, 9]), "{:?}", collected.sampling);
    let packets: u64 = collected.flows.iter().map(|flow| flow.packets).sum();
    assert!((120..280).contains(&packets), "{packets}");
    assert_eq!(counts, [packets, 2000 - packets]);
}

#[test]
fn another_domain_has_templates_and_a_sequence_of_its_own() {
    let mut bench = Bench::new(EngineKind::Dispatch, "domain: 1, inactive: 1");
    let key = Key {
        source: vec![10, 0, 0, 1],
        destination: vec![10, 0, 0, 2],
        ports: [1, 2],
        protocol: 17,
        vlan: None,
    };
    bench.send(&key.frame(0, 10));
    bench.wait(5 * S);
    bench.send(&key.frame(0, 10));
    bench.change("domain: 2, inactive: 1");
    bench.wait(5 * S);
    let frames = bench.end();
    let domain = |frame: &Vec<u8>| frame[HEADERS + 15];
    let (first, second): (Vec<Vec<u8>>, Vec<_>) =
        frames.into_iter().partition(|frame| domain(frame) == 1);
    for (frames, domain) in [(first, 1), (second, 2)] {
        assert_eq!(Collector::read(&frames, domain).flows.len(), 1, "domain {domain}");
    }
}

#[test]
fn what_is_no_flow_is_counted_and_passes() {
    let mut bench = Bench::new(EngineKind::Compiled, "");
    let mut random = Rng::new(2);
    let mut frames = vec![Vec::new(), vec![2; 13], vec![0; 60]];
    for _ in 0..3000 {
        let mut frame = any_key(&mut random).frame(0, random.below(40) as usize);
        for _ in 0..random.below(4) {
            let at = random.below(frame.len() as u64) as usize;
            frame[at] = random.next_u64() as u8;
        }
        frame.truncate(random.below(frame.len() as u64 + 20) as usize);
        frames.push(frame);
    }
    for frames in frames.chunks(100) {
        frames.iter().for_each(|frame| bench.send(frame));
        bench.wait(MS);
    }
    let frames = frames.len() as u64;
    assert_eq!(bench.passed(), frames);
    let counts = ["observed", "not_ip", "malformed"].map(|name| bench.count(name));
    assert!(counts.iter().all(|count| *count > 100), "{counts:?}");
    assert_eq!(counts.iter().sum::<u64>(), frames);
    let flows = Collector::read(&bench.end(), 0).flows;
    assert_eq!(flows.iter().map(|flow| flow.packets).sum::<u64>(), counts[0]);
}
