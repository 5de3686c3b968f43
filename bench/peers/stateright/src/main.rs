//! Counts the states of a model with stateright: `MODEL SIZE`. Prints states, CPU seconds, and the
//! peak memory of the search in bytes.
//!
//! The models are those of the rules in `tests/explore`: nodes that complete all turns that follow
//! from a message at once, and a network of single unordered messages.

use std::fs;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use stateright::{Checker, Model, Property};

/// An input of a node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
enum Message {
    Start,
    Prepare,
    Vote { from: u8, yes: bool },
    Told { commit: bool },
    Propose { ballot: u8, value: u8 },
    Ask { from: u8, ballot: u8 },
    Promise { ballot: u8, from: u8, before: u8, value: u8 },
    Accept { ballot: u8, value: u8 },
    Learn { ballot: u8, from: u8, value: u8 },
    Operate { client: u8, value: u8 },
    Get { from: u8 },
    Got { from: u8, stored: (u8, u8) },
    Put { from: u8, stored: (u8, u8) },
    Ack { from: u8 },
    Token { number: u8 },
    Elected { number: u8 },
    Want,
    Request { from: u8, time: u8 },
    Grant { from: u8 },
    Use { from: u8 },
    Used,
}

/// The state of a node; each model uses a part of it.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Node {
    voted: Vec<u8>,
    choice: Option<bool>,
    decision: Option<bool>,
    promised: u8,
    accepted: (u8, u8),
    proposals: Vec<(u8, u8)>,
    /// Ballot, acceptor, the previously accepted ballot, and its value.
    answers: Vec<(u8, u8, u8, u8)>,
    /// Ballot, acceptor, value.
    learned: Vec<(u8, u8, u8)>,
    chosen: Vec<u8>,
    /// Of a server: stamp and value.
    stored: (u8, u8),
    /// The client's number and the value to write.
    wanted: Option<(u8, u8)>,
    /// Server, stamp, value.
    got: Vec<(u8, u8, u8)>,
    picked: Option<(u8, u8)>,
    kept: Vec<u8>,
    done: Option<u8>,
    leader: Option<u8>,
    clock: u8,
    wants: Option<u8>,
    granted: Vec<u8>,
    waiting: Vec<u8>,
    holds: bool,
}

type Network = Vec<(u8, Message)>;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct State {
    nodes: Vec<Node>,
    /// In order.
    network: Network,
}

/// A message reaches its node, with the result of a random choice, if there is one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Deliver {
    message: (u8, Message),
    coin: bool,
}

/// A model and its size.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Protocol {
    /// The number of participants.
    Commit(u8),
    /// The number of ballots, each of another proposer.
    Paxos(u8),
    /// The number of clients, every other of which writes.
    Register(u8),
    /// The number of nodes.
    Ring(u8),
    /// The number of nodes that want the resource.
    Mutex(u8),
}

/// Inserts a value into a sorted vector; returns whether it is new.
fn insert<T: Ord>(values: &mut Vec<T>, value: T) -> bool {
    match values.binary_search(&value) {
        Ok(_) => false,
        Err(at) => {
            values.insert(at, value);
            true
        }
    }
}

impl Protocol {
    /// Handles a message at a node.
    fn handle(self, at: u8, node: &mut Node, message: Message, coin: bool) -> Network {
        match self {
            Protocol::Commit(size) => Protocol::handle_commit(size, at, node, message, coin),
            Protocol::Paxos(_) => Protocol::handle_paxos(at, node, message),
            Protocol::Register(_) => Protocol::handle_register(at, node, message),
            Protocol::Ring(size) => Protocol::handle_ring(size, at, node, message),
            Protocol::Mutex(size) => Protocol::handle_mutex(size, at, node, message),
        }
    }

    fn handle_commit(size: u8, at: u8, node: &mut Node, message: Message, coin: bool) -> Network {
        let all = |message: Message| (1..=size).map(|to| (to, message)).collect();
        match message {
            Message::Start => all(Message::Prepare),
            Message::Prepare => {
                node.choice = Some(coin);
                if !coin {
                    node.decision = Some(false);
                }
                vec![(0, Message::Vote { from: at, yes: coin })]
            }
            Message::Vote { yes: false, .. } => all(Message::Told { commit: false }),
            Message::Vote { from, .. } => {
                match insert(&mut node.voted, from) && node.voted.len() == usize::from(size) {
                    true => all(Message::Told { commit: true }),
                    false => Vec::new(),
                }
            }
            Message::Told { commit } => {
                node.decision = Some(commit);
                Vec::new()
            }
            _ => Vec::new(),
        }
    }

