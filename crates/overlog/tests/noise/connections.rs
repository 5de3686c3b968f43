//! Connections under attack: members of a fleet exchange contents over a network that cuts, delays,
//! changes and repeats bytes, while strangers connect.
//!
//! An input is a script, so that the fuzzer decides what happens when:
//!
//! ```text
//! input = flags u8 { step }     flags: 1 no key, 2 one more member, 4 and a node of another fleet
//! step = code u8, arguments: bytes, but k and length: u16, little endian
//!    0 SEND from to n           a content of 8 + n^2 bytes; `to` may be any node
//!    1 FILL from to             contents of a mebibyte, more than can wait
//!    2 WAIT n                   5 n^2 milliseconds pass
//!    3 ROOM node n              its sockets take n^2 more bytes; all that comes, for n = 255
//!    4 CUT pipe side            this side of a connection is broken, and then the other
//!    5 WIRE delay piece         all is 10 * delay ms under way from now on, in pieces of that size
//!    6 CALL to                  a stranger connects
//!    7 BYTES pipe side length { byte }          bytes come to a side
//!    8 FRAME pipe side length { byte }          the same, preceded by their length
//!    9 REPLAY pipe side k       frame k that was seen comes to a side
//!   10 CHANGE pipe side k at x length           the same, with a bit changed or cut off
//!   11 HARM skip kind place k   one of the next frames is cut out, doubled, changed, ...
//!   12 RESTART node identity    a node crashes and restarts, maybe as another
//!   13 KEYS node which          it gets other keys, and a list of known peers
//!   14 FLOOD to n              16 n strangers connect
//!   15 CROWD from n            it sends to 16 n absent nodes
//!   16 HOLD pipe side n        n mebibytes of a frame that does not end come to a side
//! ```
//! The network and its nodes are those of the tests of `fabric`.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;

use tidemill_fabric as fabric;
use tidemill_fabric::connections::{
    CONNECTIONS_MAX, Connections, HELD_BYTES_MAX, Load, QUEUE_BYTES_MAX, UNPROVEN_MAX,
};
use tidemill_fabric::counters::Counters;
use tidemill_fabric::seal::keys::FleetKeys;
use tidemill_fabric::seal::{COOKIE_FROM, Config, HALF_OPEN_MAX};
use tidemill_fabric::stream::write_frame;

#[path = "../../../fabric/src/connections/tests/net.rs"]
#[allow(dead_code, reason = "parts of it serve the tests of `fabric` alone")]
mod net;

use net::{End, MS, Net, Party, S, config, harm, identity, keys, known};

const STEPS_MAX: usize = 200;
/// The maximal virtual time of a script.
const TIME_MAX_NS: u64 = 1200 * S;
const FILLS_MAX: usize = 2;
const HELD_MIB_MAX: usize = 80;
/// The maximal number of strangers that connect, and of absent nodes.
const OTHERS_MAX: usize = 6000;
/// The time in which a healed network must deliver a content.
const HEAL_S: usize = 60;
const MIB: usize = 1 << 20;
/// Bytes that may wait to be written to one connection, sealed, beside the longest content.
const SEALED_BYTES_MAX: usize = 300 << 10;
/// The first bytes of the last message of a handshake.
const FINISH: [u8; 2] = [4, 1];

/// A content that was sent.
struct Sent {
    from: usize,
    to: usize,
    /// The identity of the sender.
    identity: u8,
    /// Its index among the contents that the sender has queued for that node.
    place: u32,
    length: usize,
}

/// The current state of a node.
struct Member {
    identity: u8,
    /// The choice of keys, and whether there is a list.
    which: u8,
}

struct World {
    net: Net,
    has_key: bool,
    /// The number of nodes of the fleet; the node after them is of another.
    members: usize,
    parties: Vec<Member>,
    /// By number.
    sent: Vec<Sent>,
    /// Numbers of the contents that arrived.
    came: BTreeSet<u32>,
    /// The last content that arrived over each connection.
    last: BTreeMap<End, u32>,
    places: BTreeMap<(usize, usize), u32>,
    harms: Rc<RefCell<VecDeque<Harm>>>,
    /// Bytes that strangers have sent, by pipe; without pipes that may have carried a handshake.
    said: BTreeMap<usize, usize>,
    /// Without a key: pipes that an attacker has touched.
    tainted: BTreeSet<usize>,
    fills: usize,
    held_mib: usize,
    others: usize,
}

