//! A fleet with a key whose members are killed, stopped, restarted and given another key, while a
//! process of another fleet attacks. After each fault all links recover in bounded time, and no
//! table ever holds a row that no member has inserted.
//!
//! Each node gets a token at each start, `--fact put(NODE, TOKEN)`, and ships it to all others;
//! shipped rows stay as long as their sender lives. So the tables show which tokens each node has
//! received, and the oracle is the list of issued tokens.
//!
//! `cargo xtask soak fleet [--for SECONDS]` runs for long; without a time there are a few faults.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::UdpSocket;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use tidemill_stdx::rng::Rng;

use crate::common::Folder;
use crate::common::node::{Running, free_addresses, seconds, wait_until};

/// Members of the fleet; one more node is the stranger, whose address they have.
const NODES: usize = 5;

/// `has` at a node: which peer has shipped which token. The watched changes record the table.
const PROGRAM: &str = "\
materialize(member, infinity, infinity, keys(2)).
materialize(put, infinity, 1, keys(1)).
materialize(has, infinity, infinity, keys(2)).
h1 has(@Peer, Node, Token) :- put(@Node, Token), member(@Node, Peer), Peer != Node.
watchmod(has, \"id\").
";

/// Keys, in the order in which the fleet uses them.
fn key(number: u64) -> String {
    format!("{:016x}", number.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1).repeat(4)
}

struct Fleet {
    folder: Folder,
    program: String,
    facts: Vec<String>,
    addresses: Vec<String>,
    nodes: Vec<Running>,
    /// Issued tokens, by address.
    given: BTreeMap<String, BTreeSet<u64>>,
    /// The current token of each node.
    tokens: Vec<u64>,
    starts: u64,
    keys: Vec<String>,
}

impl Fleet {
    fn new() -> Fleet {
        let folder = Folder::new();
        let program = folder.file("fleet.olg", PROGRAM);
        let addresses = free_addresses(NODES + 1);
        let fact = |address: &String| format!("member(NODE, \"{address}\")");
        let facts = addresses.iter().map(fact).collect();
        let mut fleet = Fleet {
            folder,
            program,
            facts,
            addresses,
            nodes: Vec::new(),
            given: BTreeMap::new(),
            tokens: vec![0; NODES],
            starts: 0,
            keys: vec![key(1)],
        };
        for index in 0..NODES {
            let node = fleet.start(index);
            fleet.nodes.push(node);
        }
        fleet
    }

    fn start(&mut self, index: usize) -> Running {
        self.starts += 1;
        let (token, address) = (1_000_000 + self.starts, self.addresses[index].clone());
        self.tokens[index] = token;
        self.given.entry(address.clone()).or_default().insert(token);
        let file = self.give_keys(index);
        let put = format!("put(NODE, {token})");
        let mut arguments = vec![&*self.program, "--listen", &address, "--key", &file];
        for fact in self.facts.iter().chain([&put]) {
            arguments.extend(["--fact", fact]);
        }
        Running::start(&self.folder, &format!("out{index}-{}", self.starts), &arguments)
    }

    /// Writes the file of a node's keys atomically, as the node may be reading it; returns its
    /// path.
    fn give_keys(&self, index: usize) -> String {
        let next = self.secret(&format!("key{index}.next"), &self.keys.join("\n"));
        let path = next.strip_suffix(".next").expect("as named").to_owned();
        fs::rename(&next, &path).expect("renamed");
        path
    }

    /// Changes the keys of all running members.
    fn change_keys(&mut self, keys: Vec<String>) {
        self.keys = keys;
        for index in 0..NODES {
            let node = &self.nodes[index];
            let before = node.counter("/keys_taken");
            self.give_keys(index);
            node.signal("HUP");
            wait_until("the keys are taken", || node.counter("/keys_taken") > before);
        }
    }

    fn secret(&self, name: &str, text: &str) -> String {
        let path = self.folder.path().join(name);
        fs::write(&path, format!("{text}\n")).expect("written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("set");
        path.to_str().expect("text").to_owned()
    }

    fn restart(&mut self, index: usize) {
        self.nodes[index].child.kill().expect("killed");
        self.nodes[index].child.wait().expect("ended");
        self.nodes[index] = self.start(index);
    }

    /// The table of a node: tokens by the peer that has shipped them.
    fn table(&self, index: usize) -> BTreeMap<String, u64> {
        let text = fs::read_to_string(&self.nodes[index].out).expect("text");
        let mut rows = BTreeMap::new();
        // The last line may be incomplete.
        let whole = &text[..text.rfind('\n').map_or(0, |end| end + 1)];
        for line in whole.lines() {
            let words: Vec<&str> = line.splitn(5, ' ').collect();
            let [_, _, letter, _, tuple] = words[..] else { panic!("line `{line}`") };
            let (peer, token) = row(tuple).unwrap_or_else(|| panic!("line `{line}`"));
            let is_given = self.given.get(&peer).is_some_and(|given| given.contains(&token));
            assert!(is_given, "no member has put in {tuple}");
            match letter {
                "i" => drop(rows.insert(peer, token)),
                "d" if rows.get(&peer) == Some(&token) => drop(rows.remove(&peer)),
                "d" => {}
                _ => panic!("line `{line}`"),
            }
        }
        rows
    }

    /// Whether each node has exactly the tokens of all others.
    fn is_whole(&self) -> bool {
        (0..NODES).all(|index| {
            let others = (0..NODES).filter(|&other| other != index);
            let expected: BTreeMap<String, u64> =
                others.map(|other| (self.addresses[other].clone(), self.tokens[other])).collect();
            self.table(index) == expected
        })
    }
}

/// Peer and token of `has("node", "peer", token)`.
fn row(tuple: &str) -> Option<(String, u64)> {
    let inside = tuple.strip_prefix("has(")?.strip_suffix(')')?;
    let mut columns = inside.split(", ").skip(1);
    let peer = columns.next()?.trim_matches('"').to_owned();
    Some((peer, columns.next()?.parse().ok()?))
}

/// Attacks all members: with malformed datagrams, and by replaying received ones.
struct Attacker {
    socket: UdpSocket,
    random: Rng,
    received: Vec<Vec<u8>>,
}

impl Attacker {
    fn new() -> Attacker {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
        socket.set_nonblocking(true).expect("set");
        Attacker { socket, random: Rng::new(5), received: Vec::new() }
    }

    fn strike(&mut self, addresses: &[String]) {
        let mut buffer = [0; 2048];
        while let Ok((length, _)) = self.socket.recv_from(&mut buffer) {
            if self.received.len() < 1000 {
                self.received.push(buffer[..length].to_vec());
            }
        }
        for address in addresses {
            for kind in 0..8u8 {
                let mut bytes = vec![0; 16 + self.random.below(500) as usize];
                bytes.iter_mut().for_each(|byte| *byte = self.random.next_u64() as u8);
                bytes[..4].copy_from_slice(&[kind, 0, 0, 0]);
                if kind == 1 {
                    bytes.resize(512, 7);
                }
                let _ = self.socket.send_to(&bytes, address);
            }
            if let Some(received) = self.random.pick(&self.received) {
                let _ = self.socket.send_to(received, address);
            }
        }
    }
}

#[test]
#[ignore = "takes both cores: `cargo xtask soak fleet`"]
fn a_fleet_heals_after_every_blow_and_holds_nothing_foreign() {
    let span = Duration::from_secs(seconds().unwrap_or(0));
    let mut fleet = Fleet::new();
    let mut attacker = Attacker::new();
    let mut random = Rng::new(9);
    // A node of another fleet ships a token that was not issued, and members ship theirs to it.
    let other = fleet.secret("other.key", &key(99));
    let claims: Vec<String> =
        fleet.facts.iter().cloned().chain(["put(NODE, 666)".to_owned()]).collect();
    let address = fleet.addresses[NODES].clone();
    let mut arguments = vec![&*fleet.program, "--listen", &address, "--key", &other];
    claims.iter().for_each(|fact| arguments.extend(["--fact", fact]));
    let stranger = Running::start(&fleet.folder, "stranger", &arguments);
    let (began, mut blows, mut longest) = (Instant::now(), [0u32; 3], Duration::ZERO);
    let mut heal = |fleet: &Fleet, blow: &str| {
        let took = wait_until(&format!("it is whole after {blow}"), || {
            attacker.strike(&fleet.addresses);
            fleet.is_whole()
        });
        longest = longest.max(took);
    };
    heal(&fleet, "the start");
    for round in 0u64.. {
        if round >= 3 && began.elapsed() >= span {
            break;
        }
        let index = random.below(NODES as u64) as usize;
        match round % 3 {
            0 => {
                blows[0] += 1;
                fleet.restart(index);
                heal(&fleet, "a kill");
            }
            1 => {
                blows[1] += 1;
                fleet.nodes[index].signal("STOP");
                // Long enough for retransmissions, and at times for the others to consider it dead.
                std::thread::sleep(Duration::from_millis(500 + 2500 * (round % 5)));
                fleet.nodes[index].signal("CONT");
                heal(&fleet, "a halt");
            }
            _ => {
                // All have both keys before the new one is used, and before the old one is removed.
                blows[2] += 1;
                let next = key(2 + round);
                let old = fleet.keys[0].clone();
                for keys in [vec![old.clone(), next.clone()], vec![next.clone(), old], vec![next]] {
                    fleet.change_keys(keys);
                    heal(&fleet, "a change of keys");
                }
                // A session outlives its key: only a restart shows that the new one works.
                fleet.restart(index);
                heal(&fleet, "a start with the new key");
            }
        }
    }
    assert_eq!(stranger.lines(), 0, "nothing comes to who has another key");
    let [kills, halts, changes] = blows;
    println!(
        "{kills} kills, {halts} halts, {changes} changes of keys in {} s; whole again after at \
         most {:.1} s",
        began.elapsed().as_secs(),
        longest.as_secs_f64()
    );
}