    fn handle_paxos(at: u8, node: &mut Node, message: Message) -> Network {
        let all = |message: Message| (1..=3).map(|to| (to, message)).collect();
        match message {
            Message::Propose { ballot, value } => {
                insert(&mut node.proposals, (ballot, value));
                all(Message::Ask { from: at, ballot })
            }
            Message::Ask { from, ballot } if ballot > node.promised => {
                node.promised = ballot;
                let (before, value) = node.accepted;
                vec![(from, Message::Promise { ballot, from: at, before, value })]
            }
            Message::Promise { ballot, from, before, value } => {
                let is_new = insert(&mut node.answers, (ballot, from, before, value));
                let answers = || node.answers.iter().filter(|answer| answer.0 == ballot);
                if !is_new || answers().count() != 2 {
                    return Vec::new();
                }
                let best = answers().map(|answer| (answer.2, answer.3)).max();
                let best = best.filter(|best| best.0 > 0).map(|best| best.1);
                let own = node.proposals.iter().find(|it| it.0 == ballot).map(|it| it.1);
                let value = best.or(own).unwrap_or_default();
                all(Message::Accept { ballot, value })
            }
            Message::Accept { ballot, value } if ballot >= node.promised => {
                node.promised = ballot;
                node.accepted = (ballot, value);
                vec![(0, Message::Learn { ballot, from: at, value })]
            }
            Message::Learn { ballot, from, value } => {
                if insert(&mut node.learned, (ballot, from, value)) {
                    let same = node.learned.iter().filter(|it| it.0 == ballot && it.2 == value);
                    if same.count() == 2 {
                        insert(&mut node.chosen, value);
                    }
                }
                Vec::new()
            }
            _ => Vec::new(),
        }
    }

    fn handle_register(at: u8, node: &mut Node, message: Message) -> Network {
        let all = |message: Message| (0..3).map(|to| (to, message)).collect();
        match message {
            Message::Operate { client, value } => {
                node.wanted = Some((client, value));
                all(Message::Get { from: at })
            }
            Message::Get { from } => vec![(from, Message::Got { from: at, stored: node.stored })],
            Message::Got { from, stored: (stamp, value) } => {
                insert(&mut node.got, (from, stamp, value));
                if node.got.len() != 2 {
                    return Vec::new();
                }
                let newest = node.got.iter().map(|it| (it.1, it.2)).max().unwrap_or_default();
                let stored = match node.wanted {
                    Some((client, own)) if own > 0 => ((newest.0 / 10 + 1) * 10 + client, own),
                    _ => newest,
                };
                node.picked = Some(stored);
                all(Message::Put { from: at, stored })
            }
            Message::Put { from, stored } => {
                node.stored = node.stored.max(stored);
                vec![(from, Message::Ack { from: at })]
            }
            Message::Ack { from } => {
                insert(&mut node.kept, from);
                if node.kept.len() == 2 {
                    node.done = node.picked.map(|picked| picked.0);
                }
                Vec::new()
            }
            _ => Vec::new(),
        }
    }

    fn handle_ring(size: u8, at: u8, node: &mut Node, message: Message) -> Network {
        let next = (at + size - 1) % size;
        let elected = match message {
            Message::Start => return vec![(next, Message::Token { number: at })],
            Message::Token { number } if number > at => return vec![(next, message)],
            Message::Token { number } if number == at => number,
            Message::Elected { number } => number,
            _ => return Vec::new(),
        };
        match node.leader.replace(elected) {
            None => vec![(next, Message::Elected { number: elected })],
            Some(_) => Vec::new(),
        }
    }

    fn handle_mutex(size: u8, at: u8, node: &mut Node, message: Message) -> Network {
        let grant = |to: u8| (to, Message::Grant { from: at });
        match message {
            Message::Want => {
                node.clock += 1;
                node.wants = Some(node.clock);
                let request = Message::Request { from: at, time: node.clock };
                (1..=size).filter(|to| *to != at).map(|to| (to, request)).collect()
            }
            Message::Request { from, time } => {
                node.clock = node.clock.max(time);
                if node.wants.is_some_and(|since| (since, at) < (time, from)) {
                    insert(&mut node.waiting, from);
                    return Vec::new();
                }
                vec![grant(from)]
            }
            Message::Grant { from } => {
                insert(&mut node.granted, from);
                if node.granted.len() < usize::from(size) - 1 {
                    return Vec::new();
                }
                node.holds = true;
                vec![(0, Message::Use { from: at })]
            }
            Message::Use { from } => vec![(from, Message::Used)],
            Message::Used => {
                (node.wants, node.holds) = (None, false);
                std::mem::take(&mut node.waiting).into_iter().map(grant).collect()
            }
            _ => Vec::new(),
        }
    }
}

