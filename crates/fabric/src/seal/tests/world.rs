//! Nodes with guards, the network between them, and what attackers see and send.

use std::collections::BTreeMap;

use super::super::guard::{Carrier, Config, Context, Guard};
use super::super::keys::{FleetKeys, Identity, KnownPeers};
use super::super::{DATAGRAM_BYTES_MAX, INITIATION_BYTES, NoEntropy, PeerState, Port};
use crate::counters::{Count, Counters};

pub(super) const MS: u64 = 1_000_000;
pub(super) const S: u64 = 1000 * MS;

/// A small generator; the same seed gives the same run.
#[derive(Clone)]
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        self.0 >> 33
    }

    pub(super) fn percent(&mut self, percent: u64) -> bool {
        self.next() % 100 < percent
    }
}

/// A port that keeps what is sent.
pub(super) struct Wire {
    random: Random,
    pub(super) sent: Vec<(String, Vec<u8>)>,
    pub(super) is_dry: bool,
}

impl Wire {
    fn new(seed: u64) -> Wire {
        Wire { random: Random(seed), sent: Vec::new(), is_dry: false }
    }
}

impl Port for Wire {
    fn send(&mut self, route: &str, datagram: &[u8]) {
        assert!(datagram.len() <= DATAGRAM_BYTES_MAX, "{}", datagram.len());
        self.sent.push((route.to_owned(), datagram.to_vec()));
    }

    fn fill_entropy(&mut self, bytes: &mut [u8]) -> Result<(), NoEntropy> {
        bytes.iter_mut().for_each(|byte| *byte = (self.random.next() >> 7) as u8);
        if self.is_dry { Err(NoEntropy) } else { Ok(()) }
    }
}

pub(super) struct Node {
    pub(super) guard: Guard,
    pub(super) wire: Wire,
    pub(super) counters: Counters,
    /// The source of its datagrams.
    pub(super) route: String,
    /// The contents received, with their senders.
    pub(super) got: Vec<(String, Vec<u8>)>,
}

impl Node {
    pub(super) fn new(config: Config, seed: u64) -> Node {
        Node {
            route: config.name.to_string(),
            guard: Guard::new(config),
            wire: Wire::new(seed),
            counters: Counters::new(),
            got: Vec::new(),
        }
    }

    pub(super) fn with<T>(
        &mut self,
        now_ns: u64,
        f: impl FnOnce(&mut Guard, &mut Context<'_>) -> T,
    ) -> T {
        let Node { guard, wire, counters, .. } = self;
        f(guard, &mut Context { now_ns, port: wire, counters })
    }

    pub(super) fn send(&mut self, to: &str, content: &[u8], now_ns: u64) {
        self.with(now_ns, |guard, cx| guard.send(to, content, cx));
    }

    pub(super) fn receive(&mut self, from: &str, bytes: &[u8], now_ns: u64) {
        let mut bytes = bytes.to_vec();
        let got = self.with(now_ns, |guard, cx| {
            let content = guard.receive(from, &mut bytes, cx);
            content.map(|content| (content.name.to_owned(), content.bytes.to_vec()))
        });
        self.got.extend(got);
    }

    pub(super) fn count(&self, count: Count) -> u64 {
        self.counters.get(count)
    }

    /// The contents that came, as texts.
    pub(super) fn texts(&self) -> Vec<String> {
        let texts = self.got.iter().map(|(_, bytes)| String::from_utf8_lossy(bytes).into_owned());
        texts.collect()
    }

    pub(super) fn guard_name(&self) -> String {
        self.route.clone()
    }

    pub(super) fn is_connected(&self, to: &str, now_ns: u64) -> bool {
        self.guard.peers(now_ns).any(|peer| peer.name == to && peer.state == PeerState::Session)
    }
}

/// The delivery of a datagram: the delay of each copy that arrives. `None`: as usual.
pub(super) type Meddle = Box<dyn FnMut(&Passing) -> Option<Vec<u64>>>;

/// A datagram on its way.
#[derive(Clone)]
pub(super) struct Passing {
    pub(super) from: String,
    pub(super) to: String,
    pub(super) bytes: Vec<u8>,
}

pub(super) struct World {
    pub(super) nodes: Vec<Node>,
    pub(super) now_ns: u64,
    pub(super) random: Random,
    pub(super) loss_percent: u64,
    pub(super) duplicate_percent: u64,
    pub(super) delay_ns: (u64, u64),
    under_way: BTreeMap<(u64, u64), Passing>,
    sent: u64,
    /// All datagrams that an attacker on the path has seen.
    pub(super) seen: Vec<Passing>,
    pub(super) meddle: Option<Meddle>,
}

pub(super) fn keys(texts: &[&str]) -> FleetKeys {
    let lines: Vec<String> = texts.iter().map(|text| text.repeat(8)).collect();
    FleetKeys::parse(&lines.join("\n")).expect("keys")
}

pub(super) fn identity(number: u8) -> Identity {
    Identity::new(std::array::from_fn(|index| number.wrapping_mul(31) ^ index as u8))
}

pub(super) fn config(name: &str, number: u8) -> Config {
    Config {
        carrier: Carrier::Datagrams,
        name: name.into(),
        keys: keys(&["0123abcd"]),
        identity: identity(number),
        known: None,
        peers_max: 64,
    }
}

/// A list of all nodes a:1, b:1, ... with their identities.
pub(super) fn known(names: &[(&str, u8)]) -> KnownPeers {
    let lines =
        names.iter().map(|(name, number)| format!("{name} {}\n", identity(*number).public()));
    KnownPeers::parse(&lines.collect::<String>(), str::to_owned).expect("peers")
}

impl World {
    /// `nodes` nodes: a:1, b:1, ...; each with an identity of its own.
    pub(super) fn new(seed: u64, nodes: u8) -> World {
        let name = |number: u8| format!("{}:1", char::from(b'a' + number));
        let node =
            |number: u8| Node::new(config(&name(number), number), seed ^ u64::from(number) << 40);
        World {
            nodes: (0..nodes).map(node).collect(),
            now_ns: 0,
            random: Random(seed),
            loss_percent: 0,
            duplicate_percent: 0,
            delay_ns: (10 * MS, 11 * MS),
            under_way: BTreeMap::new(),
            sent: 0,
            seen: Vec::new(),
            meddle: None,
        }
    }

