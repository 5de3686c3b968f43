//! Nodes with a key that use connections: strangers and attackers on the path achieve nothing.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::common::node::{Running, free_addresses, wait_until};
use crate::common::{Folder, status, stdout, tidemill};

/// A node that prints the number of received answers and requests.
const COUNTER: &str = "\
materialize(pongs, infinity, 1, keys(1)).
pongs(NODE, 0).
p1 ping(@Peer, Node, E) :- periodic(@Node, E, 0.05), Peer := LANDMARK, Peer != Node.
p2 pong(@Node, E) :- ping(@Peer, Node, E).
p3 pongs(@Node, Count + 1) :- pong(@Node, _), pongs(@Node, Count).
watchmod(pongs, \"i\").
";

struct Fleet {
    folder: Folder,
    program: String,
    key: String,
}

impl Fleet {
    fn new() -> Fleet {
        let folder = Folder::new();
        let program = folder.file("counter.olg", COUNTER);
        let key = made(&folder, "fleet.key", &[]).0;
        Fleet { folder, program, key }
    }

    /// Starts a node that queries the landmark; `more` are further options.
    fn start(&self, name: &str, address: &str, landmark: &str, more: &[&str]) -> Running {
        let landmark = format!("LANDMARK=\"{landmark}\"");
        let mut arguments = vec![&*self.program, "--listen", address, "-D", &landmark];
        arguments.extend(["--for", "90", "--log", "net=info"]);
        arguments.extend(more);
        Running::start(&self.folder, name, &arguments)
    }

    fn sealed(&self, name: &str, address: &str, landmark: &str) -> Running {
        self.start(name, address, landmark, &["--fabric", "tcp", "--key", &self.key])
    }
}

/// Makes a key or identity; returns its path and the output.
fn made(folder: &Folder, name: &str, options: &[&str]) -> (String, String) {
    let path = folder.path().join(name).to_str().expect("text").to_owned();
    let output = tidemill().arg("key").args(options).arg(&path).output().expect("starts");
    assert_eq!(status(&output), 0);
    (path, stdout(&output))
}

fn framed(frame: &[u8]) -> Vec<u8> {
    [&(frame.len() as u32).to_le_bytes(), frame].concat()
}

/// Sends bytes to a node as a stranger; returns its reply up to the end of the connection.
fn exchange(address: &str, bytes: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(address).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a timeout");
    // It may close before all is written.
    let _ = stream.write_all(bytes);
    let mut answer = Vec::new();
    match stream.read_to_end(&mut answer) {
        Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => panic!("it stays open"),
        _ => answer,
    }
}

#[test]
fn a_fleet_talks_over_connections_while_strangers_attack_and_one_restarts() {
    let fleet = Fleet::new();
    let (other, _) = made(&fleet.folder, "other.key", &[]);
    let at = free_addresses(4);
    let landmark = fleet.sealed("landmark", &at[0], &at[0]);
    let member = fleet.sealed("member", &at[1], &at[0]);
    let keyed = &["--fabric", "tcp", "--key", &other];
    let stranger = fleet.start("stranger", &at[2], &at[0], keyed);
    let open = fleet.start("open", &at[3], &at[0], &["--fabric", "tcp"]);
    wait_until("the member is answered", || member.lines() > 20);
    let before_kib = landmark.resident_kib();
    // Three hundred silent connections.
    let silent: Vec<TcpStream> =
        (0..300).map(|_| TcpStream::connect(&at[0]).expect("it listens")).collect();
    for _ in 0..20 {
        assert_eq!(exchange(&at[0], &framed(b"\x0a\x03abc")), b"", "a plain frame");
        assert_eq!(exchange(&at[0], &framed(&[7; 300])), b"", "garbage");
        assert_eq!(exchange(&at[0], &[0xff; 64]), b"", "a length without end");
        let initiation: Vec<u8> = (0..512).map(|at| u8::from(at == 0)).collect();
        assert_eq!(exchange(&at[0], &framed(&initiation)), b"", "an initiation by no key");
    }
    let reached = member.lines();
    wait_until("the member is answered meanwhile", || member.lines() > reached + 20);
    drop(member);
    let again = fleet.sealed("again", &at[1], &at[0]);
    wait_until("and after it was killed", || again.lines() > 20);
    wait_until("all is counted", || {
        let counts = ["/unsealed", "/bad_mac", "/frame_too_long", "/connection_evicted"];
        counts.iter().all(|name| landmark.counter(name) > 0)
    });
    wait_until("others are not answered", || landmark.counter("/bad_mac") > 22);
    assert!(stranger.lines() <= 1 && open.lines() <= 1);
    for reason in ["unsealed", "bad_mac", "frame_too_long"] {
        let lines = landmark.logged(&format!(" is refused: {reason}"));
        assert_eq!(lines, 1, "{reason}: once for the host");
    }
    let grown = landmark.resident_kib().saturating_sub(before_kib);
    assert!(grown < 16 << 10, "{grown} KiB more");
    drop(silent);
}

#[test]
fn a_node_that_is_not_in_the_list_or_has_another_identity_is_refused() {
    let fleet = Fleet::new();
    let at = free_addresses(3);
    let identity = |name: &str| made(&fleet.folder, name, &["--identity"]);
    let (own, own_public) = identity("own");
    let (right, right_public) = identity("right");
    let public = |text: &str| text.trim().rsplit(' ').next().expect("a key").to_owned();
    let list = format!("{} {}\n{} {}\n", at[0], public(&own_public), at[1], public(&right_public));
    let list = fleet.folder.file("peers", &list);
    let listed = ["--fabric", "tcp", "--key", &fleet.key, "--identity", &own, "--peers", &list];
    let landmark = fleet.start("landmark", &at[0], &at[0], &listed);
    let keyed = ["--fabric", "tcp", "--key", &fleet.key];
    let known = [&keyed[..], &["--identity", &right]].concat();
    let known = fleet.start("known", &at[1], &at[0], &known);
    let unknown = fleet.start("unknown", &at[2], &at[0], &keyed);
    wait_until("the known one is answered", || known.lines() > 10);
    wait_until("the other is counted", || landmark.counter("/wrong_identity") > 0);
    drop(known);
    let claims = landmark.counter("/wrong_identity");
    let false_one = fleet.start("false", &at[1], &at[0], &keyed);
    wait_until("so is a false one", || landmark.counter("/wrong_identity") > claims + 2);
    assert!(unknown.lines() <= 1 && false_one.lines() <= 1);
    assert_eq!(landmark.logged(" is refused: wrong_identity"), 1);
}

/// The attacker's modification of data sent to a node: gets the number of the connection, that of
/// the read, and the bytes.
type Meddle = dyn Fn(usize, usize, &mut Vec<u8>) + Send + Sync;

/// Relays connections to a node; data sent to it passes `meddle` and is recorded by connection.
fn proxy(back: &str, meddle: Arc<Meddle>) -> (String, Arc<Mutex<Vec<Vec<u8>>>>) {
    let front = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = front.local_addr().expect("an address").to_string();
    let recorded: Arc<Mutex<Vec<Vec<u8>>>> = Arc::default();
    let (records, back) = (recorded.clone(), back.to_owned());
    std::thread::spawn(move || {
        for (number, one) in front.incoming().enumerate() {
            let (Ok(one), Ok(other)) = (one, TcpStream::connect(&back)) else { continue };
            records.lock().expect("no panic").push(Vec::new());
            let backward = [&other, &one].map(|stream| stream.try_clone().expect("open"));
            std::thread::spawn(move || copy(backward, &mut |_| {}));
            let (records, meddle) = (records.clone(), meddle.clone());
            let mut piece = 0;
            std::thread::spawn(move || {
                copy([one, other], &mut |bytes| {
                    records.lock().expect("no panic")[number].extend_from_slice(bytes);
                    meddle(number, piece, bytes);
                    piece += 1;
                });
            });
        }
    });
    (address, recorded)
}

fn copy([mut from, mut to]: [TcpStream; 2], change: &mut dyn FnMut(&mut Vec<u8>)) {
    let mut buffer = [0; 4096];
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        let mut bytes = buffer[..length].to_vec();
        change(&mut bytes);
        if to.write_all(&bytes).is_err() {
            break;
        }
    }
    let _ = from.shutdown(std::net::Shutdown::Both);
    let _ = to.shutdown(std::net::Shutdown::Both);
}

