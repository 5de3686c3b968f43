//! Runs as services: another user than root, an orderly end, notifications of the manager, logs as
//! JSON.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::{Folder, PING, run, skipped, status, stderr, stdout, tidemill};

/// The time limit of each step on a machine that runs other tests, too.
const END_MAX: Duration = Duration::from_secs(30);

/// The time for the first turns of a run before it is stopped.
const BEGUN: Duration = Duration::from_millis(1500);

fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").args([name, &child.id().to_string()]).status();
    assert!(sent.expect("`kill` is there").success(), "the run has ended by itself");
}

/// Starts a run with one node, and returns the noted address.
fn start(command: &mut Command) -> (Child, String, BufReader<std::process::ChildStderr>) {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("starts");
    let mut notes = BufReader::new(child.stderr.take().expect("piped"));
    let mut line = String::new();
    notes.read_line(&mut line).expect("a line");
    let address = line.trim_end().strip_prefix("0 ").unwrap_or_else(|| panic!("{line}"));
    (child, address.to_owned(), notes)
}

fn is_root() -> bool {
    fs::read_to_string("/proc/self/status").is_ok_and(|text| text.contains("\nUid:\t0\t0\t"))
}

#[test]
fn every_line_on_standard_error_is_an_object() {
    let folder = Folder::new();
    let file = folder.file("ping.olg", &format!("{PING}watch(nothing).\n"));
    let output = run(&format!("run {file} --nodes 2 --for 0.5 --stats --log debug,place,json"));
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    let mut targets = Vec::new();
    for line in stderr(&output).lines() {
        let value: serde_json::Value =
            serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"));
        for name in ["time", "level", "target", "message"] {
            assert!(value[name].is_string(), "{line}");
        }
        assert!(value["fields"].is_object(), "{line}");
        assert!(value["time"].as_str().is_some_and(|time| time.ends_with('Z')), "{line}");
        targets.push(value["target"].as_str().unwrap_or_default().to_owned());
        if value["target"] == "node" {
            assert!(value["line"].is_number() && value["file"].is_string(), "{line}");
        }
    }
    for target in ["tidemill", "node", "fleet"] {
        assert!(targets.iter().any(|one| one == target), "{target}: {targets:?}");
    }
    // Findings about sources are objects, too.
    let wrong = folder.file("wrong.olg", "r1 a(@N, X) :- b(@N).\n");
    let output = run(&format!("check {wrong} --log json"));
    assert_eq!(status(&output), 1);
    let first = stderr(&output).lines().next().unwrap_or_default().to_owned();
    let value: serde_json::Value = serde_json::from_str(&first).expect("an object");
    assert_eq!(value["level"], "error", "{first}");
    assert_eq!(value["fields"]["code"], "unbound-variable", "{first}");
}

/// Reads states until one is `wanted`; returns those before it.
fn wait_for(socket: &UnixDatagram, wanted: &str) -> Vec<String> {
    socket.set_read_timeout(Some(END_MAX)).expect("a timeout");
    let mut before = Vec::new();
    loop {
        let mut buffer = [0; 256];
        let length = socket.recv(&mut buffer).unwrap_or_else(|_| panic!("{wanted}: {before:?}"));
        let state = String::from_utf8_lossy(&buffer[..length]).into_owned();
        if state == wanted {
            return before;
        }
        before.push(state);
    }
}

