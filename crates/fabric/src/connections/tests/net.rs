//! Nodes with connections, what carries these, and what attackers see and send.
//!
//! The tests beside this file use it, and the fuzz target `connections`, which includes it: what it
//! takes of `super::fabric` is public.

use std::collections::{BTreeMap, BTreeSet};

use super::fabric::connections::{Action, ConnectionId, Connections, Context, Step};
use super::fabric::counters::{Count, Counters};
use super::fabric::seal::keys::{FleetKeys, Identity, KnownPeers};
use super::fabric::seal::{Carrier, Config, Guard, NoEntropy};
use super::fabric::stream::{FrameReader, write_frame};

pub(super) const MS: u64 = 1_000_000;
pub(super) const S: u64 = 1000 * MS;

/// The latency of bytes, unless an attacker decides.
const DELAY_NS: u64 = 10 * MS;

/// Pieces that a frame comes in.
const PIECES_MAX: usize = 1024;

/// Timers that may fire in one run.
const TIMERS_MAX: usize = 100_000;

/// A small generator; the same seed gives the same run.
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        self.0 >> 33
    }
}

pub(super) struct Node {
    pub(super) name: String,
    pub(super) connections: Connections,
    pub(super) counters: Counters,
    random: Random,
    is_up: bool,
    /// Whether others can connect to it.
    is_reachable: bool,
    /// The number of its restarts.
    life: u32,
    /// The other ends of the node's connections.
    ends: BTreeMap<ConnectionId, End>,
    /// Connections being made to absent nodes.
    dialling: BTreeSet<ConnectionId>,
    /// The number of bytes that its sockets accept.
    room_bytes: usize,
    /// The contents received, with their senders.
    pub(super) got: Vec<(String, Vec<u8>)>,
    /// Over which side of which pipe each of these came.
    pub(super) ways: Vec<End>,
}

impl Node {
    pub(super) fn count(&self, count: Count) -> u64 {
        self.counters.get(count)
    }

    /// The contents that came, as texts.
    pub(super) fn texts(&self) -> Vec<String> {
        self.got.iter().map(|(_, bytes)| String::from_utf8_lossy(bytes).into_owned()).collect()
    }

    /// Open connections.
    pub(super) fn open(&self) -> usize {
        self.ends.len()
    }

    fn takes(&self) -> bool {
        self.is_up && self.is_reachable
    }

    /// These, and those that come to nothing.
    pub(super) fn sockets(&self) -> usize {
        self.ends.len() + self.dialling.len()
    }

    /// The longest of what waits to be written to one connection, in bytes.
    pub(super) fn unwritten_max(&self) -> usize {
        let unwritten = self.ends.keys().map(|&id| self.connections.unwritten(id).len());
        unwritten.max().unwrap_or(0)
    }
}

/// One side of a pipe.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct End {
    pub(super) pipe: usize,
    /// 0: 0: the side that connected, 1: the side that accepted.
    pub(super) side: usize,
}

impl End {
    fn other(self) -> End {
        End { side: 1 - self.side, ..self }
    }
}

/// The owner of one side.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Party {
    Node(usize, ConnectionId),
    /// An attacker.
    Stranger,
    /// Not accepted yet, by that node.
    Pending(usize),
    Closed,
}

enum Event {
    Arrives(usize),
    Taken(usize),
    /// A node, in which of its lives.
    Refused(usize, u32, ConnectionId),
    Bytes(End, Vec<u8>),
    Closed(End),
}

/// A frame on its way.
#[derive(Clone, Debug)]
pub(super) struct Passing {
    /// From where it was sent.
    pub(super) from: End,
    /// Its number on its pipe and side, from 0.
    pub(super) number: usize,
    pub(super) bytes: Vec<u8>,
}

/// The frames that an attacker on the path makes of one.
pub(super) type Meddle = Box<dyn FnMut(&Passing) -> Vec<Vec<u8>>>;

