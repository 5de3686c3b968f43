//! Sealed datagrams under attack: two members of a fleet exchange contents, and their datagrams are
//! forged, repeated, changed, lost.
//!
//! An input is a script, so that the fuzzer decides what happens when:
//!
//! ```text
//! input = { step }     step = code u8, arguments; numbers are little endian
//!   0 SEND from            a member sends a content to the other; it arrives at once
//!   1 LOSE from            the same, and the network loses all that is sent in this step
//!   2 WAIT n               10 n^2 milliseconds pass
//!   3 REPLAY k:u16 r to    frame k that was seen comes again, from route r
//!   4 CHANGE k:u16 r to at:u16 x length:u16    the same, with a bit changed or cut off
//!   5 BYTES r to length:u16 { byte }           any bytes
//!   6 ASK n to             another member begins a handshake and does not go on with it
//!   7 STRANGER to          a node of another fleet sends, as long as it is answered
//! ```

use std::collections::BTreeSet;

use tidemill_fabric::counters::{Count, Counters};
use tidemill_fabric::seal::keys::{FleetKeys, Identity};
use tidemill_fabric::seal::{
    Carrier, Config, Context, DATAGRAM_BYTES_MAX, Guard, HALF_OPEN_MAX, NoEntropy, PeerState, Port,
};

const MS: u64 = 1_000_000;
const PEERS_MAX: usize = 4;
const STEPS_MAX: usize = 200;
/// Frames that an attacker keeps.
const SEEN_MAX: usize = 4096;
/// The maximal number of timers that fire in one wait.
const TIMEOUTS_MAX: usize = 10_000;
/// The time in which a healed network must deliver a content.
const HEAL_S: u64 = 40;

const MEMBERS: [&str; 2] = ["a:1", "b:1"];
const STRANGER: &str = "s:1";

struct Wire {
    state: u64,
    sent: Vec<(String, Vec<u8>)>,
}

impl Port for Wire {
    fn send(&mut self, route: &str, datagram: &[u8]) {
        assert!(datagram.len() <= DATAGRAM_BYTES_MAX);
        self.sent.push((route.to_owned(), datagram.to_vec()));
    }

    fn fill_entropy(&mut self, bytes: &mut [u8]) -> Result<(), NoEntropy> {
        for byte in bytes {
            self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            *byte = (self.state >> 56) as u8;
        }
        Ok(())
    }
}

struct Party {
    name: String,
    guard: Guard,
    wire: Wire,
    counters: Counters,
}

impl Party {
    fn new(name: &str, number: u8, key: &str) -> Party {
        let config = Config {
            carrier: Carrier::Datagrams,
            name: name.into(),
            keys: FleetKeys::parse(&key.repeat(8)).unwrap(),
            identity: Identity::new([number; 32]),
            known: None,
            peers_max: PEERS_MAX,
        };
        let wire = Wire { state: u64::from(number), sent: Vec::new() };
        let (guard, counters) = (Guard::new(config), Counters::new());
        Party { name: name.to_owned(), guard, wire, counters }
    }

    fn with<T>(&mut self, now_ns: u64, f: impl FnOnce(&mut Guard, &mut Context<'_>) -> T) -> T {
        let Party { guard, wire, counters, .. } = self;
        f(guard, &mut Context { now_ns, port: wire, counters })
    }

    /// The sender and the content of a datagram, if it delivers one.
    fn receive(&mut self, route: &str, bytes: &[u8], now_ns: u64) -> Option<(String, Vec<u8>)> {
        let mut bytes = bytes.to_vec();
        self.with(now_ns, |guard, cx| {
            let content = guard.receive(route, &mut bytes, cx)?;
            Some((content.name.to_owned(), content.bytes.to_vec()))
        })
    }
}

/// Whether the network delivers the datagrams of members.
#[derive(Clone, Copy, PartialEq)]
enum Network {
    Good,
    Loses,
}

struct World {
    members: [Party; 2],
    stranger: Party,
    now_ns: u64,
    /// Frames and their receivers.
    seen: Vec<(String, Vec<u8>)>,
    sent: u32,
    /// Contents in flight: sender, receiver, number.
    under_way: BTreeSet<(u8, u8, u32)>,
    delivered: usize,
    is_whole: bool,
}

/// Panics if a script breaks a guarantee.
pub fn check(input: &[u8]) {
    check_counting(input);
}

/// [`check`]; returns the number of contents that arrived, and the counts of refused datagrams.
pub fn check_counting(input: &[u8]) -> (usize, Counters) {
    let mut world = World {
        members: [Party::new("a:1", 1, "0123abcd"), Party::new("b:1", 2, "0123abcd")],
        stranger: Party::new(STRANGER, 3, "3210abcd"),
        now_ns: 0,
        seen: Vec::new(),
        sent: 0,
        under_way: BTreeSet::new(),
        delivered: 0,
        is_whole: true,
    };
    let mut script = Script(input);
    for _ in 0..STEPS_MAX {
        if world.step(&mut script).is_none() {
            break;
        }
        world.check_limits();
    }
    world.heal();
    let [a, b] = world.members;
    let mut counters = a.counters;
    counters.merge(&b.counters);
    (world.delivered, counters)
}

impl World {
    fn step(&mut self, script: &mut Script<'_>) -> Option<()> {
        match script.byte()? % 8 {
            0 => {
                let from = script.index()?;
                self.send(from, Network::Good);
            }
            1 => {
                let from = script.index()?;
                self.is_whole = false;
                self.send(from, Network::Loses);
            }
            2 => {
                let tenths = u64::from(script.byte()?);
                self.wait(10 * MS * tenths * tenths);
            }
            3 => {
                let frame = self.frame(script.word()?);
                let (route, to) = (script.route()?, script.index()?);
                self.attack(to, &route, &frame);
            }
            4 => {
                let mut frame = self.frame(script.word()?);
                let (route, to) = (script.route()?, script.index()?);
                let (at, change) = (usize::from(script.word()?), script.byte()?);
                let length = usize::from(script.word()?);
                if !frame.is_empty() {
                    let at = at % frame.len();
                    frame[at] ^= change;
                    frame.truncate(length);
                }
                self.attack(to, &route, &frame);
            }
            5 => {
                let (route, to) = (script.route()?, script.index()?);
                let length = usize::from(script.word()?);
                let bytes = script.bytes(length);
                let member = &mut self.members[to];
                let before = (member.counters.get(Count::Handshakes), bytes.len());
                self.attack(to, &route, bytes);
                let member = &mut self.members[to];
                let sent: usize = member.wire.sent.iter().map(|(_, bytes)| bytes.len()).sum();
                let after = (member.counters.get(Count::Handshakes), sent);
                assert!(after.0 > before.0 || after.1 <= before.1, "{after:?} for {before:?}");
            }
            6 => {
                let (number, to) = (script.byte()?, script.index()?);
                self.ask(number, to);
            }
            _ => {
                let to = script.index()?;
                self.trespass(to);
            }
        }
        self.carry(Network::Good);
        Some(())
    }

