//! Keys: made by `key`, read by `run` and `sim`; nodes with a key accept messages of their fleet
//! only.

use std::fs;
use std::net::UdpSocket;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::node::free_addresses;
use crate::common::{Folder, PING, run, status, stderr, stdout, tidemill};

/// A node that writes the number of received answers to a file.
const COUNTER: &str = "\
materialize(pongs, infinity, 1, keys(1)).
pongs(NODE, 0).
p1 ping(@Peer, Node, E) :- periodic(@Node, E, 0.1), Peer := LANDMARK, Peer != Node.
p2 pong(@Node, E) :- ping(@Peer, Node, E).
p3 pongs(@Node, Count + 1) :- pong(@Node, _), pongs(@Node, Count).
watchmod(pongs, \"i\").
";

/// Makes a key or identity in a folder; returns its path and the output.
fn made(folder: &Folder, name: &str, options: &[&str]) -> (String, String) {
    let path = folder.path().join(name).to_str().expect("text").to_owned();
    let output = tidemill().arg("key").args(options).arg(&path).output().expect("starts");
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    (path, stdout(&output))
}

#[test]
fn keys_are_printed_or_written_for_their_owner_alone() {
    let (first, second) = (stdout(&run("key")), stdout(&run("key")));
    assert_eq!((first.len(), first != second), (65, true));
    let printed = stdout(&run("key --identity"));
    assert!(printed.starts_with("# public: ") && printed.lines().count() == 2, "{printed}");
    let folder = Folder::new();
    let (path, printed) = made(&folder, "fleet.key", &[]);
    assert_eq!(printed, "", "what is kept is not shown");
    assert_eq!(fs::metadata(&path).expect("there").mode() & 0o777, 0o600);
    let text = fs::read_to_string(&path).expect("text");
    assert_eq!(text.len(), 65);
    let (path, public) = made(&folder, "node.identity", &["--identity"]);
    assert!(fs::read_to_string(&path).expect("text").contains(public.trim()));
    // An existing file is not replaced.
    let again = tidemill().args(["key", &path]).output().expect("starts");
    assert_eq!(status(&again), 1);
    assert!(fs::read_to_string(&path).expect("text").contains(public.trim()));
}

#[test]
fn a_file_of_keys_that_is_not_right_is_refused() {
    let folder = Folder::new();
    let program = folder.file("ping.olg", PING);
    let (key, _) = made(&folder, "fleet.key", &[]);
    let refused = |arguments: &[&str], part: &str| {
        let ran = tidemill().args(["run", &program, "--for", "1"]).args(arguments).output();
        let ran = ran.expect("starts");
        assert_eq!(status(&ran), 1, "{arguments:?}");
        assert!(stderr(&ran).contains(part), "{arguments:?}: {}", stderr(&ran));
    };
    refused(&["--key", "/nowhere/key"], "cannot read");
    let empty = folder.file("empty", "# no key\n");
    fs::set_permissions(&empty, fs::Permissions::from_mode(0o600)).expect("set");
    refused(&["--key", &empty], "there is no key in it");
    refused(&["--key", &key, "--peers", &folder.file("peers", "a:1 key\n")], "line 1 is no key");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o640)).expect("set");
    refused(&["--key", &key], "chmod 600");
}

#[test]
fn a_simulation_with_a_key_does_what_it_does_without() {
    let folder = Folder::new();
    let program = folder.file("ping.olg", PING);
    let key = folder.file("fixed.key", &format!("{}\n", "0123abcd".repeat(8)));
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).expect("set");
    let sim = |more: &[&str]| {
        let mut sim = tidemill();
        sim.args(["sim", &program, "--nodes", "3", "--for", "20"]).args(more);
        let output = sim.output().expect("starts");
        assert_eq!(status(&output), 0, "{}", stderr(&output));
        stdout(&output)
    };
    let sealed = sim(&["--key", &key]);
    assert_eq!(sealed, sim(&["--key", &key]), "the same bytes each time");
    let pongs = |text: &str| text.lines().filter(|line| line.contains(" i ")).count();
    let open = sim(&[]);
    assert!(pongs(&sealed) + 3 >= pongs(&open) && pongs(&open) > 50, "{sealed}");
    let bytes = |text: &str| {
        let last = text.lines().last().expect("a summary").to_owned();
        let words: Vec<&str> = last.split_whitespace().collect();
        let at = words.iter().position(|word| word.starts_with("bytes")).expect("bytes");
        words[at - 1].parse::<u64>().expect("a number")
    };
    assert!(bytes(&sealed) > bytes(&open));
}