    pub(super) fn send(&mut self, from: usize, to: &str, text: &str) {
        let now_ns = self.now_ns;
        self.nodes[from].send(to, text.as_bytes(), now_ns);
    }

    /// An attacker sends a datagram as if from some route.
    pub(super) fn inject(&mut self, from: &str, to: &str, bytes: &[u8]) {
        let (from, to, bytes) = (from.to_owned(), to.to_owned(), bytes.to_vec());
        self.put(Passing { from, to, bytes }, self.now_ns);
    }

    fn put(&mut self, passing: Passing, at_ns: u64) {
        self.sent += 1;
        self.under_way.insert((at_ns, self.sent), passing);
    }

    fn gather(&mut self) {
        for index in 0..self.nodes.len() {
            let node = &mut self.nodes[index];
            let from = node.route.clone();
            for (to, bytes) in std::mem::take(&mut node.wire.sent) {
                let passing = Passing { from: from.clone(), to, bytes };
                self.seen.push(passing.clone());
                let meddled = self.meddle.as_mut().and_then(|meddle| meddle(&passing));
                let delays = meddled.unwrap_or_else(|| self.delays());
                delays.iter().for_each(|delay| self.put(passing.clone(), self.now_ns + delay));
            }
        }
    }

    fn delays(&mut self) -> Vec<u64> {
        let copies = 1 + u64::from(self.random.percent(self.duplicate_percent));
        let mut delays = Vec::new();
        for _ in 0..copies {
            if !self.random.percent(self.loss_percent) {
                let (from, to) = self.delay_ns;
                delays.push(from + self.random.next() % (to - from));
            }
        }
        delays
    }

    /// Runs until `end_ns`.
    pub(super) fn run(&mut self, end_ns: u64) {
        loop {
            self.gather();
            let arrival = self.under_way.keys().next().map(|&(at, _)| at);
            let timeouts = self.nodes.iter().filter_map(|node| node.guard.next_timeout());
            let next = timeouts.chain(arrival).min().filter(|&at| at <= end_ns);
            let Some(next_ns) = next else { break };
            self.now_ns = self.now_ns.max(next_ns);
            let now_ns = self.now_ns;
            self.nodes.iter_mut().for_each(|node| node.with(now_ns, |guard, cx| guard.on_time(cx)));
            while let Some(entry) = self.under_way.first_entry() {
                if entry.key().0 > now_ns {
                    break;
                }
                let Passing { from, to, bytes } = entry.remove();
                if let Some(node) = self.nodes.iter_mut().find(|node| node.route == to) {
                    node.receive(&from, &bytes, now_ns);
                }
            }
        }
        self.now_ns = self.now_ns.max(end_ns);
    }

    /// Runs for some time.
    pub(super) fn pass(&mut self, span_ns: u64) {
        self.run(self.now_ns + span_ns);
    }

    /// Two nodes with a session, and what was seen of how they got it.
    pub(super) fn connected(seed: u64) -> World {
        let mut world = World::new(seed, 2);
        world.send(0, "b:1", "hello");
        world.pass(S);
        assert_eq!(world.nodes[1].texts(), ["hello"]);
        world
    }

    /// The first datagram seen with that first and second byte.
    pub(super) fn seen_of(&self, kind: u8, form: u8) -> Passing {
        let found = self.seen.iter().find(|passing| passing.bytes[..2] == [kind, form]);
        found.expect("was seen").clone()
    }
}

/// No datagram is answered with more bytes than it has, unless by its peer.
pub(super) fn assert_no_amplification(sent: &[(String, Vec<u8>)], received: usize) {
    let bytes: usize = sent.iter().map(|(_, bytes)| bytes.len()).sum();
    assert!(bytes <= received, "{bytes} for {received}");
    assert!(bytes <= INITIATION_BYTES);
}