/// The damage to a frame.
struct Harm {
    skip: u8,
    kind: u8,
    place: u8,
    old: u16,
}

/// Panics if a script breaks a guarantee.
pub fn check(input: &[u8]) {
    check_counting(input);
}

/// [`check`]; returns the number of contents that arrived, and the counters.
pub fn check_counting(input: &[u8]) -> (usize, Counters) {
    let mut script = Script(input);
    let mut world = World::new(script.byte().unwrap_or(0));
    for _ in 0..STEPS_MAX {
        if world.net.now_ns > TIME_MAX_NS || world.step(&mut script).is_none() {
            break;
        }
        world.take_contents();
        world.check_limits();
    }
    world.heal();
    world.end();
    let mut counters = Counters::new();
    world.net.nodes.iter().for_each(|node| counters.merge(&node.counters));
    (world.came.len(), counters)
}

impl World {
    fn new(flags: u8) -> World {
        let has_key = flags & 1 == 0;
        let members = 2 + usize::from(flags >> 1 & 1);
        let mut net = if has_key { Net::sealed(members as u8) } else { Net::open(members as u8) };
        let is_visited = has_key && flags & 4 != 0;
        if is_visited {
            net.add(Config { keys: keys("3210abcd"), ..config("x:1", 50) });
        }
        let parties =
            (0..net.nodes.len()).map(|number| Member { identity: number as u8, which: 0 });
        World {
            parties: parties.collect(),
            net,
            has_key,
            members,
            sent: Vec::new(),
            came: BTreeSet::new(),
            last: BTreeMap::new(),
            places: BTreeMap::new(),
            harms: Rc::default(),
            said: BTreeMap::new(),
            tainted: BTreeSet::new(),
            fills: 0,
            held_mib: 0,
            others: 0,
        }
    }