/// What an attacker does to one frame on its path, given an older one: drops it, duplicates it,
/// adds the older one after or before it, truncates it, changes it.
pub(super) fn harm(bytes: &[u8], old: Option<Vec<u8>>, kind: u64, place: usize) -> Vec<Vec<u8>> {
    let mut frames = vec![bytes.to_vec()];
    match kind % 6 {
        0 => frames.clear(),
        1 => frames.push(bytes.to_vec()),
        2 => frames.extend(old),
        3 => frames.splice(0..0, old).for_each(drop),
        4 => frames[0].truncate(place % 100),
        _ => {
            let at = place % bytes.len().max(1);
            frames[0].iter_mut().skip(at).take(1).for_each(|byte| *byte ^= 4);
        }
    }
    frames
}

pub(super) struct Net {
    pub(super) nodes: Vec<Node>,
    pub(super) now_ns: u64,
    pub(super) pipes: Vec<[Party; 2]>,
    /// The latency of what is sent now. What one side sends comes in order.
    pub(super) delay_ns: u64,
    /// Bytes come in pieces of this size.
    pub(super) piece_bytes: usize,
    /// When the last bytes under way to a side arrive.
    clear_ns: BTreeMap<End, u64>,
    under_way: BTreeMap<(u64, u64), Event>,
    events: u64,
    readers: BTreeMap<End, (FrameReader, usize)>,
    /// All frames that an attacker on the path has seen.
    pub(super) seen: Vec<Passing>,
    pub(super) meddle: Option<Meddle>,
    /// The bytes that strangers have received, by pipe.
    pub(super) answers: BTreeMap<usize, Vec<u8>>,
}

pub(super) fn keys(text: &str) -> FleetKeys {
    FleetKeys::parse(&text.repeat(8)).expect("keys")
}

pub(super) fn identity(number: u8) -> Identity {
    Identity::new(std::array::from_fn(|index| number.wrapping_mul(31) ^ index as u8))
}

pub(super) fn config(name: &str, number: u8) -> Config {
    Config {
        carrier: Carrier::Connections,
        name: name.into(),
        keys: keys("0123abcd"),
        identity: identity(number),
        known: None,
        peers_max: 64,
    }
}

pub(super) fn known(names: &[(&str, u8)]) -> KnownPeers {
    let lines =
        names.iter().map(|(name, number)| format!("{name} {}\n", identity(*number).public()));
    KnownPeers::parse(&lines.collect::<String>(), str::to_owned).expect("peers")
}

fn node(name: &str, guard: Option<Guard>, seed: u64) -> Node {
    let connections = Connections::new(name, guard.map(Box::new)).expect("a short name");
    let (counters, random) = (Counters::new(), Random(seed));
    Node {
        name: name.to_owned(),
        connections,
        counters,
        random,
        is_up: true,
        is_reachable: true,
        life: 0,
        ends: BTreeMap::new(),
        dialling: BTreeSet::new(),
        room_bytes: usize::MAX,
        got: Vec::new(),
        ways: Vec::new(),
    }
}

impl Net {
    /// Nodes with a key: a:1, b:1, ...
    pub(super) fn sealed(nodes: u8) -> Net {
        let name = |number: u8| format!("{}:1", char::from(b'a' + number));
        Net::of((0..nodes).map(|number| config(&name(number), number)))
    }

    pub(super) fn of(configs: impl IntoIterator<Item = Config>) -> Net {
        let mut net = Net::empty();
        for config in configs {
            net.add(config);
        }
        net
    }

    /// Nodes without a key: a:1, b:1, ...
    pub(super) fn open(nodes: u8) -> Net {
        let mut net = Net::empty();
        for number in 0..nodes {
            net.nodes.push(node(&format!("{}:1", char::from(b'a' + number)), None, 1));
        }
        net
    }

    fn empty() -> Net {
        Net {
            nodes: Vec::new(),
            now_ns: S,
            pipes: Vec::new(),
            delay_ns: DELAY_NS,
            piece_bytes: usize::MAX,
            clear_ns: BTreeMap::new(),
            under_way: BTreeMap::new(),
            events: 0,
            readers: BTreeMap::new(),
            seen: Vec::new(),
            meddle: None,
            answers: BTreeMap::new(),
        }
    }