#[test]
fn the_manager_is_notified_of_ready_watchdog_and_stopping() {
    let folder = Folder::new();
    let rules = folder.file("idle.olg", "watch(nothing).\n");
    let path = folder.path().join("notify");
    let path = path.to_str().expect("text").to_owned();
    let name = format!("tidemill-test-{}", std::process::id());
    let abstract_address = SocketAddr::from_abstract_name(&name).expect("an address");
    let sockets = [
        (path.clone(), UnixDatagram::bind(&path).expect("bound")),
        (format!("@{name}"), UnixDatagram::bind_addr(&abstract_address).expect("bound")),
    ];
    for (name, socket) in sockets {
        let mut command = tidemill();
        command.args(["run", &rules, "--nodes", "1"]);
        command.env("NOTIFY_SOCKET", &name).env("WATCHDOG_USEC", "100000");
        let (mut child, address, _notes) = start(&mut command);
        assert_eq!(wait_for(&socket, "READY=1"), [""; 0]);
        // The noted address is bound.
        let port = address.strip_prefix("localhost:").expect("loopback");
        assert!(std::net::UdpSocket::bind(format!("127.0.0.1:{port}")).is_err(), "{address}");
        wait_for(&socket, "WATCHDOG=1");
        wait_for(&socket, "WATCHDOG=1");
        signal(&child, "-TERM");
        wait_for(&socket, "STOPPING=1");
        assert_eq!(child.wait().expect("ends").code(), Some(0));
    }
    // The watchdog of another process is ignored, and a missing socket is an error.
    let mut command = tidemill();
    command.args(["run", &rules, "--nodes", "1", "--for", "0.1"]);
    let output = command.env("NOTIFY_SOCKET", "/nowhere/notify").output().expect("starts");
    assert_eq!(status(&output), 1);
    assert!(stderr(&output).contains("service manager"), "{}", stderr(&output));
}

#[test]
fn root_is_given_up_for_ever() {
    let folder = Folder::new();
    let file = folder.file("idle.olg", "watch(nothing).\n");
    for user in ["root", "0:1", "no-such-user", "4294967295:1", "7:x"] {
        let output = run(&format!("run {file} --nodes 1 --for 0.1 --user {user}"));
        assert_eq!(status(&output), 2, "{user}: {}", stderr(&output));
    }
    if !is_root() {
        let output = run(&format!("run {file} --nodes 1 --for 0.1 --user nobody"));
        assert_eq!(status(&output), 2, "{}", stderr(&output));
        assert!(stderr(&output).contains("only root"), "{}", stderr(&output));
        return skipped("going on as another user", "the tests do not run as root");
    }
    let socket_path = folder.path().join("notify");
    let socket = UnixDatagram::bind(&socket_path).expect("bound");
    let mut command = tidemill();
    command.args(["run", &file, "--listen", "localhost:1", "--user", "4711:4712"]);
    command.env("NOTIFY_SOCKET", &socket_path).stderr(Stdio::piped()).stdout(Stdio::null());
    let mut child = command.spawn().expect("starts");
    // Port 1 needed root; when ready, the run has it, and is no longer root.
    wait_for(&socket, "READY=1");
    let tasks = fs::read_dir(format!("/proc/{}/task", child.id())).expect("its threads");
    let mut threads = 0;
    for task in tasks {
        let status = task.expect("an entry").path().join("status");
        let text = fs::read_to_string(status).expect("its status");
        let wanted = [
            "Uid:\t4711\t4711\t4711\t4711",
            "Gid:\t4712\t4712\t4712\t4712",
            "CapPrm:\t0000000000000000",
            "CapEff:\t0000000000000000",
        ];
        assert!(wanted.iter().all(|line| text.lines().any(|one| one == *line)), "{text}");
        let groups = text.lines().find_map(|line| line.strip_prefix("Groups:"));
        assert_eq!(groups.map(str::trim), Some("4712"), "{text}");
        threads += 1;
    }
    // The thread that handles signals was started before.
    assert!(threads > 1, "{threads}");
    // That user and root can connect, and no others.
    let program = folder.path().join("tidemill");
    fs::copy(tidemill().get_program(), &program).expect("copied");
    let query = |uid: u32| {
        let mut command = Command::new(&program);
        command.args(["query", "localhost:1", "sys::counter"]).uid(uid).gid(uid);
        command.env_remove("XDG_RUNTIME_DIR").output().expect("starts")
    };
    for uid in [4711, 0] {
        let output = query(uid);
        assert_eq!(status(&output), 0, "{uid}: {}", stderr(&output));
        assert!(stdout(&output).contains("control/run/accepted"), "{uid}: {}", stdout(&output));
    }
    assert_eq!(status(&query(4713)), 1);
    let pid = child.id().to_string();
    let own = std::env::temp_dir().join("tidemill-4711").join(&pid);
    let metadata = fs::metadata(&own).expect("its folder");
    assert_eq!((metadata.uid(), metadata.gid(), metadata.mode() & 0o777), (4711, 4712, 0o700));
    signal(&child, "-TERM");
    assert_eq!(child.wait().expect("ends").code(), Some(0));
    // Files left by a run that was killed are removed at the next start.
    let output = run(&format!("run {file} --nodes 1 --for 0.1 --user 4711:4712"));
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    assert!(!own.exists());
}