    fn step(&mut self, script: &mut Script<'_>) -> Option<()> {
        match script.byte()? % 17 {
            0 => {
                let (from, to) = (self.node(script)?, self.node(script)?);
                let n = usize::from(script.byte()?);
                self.send(from, to, 8 + n * n);
            }
            1 => {
                let (from, to) = (self.node(script)?, self.node(script)?);
                self.fills += 1;
                for _ in 0..9 * usize::from(self.fills <= FILLS_MAX) {
                    self.send(from, to, MIB);
                }
            }
            2 => {
                let n = u64::from(script.byte()?);
                self.net.run(5 * MS * n * n);
            }
            3 => {
                let (node, n) = (self.node(script)?, usize::from(script.byte()?));
                self.net.make_room(node, if n == 255 { usize::MAX } else { n * n });
            }
            4 => {
                let end = self.end_of(script)?;
                self.net.cut(end);
            }
            5 => {
                self.net.delay_ns = 10 * MS * u64::from(script.byte()?);
                let piece = usize::from(script.byte()?);
                self.net.piece_bytes = if piece == 0 { usize::MAX } else { piece };
            }
            6 => {
                let to = self.node(script)?;
                self.call(to, 1);
            }
            7 => {
                let (end, length) = (self.end_of(script)?, script.word()?);
                let bytes = script.bytes(usize::from(length));
                self.say(end, bytes);
            }
            8 => {
                let (end, length) = (self.end_of(script)?, script.word()?);
                let bytes = script.bytes(usize::from(length));
                self.say_frame(end, bytes);
            }
            9 => {
                let (end, frame) = (self.end_of(script)?, self.frame(script.word()?));
                self.say_frame(end, &frame);
            }
            10 => {
                let (end, mut frame) = (self.end_of(script)?, self.frame(script.word()?));
                let (at, change) = (usize::from(script.byte()?), script.byte()?);
                let length = usize::from(script.word()?);
                let at = at % frame.len().max(1);
                frame.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= change);
                frame.truncate(length);
                self.say_frame(end, &frame);
            }
            11 => {
                let (skip, kind, place) = (script.byte()?, script.byte()?, script.byte()?);
                let harm = Harm { skip, kind, place, old: script.word()? };
                self.harm(harm);
            }
            12 => {
                let (node, is_other) = (self.node(script)?, script.byte()? & 1);
                self.restart(node, is_other);
            }
            13 => {
                let (node, which) = (self.node(script)?, script.byte()?);
                self.change_keys(node, which);
            }
            14 => {
                let (to, n) = (self.node(script)?, usize::from(script.byte()?));
                self.call(to, 16 * n);
            }
            15 => {
                let (from, n) = (self.node(script)?, usize::from(script.byte()?));
                for number in 0..(16 * n).min(OTHERS_MAX - self.others) {
                    self.net.send(from, &format!("none{number}:{n}"), b"?");
                    self.others += 1;
                }
            }
            _ => {
                let (end, n) = (self.end_of(script)?, usize::from(script.byte()?));
                self.hold(end, n % 16);
            }
        }
        Some(())
    }

    fn node(&self, script: &mut Script<'_>) -> Option<usize> {
        Some(usize::from(script.byte()?) % self.net.nodes.len())
    }

    /// A side of a pipe; the last pipes are the last numbers.
    fn end_of(&self, script: &mut Script<'_>) -> Option<End> {
        let (number, side) = (usize::from(script.byte()?), usize::from(script.byte()? & 1));
        let count = self.net.pipes.len().max(1);
        let pipe = if number < 128 { number } else { count - 1 - (255 - number) % count };
        Some(End { pipe: pipe % count, side })
    }

    fn frame(&self, number: u16) -> Vec<u8> {
        let seen = &self.net.seen;
        let passing = seen.get(usize::from(number) % seen.len().max(1));
        passing.map(|passing| passing.bytes.clone()).unwrap_or_default()
    }

    fn send(&mut self, from: usize, to: usize, length: usize) {
        if from == to {
            return;
        }
        let number = self.sent.len() as u32;
        let bytes = content(number, length);
        let (now_ns, name) = (self.net.now_ns, self.net.nodes[to].name.clone());
        let sender = &mut self.net.nodes[from];
        let drops = sender.counters.drops();
        sender.connections.send(&name, &bytes, now_ns, &mut sender.counters);
        let place = self.places.entry((from, to)).or_default();
        *place += u32::from(sender.counters.drops() == drops);
        let (identity, place) = (self.parties[from].identity, *place);
        self.sent.push(Sent { from, to, identity, place, length });
        self.net.with(from, Connections::pump);
    }

    fn call(&mut self, to: usize, count: usize) {
        for _ in 0..count.min(OTHERS_MAX - self.others) {
            self.others += 1;
            let pipe = self.net.call(to);
            self.said.insert(pipe, 0);
            self.tainted.insert(pipe);
        }
    }

    /// An attacker delivers bytes to a side.
    fn say(&mut self, end: End, bytes: &[u8]) {
        let Some(pipe) = self.net.pipes.get(end.pipe) else { return };
        if pipe[end.side] != Party::Stranger {
            self.tainted.insert(end.pipe);
            self.said.get_mut(&end.pipe).into_iter().for_each(|said| *said += bytes.len());
            self.net.say_to(end, bytes);
        }
    }

    fn say_frame(&mut self, end: End, frame: &[u8]) {
        // An attacker that forwards all messages of a handshake is part of the path.
        if frame.starts_with(&FINISH) {
            self.said.remove(&end.pipe);
        }
        let mut bytes = Vec::new();
        write_frame(&mut bytes, frame).expect("a short frame");
        self.say(end, &bytes);
    }

    /// One of the next frames is damaged.
    fn harm(&mut self, what: Harm) {
        self.harms.borrow_mut().push_back(what);
        self.tainted.extend(0..self.net.pipes.len() + 64 * usize::from(!self.has_key));
        let (harms, mut seen) = (self.harms.clone(), Vec::<Vec<u8>>::new());
        if self.net.meddle.is_some() {
            return;
        }
        seen.extend(self.net.seen.iter().map(|passing| passing.bytes.clone()));
        self.net.meddle = Some(Box::new(move |passing| {
            seen.push(passing.bytes.clone());
            let mut harms = harms.borrow_mut();
            let Some(next) = harms.front_mut() else { return vec![passing.bytes.clone()] };
            if next.skip > 0 {
                next.skip -= 1;
                return vec![passing.bytes.clone()];
            }
            // Counted from the last one, which is the frame itself.
            let old = seen.len().checked_sub(1 + usize::from(next.old));
            let old = old.and_then(|at| seen.get(at)).cloned();
            let frames = harm(&passing.bytes, old, u64::from(next.kind), usize::from(next.place));
            harms.pop_front();
            frames
        }));
    }

    fn config(&self, node: usize) -> Config {
        let Member { identity: number, which } = self.parties[node];
        let name = &*self.net.nodes[node].name;
        let keys = fleet_keys(node < self.members, which);
        let known = (which & 4 != 0).then(|| known(&LIST));
        Config { keys, known, identity: identity(number), ..config(name, 0) }
    }

    fn restart(&mut self, node: usize, is_other: u8) {
        self.parties[node].identity = node as u8 + 100 * is_other;
        self.net.crash(node);
        if self.has_key {
            let seed = (node as u64 + 1) << 40 | self.net.now_ns;
            self.net.restart(node, self.config(node), seed);
        } else {
            self.net.restart_open(node)
        }
        self.places.retain(|(from, _), _| *from != node);
    }

    fn change_keys(&mut self, node: usize, which: u8) {
        self.parties[node].which = which;
        let Config { keys, known, .. } = self.config(node);
        self.net.with(node, |all, cx| all.replace_keys(keys, known, cx));
        self.net.with(node, Connections::pump);
    }

    /// A frame of maximal length begins and does not end.
    fn hold(&mut self, end: End, mib: usize) {
        let mib = mib.min(HELD_MIB_MAX - self.held_mib);
        self.held_mib += mib;
        let mut bytes = (16 * MIB as u32).to_le_bytes().to_vec();
        bytes.resize(4 + mib * MIB, 1);
        let piece_bytes = std::mem::replace(&mut self.net.piece_bytes, MIB);
        self.say(end, &bytes);
        self.net.piece_bytes = piece_bytes;
    }

    /// Checks that each content was sent by the named node to this one, and that it arrives once,
    /// in order over each connection, and without gaps if there is a key.
    fn take_contents(&mut self) {
        for to in 0..self.net.nodes.len() {
            let node = &mut self.net.nodes[to];
            let (got, ways) = (std::mem::take(&mut node.got), std::mem::take(&mut node.ways));
            for ((from, bytes), way) in got.into_iter().zip(ways) {
                if self.has_key || !self.tainted.contains(&way.pipe) {
                    self.take_content(to, &from, &bytes, way);
                }
            }
        }
    }

    fn take_content(&mut self, to: usize, from: &str, bytes: &[u8], way: End) {
        let number = u32::from_le_bytes(*bytes.first_chunk().expect("a content of ours"));
        if !self.has_key && bytes == b"?" {
            return;
        }
        let sent = self.sent.get(number as usize).expect("it was sent");
        assert_eq!((from, to), (&*self.net.nodes[sent.from].name, sent.to));
        assert!(bytes == content(number, sent.length), "content {number} has changed");
        assert!(self.came.insert(number), "content {number} came again");
        if let Some(last) = self.last.insert(way, number) {
            assert!(last < number, "{number} came after {last} over {way:?}");
            let (place, last) = (sent.place, self.sent[last as usize].place);
            let is_next = !self.has_key || place == last + 1 || place == 1;
            assert!(is_next, "{place} came after {last} over {way:?}");
        }
        assert_eq!(sent.from < self.members, to < self.members, "a content of another fleet");
        if self.has_key && self.parties[to].which & 4 != 0 {
            let name = (&*self.net.nodes[sent.from].name, sent.identity);
            assert!(LIST.contains(&name), "{name:?} is not in the list");
        }
    }

    fn check_limits(&self) {
        for node in &self.net.nodes {
            let load = node.connections.load();
            assert_eq!(load.connections, node.sockets(), "{load:?}");
            assert!(load.connections <= 2 * CONNECTIONS_MAX + UNPROVEN_MAX, "{load:?}");
            assert!(load.peers <= CONNECTIONS_MAX, "{load:?}");
            assert!(load.held_bytes <= HELD_BYTES_MAX, "{load:?}");
            assert!(load.queue_bytes <= QUEUE_BYTES_MAX + 4, "{load:?}");
            assert!(load.silent <= UNPROVEN_MAX, "{load:?}");
            assert!(load.unproven <= UNPROVEN_MAX + 4 * COOKIE_FROM, "{load:?}");
            let unwritten_max = match node.connections.guard() {
                Some(_) => MIB + SEALED_BYTES_MAX,
                None => QUEUE_BYTES_MAX + 4,
            };
            assert!(node.unwritten_max() <= unwritten_max, "{}", node.unwritten_max());
            assert!(self.has_key || load.taken <= CONNECTIONS_MAX, "{load:?}");
            let half_open = node.connections.guard().map_or(0, |guard| guard.half_open());
            assert!(half_open <= HALF_OPEN_MAX, "{half_open}");
        }
        for (pipe, said) in &self.said {
            let answered = self.net.answers.get(pipe).map_or(0, Vec::len);
            assert!(answered <= *said, "{answered} bytes for {said}");
        }
    }

    /// Heals the network: members must be able to communicate again.
    fn heal(&mut self) {
        self.net.meddle = None;
        self.net.delay_ns = 10 * MS;
        self.net.piece_bytes = usize::MAX;
        // Without a key nothing is guaranteed for pipes that an attacker has touched.
        self.tainted.retain(|&pipe| pipe < self.net.pipes.len());
        for &pipe in self.tainted.iter().filter(|_| !self.has_key) {
            (0..2).for_each(|side| self.net.cut(End { pipe, side }));
        }
        for node in 0..self.net.nodes.len() {
            self.net.make_room(node, usize::MAX);
            if self.has_key {
                self.change_keys(node, 0);
            }
        }
        for number in 0..self.members {
            let other = (number + 1) % self.members;
            self.talk(number, other);
            self.talk(other, number);
        }
    }

    fn talk(&mut self, from: usize, to: usize) {
        let first = self.sent.len() as u32;
        for _ in 0..HEAL_S {
            self.send(from, to, 8);
            self.net.run(S);
            self.take_contents();
            self.check_limits();
            if self.came.range(first..).next().is_some() {
                return;
            }
        }
        panic!("{to} does not accept {from} any more");
    }

    /// Checks that nothing is held when all connections are closed.
    fn end(&mut self) {
        for node in 0..self.net.nodes.len() {
            self.net.leave(node);
        }
        for pipe in 0..self.net.pipes.len() {
            (0..2).for_each(|side| self.net.cut(End { pipe, side }));
        }
        self.net.run(300 * S);
        self.take_contents();
        self.check_limits();
        for node in &self.net.nodes {
            let load = node.connections.load();
            assert_eq!(load, Load { peers: load.peers, ..Load::default() });
            assert_eq!(node.connections.guard().map_or(0, |guard| guard.half_open()), 0);
            assert!(node.connections.has_written_all());
        }
    }
}

