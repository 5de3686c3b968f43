//! Real nodes through the command: ports, signals, queries.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStderr, Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::common::node::free_addresses;
use crate::common::{Folder, PING, run, status, stderr, stdout, tidemill};

/// Nodes that run until the test is over.
struct Nodes {
    child: Child,
    notes: BufReader<ChildStderr>,
    addresses: Vec<String>,
}

impl Nodes {
    fn start(arguments: &[&str], count: usize) -> Nodes {
        let mut child = tidemill()
            .arg("run")
            .args(arguments)
            .args(["--nodes", &count.to_string()])
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("starts");
        let mut notes = BufReader::new(child.stderr.take().expect("piped"));
        let mut addresses = Vec::new();
        for index in 0..count {
            let mut line = String::new();
            notes.read_line(&mut line).expect("a line");
            let address = line.trim_end().strip_prefix(&format!("{index} ")).expect(&line);
            addresses.push(address.to_owned());
        }
        Nodes { child, notes, addresses }
    }

    fn ask(&self, node: usize, arguments: &[&str]) -> Output {
        let address = &self.addresses[node];
        tidemill().arg("query").arg(address).args(arguments).output().expect("starts")
    }

    /// The rows of a table once there are `count`: a node that has just started is still inserting
    /// its facts, one per turn.
    fn rows(&self, node: usize, table: &str, count: usize) -> String {
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            let text = stdout(&self.ask(node, &[table]));
            let rows = text.lines().count();
            if rows == count {
                return text;
            }
            assert!(Instant::now() < deadline, "{table} has {rows} rows, not {count}");
        }
    }

    /// Sends a signal; returns the notes up to the end.
    fn end(mut self, signal: &str) -> (Option<i32>, String) {
        let id = self.child.id().to_string();
        let sent = Command::new("kill").args([signal, &id]).status().expect("kill");
        assert!(sent.success());
        let mut rest = String::new();
        self.notes.read_to_string(&mut rest).expect("text");
        (self.child.wait().expect("ends").code(), rest)
    }
}

impl Drop for Nodes {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn nodes_run_for_their_time_and_talk() {
    let folder = Folder::new();
    let file = folder.file("ping.olg", PING);
    let output = run(&format!("run {file} --nodes 3 --for 2.5"));
    assert_eq!(status(&output), 0);
    let text = stdout(&output);
    let pongs = text.lines().filter(|line| line.contains(" i - pongs("));
    // Three facts, then each node twice.
    assert_eq!(pongs.count(), 9, "{text}");
    let notes = stderr(&output);
    let lines: Vec<&str> = notes.lines().collect();
    assert!(
        lines[0].starts_with("0 localhost:") && lines[2].starts_with("2 localhost:"),
        "{notes}"
    );
    assert!(lines[3].starts_with("summary: 3 nodes (3 alive), 2.5"), "{notes}");
}

#[test]
fn nodes_talk_over_connections() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/ping/ping.olg");
    let output = run(&format!("run {file} --nodes 3 --fabric tcp --for 2.5"));
    assert_eq!(status(&output), 0);
    let text = stdout(&output);
    // Each node twice, except for the landmark, whose answers to itself take no time.
    assert_eq!(text.lines().filter(|line| line.contains(" i - roundTrip(")).count(), 5, "{text}");
    let notes = stderr(&output);
    // Two nodes ping the landmark twice and get two answers each.
    assert!(notes.contains(" turns; 8 messages ("), "{notes}");
    assert!(!notes.contains("dropped"), "{notes}");
}

#[test]
fn a_port_in_use_is_a_clear_failure() {
    let folder = Folder::new();
    let file = folder.file("ping.olg", PING);
    let taken = std::net::UdpSocket::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("an address").port();
    let output = run(&format!("run {file} --listen localhost:{port}"));
    assert_eq!(status(&output), 1);
    let expected = format!("tidemill: cannot listen on localhost:{port}: Address already in use");
    assert!(stderr(&output).starts_with(&expected), "{}", stderr(&output));
}