    fn frame(&self, number: u16) -> Vec<u8> {
        let count = self.seen.len().max(1);
        self.seen
            .get(usize::from(number) % count)
            .map(|(_, bytes)| bytes.clone())
            .unwrap_or_default()
    }

    fn send(&mut self, from: usize, network: Network) {
        self.sent += 1;
        let (to, number) = (1 - from, self.sent);
        let mut content = vec![from as u8, to as u8];
        content.extend_from_slice(&number.to_le_bytes());
        content.resize(6 + number as usize % 40, 7);
        self.under_way.insert((from as u8, to as u8, number));
        let now_ns = self.now_ns;
        self.members[from].with(now_ns, |guard, cx| guard.send(MEMBERS[to], &content, cx));
        self.carry(network);
        // A network without loss since the start delivers at the first try.
        let is_there = !self.under_way.contains(&(from as u8, to as u8, number));
        assert!(is_there || !self.is_whole, "content {number} has not come");
    }

    /// Delivers the datagrams of members, if the network is good; attackers see them all.
    fn carry(&mut self, network: Network) {
        loop {
            let mut passing = Vec::new();
            for member in &mut self.members {
                let from = member.name.clone();
                let sent = std::mem::take(&mut member.wire.sent);
                passing.extend(sent.into_iter().map(|(to, bytes)| (from.clone(), to, bytes)));
            }
            if passing.is_empty() {
                return;
            }
            for (from, to, bytes) in passing {
                if let (Network::Good, Some(to)) = (network, index_of(&to)) {
                    self.receive(to, &from, &bytes);
                }
                if self.seen.len() < SEEN_MAX {
                    self.seen.push((to, bytes));
                }
            }
        }
    }

    fn attack(&mut self, to: usize, route: &str, bytes: &[u8]) {
        self.receive(to, route, bytes);
    }

    /// Checks that a content was sent by the named member to this one, and arrives once.
    fn receive(&mut self, to: usize, route: &str, bytes: &[u8]) {
        let now_ns = self.now_ns;
        let Some((name, content)) = self.members[to].receive(route, bytes, now_ns) else { return };
        let (&[sender, receiver], rest) = content.split_first_chunk().expect("a content of ours");
        let number = u32::from_le_bytes(*rest.first_chunk().expect("a content of ours"));
        assert_eq!(name, MEMBERS[usize::from(sender)]);
        assert_eq!(usize::from(receiver), to);
        assert!(self.under_way.remove(&(sender, receiver, number)), "{number} is foreign or came");
        self.delivered += 1;
    }

    /// A member of another name begins a handshake, and is silent from then on.
    fn ask(&mut self, number: u8, to: usize) {
        let mut member = Party::new(&format!("m{number}:1"), number, "0123abcd");
        member.with(self.now_ns, |guard, cx| guard.send(MEMBERS[to], b"?", cx));
        for (_, bytes) in std::mem::take(&mut member.wire.sent) {
            self.receive(to, &member.name.clone(), &bytes);
            if self.seen.len() < SEEN_MAX {
                self.seen.push((MEMBERS[to].to_owned(), bytes));
            }
        }
    }