/// The peers known to nodes that have a list.
const LIST: [(&str, u8); 2] = [("a:1", 0), ("b:1", 1)];

fn fleet_keys(is_member: bool, which: u8) -> FleetKeys {
    if !is_member {
        return keys("3210abcd");
    }
    let keys = ["0123abcd", "4567abcd"].map(|key| key.repeat(8));
    let text = match which % 4 {
        0 => keys[0].clone(),
        1 => keys.join("\n"),
        2 => format!("{}\n{}", keys[1], keys[0]),
        _ => keys[1].clone(),
    };
    FleetKeys::parse(&text).expect("keys")
}

fn content(number: u32, length: usize) -> Vec<u8> {
    let mut content = number.to_le_bytes().to_vec();
    content.resize(length, number as u8 | 1);
    content
}

struct Script<'a>(&'a [u8]);

impl<'a> Script<'a> {
    fn byte(&mut self) -> Option<u8> {
        let (&byte, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(byte)
    }

    fn word(&mut self) -> Option<u16> {
        Some(u16::from_le_bytes([self.byte()?, self.byte()?]))
    }

    fn bytes(&mut self, length: usize) -> &'a [u8] {
        let (bytes, rest) = self.0.split_at(length.min(self.0.len()));
        self.0 = rest;
        bytes
    }
}

