//! Control connections of runs through the command: permitted and hostile clients.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::common::{Folder, run, skipped, status, stderr, stdout, tidemill};

const EDGES: &str = "materialize(edge, infinity, infinity, keys(1, 2)).\n\
    edge(NODE, 1). edge(NODE, 2).\n";

/// A run with its files in a folder of its own.
struct Run {
    child: Child,
    folder: Folder,
    addresses: Vec<String>,
}

impl Run {
    fn start(program: &str, options: &[&str], nodes: usize) -> Run {
        Run::start_in(Folder::new(), program, options, nodes)
    }

    fn start_in(folder: Folder, program: &str, options: &[&str], nodes: usize) -> Run {
        let file = folder.file("program.olg", program);
        let mut command = tidemill();
        command.args(["run", &file, "--nodes", &nodes.to_string()]).args(options);
        command.env("XDG_RUNTIME_DIR", folder.path());
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let mut notes = BufReader::new(child.stderr.take().expect("piped"));
        let addresses = (0..nodes).map(|index| {
            let mut line = String::new();
            notes.read_line(&mut line).expect("a line");
            line.trim_end().strip_prefix(&format!("{index} ")).expect("INDEX ADDR").to_owned()
        });
        let addresses = addresses.collect();
        // Later output is discarded, but has to be read.
        std::thread::spawn(move || std::io::copy(&mut notes, &mut std::io::sink()));
        Run { child, folder, addresses }
    }

    fn files(&self) -> PathBuf {
        self.folder.path().join("tidemill").join(self.child.id().to_string())
    }

    fn socket(&self) -> PathBuf {
        self.files().join("control.sock")
    }

    fn command(&self, verb: &str, node: usize, arguments: &[&str]) -> Command {
        let mut command = tidemill();
        command.arg(verb).arg(&self.addresses[node]).args(arguments);
        command.env("XDG_RUNTIME_DIR", self.folder.path());
        command
    }

    fn tool(&self, verb: &str, node: usize, arguments: &[&str]) -> Output {
        self.command(verb, node, arguments).output().expect("it starts")
    }

    /// The answer to a query, which must succeed.
    fn query(&self, node: usize, arguments: &[&str]) -> String {
        let output = self.tool("query", node, &[arguments, &["--timeout", "30"]].concat());
        assert_eq!(status(&output), 0, "{}", stderr(&output));
        stdout(&output)
    }