    pub(super) fn add(&mut self, config: Config) {
        let (name, seed) = (config.name.to_string(), self.nodes.len() as u64 + 1);
        self.nodes.push(node(&name, Some(Guard::new(config)), seed << 40));
    }

    pub(super) fn send(&mut self, from: usize, to: &str, text: &[u8]) {
        let now_ns = self.now_ns;
        let Node { connections, counters, .. } = &mut self.nodes[from];
        connections.send(to, text, now_ns, counters);
        self.with(from, Connections::pump);
    }

    /// Runs `work` on a node, and carries out its actions.
    pub(super) fn with<T>(
        &mut self,
        node: usize,
        f: impl FnOnce(&mut Connections, &mut Context<'_>) -> T,
    ) -> T {
        let result = self.turn(node, f);
        while let Some(action) = self.nodes[node].connections.next_action() {
            match action {
                Action::Connect(id, to) => self.connect(node, id, &to),
                Action::Write(id) => self.write(node, id),
                Action::Close(id) => self.close(node, id),
                Action::Lost(..) => {}
            }
        }
        result
    }

    fn turn<T>(
        &mut self,
        node: usize,
        f: impl FnOnce(&mut Connections, &mut Context<'_>) -> T,
    ) -> T {
        let Node { connections, counters, random, .. } = &mut self.nodes[node];
        let mut entropy = |bytes: &mut [u8]| -> Result<(), NoEntropy> {
            bytes.iter_mut().for_each(|byte| *byte = (random.next() >> 7) as u8);
            Ok(())
        };
        f(connections, &mut Context { now_ns: self.now_ns, entropy: &mut entropy, counters })
    }

    fn put(&mut self, at_ns: u64, event: Event) {
        self.events += 1;
        self.under_way.insert((at_ns, self.events), event);
    }

    /// Sends something to a side, after all that is under way to it.
    fn put_to(&mut self, end: End, event: Event) {
        let clear_ns = self.clear_ns.entry(end).or_default();
        *clear_ns = (self.now_ns + self.delay_ns).max(*clear_ns);
        let at_ns = *clear_ns;
        self.put(at_ns, event);
    }

    fn connect(&mut self, node: usize, id: ConnectionId, to: &str) {
        match self.nodes.iter().position(|one| one.name == to && one.takes()) {
            None => {
                self.nodes[node].dialling.insert(id);
                let life = self.nodes[node].life;
                self.put(self.now_ns + self.delay_ns, Event::Refused(node, life, id));
            }
            Some(target) => {
                let pipe = self.pipes.len();
                self.pipes.push([Party::Node(node, id), Party::Pending(target)]);
                self.nodes[node].ends.insert(id, End { pipe, side: 0 });
                self.put_to(End { pipe, side: 1 }, Event::Arrives(pipe));
            }
        }
    }

    /// The sockets of a node take `bytes` bytes from now on.
    pub(super) fn make_room(&mut self, node: usize, bytes: usize) {
        self.nodes[node].room_bytes = bytes;
        let ids: Vec<ConnectionId> = self.nodes[node].ends.keys().copied().collect();
        for id in ids {
            if !self.nodes[node].connections.is_connecting(id) {
                self.write(node, id);
            }
        }
        self.with(node, Connections::pump);
    }

    fn write(&mut self, node: usize, id: ConnectionId) {
        loop {
            let one = &mut self.nodes[node];
            // Some bytes at a time, as sockets take them.
            let bytes = one.connections.unwritten(id);
            let bytes = bytes[..bytes.len().min(one.room_bytes).min(5000)].to_vec();
            let Some(&from) = one.ends.get(&id).filter(|_| !bytes.is_empty()) else { return };
            if one.room_bytes < usize::MAX {
                one.room_bytes -= bytes.len();
            }
            self.carry(from, &bytes);
            self.turn(node, |connections, cx| connections.advance(id, bytes.len(), cx));
        }
    }

    /// Passes bytes through the attacker, frame by frame.
    fn carry(&mut self, from: End, bytes: &[u8]) {
        let (mut reader, mut number) = self.readers.remove(&from).unwrap_or_default();
        reader.push(bytes);
        let mut passed = Vec::new();
        while let Ok(Some(frame)) = reader.next_frame() {
            let passing = Passing { from, number, bytes: frame.to_vec() };
            number += 1;
            let frames = match &mut self.meddle {
                Some(meddle) => meddle(&passing),
                None => vec![passing.bytes.clone()],
            };
            self.seen.push(passing);
            frames.iter().for_each(|frame| write_frame(&mut passed, frame).expect("short"));
        }
        self.readers.insert(from, (reader, number));
        self.say_to(from.other(), &passed);
    }

    fn close(&mut self, node: usize, id: ConnectionId) {
        self.nodes[node].dialling.remove(&id);
        if let Some(end) = self.nodes[node].ends.remove(&id) {
            self.close_end(end);
        }
    }

    fn close_end(&mut self, end: End) {
        self.pipes[end.pipe][end.side] = Party::Closed;
        // The last frame may have been written in part.
        let rest = self.readers.remove(&end).map(|(reader, _)| reader.into_rest());
        self.say_to(end.other(), &rest.unwrap_or_default());
        self.put_to(end.other(), Event::Closed(end.other()));
    }

    /// One side learns that its connection broke, the other a little later.
    pub(super) fn cut(&mut self, end: End) {
        match self.pipes.get(end.pipe).map_or(Party::Closed, |pipe| pipe[end.side]) {
            Party::Node(node, id) => _ = self.with(node, |all, cx| all.broken(id, cx)),
            Party::Stranger => self.close_end(end),
            Party::Pending(_) | Party::Closed => {}
        }
    }

    /// An attacker connects to a node.
    pub(super) fn call(&mut self, target: usize) -> usize {
        self.pipes.push([Party::Stranger, Party::Pending(target)]);
        let pipe = self.pipes.len() - 1;
        self.put_to(End { pipe, side: 1 }, Event::Taken(pipe));
        pipe
    }

    /// The attacker sends frames.
    pub(super) fn say(&mut self, pipe: usize, frames: &[Vec<u8>]) {
        let mut bytes = Vec::new();
        frames.iter().for_each(|frame| write_frame(&mut bytes, frame).expect("short"));
        self.say_bytes(pipe, &bytes);
    }

    pub(super) fn say_bytes(&mut self, pipe: usize, bytes: &[u8]) {
        self.say_to(End { pipe, side: 1 }, bytes);
    }

    /// Delivers bytes to one side of a pipe, whichever node has the other.
    pub(super) fn say_to(&mut self, end: End, bytes: &[u8]) {
        // Long frames come in longer pieces: each is an event.
        let piece_bytes = self.piece_bytes.max(bytes.len().div_ceil(PIECES_MAX));
        for piece in bytes.chunks(piece_bytes) {
            self.put_to(end, Event::Bytes(end, piece.to_vec()));
        }
    }

    /// Whether the node has closed the attacker's connection.
    pub(super) fn is_closed(&self, pipe: usize) -> bool {
        self.pipes[pipe][1] == Party::Closed
    }

    /// A node ends without notice; with a configuration it restarts, empty.
    pub(super) fn crash(&mut self, index: usize) {
        let ends: Vec<_> = self.nodes[index].ends.keys().copied().collect();
        ends.into_iter().for_each(|id| self.close(index, id));
        self.nodes[index].is_up = false;
    }

    /// A node cannot be reached any more, and still has its connections.
    pub(super) fn leave(&mut self, index: usize) {
        self.nodes[index].is_reachable = false;
    }

    pub(super) fn restart(&mut self, index: usize, config: Config, seed: u64) {
        self.replace(index, Some(Guard::new(config)), seed);
    }

    pub(super) fn restart_open(&mut self, index: usize) {
        self.replace(index, None, 1);
    }

    fn replace(&mut self, index: usize, guard: Option<Guard>, seed: u64) {
        let old = &self.nodes[index];
        let (name, life) = (old.name.clone(), old.life + 1);
        self.nodes[index] = Node { life, ..node(&name, guard, seed) };
    }

    /// Runs for some time.
    pub(super) fn run(&mut self, for_ns: u64) {
        let until_ns = self.now_ns + for_ns;
        let mut timers = 0;
        loop {
            let event_ns = self.under_way.first_key_value().map(|(&(at, _), _)| at);
            let timer = |node: &Node| node.connections.next_timeout().filter(|_| node.is_up);
            let timer_ns = self.nodes.iter().filter_map(timer).min();
            let next = [event_ns, timer_ns].into_iter().flatten().min();
            let Some(at) = next.filter(|&at| at <= until_ns) else { break };
            self.now_ns = self.now_ns.max(at);
            if event_ns == Some(at) {
                let Some((_, event)) = self.under_way.pop_first() else { break };
                self.happen(event);
            } else {
                let index = self.nodes.iter().position(|node| timer(node) == Some(at));
                self.with(index.expect("one"), Connections::on_time);
                timers += 1;
                assert!(timers < TIMERS_MAX, "timers go on for ever");
            }
        }
        self.now_ns = until_ns;
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Refused(node, life, id) if self.nodes[node].life == life => {
                self.with(node, |all, cx| all.broken(id, cx));
            }
            Event::Refused(..) => {}
            Event::Arrives(pipe) => {
                let [from, Party::Pending(target)] = self.pipes[pipe] else { return };
                if !self.nodes[target].takes() || from == Party::Closed {
                    self.pipes[pipe][1] = Party::Closed;
                    return self.happen(Event::Closed(End { pipe, side: 0 }));
                }
                // The other side takes the connection once this one knows of it.
                self.put_to(End { pipe, side: 1 }, Event::Taken(pipe));
                if let Party::Node(node, id) = from {
                    self.with(node, |all, cx| all.connected(id, cx));
                }
            }
            Event::Taken(pipe) => {
                let [_, Party::Pending(target)] = self.pipes[pipe] else { return };
                if !self.nodes[target].is_up {
                    return self.close_end(End { pipe, side: 1 });
                }
                let name = format!("host{pipe}:{}", 1000 + pipe);
                let id = self.with(target, |all, cx| all.accept(name, cx));
                self.pipes[pipe][1] = Party::Node(target, id);
                self.nodes[target].ends.insert(id, End { pipe, side: 1 });
            }
            Event::Closed(end) => {
                if let Party::Node(node, id) = self.pipes[end.pipe][end.side] {
                    self.with(node, |all, cx| all.closed(id, cx));
                }
            }
            Event::Bytes(end, bytes) => match self.pipes[end.pipe][end.side] {
                Party::Stranger => self.answers.entry(end.pipe).or_default().extend(bytes),
                Party::Node(node, id) => self.receive(node, id, &bytes),
                Party::Pending(_) | Party::Closed => {}
            },
        }
    }

    fn receive(&mut self, node: usize, id: ConnectionId, bytes: &[u8]) {
        let Some(&way) = self.nodes[node].ends.get(&id) else { return };
        let now_ns = self.now_ns;
        self.with(node, |all, _| all.push(id, bytes, now_ns));
        loop {
            enum After {
                Got(String, Vec<u8>),
                Taken,
                Bad,
                Tool,
                Over,
            }
            let after = self.with(node, |all, cx| match all.step(id, cx) {
                Step::Content { from, bytes } => After::Got(from.to_owned(), bytes.to_vec()),
                Step::Taken { .. } | Step::Named { .. } => After::Taken,
                Step::Quiet => After::Over,
                Step::Bad(_) => After::Bad,
                Step::Tool(_) => After::Tool,
            });
            match after {
                After::Got(from, bytes) => {
                    self.nodes[node].got.push((from, bytes));
                    self.nodes[node].ways.push(way);
                }
                After::Taken => {}
                After::Bad => {
                    self.with(node, |all, cx| all.end(id, cx));
                    return self.with(node, Connections::pump);
                }
                After::Tool => {
                    self.with(node, |all, _| all.release(id));
                    return self.close(node, id);
                }
                After::Over => return self.with(node, Connections::pump),
            }
        }
    }

    /// The frames that one side of a pipe has sent.
    pub(super) fn sent(&self, from: End) -> Vec<Vec<u8>> {
        let sent = self.seen.iter().filter(|passing| passing.from == from);
        sent.map(|passing| passing.bytes.clone()).collect()
    }
}