/// Scripts as seeds.
pub fn scripts() -> Vec<(&'static str, Vec<u8>)> {
    let talk = [0, 0, 0, 1, 9, 2, 20, 0, 1, 0, 3, 2, 20, 0, 0, 1, 200, 2, 20];
    let open = [&[1], &talk[1..], &[8, 0, 1, 4, 0, 0, b'c', b':', b'1', 4, 0, 0, 0, 0, 1, 1]];
    let pieces = [&[2, 5, 3, 7][..], &talk[1..], &[0, 2, 0, 30, 2, 30, 0, 0, 2, 40, 2, 60]];
    // The last frame is written in part when the connection breaks.
    let cut = [&talk[..], &[3, 0, 9, 0, 0, 1, 30, 4, 0, 0, 3, 0, 255, 2, 60, 0, 1, 0, 1, 4, 0, 1]];
    let stuck = [&talk[..], &[3, 0, 0, 1, 0, 1, 1, 0, 1, 2, 78, 3, 0, 255, 2, 60, 0, 0, 1, 2]];
    let mut replayed = talk.to_vec();
    for k in 0..8 {
        replayed.extend([6, 1, 9, 255, 1, k, 0, 9, 0, 1, k, 0, 2, 10, 0, 0, 1, k, 2, 30]);
    }
    let mut changed = talk.to_vec();
    for at in 0..14 {
        changed.extend([6, at & 1, 10, 255, 1, at / 4, 0, at * 7, 1 << (at & 7), 255, 255, 2, 9]);
    }
    let mut harmed = talk.to_vec();
    for kind in 0..12 {
        harmed.extend([11, kind / 3, kind, 17 * kind, 1, 0, 0, 0, 1, 5, 0, 1, 0, 6, 2, 40]);
    }
    // The last frame of a session is cut out.
    let mut rekeyed = talk.to_vec();
    for _ in 0..4 {
        rekeyed.extend([0, 0, 1, 4, 0, 1, 0, 4, 2, 110]);
    }
    // The content that is cut out is the last of its session, and has it replaced.
    let between = [&talk[..], &[2, 155, 11, 0, 0, 0, 0, 0], &[0, 0, 1, 5, 2, 20].repeat(4)];
    let late = [0, 0, 0, 1, 4, 2, 160, 11, 0, 0, 0, 0, 0, 0, 0, 1, 5, 0, 0, 1, 6, 2, 200];
    let restarted = [&[2], &talk[1..], &[12, 1, 0, 0, 0, 1, 6, 2, 90, 12, 0, 1, 0, 0, 1, 1, 2, 90]];
    let keys = [
        &[6],
        &talk[1..],
        &[13, 0, 1, 13, 1, 2, 0, 2, 0, 1, 0, 3, 0, 1, 2, 90, 13, 0, 4, 13, 1, 7, 0, 2, 0, 7, 2, 90],
        &[0, 2, 0, 3, 0, 1, 0, 3, 2, 90],
    ];
    let flood =
        [&talk[..], &[14, 1, 20, 2, 9, 0, 0, 1, 1, 2, 9, 14, 0, 20, 7, 200, 1, 9, 0, 9, 2, 0, 0]];
    let crowd =
        [&[1], &talk[1..], &[15, 0, 200, 2, 9, 15, 0, 99, 14, 1, 255, 2, 9, 14, 1, 60, 2, 9]];
    let held = [&[1, 6, 1, 6, 1, 6, 1, 6, 1, 6, 1, 2, 9][..], &held()];
    // A tool, plain frames, lengths without end, a stranger that is answered.
    let strange = [
        &talk[..],
        &[6, 0, 8, 255, 1, 3, 0, 5, 1, 1, 6, 1, 8, 255, 1, 4, 0, 0, b'c', b':', b'1', 2, 9],
        &[6, 1, 7, 255, 1, 8, 0, 255, 255, 255, 255, 1, 0, 0, 0, 6, 1, 7, 255, 1, 5, 0, 0, 2, 0, 0],
        &[1, 2, 9, 6, 1, 9, 255, 1, 0, 0, 9, 255, 1, 0, 0, 2, 9, 4, 255, 0, 2, 60],
    ];
    vec![
        ("talk", talk.to_vec()),
        ("open", open.concat()),
        ("pieces", pieces.concat()),
        ("cut", cut.concat()),
        ("stuck", stuck.concat()),
        ("replayed", replayed),
        ("changed", changed),
        ("harmed", harmed),
        ("rekeyed", rekeyed),
        ("between", between.concat()),
        ("late", late.to_vec()),
        ("restarted", restarted.concat()),
        ("keys", keys.concat()),
        ("flood", flood.concat()),
        ("crowd", crowd.concat()),
        ("held", held.concat()),
        ("strange", strange.concat()),
    ]
}

fn held() -> Vec<u8> {
    (0..5).flat_map(|pipe| [16, pipe, 1, 14, 2, 4]).chain([0, 0, 1, 1, 2, 20]).collect()
}
