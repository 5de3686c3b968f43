//! A node flooded with datagrams from strangers: its known peer is served as before, and its memory
//! does not grow.
//!
//! ```text
//! peer <--> relay <--> node        the relay records what goes through it
//!             |         ^
//!             v         |  from many addresses of 127.0.0.0/8
//!           frames -> attackers
//! ```
//! `cargo xtask soak flood [--for SECONDS]` runs it at 100,000 datagrams a second and checks the
//! peer's rate; `cargo test -p tidemill-cli flood:: -- --ignored` runs it for a moment and checks
//! what no load can change.

use std::net::UdpSocket;
use std::os::unix::fs::PermissionsExt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tidemill_stdx::rng::Rng;

use crate::common::Folder;
use crate::common::node::{Running, free_addresses, seconds, wait_until};

/// The peer sends the landmark 50 requests a second, and prints a line for each answer.
const PROGRAM: &str = "\
materialize(pongs, infinity, 1, keys(1)).
pongs(NODE, 0).
p1 ping(@Peer, Node, E) :- periodic(@Node, E, 0.02), Peer := LANDMARK, Peer != Node.
p2 pong(@Node, E) :- ping(@Peer, Node, E).
p3 pongs(@Node, Count + 1) :- pong(@Node, _), pongs(@Node, Count).
watchmod(pongs, \"i\").
";

/// The rate of the long form, in datagrams per second.
const RATE: u64 = 100_000;
/// The number of addresses of an attacker.
const ADDRESSES: u32 = 128;
const ATTACKERS: u32 = 2;
const FRAMES_MAX: usize = 512;
const MEMORY_KIB_MAX: u64 = 32 << 10;

type Frames = Arc<Mutex<Vec<Vec<u8>>>>;

/// The work of a thread until the flag is set.
type Work = Box<dyn FnOnce(&AtomicBool) + Send>;

/// Threads that end when this is dropped.
struct Threads {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Threads {
    fn start(works: Vec<Work>) -> Threads {
        let stop = Arc::new(AtomicBool::new(false));
        let spawn = |work: Work| {
            let stop = stop.clone();
            std::thread::spawn(move || work(&stop))
        };
        let threads = works.into_iter().map(spawn).collect();
        Threads { stop, threads }
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.threads.drain(..).for_each(|thread| drop(thread.join()));
    }
}

/// Relays datagrams between the first sender and the node, and records some.
fn relay(front: UdpSocket, node: String, frames: Frames, stop: &AtomicBool) {
    let back = UdpSocket::bind("127.0.0.1:0").expect("a port");
    front.set_nonblocking(true).expect("set");
    back.set_nonblocking(true).expect("set");
    let (mut peer, mut buffer) = (None, vec![0; 2048]);
    while !stop.load(Ordering::Relaxed) {
        let mut is_idle = true;
        while let Ok((length, from)) = front.recv_from(&mut buffer) {
            is_idle = false;
            // The first sender is the peer; datagrams of attackers are not relayed.
            if *peer.get_or_insert(from) != from {
                continue;
            }
            let mut frames = frames.lock().expect("no panic");
            if frames.len() < FRAMES_MAX {
                frames.push(buffer[..length].to_vec());
            }
            let _ = back.send_to(&buffer[..length], &node);
        }
        while let Ok((length, _)) = back.recv_from(&mut buffer) {
            is_idle = false;
            let mut frames = frames.lock().expect("no panic");
            if frames.len() < FRAMES_MAX {
                frames.push(buffer[..length].to_vec());
            }
            if let Some(peer) = peer {
                let _ = front.send_to(&buffer[..length], peer);
            }
        }
        if is_idle {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Sends frames of every kind, at a rate per second.
fn attack(
    number: u32,
    node: &str,
    rate: u64,
    frames: &Frames,
    sent: &AtomicU64,
    stop: &AtomicBool,
) {
    let mut random = Rng::new(u64::from(number));
    let frames = frames.lock().expect("no panic").clone();
    let connect = |index: u32| {
        let [_, b, c, d] = (number * ADDRESSES + index + 2).to_be_bytes();
        let socket = UdpSocket::bind(format!("127.{}.{c}.{d}:0", b + 1)).expect("a port");
        socket.connect(node).expect("connected");
        socket
    };
    let sockets: Vec<UdpSocket> = (0..ADDRESSES).map(connect).collect();
    let (began, mut count) = (Instant::now(), 0u64);
    let mut datagram = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        let due = (began.elapsed().as_secs_f64() * rate as f64) as u64;
        if count >= due {
            std::thread::sleep(Duration::from_millis(1));
            continue;
        }
        // A backlog of more than a fraction of a second is dropped.
        for _ in 0..(due - count).min(rate / 50) {
            forge(&mut random, &frames, &mut datagram);
            if let Some(socket) = random.pick(&sockets)
                && socket.send(&datagram).is_ok()
            {
                sent.fetch_add(1, Ordering::Relaxed);
            }
        }
        count = due;
    }
}

/// A malformed frame of some kind, or a recorded one, possibly modified.
fn forge(random: &mut Rng, frames: &[Vec<u8>], datagram: &mut Vec<u8>) {
    datagram.clear();
    let recorded = random.pick(frames).map_or(&[][..], |frame| frame);
    let (kind, length) = match random.below(8) {
        0 => return datagram.extend_from_slice(recorded),
        1 => {
            datagram.extend_from_slice(recorded);
            let at = random.below(datagram.len().max(1) as u64) as usize;
            datagram.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= 1);
            return;
        }
        2 => ([1, 0, 0, 0], 512),
        3 => ([2, 0, 0, 0], 110),
        4 => ([3, 0, 0, 0], 64),
        5 => ([4, 0, 0, 0], 40 + random.below(400) as usize),
        6 => ([4, 1, 0, 0], 120),
        _ => ((random.next_u64() as u32).to_le_bytes(), random.below(300) as usize),
    };
    datagram.extend_from_slice(&kind);
    while datagram.len() < length {
        datagram.extend_from_slice(&random.next_u64().to_le_bytes());
    }
    datagram.truncate(length);
}

/// The result of a flood.
#[derive(Debug)]
struct Outcome {
    sent_per_s: f64,
    /// The peer's answers per second, before and during the flood.
    before_per_s: f64,
    during_per_s: f64,
    grown_kib: u64,
    kernel_drops: u64,
    refused: u64,
}

/// Floods a node; `options` are for node and peer, `refusal` names the counter of refused
/// datagrams.
fn flood(options: &[&str], rate: u64, span: Duration, refusal: &str) -> Outcome {
    let folder = Folder::new();
    let program = folder.file("flood.olg", PROGRAM);
    let front = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let name = front.local_addr().expect("an address").to_string();
    let addresses = free_addresses(2);
    let frames = Frames::default();
    let relayed = (addresses[0].clone(), frames.clone());
    let _relay =
        Threads::start(vec![Box::new(move |stop| relay(front, relayed.0, relayed.1, stop))]);
    let start = |file: &str, listen: &str, landmark: &str, more: &[&str]| {
        let landmark = format!("LANDMARK=\"{landmark}\"");
        let all = [&program, "--listen", listen, "--fabric", "reliable", "-D", &landmark];
        Running::start(&folder, file, &[&all[..], more, options].concat())
    };
    // The node has the relay's address as its name, so that the peer sends to it.
    let node = start("node", &addresses[0], &name, &["--address", &name]);
    let peer = start("peer", &addresses[1], &name, &[]);
    let lines = || peer.lines();
    wait_until("the peer is answered", || lines() > 50);
    let measure = |span: Duration| {
        let (began, before) = (Instant::now(), lines());
        std::thread::sleep(span);
        (lines() - before) as f64 / began.elapsed().as_secs_f64()
    };
    let before_per_s = measure(span.min(Duration::from_secs(10)));
    let (memory, sent) = (node.resident_kib(), Arc::new(AtomicU64::new(0)));
    let attacker = |number: u32| -> Work {
        let (node, frames, sent) = (addresses[0].clone(), frames.clone(), sent.clone());
        let rate = rate / u64::from(ATTACKERS);
        Box::new(move |stop| attack(number, &node, rate, &frames, &sent, stop))
    };
    let attackers = Threads::start((0..ATTACKERS).map(attacker).collect());
    let began = Instant::now();
    let during_per_s = measure(span);
    let at = lines();
    wait_until("the peer is answered under attack", || lines() > at + 10);
    wait_until("attacks are counted", || node.counter(refusal) > 0);
    let sent_per_s = sent.load(Ordering::Relaxed) as f64 / began.elapsed().as_secs_f64();
    let grown_kib = node.resident_kib().saturating_sub(memory);
    drop(attackers);
    wait_until("the peer is answered after it", || lines() > at + 20);
    let kernel_drops = node.counter("/dropped_kernel");
    let refused = node.counter(refusal);
    Outcome { sent_per_s, before_per_s, during_per_s, grown_kib, kernel_drops, refused }
}

fn check(options: &[&str], refusal: &str) {
    let long = seconds();
    let (rate, span) = match long {
        Some(seconds) => (RATE, Duration::from_secs(seconds)),
        None => (5000, Duration::from_secs(1)),
    };
    let outcome = flood(options, rate, span, refusal);
    let Outcome { sent_per_s, before_per_s, during_per_s, grown_kib, kernel_drops, refused } =
        outcome;
    println!(
        "{}: {sent_per_s:.0} datagrams/s of strangers; answers to the peer {before_per_s:.1}/s \
         before, {during_per_s:.1}/s meanwhile; memory grew by {grown_kib} KiB; {kernel_drops} \
         dropped by the kernel, {refused} counted as {refusal}",
        options.first().copied().unwrap_or("open"),
    );
    assert!(outcome.grown_kib <= MEMORY_KIB_MAX, "{outcome:?}");
    if long.is_some() {
        assert!(outcome.during_per_s >= 0.9 * outcome.before_per_s, "{outcome:?}");
    }
}

#[test]
#[ignore = "takes both cores: `cargo xtask soak flood`"]
fn a_node_with_a_key_serves_its_peer_under_a_flood() {
    let folder = Folder::new();
    let key = folder.file("fleet.key", &format!("{}\n", "0123abcd".repeat(8)));
    let mode = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(&key, mode).expect("set");
    check(&["--key", &key], "/bad_mac");
}

#[test]
#[ignore = "takes both cores: `cargo xtask soak flood`"]
fn a_node_without_key_serves_its_peer_under_a_flood() {
    check(&[], "/malformed");
}