    /// Waits until a counter has a value.
    fn until_counted(&self, metric: &str, value: u64) {
        let end = Instant::now() + Duration::from_secs(30);
        loop {
            let pid = self.child.id().to_string();
            let mut command = tidemill();
            command.args(["top", &pid, "--form", "prometheus"]);
            let output = command.env("XDG_RUNTIME_DIR", self.folder.path()).output();
            let text = stdout(&output.expect("it starts"));
            let line = text.lines().find(|line| line.starts_with(&format!("tidemill_{metric}{{")));
            if line.is_some_and(|line| line.ends_with(&format!(" {value}"))) {
                return;
            }
            assert!(Instant::now() < end, "{metric} is not {value}: {line:?}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn memory_kb(&self) -> u64 {
        let path = format!("/proc/{}/status", self.child.id());
        let status = std::fs::read_to_string(path).expect("it runs");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a line");
        line.trim().trim_end_matches("kB").trim().parse().expect("a number")
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn token(folder: &Folder, name: &str) -> String {
    let path = folder.path().join(name).to_str().expect("text").to_owned();
    assert_eq!(status(&tidemill().args(["key", &path]).output().expect("starts")), 0);
    path
}

fn edges(address: &str) -> String {
    format!("edge(\"{address}\", 1)\nedge(\"{address}\", 2)\n")
}

fn frame(message: &[u8]) -> Vec<u8> {
    [&(message.len() as u32).to_le_bytes(), message].concat()
}

/// Field 2, a query for `edge`.
const QUERY: &[u8] = b"\x08\x01\x12\x06\x12\x04edge";

/// Reads until the peer closes; returns false if it does not for thirty seconds.
fn closes(stream: &mut (impl Read + ?Sized)) -> bool {
    let mut buffer = [0; 4096];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => return true,
            Ok(_) => {}
            Err(error) => return error.kind() == std::io::ErrorKind::ConnectionReset,
        }
    }
}

fn local(run: &Run) -> UnixStream {
    let stream = UnixStream::connect(run.socket()).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a timeout");
    stream
}

#[test]
fn nodes_of_this_host_are_found_by_their_addresses() {
    let run = Run::start(EDGES, &[], 3);
    for (node, address) in run.addresses.iter().enumerate() {
        assert_eq!(run.query(node, &["edge"]), edges(address));
    }
    let port = run.addresses[1].rsplit_once(':').expect("a port").1;
    for host in ["127.0.0.1", "[::1]", "LOCALHOST"] {
        let mut command = tidemill();
        command.args(["query", &format!("{host}:{port}"), "edge"]);
        let output = command.env("XDG_RUNTIME_DIR", run.folder.path()).output().expect("starts");
        assert_eq!(stdout(&output), edges(&run.addresses[1]), "{}", stderr(&output));
    }
    // The folder of a dead process lists the same node, and a newer run has another.
    let stale = run.folder.path().join("tidemill/4194304");
    std::fs::create_dir(&stale).expect("a folder");
    std::fs::write(stale.join("nodes"), format!("{0} {0}\n", run.addresses[0])).expect("written");
    assert_eq!(run.query(0, &["edge"]), edges(&run.addresses[0]));
    // A query to one of several nodes must name it.
    let mut stream = local(&run);
    stream.write_all(&frame(QUERY)).expect("written");
    let mut answer = [0; 200];
    let length = stream.read(&mut answer).expect("an answer");
    let text = String::from_utf8_lossy(&answer[..length]).into_owned();
    assert!(text.contains("the run has several nodes: say which"), "{text}");
    assert_eq!(std::fs::metadata(run.socket()).expect("there").mode() & 0o777, 0o600);
    assert_eq!(std::fs::metadata(run.files()).expect("there").mode() & 0o777, 0o700);
}

#[test]
fn nodes_that_are_not_here_are_named() {
    let run = Run::start(EDGES, &[], 1);
    let query = |address: &str| {
        let mut command = tidemill();
        command.args(["query", address, "edge", "--timeout", "0.2"]);
        command.env("XDG_RUNTIME_DIR", run.folder.path()).output().expect("it starts")
    };
    let output = query("localhost:1");
    let expected = "tidemill: no answer from localhost:1 within 0.2 s: no run of this user";
    assert_eq!(status(&output), 1);
    assert!(stderr(&output).starts_with(expected), "{}", stderr(&output));
    let output = query("198.51.100.1:1");
    assert_eq!(status(&output), 1);
    assert!(stderr(&output).contains("--token-file FILE"), "{}", stderr(&output));
    // A stopped run exists and does not answer.
    let pid = run.child.id().to_string();
    assert!(Command::new("kill").args(["-STOP", &pid]).status().expect("kill").success());
    let output = query(&run.addresses[0]);
    let expected = format!("tidemill: no answer from {} within 0.2 s\n", run.addresses[0]);
    assert_eq!((status(&output), stderr(&output)), (1, expected));
    assert!(Command::new("kill").args(["-CONT", &pid]).status().expect("kill").success());
    assert_eq!(run.query(0, &["edge"]), edges(&run.addresses[0]));
}

/// Only root can test this: another user opens the socket although its mode and folder permit
/// everyone.
#[test]
fn another_user_is_refused() {
    let run = Run::start(EDGES, &[], 1);
    let open = |path: PathBuf, mode: u32| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("ours");
    };
    let ask = || run.command("query", 0, &["edge", "--timeout", "0.5"]).uid(12_345).output();
    let Ok(output) = ask() else {
        return skipped(
            "another user asks",
            "this one is not root, or nobody else may run the tool",
        );
    };
    // The error names the owner, or at least says that the run is not accessible.
    assert_eq!((status(&output), stdout(&output).as_str()), (1, ""), "{}", stderr(&output));
    assert!(stderr(&output).contains("answer their owner only"), "{}", stderr(&output));
    open(run.folder.path().to_owned(), 0o755);
    open(run.folder.path().join("tidemill"), 0o755);
    open(run.files(), 0o755);
    open(run.files().join("nodes"), 0o644);
    open(run.socket(), 0o777);
    let output = ask().expect("as before");
    assert_eq!((status(&output), stdout(&output).as_str()), (1, ""), "{}", stderr(&output));
    let end = Instant::now() + Duration::from_secs(30);
    while run.query(0, &["c(V) :- edge(@N, V), V < 2."]) != "c(1)\n" {
        assert!(Instant::now() < end);
    }
    let text = stdout(&run.tool("top", 0, &["--form", "prometheus"]));
    let refused = text.lines().find(|line| line.starts_with("tidemill_control_refused_user"));
    assert!(refused.is_some_and(|line| !line.ends_with(" 0")), "{text}");
    assert_eq!(run.query(0, &["edge"]), edges(&run.addresses[0]), "its owner is answered");
}

#[test]
fn control_messages_have_a_schema() {
    let output = run("schema --control");
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    let folder = Folder::new();
    let schema = folder.file("control.proto", &stdout(&output));
    let output = tidemill().args(["proto", "check", "--schema", &schema]).output();
    assert_eq!(status(&output.expect("starts")), 0);
    // A request from another implementation, whose answer is parsed.
    let of_nodes = Run::start(EDGES, &[], 1);
    let mut command = tidemill();
    command.args(["proto", "encode", "--schema", &schema, "--type", "tidemill.control.Control"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("starts");
    let question = b"{\"id\": 7, \"query\": {\"text\": \"edge\"}}";
    child.stdin.take().expect("piped").write_all(question).expect("written");
    let question = child.wait_with_output().expect("ends").stdout;
    let mut stream = local(&of_nodes);
    stream.write_all(&frame(&question)).expect("written");
    let mut answer = Vec::new();
    while !String::from_utf8_lossy(&answer).contains("edge") {
        let mut buffer = [0; 4096];
        let length = stream.read(&mut buffer).expect("an answer");
        answer.extend_from_slice(&buffer[..length]);
    }
    let length = u32::from_le_bytes(answer[..4].try_into().expect("four")) as usize;
    let file = folder.path().join("answer");
    std::fs::write(&file, &answer[4..4 + length]).expect("written");
    let file = file.to_str().expect("text");
    let mut command = tidemill();
    command.args(["proto", "decode", "--schema", &schema, "--type", "tidemill.control.Control"]);
    let text = stdout(&command.arg(file).output().expect("starts"));
    assert!(text.contains("\"id\":\"7\"") && text.contains("\"i\":\"2\""), "{text}");
    assert_eq!(status(&run("schema --control program.olg")), 2);
    assert_eq!(status(&run("schema")), 2);
}

#[test]
fn a_question_by_datagram_gets_nothing() {
    let run = Run::start(EDGES, &[], 1);
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let node = run.addresses[0].replace("localhost", "127.0.0.1");
    // The request of earlier versions: a tuple `sys::query` by name and columns.
    let mut tuple = b"\x22\x0asys::query".to_vec();
    for column in [&b"\x22\x03n:1"[..], b"\x08\x02", b"\x22\x04edge", b"\x08\x00"] {
        tuple.extend([0x2a, column.len() as u8]);
        tuple.extend_from_slice(column);
    }
    let datagram = [&[0x1a, tuple.len() as u8], &tuple[..]].concat();
    for _ in 0..3 {
        socket.send_to(&datagram, &node).expect("sent");
    }
    run.until_counted("node_not_exported", 3);
    socket.set_read_timeout(Some(Duration::from_millis(300))).expect("a timeout");
    assert!(socket.recv(&mut [0; 2000]).is_err(), "nothing comes back");
}

#[test]
fn strangers_at_the_socket_do_no_harm() {
    let run = Run::start(EDGES, &[], 1);
    let idle: Vec<UnixStream> = (0..40).map(|_| local(&run)).collect();
    for garbage in [&b"\x03\0\0\0\xff\xff\xff"[..], b"GET / HTTP/1.1\r\n\r\n"] {
        let mut stream = local(&run);
        stream.write_all(garbage).expect("written");
        assert!(closes(&mut stream));
    }
    run.until_counted("control_malformed", 1);
    run.until_counted("control_too_long", 1);
    let mut half = local(&run);
    half.write_all(&[200, 0, 0, 0, 1]).expect("written");
    assert_eq!(run.query(0, &["edge"]), edges(&run.addresses[0]));
    let _more: Vec<UnixStream> = (0..40).map(|_| local(&run)).collect();
    let end = Instant::now() + Duration::from_secs(30);
    while !stdout(&run.tool("query", 0, &["edge", "--timeout", "0.1"])).is_empty() {
        assert!(Instant::now() < end, "there is no limit");
    }
    drop(idle);
    assert_eq!(run.query(0, &["edge"]), edges(&run.addresses[0]));
}

/// Clients that send many requests and read nothing use the memory of a few answers, and do not
/// delay others.
#[test]
fn slow_queries_and_stalled_readers_delay_no_others() {
    let facts: String = (10..3000).map(|n| format!("edge(NODE, {n}).\n")).collect();
    let run = Run::start(&format!("{EDGES}{facts}"), &[], 1);
    let end = Instant::now() + Duration::from_secs(30);
    while run.query(0, &["edge"]).lines().count() < 2992 {
        assert!(Instant::now() < end, "the facts are not there");
    }
    let before = run.memory_kb();
    let deaf: Vec<UnixStream> = (0..20)
        .map(|_| {
            let mut stream = local(&run);
            stream.set_write_timeout(Some(Duration::from_millis(200))).expect("a timeout");
            // More than the run reads of a client that does not read.
            let _ = stream.write_all(&frame(QUERY).repeat(50_000));
            stream
        })
        .collect();
    let slow: Vec<Child> = (0..6)
        .map(|_| {
            let text = "x(1) :- edge(@N, X), edge(@N, Y), edge(@N, Z), X + Y + Z < 0.";
            let mut command = run.command("query", 0, &[text, "--timeout", "60"]);
            command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts")
        })
        .collect();
    for _ in 0..5 {
        let quick = run.query(0, &["x(X) :- edge(@N, X), X < 3."]);
        assert_eq!(quick, "x(1)\nx(2)\n");
    }
    let grown = run.memory_kb().saturating_sub(before);
    assert!(grown < 64 << 10, "{grown} KiB more");
    for mut child in slow {
        child.kill().expect("it runs");
        child.wait().expect("it ends");
    }
    drop(deaf);
    assert_eq!(run.query(0, &["x(X) :- edge(@N, X), X < 2."]), "x(1)\n");
}

/// Over the network, whatever transport the nodes use.
#[test]
fn remote_clients_need_a_token() {
    let sealed_streams = &["--fabric", "tcp", "--key"];
    for options in [&[][..], &["--fabric", "tcp"], &["--key"], sealed_streams] {
        let folder = Folder::new();
        let (right, wrong) = (token(&folder, "right"), token(&folder, "wrong"));
        let key = token(&folder, "key");
        let mut options: Vec<&str> = options.to_vec();
        if options.last() == Some(&"--key") {
            options.push(&key);
        }
        let shown = options.join(" ");
        options.extend(["--token-file", &right]);
        let run = Run::start_in(folder, EDGES, &options, 2);
        let edges = edges(&run.addresses[1]);
        assert_eq!(run.query(1, &["edge", "--token-file", &right]), edges, "{shown}");
        let top = run.tool("top", 1, &["--token-file", &right, "--form", "prometheus"]);
        assert!(stdout(&top).contains("tidemill_control_requests{name=\"run\"} 2"), "{shown}");
        let output = run.tool("query", 1, &["edge", "--token-file", &wrong]);
        let expected = format!("tidemill: {} refuses the token", run.addresses[1]);
        assert_eq!((status(&output), stdout(&output).as_str()), (1, ""));
        assert!(stderr(&output).starts_with(&expected), "{shown}: {}", stderr(&output));
        run.until_counted("control_refused_token", 1);
        // An unauthenticated hello is refused by one byte.
        let address = run.addresses[1].replace("localhost", "127.0.0.1");
        let mut stream = TcpStream::connect(&address).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a timeout");
        stream.write_all(&frame(&[&[5][..], &[7; 48]].concat())).expect("written");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).expect("it closes");
        assert_eq!(answer, [1, 0, 0, 0, 7], "{shown}");
        run.until_counted("control_refused_token", 2);
        // Many silent connections do not keep others out.
        let idle: Vec<TcpStream> =
            (0..100).map(|_| TcpStream::connect(&address).expect("it listens")).collect();
        assert_eq!(run.query(1, &["edge", "--token-file", &right]), edges, "{shown}");
        drop(idle);
    }
}

#[test]
fn tokens_are_secrets() {
    let folder = Folder::new();
    let program = folder.file("program.olg", EDGES);
    let right = token(&folder, "right");
    let weak = folder.file("weak", "hunter2\n");
    let readable = folder.file("readable", &std::fs::read_to_string(&right).expect("text"));
    let secret = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(&weak, secret).expect("ours");
    std::fs::set_permissions(&readable, std::fs::Permissions::from_mode(0o644)).expect("ours");
    let cases = [
        (&weak, "it has 41 bits at most, and 128 are needed (`tidemill key FILE` makes one)"),
        (&readable, "others can read it (mode 644): chmod 600"),
        (&"missing".to_owned(), "cannot read missing"),
    ];
    for (file, expected) in cases {
        for words in [
            vec!["run", &program, "--for", "0.1", "--token-file", file],
            vec!["query", "localhost:1", "edge", "--token-file", file],
            vec!["top", "localhost:1", "--token-file", file],
        ] {
            let output = tidemill().args(&words).output().expect("it starts");
            assert_eq!(status(&output), 1, "{words:?}");
            assert!(stderr(&output).contains(expected), "{words:?}: {}", stderr(&output));
        }
    }
    let output = tidemill().args(["top", "--token-file", &right]).output().expect("it starts");
    assert_ne!(status(&output), 0);
    // A port without a listener.
    let free = UdpSocket::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address");
    let words = ["query", &free.to_string(), "edge", "--token-file", &right, "--timeout", "0.3"];
    let output = tidemill().args(words).output().expect("it starts");
    assert!(stderr(&output).contains("does its run have --token-file?"), "{}", stderr(&output));
}

/// Rules are installed, replaced and removed while nodes run; an error changes nothing, and is
/// reported.
#[test]
fn rules_are_installed_and_taken_away_while_nodes_run() {
    let run = Run::start(EDGES, &[], 2);
    let reach = "materialize(two, infinity, infinity, keys(1, 2)).\n\
        t1 two(@N, X + 1) :- edge(@N, X).\n";
    let file = run.folder.file("two.olg", reach);
    let tool = |verb: &str, arguments: &[&str]| {
        let output = run.tool(verb, 0, arguments);
        (status(&output), stdout(&output), stderr(&output))
    };
    assert_eq!(tool("install", &[&file]), (0, String::new(), String::new()));
    // At all nodes, also those that were not addressed.
    let address = &run.addresses[1];
    let rows = |first: u32| format!("two({address:?}, {first})\ntwo({address:?}, {})\n", first + 1);
    assert_eq!(run.query(1, &["two"]), rows(2));
    assert_eq!(run.query(1, &["edge"]).lines().count(), 2);
    // The same name again replaces the rules.
    run.folder.file("two.olg", &reach.replace("X + 1", "X + 7"));
    assert_eq!(tool("install", &[&file]).0, 0);
    assert_eq!(run.query(1, &["two"]), rows(8));
    // An error is reported with its place, and the run continues.
    for (text, place) in [
        ("t1 two(@N, X) :- edge(@N, Y).", "two.olg:1:"),
        ("t1 two(@N :-", "two.olg:1:11: error[unexpected-token]"),
        (
            "#include \"/etc/passwd\"\n",
            "two.olg:1:10: error[file-unreadable]: cannot read `/etc/passwd`: rules that are \
             installed cannot include files",
        ),
        ("materialize(edge, 5, infinity, keys(1)).", "two.olg:1:"),
    ] {
        run.folder.file("two.olg", text);
        let (status, data, notes) = tool("install", &[&file]);
        assert_eq!((status, data.as_str()), (1, ""), "{text}: {notes}");
        assert!(notes.contains(place) && !notes.contains("root:"), "{text}: {notes}");
        assert_eq!(run.query(1, &["two"]), rows(8));
    }
    let unknown = "tidemill: no rules were installed as other.olg; there are two.olg\n";
    assert_eq!(tool("uninstall", &["other.olg"]), (1, String::new(), unknown.to_owned()));
    assert_eq!(tool("uninstall", &["two.olg"]).0, 0);
    assert_eq!(status(&run.tool("query", 1, &["two"])), 1);
    assert_eq!(run.query(1, &["edge"]).lines().count(), 2);
    let none = "tidemill: no rules were installed here\n";
    assert_eq!(tool("uninstall", &["two.olg"]), (1, String::new(), none.to_owned()));
}