/// A node behind an attacker, and a client node.
fn through(fleet: &Fleet, meddle: Arc<Meddle>) -> (Running, Running, Arc<Mutex<Vec<Vec<u8>>>>) {
    let at = free_addresses(2);
    let (front, recorded) = proxy(&at[0], meddle);
    let named = ["--fabric", "tcp", "--key", &fleet.key, "--address", &front];
    let landmark = fleet.start("landmark", &at[0], &front, &named);
    wait_until("it listens", || TcpStream::connect(&at[0]).is_ok());
    // It is not reachable under its name, so all goes over the connections that it makes.
    let named = ["--fabric", "tcp", "--key", &fleet.key, "--address", "127.0.0.1:1"];
    let member = fleet.start("member", &at[1], &front, &named);
    (landmark, member, recorded)
}

#[test]
fn a_recorded_connection_cannot_be_played_again() {
    let fleet = Fleet::new();
    let (landmark, member, recorded) = through(&fleet, Arc::new(|_, _, _| {}));
    wait_until("the member is answered", || member.lines() > 20);
    drop(member);
    wait_until("the tuples are counted", || landmark.counter("/rx_tuples") >= 20);
    std::thread::sleep(Duration::from_secs(1));
    let recorded = recorded.lock().expect("no panic").clone();
    let (port, taken) = (landmark_address(&landmark), landmark.counter("/rx_tuples"));
    assert!(recorded.iter().any(|bytes| bytes.len() > 1000));
    for bytes in recorded.iter().cycle().take(30) {
        let answer = exchange(&port, bytes);
        assert!(answer.len() <= 4 + 512, "one answer, no longer than the question");
    }
    wait_until("all is counted", || landmark.counter("/unknown_session") > 10);
    assert_eq!(landmark.counter("/rx_tuples"), taken);
    assert_eq!(landmark.logged(" is refused: unknown_session"), 1);
}