/// A running node, which is killed when the test ends or panics.
struct Node(Child);

impl Node {
    fn start(program: &str, address: &str, landmark: &str, more: &[&str], out: &str) -> Node {
        let out = fs::File::create(out).expect("a file");
        let child = Command::new(env!("CARGO_BIN_EXE_tidemill"))
            .args(["run", program, "--listen", address, "--for", "60", "-D"])
            .arg(format!("LANDMARK=\"{landmark}\""))
            .args(more)
            .stdout(out)
            .stderr(Stdio::null())
            .spawn();
        Node(child.expect("the program starts"))
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Waits until a file has this number of lines, while calling `meanwhile`; returns false if it
/// never has.
fn wait_for_lines(path: &str, lines: usize, mut meanwhile: impl FnMut()) -> bool {
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(20) {
        meanwhile();
        if fs::read_to_string(path).is_ok_and(|text| text.lines().count() >= lines) {
            return true;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    false
}

#[test]
fn the_summary_counts_what_was_refused() {
    let folder = Folder::new();
    let program = folder.file("counter.olg", COUNTER);
    let (key, _) = made(&folder, "fleet.key", &[]);
    let address = &free_addresses(1)[0];
    let child = Command::new(env!("CARGO_BIN_EXE_tidemill"))
        .args(["run", &program, "--listen", address, "--for", "1", "--key", &key, "-D"])
        .arg(format!("LANDMARK=\"{address}\""))
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = child.expect("the program starts");
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
    while child.try_wait().expect("it ends").is_none() {
        // Before the node listens, and after it has ended, the port has no receiver.
        let _ = socket.send_to(b"\x0a\x00", address);
        std::thread::sleep(Duration::from_millis(20));
    }
    let output = child.wait_with_output().expect("it ends");
    assert!(stderr(&output).contains("; dropped: unsealed "), "{}", stderr(&output));
}

#[test]
fn a_fleet_with_a_key_talks_while_a_stranger_attacks_and_one_restarts() {
    let folder = Folder::new();
    let program = folder.file("counter.olg", COUNTER);
    let (key, _) = made(&folder, "fleet.key", &[]);
    let (other, _) = made(&folder, "other.key", &[]);
    let addresses = free_addresses(3);
    let outs: Vec<String> = (0..4).map(|index| folder.file(&format!("out{index}"), "")).collect();
    let start = |index: usize, key: &str, out: &str| {
        Node::start(&program, &addresses[index], &addresses[0], &["--key", key], out)
    };
    let _landmark = start(0, &key, &outs[0]);
    let member = start(1, &key, &outs[1]);
    let _stranger = start(2, &other, &outs[2]);
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let attack = || {
        for first in 0..=9u8 {
            let mut bytes = vec![first; 512];
            bytes[1..4].fill(0);
            let _ = socket.send_to(&bytes, &addresses[0]);
            let _ = socket.send_to(&bytes[..40], &addresses[0]);
        }
    };
    assert!(wait_for_lines(&outs[1], 20, attack), "the member is answered");
    drop(member);
    let _again = start(1, &key, &outs[3]);
    assert!(wait_for_lines(&outs[3], 20, attack), "and again after it was killed");
    let stranger = fs::read_to_string(&outs[2]).expect("text");
    assert!(stranger.lines().count() <= 1, "{stranger}");
}

#[test]
fn a_node_that_others_can_reach_needs_a_key_or_leave() {
    let folder = Folder::new();
    let program = folder.file("ping.olg", PING);
    let (key, _) = made(&folder, "fleet.key", &[]);
    let start = |arguments: &str| {
        let mut command = tidemill();
        command.args(["run", &program, "--for", "0.2"]).args(arguments.split_whitespace());
        let output = command.output().expect("starts");
        (status(&output), stderr(&output))
    };
    for address in ["10.0.0.1:0", "nobody.invalid:1", "[2001:db8::1]:1"] {
        let (status, text) = start(&format!("--listen {address}"));
        assert_eq!(status, 2, "{text}");
        assert!(text.contains("--key FILE") && text.contains("--open"), "{text}");
    }
    // The same for connections.
    assert_eq!(start("--listen 10.0.0.1:0 --fabric tcp").0, 2);
    for more in ["", "--open", &format!("--key {key}")] {
        let (status, text) = start(&format!("--listen 0.0.0.0:0 {more}"));
        assert_eq!(status, 2, "{text}");
        assert!(text.contains("--address HOST:PORT"), "{text}");
    }
    let (status, text) = start("--listen 0.0.0.0:0 --address 127.0.0.1:4711 --open");
    assert_eq!(status, 0, "{text}");
    assert!(text.contains("warning") && text.contains("can change what it holds"), "{text}");
    let (status, text) = start(&format!("--listen 0.0.0.0:0 --address [::1]:1 --key {key}"));
    assert_eq!(status, 0, "{text}");
    assert!(!text.contains("warning"), "{text}");
    for address in ["localhost:0", "127.0.0.1:0"] {
        assert_eq!(start(&format!("--listen {address}")).0, 0);
    }
    for wrong in ["--open", "--address a:1", "--nodes 2 --open", "--nodes 2 --address a:1"] {
        assert_eq!(start(wrong).0, 2, "{wrong}");
    }
}

#[test]
fn a_node_is_called_as_its_address_says() {
    let folder = Folder::new();
    let program =
        folder.file("named.olg", "p1 named(@N, N) :- periodic(@N, E, 0.05, 1).\nwatch(named).\n");
    let output = tidemill()
        .args(["run", &program, "--for", "0.5", "--listen", "127.0.0.1:0"])
        .args(["--address", "alpha.example:4711"])
        .output()
        .expect("starts");
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    assert!(stdout(&output).contains("named(\"alpha.example:4711\", \"alpha.example:4711\")"));
}

#[test]
fn keys_are_replaced_while_nodes_run() {
    replaces_keys(&[]);
}

#[test]
fn keys_are_replaced_while_nodes_are_connected() {
    replaces_keys(&["--fabric", "tcp"]);
}

fn replaces_keys(more: &[&str]) {
    let folder = Folder::new();
    let program = folder.file("counter.olg", COUNTER);
    let (first, _) = made(&folder, "first.key", &[]);
    let (second, _) = made(&folder, "second.key", &[]);
    let [old, new] = [&first, &second].map(|path| fs::read_to_string(path).expect("text"));
    let addresses = free_addresses(2);
    let outs: Vec<String> = (0..2).map(|index| folder.file(&format!("out{index}"), "")).collect();
    let start = |index: usize, key: &str| {
        let more = [&["--key", key], more].concat();
        Node::start(&program, &addresses[index], &addresses[0], &more, &outs[index])
    };
    let (landmark, _other) = (start(0, &first), start(1, &second));
    let pid = landmark.0.id().to_string();
    let counts = |name: &str| {
        let output = tidemill().args(["top", &pid, "--form", "prometheus"]).output();
        let text = stdout(&output.expect("starts"));
        let values = text.lines().filter(|line| !line.starts_with('#') && line.contains(name));
        values.into_iter().any(|line| !line.ends_with(" 0"))
    };
    let wait_until = |what: &str, is_so: &dyn Fn() -> bool| {
        let began = Instant::now();
        while !is_so() {
            assert!(began.elapsed() < Duration::from_secs(30), "{what}");
            std::thread::sleep(Duration::from_millis(100));
        }
    };
    wait_until("the keys differ", &|| counts("bad_mac"));
    // An invalid key file changes nothing, also on request.
    fs::write(&first, "no key\n").expect("written");
    let hang_up = || Command::new("kill").args(["-HUP", &pid]).status().expect("`kill` is there");
    assert!(hang_up().success());
    wait_until("a broken file", &|| counts("keys_refused"));
    assert!(!counts("keys_taken"));
    assert!(fs::read_to_string(&outs[1]).expect("text").lines().count() <= 1);
    // Both keys, detected without a signal.
    fs::write(&first, format!("{old}{new}")).expect("written");
    wait_until("two lines", &|| counts("keys_taken"));
    assert!(wait_for_lines(&outs[1], 5, || {}), "the second line is accepted");
}