impl Model for Protocol {
    type State = State;
    type Action = Deliver;

    fn init_states(&self) -> Vec<State> {
        let (nodes, network) = match *self {
            Protocol::Commit(size) => (size + 1, vec![(0, Message::Start)]),
            Protocol::Paxos(ballots) => {
                let propose = |ballot: u8| {
                    let at = if ballot == 1 { 0 } else { 2 + ballot };
                    (at, Message::Propose { ballot, value: 6 + ballot })
                };
                (3 + ballots.max(1), (1..=ballots).map(propose).collect())
            }
            Protocol::Register(clients) => {
                let operate = |client: u8| {
                    let value = if client % 2 == 1 { client } else { 0 };
                    (2 + client, Message::Operate { client, value })
                };
                (3 + clients, (1..=clients).map(operate).collect())
            }
            Protocol::Ring(size) => (size, (0..size).map(|at| (at, Message::Start)).collect()),
            Protocol::Mutex(size) => (size + 1, (1..=size).map(|at| (at, Message::Want)).collect()),
        };
        let mut network: Network = network;
        network.sort_unstable();
        vec![State { nodes: vec![Node::default(); usize::from(nodes)], network }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Deliver>) {
        let mut last = None;
        for message in &state.network {
            if last.replace(message) == Some(message) {
                continue;
            }
            actions.push(Deliver { message: *message, coin: false });
            if message.1 == Message::Prepare {
                actions.push(Deliver { message: *message, coin: true });
            }
        }
    }

    fn next_state(&self, state: &State, Deliver { message, coin }: Deliver) -> Option<State> {
        let mut next = state.clone();
        let at = next.network.binary_search(&message).ok()?;
        next.network.remove(at);
        let (to, content) = message;
        let sent = self.handle(to, &mut next.nodes[usize::from(to)], content, coin);
        for message in sent {
            let at = next.network.partition_point(|other| *other <= message);
            next.network.insert(at, message);
        }
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Protocol>> {
        vec![Property::always("agreement", |protocol: &Protocol, state: &State| match protocol {
            Protocol::Commit(_) => {
                let decided = |value| state.nodes.iter().any(|it| it.decision == Some(value));
                !(decided(true) && decided(false))
            }
            Protocol::Paxos(_) => state.nodes[0].chosen.len() <= 1,
            Protocol::Register(_) => state.nodes.iter().filter_map(|it| it.done).all(|done| {
                let older = state.nodes[..3].iter().filter(|it| it.stored.0 < done);
                older.count() < 2
            }),
            Protocol::Ring(_) => {
                let mut leaders = state.nodes.iter().filter_map(|it| it.leader);
                let first = leaders.next();
                leaders.all(|other| Some(other) == first)
            }
            Protocol::Mutex(_) => state.nodes.iter().filter(|it| it.holds).count() <= 1,
        })]
    }
}

/// User and system time of all threads so far, seconds.
fn cpu() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32).as_secs_f64()
}

fn memory(field: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kilobytes.unwrap_or(0) << 10
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().unwrap_or_default();
    let size = arguments.next().and_then(|size| size.parse().ok()).unwrap_or(2);
    let protocol = match name.as_str() {
        "commit" => Protocol::Commit(size),
        "paxos" => Protocol::Paxos(size),
        "register" => Protocol::Register(size),
        "ring" => Protocol::Ring(size),
        "mutex" => Protocol::Mutex(size),
        _ => panic!("commit, paxos, register, ring or mutex, and a SIZE"),
    };
    let (before, held) = (cpu(), memory("VmRSS:"));
    let checker = protocol.checker().threads(1).spawn_bfs().join();
    let seconds = cpu() - before;
    assert!(checker.discoveries().is_empty(), "the model is right");
    let peak = memory("VmHWM:") - held;
    println!("{} {seconds} {peak}", checker.unique_state_count());
}
