//! Tuples from strangers: a node accepts those that its program exports or its rules send, no
//! others.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::process::{Output, Stdio};
use std::time::Duration;

use crate::common::node::free_addresses;
use crate::common::{Folder, run, status, stderr, stdout, tidemill};

/// Ends on a `never`, prints each `said` and `row`.
const PROGRAM: &str = "\
materialize(row, infinity, infinity, keys(1, 2)).
v1 violation(@Node, \"it came\") :- never(@Node).
r1 row(@Node, X) :- note(@Node, X).
s1 said(@Other, X) :- note(@Node, X), Other := LANDMARK.
watch(said).
watch(row).
";

/// A tuple by name, as a datagram: a location and, if there is one, another text.
fn datagram(name: &str, texts: &[&str], delete: bool) -> Vec<u8> {
    let field = |number: u8, bytes: &[u8]| {
        let mut field = vec![number << 3 | 2, bytes.len() as u8];
        field.extend_from_slice(bytes);
        field
    };
    let mut tuple = field(4, name.as_bytes());
    if delete {
        tuple.extend([3 << 3, 1]);
    }
    texts.iter().for_each(|text| tuple.extend(field(5, &field(4, text.as_bytes()))));
    field(3, &tuple)
}

/// The frame of a datagram on a connection.
fn frame(content: &[u8]) -> Vec<u8> {
    [&(content.len() as u32).to_le_bytes(), content].concat()
}

/// Runs the program while a stranger sends datagrams repeatedly.
fn attacked(options: &[&str], datagrams: impl Fn(&str) -> Vec<Vec<u8>>) -> Output {
    let folder = Folder::new();
    let program = folder.file("exports.olg", PROGRAM);
    let [address] = <[String; 1]>::try_from(free_addresses(1)).expect("one");
    let mut command = tidemill();
    command.args(["run", &program, "--listen", &address, "--for", "1.5", "--stats"]);
    command.args(options).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().expect("the command starts");
    let stranger = UdpSocket::bind("127.0.0.1:0").expect("a port");
    for _ in 0..20 {
        std::thread::sleep(Duration::from_millis(50));
        for datagram in datagrams(&address) {
            let _ = stranger.send_to(&datagram, &address);
        }
    }
    child.wait_with_output().expect("it ends")
}

#[test]
fn a_stranger_ends_no_run_and_changes_no_table() {
    let output = attacked(&[], |address| {
        vec![
            datagram("violation", &[address, "x"], false),
            datagram("never", &[address], false),
            datagram("note", &[address, "a note"], false),
            datagram("row", &[address, "a row"], false),
            datagram("row", &[address, "a row"], true),
            datagram("said", &["b:1", "elsewhere"], false),
            datagram("said", &[address, "deleted"], true),
            datagram("sys::peer", &[address], false),
            datagram("sim::node", &[address], false),
        ]
    });
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    assert_eq!(stdout(&output), "");
    assert!(stderr(&output).contains("not_exported"), "{}", stderr(&output));
    let lines = stderr(&output).matches(" is refused: not_exported").count();
    assert_eq!(lines, 1, "once for the stranger, be they 180: {}", stderr(&output));
}

#[test]
fn what_rules_send_or_the_command_line_exports_comes() {
    let said = |address: &str| vec![datagram("said", &[address, "a word"], false)];
    let output = attacked(&[], said);
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    assert!(stdout(&output).contains("\"a word\""), "{}", stdout(&output));
    let note = |address: &str| vec![datagram("note", &[address, "a note"], false)];
    let output = attacked(&["--export", "note"], note);
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    assert!(stdout(&output).contains(" row("), "{}", stdout(&output));
    let never = |address: &str| vec![datagram("never", &[address], false)];
    assert_eq!(status(&attacked(&["--export", "never"], never)), 1);
}

#[test]
fn what_is_not_there_or_the_nodes_own_is_not_exported() {
    let folder = Folder::new();
    let program = folder.file("exports.olg", PROGRAM);
    for name in ["nothing", "violation"] {
        let output = run(&format!("run {program} --for 0.1 --export {name}"));
        assert_eq!(status(&output), 1, "{name}");
        assert!(stderr(&output).contains("cannot be exported"), "{}", stderr(&output));
    }
    let wrong = [
        ("export(nothing).", "undefined-relation"),
        ("export(violation).", "system-relation"),
        ("export(note, delete).", "undefined-relation"),
        ("export(note, insert).", "unexpected-token"),
    ];
    for (statement, code) in wrong {
        let program = folder.file("wrong.olg", &format!("{PROGRAM}{statement}\n"));
        let output = run(&format!("check {program}"));
        assert_eq!(status(&output), 1, "{statement}");
        assert!(stderr(&output).contains(code), "{statement}: {}", stderr(&output));
    }
    let program =
        folder.file("right.olg", &format!("{PROGRAM}export(row, delete). export(note).\n"));
    assert_eq!(status(&run(&format!("check {program}"))), 0);
}

#[test]
fn a_greeting_as_a_tuple_is_a_tuple_that_is_refused() {
    let folder = Folder::new();
    let program = folder.file("exports.olg", PROGRAM);
    let mut command = tidemill();
    command.args(["run", &program, "--nodes", "1", "--for", "3", "--stats", "--fabric", "tcp"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.args(["--log", "net=debug"]).spawn().expect("the command starts");
    let mut notes = BufReader::new(child.stderr.take().expect("piped"));
    let mut line = String::new();
    notes.read_line(&mut line).expect("a line");
    let port = line.trim_end().strip_prefix("0 localhost:").expect("an address");
    let address = format!("127.0.0.1:{port}");
    let send = |frames: &[Vec<u8>]| {
        let mut stream = TcpStream::connect(&address).expect("connected");
        frames.iter().for_each(|frame| stream.write_all(frame).expect("written"));
    };
    let word = frame(&datagram("said", &[&address, "a word"], false));
    send(&[frame(&datagram("sys::peer", &["forged.example:7"], false)), word.clone()]);
    send(&[frame(b"\0greeted.example:7"), word.clone()]);
    send(&[frame(b"\0no address\n"), word]);
    let mut text = String::new();
    notes.read_to_string(&mut text).expect("text");
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(status(&output), 0, "{text}");
    assert!(text.contains("is greeted.example:7"), "{text}");
    assert!(!text.contains("is forged.example:7") && !text.contains("is no address"), "{text}");
    assert!(text.contains("not_exported"), "{text}");
    assert_eq!(stdout(&output).matches("\"a word\"").count(), 3, "{}", stdout(&output));
}

/// The tuples seen by a run on `localhost` with these options, after one was sent to each address
/// family.
fn sent_to_both_families(options: &[&str], send: impl Fn(std::net::SocketAddr, &[u8])) -> String {
    let folder = Folder::new();
    let program = folder.file("exports.olg", PROGRAM);
    let mut command = tidemill();
    command.args(["run", &program, "--nodes", "1", "--for", "2"]).args(options);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the command starts");
    let mut notes = BufReader::new(child.stderr.take().expect("piped"));
    let mut line = String::new();
    notes.read_line(&mut line).expect("a line");
    let name = line.trim_end().strip_prefix("0 ").expect("an address").to_owned();
    let port: u16 = name.strip_prefix("localhost:").expect("localhost").parse().expect("a port");
    for (host, word) in [("127.0.0.1", "by 4"), ("::1", "by 6")] {
        let address = std::net::SocketAddr::new(host.parse().expect("an address"), port);
        send(address, &datagram("said", &[&name, word], false));
    }
    stdout(&child.wait_with_output().expect("it ends"))
}

#[test]
fn a_node_on_localhost_receives_both_families() {
    if UdpSocket::bind("[::1]:0").is_err() {
        return;
    }
    let udp = sent_to_both_families(&[], |address, datagram| {
        let own = if address.is_ipv6() { "[::1]:0" } else { "127.0.0.1:0" };
        UdpSocket::bind(own).expect("a port").send_to(datagram, address).expect("sent");
    });
    let tcp = sent_to_both_families(&["--fabric", "tcp"], |address, datagram| {
        let mut stream = TcpStream::connect(address).expect("connected");
        stream.write_all(&frame(datagram)).expect("written");
    });
    for seen in [udp, tcp] {
        assert!(seen.contains("\"by 4\"") && seen.contains("\"by 6\""), "{seen}");
    }
}