/// Each row of `go` is sent to the landmark.
const TELL: &str = "\
materialize(heard, infinity, infinity, keys(2)).
r1 tell(@To, X) :- go(@N, X), To := LANDMARK.
r2 heard(@N, X) :- tell(@N, X).
watchmod(heard, \"i\").
";

#[test]
fn what_reliable_links_have_not_delivered_is_delivered_before_the_end() {
    let folder = Folder::new();
    let file = folder.file("tell.olg", TELL);
    let mut command = tidemill();
    command.args(["run", &file, "--nodes", "1", "--fabric", "reliable"]);
    let (mut hearer, address, _hearer_notes) = start(&mut command);
    // It does not answer while it is stopped.
    signal(&hearer, "-STOP");
    let landmark = format!("LANDMARK=\"{address}\"");
    let mut command = tidemill();
    command.args(["run", &file, "--nodes", "1", "--fabric", "reliable", "-D", &landmark]);
    command.args(["--inject", "go(NODE, 42)"]);
    let (mut teller, _, _notes) = start(&mut command);
    std::thread::sleep(BEGUN);
    signal(&teller, "-TERM");
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(teller.try_wait().expect("asked"), None, "it waits for the other side");
    signal(&hearer, "-CONT");
    assert_eq!(teller.wait().expect("ends").code(), Some(0));
    signal(&hearer, "-TERM");
    assert_eq!(hearer.wait().expect("ends").code(), Some(0));
    let mut text = String::new();
    hearer.stdout.take().expect("piped").read_to_string(&mut text).expect("text");
    assert!(text.contains(", 42)"), "{text}");
}

#[test]
fn the_end_waits_a_few_seconds_and_not_for_a_second_signal() {
    let folder = Folder::new();
    let file = folder.file("tell.olg", TELL);
    let silent = std::net::UdpSocket::bind("127.0.0.1:0").expect("a port");
    let landmark = format!("LANDMARK=\"{}\"", silent.local_addr().expect("bound"));
    let begin = || {
        let mut command = tidemill();
        command.args(["run", &file, "--nodes", "1", "--fabric", "reliable", "-D", &landmark]);
        command.args(["--inject", "go(NODE, 42)"]);
        let started = start(&mut command);
        std::thread::sleep(BEGUN);
        signal(&started.0, "-TERM");
        started
    };
    let (mut child, _, mut notes) = begin();
    let began = Instant::now();
    assert_eq!(child.wait().expect("ends").code(), Some(0));
    assert!(began.elapsed() < END_MAX, "{:?}", began.elapsed());
    let mut text = String::new();
    notes.read_to_string(&mut text).expect("text");
    assert!(text.contains("tuples not delivered"), "{text}");
    let (mut child, _, _notes) = begin();
    std::thread::sleep(Duration::from_millis(200));
    signal(&child, "-TERM");
    let ended = child.wait().expect("ends");
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&ended), Some(15), "{ended:?}");
}

#[test]
fn an_endless_turn_ends_by_sigterm_as_well() {
    let folder = Folder::new();
    let endless = "\
r1 a(@N, X + 1) :- periodic(@N, E, 0, 1), X := E % 10.
r2 b(@N, X) :- a(@N, X).
r3 a(@N, X + 1) :- b(@N, X).
";
    let file = folder.file("endless.olg", endless);
    let mut command = tidemill();
    command.args(["run", &file, "--nodes", "1", "--turn-limit", "1000000000000"]);
    let (mut child, _, _notes) = start(&mut command);
    std::thread::sleep(Duration::from_millis(300));
    signal(&child, "-TERM");
    let began = Instant::now();
    assert_eq!(child.wait().expect("ends").code(), Some(0));
    assert!(began.elapsed() < END_MAX, "{:?}", began.elapsed());
}