/// The address where a node listens, which differs from its name.
fn landmark_address(landmark: &Running) -> String {
    let line = std::fs::read(format!("/proc/{}/cmdline", landmark.child.id())).expect("it runs");
    let mut words = line.split(|&byte| byte == 0).skip_while(|word| *word != b"--listen");
    let address = words.nth(1).expect("an address");
    String::from_utf8(address.to_vec()).expect("text")
}

#[test]
fn what_is_changed_or_cut_on_the_way_costs_a_connection_and_changes_nothing() {
    let fleet = Fleet::new();
    let done = Arc::new(AtomicUsize::new(0));
    let attacks = done.clone();
    // In each of the first connections, another read is damaged in another way.
    let meddle = move |connection: usize, piece: usize, bytes: &mut Vec<u8>| {
        if connection < 8 && piece == connection + connection / 4 {
            attacks.fetch_add(1, Ordering::Relaxed);
            match connection % 4 {
                0 => bytes[0] ^= 1,
                1 => *bytes.last_mut().expect("some") ^= 0x80,
                2 => bytes.clear(),
                _ => bytes.extend_from_within(..),
            }
        }
    };
    let (landmark, member, _) = through(&fleet, Arc::new(meddle));
    wait_until("all attacks were made", || done.load(Ordering::Relaxed) >= 8);
    let reached = member.lines();
    wait_until("the member is answered in the end", || member.lines() > reached + 20);
    let reasons = ["/bad_seal", "/out_of_order", "/replayed", "/bad_mac", "/frame_too_long"];
    let refused: u64 = reasons.iter().map(|reason| landmark.counter(reason)).sum();
    assert!(refused >= 3, "{refused}");
    // No damaged data reached the tuples of the member.
    for reason in ["/malformed", "/not_exported", "/no_relation", "/unknown_relation"] {
        assert_eq!(landmark.counter(reason), 0, "{reason}");
    }
}