#[test]
fn signals_end_a_run_with_its_summary() {
    let folder = Folder::new();
    let file = folder.file("ping.olg", PING);
    for signal in ["-INT", "-TERM"] {
        let nodes = Nodes::start(&[&file], 2);
        let (status, notes) = nodes.end(signal);
        assert_eq!(status, Some(0), "{signal}");
        assert!(notes.starts_with("summary: 2 nodes"), "{signal}: {notes}");
    }
}

#[test]
fn lines_appear_while_the_program_runs() {
    let folder = Folder::new();
    let file = folder.file("ping.olg", PING);
    let mut child = tidemill()
        .args(["run", &file, "--listen", "localhost:0", "--for", "30"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("starts");
    let began = Instant::now();
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("piped")).read_line(&mut line).expect("a line");
    assert!(line.contains(" i - pongs("), "{line}");
    assert!(began.elapsed() < Duration::from_secs(10));
    child.kill().expect("killed");
    child.wait().expect("ends");
}

const RING: &str = "\
materialize(position, infinity, infinity, keys(2)).
materialize(label, infinity, infinity, keys(2)).
position(NODE, 1, \"b\"). position(NODE, 2, \"a\"). position(NODE, 10, \"c\").
r1 hello(@N, X) :- greet(@N, X).
r2 label(@N, X, L) :- rename(@N, X, L).
";

#[test]
fn tables_and_rules_can_be_queried() {
    let folder = Folder::new();
    let file = folder.file("ring.olg", RING);
    let nodes = Nodes::start(&[&file], 2);
    nodes.rows(1, "position", 3);
    let lines = |query: &str| {
        let output = nodes.ask(1, &[query]);
        assert_eq!(status(&output), 0, "{query}: {}", stderr(&output));
        let address = format!("\"{}\"", nodes.addresses[1]);
        stdout(&output).replace(&address, "HERE").lines().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(
        lines("position"),
        ["position(HERE, 1, \"b\")", "position(HERE, 2, \"a\")", "position(HERE, 10, \"c\")"]
    );
    assert_eq!(lines("label"), [""; 0]);
    assert_eq!(
        lines("far(X, L) :- position(@N, X, L), X > 1."),
        ["far(2, \"a\")", "far(10, \"c\")"]
    );
    assert_eq!(lines("pair(N, Y) :- position(@N, 1, _), position(N, Y, \"a\")"), ["pair(HERE, 2)"]);
    assert_eq!(lines("most(a_MAX<X>, a_COUNT<*>) :- position(@N, X, _)."), ["most(10, 3)"]);
    assert_eq!(lines("no(X) :- position(@N, X, _), notin label(@N, X, _), X < 2."), ["no(1)"]);
    assert_eq!(lines("who(NODE_INDEX) :- position(@NODE, 1, _)."), ["who(1)"]);
}

#[test]
fn queries_in_json_are_objects() {
    let folder = Folder::new();
    let file = folder.file("ring.olg", RING);
    let nodes = Nodes::start(&[&file], 1);
    nodes.rows(0, "position", 3);
    let text = stdout(&nodes.ask(0, &["p(X, L) :- position(@N, X, L), X < 2.", "--json"]));
    assert_eq!(text, "{\"tuple\":[\"p\",1,\"b\"]}\n");
}

#[test]
fn invalid_queries_are_explained() {
    let folder = Folder::new();
    let file = folder.file("ring.olg", RING);
    let nodes = Nodes::start(&[&file], 1);
    let cases = [
        ("positon", "there is no table `positon`; is `position` meant?"),
        ("hello", "`hello` is an event, whose tuples do not stay"),
        ("p(X) :- hello(@N, X).", "query:1:9: error[query-table]: `hello` is an event"),
        ("p(X) :- position(@N, X).", "query:1:"),
        ("p(Y) :- position(@N, X, _).", "query:1:3: error[unbound-variable]"),
        ("p(X) :- ", "query:1:"),
        ("p(T) :- position(@N, X, _), T := f_now().", "a query cannot call functions that depend"),
        (
            "materialize(p, 1, 1, keys(1)). p(X) :- position(@N, X, _).",
            "query:1:1: error[query-form]",
        ),
    ];
    for (query, expected) in cases {
        let output = nodes.ask(0, &[query]);
        assert_eq!(status(&output), 1, "{query}");
        assert_eq!(stdout(&output), "", "{query}");
        let errors = stderr(&output);
        assert!(errors.starts_with(&format!("tidemill: {expected}")), "{query}: {errors}");
    }
}

#[test]
fn an_answer_of_many_datagrams_comes_whole() {
    let folder = Folder::new();
    let mut program = String::from("materialize(t, infinity, infinity, keys(2)).\n");
    for number in 0..5000 {
        program += &format!("t(NODE, {number}, \"some text that takes room: {number}\").\n");
    }
    let file = folder.file("many.olg", &program);
    let nodes = Nodes::start(&[&file], 1);
    let text = nodes.rows(0, "t", 5000);
    let ends = |line: &str, number: usize| line.ends_with(&format!(": {number}\")"));
    assert!(text.lines().enumerate().all(|(number, line)| ends(line, number)));
}

#[test]
fn queries_time_out() {
    let free = std::net::UdpSocket::bind("127.0.0.1:0").expect("a port");
    let port = free.local_addr().expect("an address").port();
    let output = run(&format!("query localhost:{port} t --timeout 0.3"));
    assert_eq!(status(&output), 1);
    let expected = format!("tidemill: no answer from localhost:{port} within 0.3 s: no run of ");
    assert!(stderr(&output).starts_with(&expected), "{}", stderr(&output));
}

#[test]
fn changes_are_watched() {
    let folder = Folder::new();
    let file = folder.file("ping.olg", PING);
    let nodes = Nodes::start(&[&file], 1);
    let mut child = tidemill()
        .args(["query", &nodes.addresses[0], "pongs", "--watch"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("starts");
    let reader = BufReader::new(child.stdout.take().expect("piped"));
    let lines: Vec<String> = reader.lines().take(3).map(|line| line.expect("text")).collect();
    assert!(lines[0].starts_with("+ pongs("), "{lines:?}");
    assert!(lines[1].starts_with("- pongs(") && lines[2].starts_with("+ pongs("), "{lines:?}");
    child.kill().expect("killed");
    child.wait().expect("ends");
}

#[test]
fn tuples_from_outside_have_locations() {
    let folder = Folder::new();
    let file = folder.file(
        "pair.olg",
        "watch(first). watch(second).\n\
         r1 first(@X, Y) :- pair(@X, Y).\nr2 second(@Y, X) :- pair(X, @Y).\n",
    );
    let options = "--nodes 2 --for 1 --inject";
    let seen = |tuple: &str| {
        let mut words: Vec<&str> = vec!["sim", &file];
        words.extend(options.split(' '));
        words.push(tuple);
        let output = tidemill().args(words).output().expect("runs");
        assert_eq!(status(&output), 0, "{}", stderr(&output));
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let first = text.lines().find(|line| line.contains(" s ")).unwrap_or("").to_owned();
        first.split(' ').skip(1).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(seen("pair(\"n1:1\", 5)"), "n1:1 s r1 first(\"n1:1\", 5)");
    assert_eq!(seen("pair(5, @\"n1:1\")"), "n1:1 s r2 second(\"n1:1\", 5)");
}

/// A tuple that no node gets is a mistake, though not one that stops the program.
#[test]
fn tuples_without_a_node_are_warned_of() {
    let folder = Folder::new();
    let file = folder.file("a.olg", "r1 seen(@N, X) :- ev(@N, X). watch(seen).\n");
    let warning = |line: &str, tuple: &str| {
        let mut words: Vec<&str> = line.split(' ').collect();
        words.insert(1, &file);
        let output = tidemill().args(words).arg(tuple).output().expect("runs");
        assert_eq!(status(&output), 0, "{}", stderr(&output));
        let text = stderr(&output);
        let found = text.lines().find_map(|line| line.split_once("warning[fact-nowhere]: "));
        (found.map_or(String::new(), |(_, message)| message.to_owned()), text)
    };
    let elsewhere = "no node has this event: none has the address `localhost:10000`";
    let no_address = "no node has this event: its location is no address";
    for verb in ["sim --nodes 3 --for 1", "test --nodes 1..3 --for 1 --seeds 1..2"] {
        let line = format!("{verb} --inject");
        let (message, text) = warning(&line, "ev(\"localhost:10000\", 3)");
        assert_eq!(message, elsewhere);
        assert!(text.contains("--inject:1:1: warning"), "{text}");
        assert!(text.contains("help: the nodes are `n0:1` to `n2:1`"), "{text}");
        assert_eq!(warning(&line, "ev(NODE_ID, 1)").0, no_address);
        assert_eq!(warning(&line, "ev(7, 1)").0, no_address);
        for right in ["ev(\"n2:1\", 1)", "ev(NODE, 1)", "ev(LANDMARK, 1)"] {
            assert_eq!(warning(&line, right).0, "", "{right}");
        }
    }
    let line = "run --listen 127.0.0.1:0 --for 0.1 --inject";
    assert_eq!(warning(line, "ev(\"n0:1\", 1)").0, "", "the port is not known");
    assert_eq!(warning(line, "ev(NODE_COUNT, 1)").0, no_address);
    let address = &free_addresses(1)[0];
    let line = format!("run --listen {address} --for 0.1 --fact");
    assert_eq!(warning(&line, &format!("ev({address:?}, 1)")).0, "");
    let (message, text) = warning(&line, "ev(\"localhost:10000\", 1)");
    assert_eq!(message, elsewhere.replace("event", "fact"));
    assert!(text.contains(&format!("the only node is `{address}`")), "{text}");
}

#[test]
fn schemas_alone_do_not_run() {
    let folder = Folder::new();
    let file = folder.file("s.proto", "syntax = \"proto3\"; message A { int32 a = 1; }\n");
    for line in ["run", "sim", "sim --for 1", "test --for 1 --seeds 1..1", "explore"] {
        let output = run(&format!("{line} {file}"));
        assert_eq!((status(&output), stdout(&output).as_str()), (1, ""), "{line}");
        let reason = "the program has schemas only: nothing in it runs";
        assert!(stderr(&output).contains(reason), "{line}: {}", stderr(&output));
    }
}

#[test]
fn options_without_effect_are_mistakes() {
    let folder = Folder::new();
    let file = folder.file("ping.olg", PING);
    let output = run(&format!("run {file} --nodes 1 --for 0.1 --memory 1M --workers 4"));
    assert_eq!(status(&output), 2);
    for option in ["--memory", "--workers without several --nodes"] {
        let expected = format!("tidemill: {option} has no effect here");
        assert!(stderr(&output).contains(&expected), "{}", stderr(&output));
    }
    for unknown in ["run --ui a:1", "run --token t", "explain --trace"] {
        assert_eq!(status(&run(&format!("{unknown} {file}"))), 2, "{unknown}");
    }
    for (engine, expected) in [("dispatch", 2), ("compiled", 0), ("interpret", 0)] {
        let output = run(&format!("sim {file} --for 1 --engine {engine}"));
        assert_eq!(status(&output), expected, "{engine}");
    }
}

#[test]
fn rules_read_the_log() {
    let folder = Folder::new();
    let rules = "r1 seen(@N, Level, Topic, Text) :- sys::log(@N, _, Level, Topic, _, _, Text).
        watch(seen).";
    let file = folder.file("log.olg", rules);
    let output = run(&format!("run {file} --listen localhost:0 --for 1.5 --log info"));
    let text = stdout(&output);
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    assert!(text.contains(", \"info\", \"fleet\", \"1 nodes by Udp, seed "), "{text}");
}