    /// A node of another fleet sends, and its replies are processed.
    fn trespass(&mut self, to: usize) {
        let now_ns = self.now_ns;
        self.stranger.with(now_ns, |guard, cx| {
            guard.on_time(cx);
            guard.send(MEMBERS[to], b"let me in", cx);
        });
        for (_, bytes) in std::mem::take(&mut self.stranger.wire.sent) {
            self.receive(to, STRANGER, &bytes);
        }
        assert!(self.members[to].wire.sent.iter().all(|(route, _)| route != STRANGER));
    }

    fn wait(&mut self, span_ns: u64) {
        let end_ns = self.now_ns + span_ns;
        for count in 0.. {
            assert!(count < TIMEOUTS_MAX, "timers go on for ever");
            let timeouts = self.members.iter().filter_map(|member| member.guard.next_timeout());
            let Some(next_ns) = timeouts.min().filter(|&at| at <= end_ns) else { break };
            self.now_ns = self.now_ns.max(next_ns);
            let now_ns = self.now_ns;
            for member in &mut self.members {
                member.with(now_ns, |guard, cx| guard.on_time(cx));
                assert!(member.guard.next_timeout().is_none_or(|at| at > now_ns));
            }
            self.carry(Network::Good);
        }
        self.now_ns = end_ns;
    }

    fn check_limits(&self) {
        for member in &self.members {
            assert!(member.guard.half_open() <= HALF_OPEN_MAX);
            assert!(member.guard.peers(self.now_ns).count() <= PEERS_MAX);
            // Only members have completed a handshake.
            for peer in
                member.guard.peers(self.now_ns).filter(|peer| peer.state == PeerState::Session)
            {
                assert!(MEMBERS.contains(&peer.name), "{peer:?}");
            }
        }
    }

    /// Heals the network: the two must be able to communicate again.
    fn heal(&mut self) {
        for from in [0, 1] {
            let before = self.delivered;
            self.is_whole = false;
            for _ in 0..HEAL_S {
                self.send(from, Network::Good);
                self.wait(1000 * MS);
                if self.delivered > before {
                    break;
                }
            }
            assert!(self.delivered > before, "{} is not accepted any more", MEMBERS[from]);
        }
        self.wait(3_600_000 * MS);
        assert!(self.members.iter().all(|member| member.guard.half_open() == 0));
        self.check_limits();
    }
}

fn index_of(name: &str) -> Option<usize> {
    MEMBERS.iter().position(|member| *member == name)
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

    /// The index of a member.
    fn index(&mut self) -> Option<usize> {
        Some(usize::from(self.byte()? & 1))
    }

    /// The apparent source of a datagram: a member, or another address.
    fn route(&mut self) -> Option<String> {
        let number = self.byte()?;
        let name = MEMBERS.get(usize::from(number)).map(|name| (*name).to_owned());
        Some(name.unwrap_or_else(|| format!("127.0.0.{number}:9")))
    }

    fn bytes(&mut self, length: usize) -> &'a [u8] {
        let (bytes, rest) = self.0.split_at(length.min(self.0.len()));
        self.0 = rest;
        bytes
    }
}

/// Scripts as seeds.
pub fn scripts() -> Vec<(&'static str, Vec<u8>)> {
    let talk = [0, 0, 0, 1, 0, 0, 2, 20, 0, 1].to_vec();
    let replays = |to: u8| (0..12).flat_map(move |frame| [3, frame, 0, 9 + frame, to]);
    let mut replayed = talk.clone();
    replayed.extend(replays(0).chain(replays(1)));
    replayed.extend([0, 0, 0, 1]);
    let mut changed = talk.clone();
    for frame in 0..16u8 {
        for at in [0, 1, 4, 8, 12, 16, 40, 200] {
            changed.extend([4, frame / 2, 0, 9, frame & 1, at, 0, 1 << (frame / 2), 255, 255]);
        }
    }
    changed.extend([0, 0, 0, 1]);
    let lost = [1, 0, 1, 1, 2, 10, 3, 0, 0, 9, 1, 3, 1, 0, 9, 0, 0, 0, 2, 30, 0, 1].to_vec();
    let rekeyed = [0, 0, 2, 120, 0, 1, 2, 110, 0, 0, 1, 0, 2, 150, 3, 3, 0, 9, 1, 0, 1].to_vec();
    // More handshakes than are accepted without a cookie.
    let mut crowd = talk.clone();
    crowd.extend((10..90).flat_map(|number| [6, number, 1]));
    crowd.extend([2, 140, 2, 140, 2, 140, 0, 0, 0, 1]);
    let mut strange = vec![7, 0, 0, 0, 7, 1, 2, 30, 7, 0];
    for first in 0..6u8 {
        strange.extend([5, 9, 0, 64, 0, first, 0, 0, 0]);
        strange.extend([first; 60]);
    }
    vec![
        ("talk", talk),
        ("replayed", replayed),
        ("changed", changed),
        ("lost", lost),
        ("rekeyed", rekeyed),
        ("crowd", crowd),
        ("strange", strange),
    ]
}
