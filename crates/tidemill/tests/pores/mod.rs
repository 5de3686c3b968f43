//! Drivers that are components, and the peers of their pores.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use tidemill::program::{LoadOptions, Program};
use tidemill::run::{ComponentOptions, Engine, RunOptions};
use tidemill::tape::taped;
use tidemill_pore::uring::Uring;
use tidemill_pore::xenstore::server::{Server, Settings};

const XENSTORE: &str = include_str!("../../../../apps/drivers/xenstore.com");
const FILE: &str = include_str!("../../../../apps/drivers/file.com");
const ETHERNET: &str = include_str!("../../../../apps/drivers/ethernet.com");
const BRIDGE: &str = include_str!("../../../../apps/drivers/bridge.com");
const EXCHANGE: &str = include_str!("../../../../examples/pore/pore.com");

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("tidemill-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("a folder");
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The output of a program, and its faults.
fn run(parts: &[&str], folder: &Folder, arguments: &[&str], engine: Engine) -> (String, String) {
    run_in(&folder.0, None, parts, arguments, engine)
}

/// The same with a packet graph beside it.
fn run_in(
    folder: &Path,
    graph: Option<&str>,
    parts: &[&str],
    arguments: &[&str],
    engine: Engine,
) -> (String, String) {
    let text = parts.join("\n");
    let texts: Vec<(&str, &str)> = [("test.com", text.as_str())]
        .into_iter()
        .chain(graph.map(|text| ("a.flow", text)))
        .collect();
    let program = Program::of_texts(&texts, &LoadOptions::default());
    let wrong: String = program.diagnostics.iter().map(|one| program.sources.render(one)).collect();
    assert!(!program.has_errors(), "{wrong}");
    let components = ComponentOptions {
        engine,
        root: Some(folder.to_owned()),
        arguments: arguments.iter().map(|&one| one.to_owned()).collect(),
        ..ComponentOptions::default()
    };
    let end_ns = Some(60_000_000_000);
    let options = RunOptions { end_ns, components, ..RunOptions::default() };
    let (console, data, notes) = taped();
    program.run(options, console).expect("it runs");
    (data.text(), notes.text())
}

fn store(folder: &Folder, first_index: u32) -> Server {
    let (pages, streams) = (folder.0.join("pages"), Some(folder.0.join("streams")));
    Server::start(Settings { pages, streams, first_index, domain: 0 }).expect("a store")
}

#[test]
fn both_drivers_answer_alike_over_pages_and_sockets() {
    let expected = include_str!("requests.out");
    let program = [XENSTORE, include_str!("requests.com")];
    for engine in [Engine::Native, Engine::Interpreter] {
        for driver in ["pore", "outlet"] {
            for (kind, address) in [("xenstore", "pages"), ("socket", "streams")] {
                let folder = Folder::new("requests");
                let _store = store(&folder, u32::MAX - 500);
                let (out, faults) = run(&program, &folder, &[driver, kind, address], engine);
                assert_eq!((out.as_str(), faults.as_str()), (expected, ""), "{driver} {kind}");
            }
        }
    }
}

/// The distribution's daemon, at its address: `XENSTORED_PATH`, or the default.
#[test]
fn both_drivers_speak_to_a_daemon() {
    let path = std::env::var("XENSTORED_PATH").unwrap_or("/var/run/xenstored/socket".to_owned());
    if let Err(reason) = std::os::unix::net::UnixStream::connect(&path) {
        return skipped("a daemon", &format!("{path}: {reason}"));
    }
    let (folder, name) = path.rsplit_once('/').expect("a path");
    let program = [XENSTORE, include_str!("requests.com")];
    for driver in ["pore", "outlet"] {
        let words = [driver, "socket", name];
        let (out, faults) = run_in(Path::new(folder), None, &program, &words, Engine::Native);
        assert_eq!((out.as_str(), faults.as_str()), (include_str!("requests.out"), ""), "{driver}");
    }
}

#[test]
fn pores_between_components_keep_the_rules() {
    for engine in [Engine::Native, Engine::Interpreter] {
        let folder = Folder::new("pair");
        let (out, faults) = run(&[include_str!("pair.com")], &folder, &[], engine);
        assert_eq!(out, include_str!("pair.out"), "{faults}");
        assert_eq!(faults.lines().count(), 1, "{faults}");
    }
}

#[test]
fn opening_fails_with_a_reason() {
    let program = "COMPONENT Main REQUIRES Pore, Arguments; VARIABLE kind, name: TEXT;
        BEGIN
          Arguments!Get(1); Arguments?Argument(kind); Arguments!Get(2); Arguments?Argument(name);
          Pore!Open(kind, name); Pore?Failed(name); WRITE(name)
        END Main;";
    let folder = Folder::new("failing");
    std::os::unix::fs::symlink("/tmp", folder.0.join("out")).expect("a link");
    let answer = |kind: &str, name: &str| run(&[program], &folder, &[kind, name], Engine::Native).0;
    assert_eq!(answer("nothing", "x"), "no such kind of pore");
    assert!(answer("memfd", "missing").contains("No such file"));
    for outside in ["../x", "/tmp/x", "out/x"] {
        let reason = answer("memfd", outside);
        assert!(reason.contains("cross-device"), "{outside}: {reason}");
        let reason = answer("memfd-listen", &format!("bytes 64 {outside}"));
        assert!(reason.contains("cross-device"), "{outside}: {reason}");
    }
    assert!(answer("memfd-listen", "words 64 x").contains("memfd-listen takes"));
}

/// More at once than the ring has room for, preempted anywhere.
#[test]
fn many_writers_share_a_driver() {
    let program = [XENSTORE, include_str!("../../../../bench/cl/pores.com")];
    for (size, writes) in [("1", "1000"), ("100", "1000")] {
        let folder = Folder::new("many");
        let _store = store(&folder, u32::MAX - 5000);
        let words = ["pore", "xenstore", "pages", "25", size, writes, "0"];
        let (out, faults) = run(&program, &folder, &words, Engine::Native);
        assert_eq!((out.as_str(), faults.as_str()), ("25000\n", ""));
    }
}

/// When a store disappears, its clients fail; none hangs.
#[test]
fn a_store_that_goes_fails_its_clients() {
    // All are waiting before the store disappears.
    let program = "INTERFACE Go;
          IN Go(kind, address: TEXT) OUT Begun OUT Went(text: TEXT)
        END Go;
        COMPONENT Client OFFERS Go REQUIRES Xenstore;
          IMPLEMENTATION Go;
            VARIABLE kind, text: TEXT; n: INTEGER;
            BEGIN {EXCLUSIVE}
              ?Go(kind, text); Xenstore!Connect(kind, text); Xenstore?Connected; n := 0;
              REPEAT
                IF n > 0 THEN Xenstore?Done(kind) END;
                IF n = 1 THEN !Begun END;
                INC(n); Xenstore!Write(\"/n\", \"x\", 0)
              UNTIL Xenstore?Failed;
              Xenstore?Failed(text); Xenstore!Close; !Went(text)
          END Go;
        END Client;
        COMPONENT Main REQUIRES Pore, FileSystem;
          VARIABLE driver: XenstoreDriver; client[n: INTEGER]: Client; i: INTEGER; text: TEXT;
          BEGIN
            NEW(driver); CONNECT(Pore(driver), Pore);
            FOR i := 1 TO 5 DO
              NEW(client[i]); CONNECT(Xenstore(client[i]), Xenstore(driver));
              client[i]!Go(\"xenstore\", \"pages\")
            END;
            FOR i := 1 TO 5 DO client[i]?Begun END;
            FileSystem!New(\"begun\"); FileSystem?Done; FileSystem!Close;
            FOR i := 1 TO 5 DO client[i]?Went(text); WRITE(text); WRITELINE END
        END Main;";
    let folder = Folder::new("going");
    let server = store(&folder, 0);
    let begun = folder.0.join("begun");
    let ends = std::thread::spawn(move || {
        while !begun.exists() {
            std::thread::sleep(Duration::from_millis(1));
        }
        drop(server);
    });
    let (out, faults) = run(&[XENSTORE, program], &folder, &[], Engine::Native);
    ends.join().expect("it ends");
    assert_eq!((out.as_str(), faults.as_str()), ("EIO\nEIO\nEIO\nEIO\nEIO\n", ""));
}

/// Skips a test whose requirements this machine lacks, with the reason on standard error.
fn skipped(what: &str, reason: &str) {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed) + 1;
    // Not through the macros, whose output the harness captures.
    let _ = writeln!(io::stderr(), "skipped ({count} in all so far): {what}: {reason}");
}

#[test]
fn files_are_read_and_written_through_io_uring() {
    let folder = Folder::new("uring");
    let file = std::fs::File::create(folder.0.join("probe")).expect("a file");
    if let Err(reason) = Uring::new(file.into()) {
        return skipped("io_uring", &reason.to_string());
    }
    let (out, faults) = run(&[FILE, include_str!("file.com")], &folder, &[], Engine::Native);
    let line = |n| (0..10).map(|i| format!("{n}{i},")).collect::<String>();
    assert_eq!((out, faults), (format!("{}{}0\n", line(1), line(2)), String::new()));
}

/// A pair of devices with these names: the name, and 0 or 1.
struct Veth(&'static str);

impl Veth {
    /// Two connected devices, in the network of this process.
    fn new(name: &'static str) -> Result<Veth, String> {
        let ip = |words: &str| {
            let output = Command::new("ip").args(words.split(' ')).output();
            let output = output.map_err(|error| format!("ip: {error}"))?;
            let reason = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            if output.status.success() { Ok(()) } else { Err(reason) }
        };
        ip(&format!("link add {name}0 type veth peer name {name}1"))?;
        let veth = Veth(name);
        ip(&format!("link set {name}0 up"))?;
        ip(&format!("link set {name}1 up"))?;
        Ok(veth)
    }
}

impl Drop for Veth {
    fn drop(&mut self) {
        let _ = Command::new("ip").args(["link", "del", &format!("{}0", self.0)]).output();
    }
}

#[test]
fn frames_go_from_one_device_to_the_other() {
    let _veth = match Veth::new("tmpore") {
        Ok(veth) => veth,
        Err(reason) => return skipped("packet ring", &reason),
    };
    let folder = Folder::new("frames");
    let program = [ETHERNET, include_str!("frames.com")];
    let expected: String = (14..60).map(|i| char::from(65 + i % 26)).chain(['\n']).collect();
    for kind in ["packet", "xdp"] {
        let words = ["tmpore0", "tmpore1", kind];
        let (out, faults) = run(&program, &folder, &words, Engine::Native);
        if kind == "xdp" && out != expected {
            return skipped("AF_XDP", out.trim());
        }
        assert_eq!((out.as_str(), faults.as_str()), (expected.as_str(), ""), "{kind}");
    }
}

#[test]
fn packets_go_into_a_graph_and_out_of_it() {
    let folder = Folder::new("graph");
    let (graph, program) = (include_str!("graph.flow"), [include_str!("graph.com")]);
    for engine in [Engine::Native, Engine::Interpreter] {
        let (out, faults) = run_in(&folder.0, Some(graph), &program, &[], engine);
        let expected = "the packet graph has no `nowhere :: Outside`\n0x2x4x6x8x\n";
        assert_eq!((out.as_str(), faults.as_str()), (expected, ""));
    }
    let alone = "COMPONENT Main REQUIRES Packets; VARIABLE text: TEXT;
        BEGIN Packets!Open(\"left\"); Packets?Failed(text); WRITE(text) END Main;";
    let (out, faults) = run(&[alone], &folder, &[], Engine::Native);
    let expected = "no packet graph runs beside the components";
    assert_eq!((out.as_str(), faults.as_str()), (expected, ""));
}

#[test]
fn a_device_is_bridged_to_a_graph() {
    let _veth = match Veth::new("tmgraph") {
        Ok(veth) => veth,
        Err(reason) => return skipped("a device and a graph", &reason),
    };
    let folder = Folder::new("bridged");
    let program = [ETHERNET, BRIDGE, include_str!("bridged.com")];
    let (graph, words) = (Some(include_str!("graph.flow")), ["tmgraph0", "tmgraph1"]);
    let (out, faults) = run_in(&folder.0, graph, &program, &words, Engine::Native);
    assert_eq!((out.as_str(), faults.as_str()), ("60 Oy\n", ""));
}

/// Compiles the peer in C.
fn build_peer(folder: &Folder) -> Result<PathBuf, String> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/pore/peer.c");
    let program = folder.0.join("peer");
    let built = Command::new("cc").arg("-O1").arg("-o").arg(&program).arg(source).output();
    let built = built.map_err(|error| format!("no C compiler: {error}"))?;
    let reason = String::from_utf8_lossy(&built.stderr).into_owned();
    if built.status.success() { Ok(program) } else { Err(reason) }
}

fn start_peer(program: &Path, socket: PathBuf, what: &str) -> Child {
    let shell = "while [ ! -S \"$1\" ]; do sleep 0.01; done; exec \"$0\" \"$1\" \"$2\"";
    let mut command = Command::new("sh");
    command.args(["-c", shell]).arg(program).arg(socket).arg(what);
    command.spawn().expect("a shell")
}

/// Whether a peer ends after its partner, without being killed.
fn ends_by_itself(child: &mut Child) -> bool {
    let since = Instant::now();
    while since.elapsed() < Duration::from_secs(10) {
        if child.try_wait().expect("a child").is_some() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let _ = child.kill();
    let _ = child.wait();
    false
}

#[test]
fn a_peer_that_misbehaves_hurts_its_own_pore_only() {
    let folder = Folder::new("peers");
    let peer = match build_peer(&folder) {
        Ok(peer) => peer,
        Err(reason) => return skipped("a peer in C", &reason),
    };
    let answers = |from: u32, to| (from..=to).map(|i| format!("{i} egassem\n")).collect::<String>();
    let broken = |reason: &str| answers(1, 2) + &format!("{reason}\n").repeat(3);
    for (what, expected) in [
        ("answer", answers(1, 5)),
        ("shrink", answers(1, 5)),
        ("flood", answers(1, 5)),
        ("fill", answers(1, 5)),
        ("pass", broken("the other side has gone")),
        ("die", broken("the other side has gone")),
        ("index", broken("bad ring index: 123456789 against 32 in a ring of 4096 bytes")),
        ("length", broken("bad length of a message: 99999")),
    ] {
        let mut child = start_peer(&peer, folder.0.join(what), what);
        let since = Instant::now();
        let (out, faults) = run(&[EXCHANGE], &folder, &[what], Engine::Native);
        let has_ended = ends_by_itself(&mut child);
        assert_eq!((out.as_str(), faults.as_str()), (expected.as_str(), ""), "{what}");
        assert!(has_ended, "{what} outlives its partner");
        assert!(since.elapsed() < Duration::from_secs(30), "{what}: {:?}", since.elapsed());
    }
}

/// While one peer rings all the time, the other pores of the program make progress.
#[test]
fn a_peer_that_floods_and_one_that_dies_leave_others_alone() {
    let folder = Folder::new("flooded");
    let peer = match build_peer(&folder) {
        Ok(peer) => peer,
        Err(reason) => return skipped("a peer in C", &reason),
    };
    let parts: Vec<&str> = EXCHANGE.split("COMPONENT Main").collect();
    let main = "COMPONENT Main REQUIRES Pore;
        VARIABLE flood, die, good: Asker; text: TEXT; i: INTEGER;
        BEGIN
          NEW(flood); CONNECT(Pore(flood), Pore); NEW(die); CONNECT(Pore(die), Pore);
          NEW(good); CONNECT(Pore(good), Pore);
          flood!Open(\"memfd-listen\", \"messages 4096 flood\"); flood?Opened;
          die!Open(\"memfd-listen\", \"messages 4096 die\"); die?Opened;
          good!Open(\"memfd-listen\", \"messages 4096 answer\"); good?Opened;
          FOR i := 1 TO 200 DO
            die!Ask(\"x\"); IF die?Answer THEN die?Answer(text) ELSE die?Gone(text) END;
            good!Ask(\"abc\"); good?Answer(text)
          END;
          WRITE(text); WRITELINE;
          flood!Close; die!Close; good!Close
        END Main;";
    let names = ["flood", "die", "answer"];
    let children = names.map(|what| start_peer(&peer, folder.0.join(what), what));
    let (out, faults) = run(&[parts[0], main], &folder, &[], Engine::Native);
    let ended = children.map(|mut child| ends_by_itself(&mut child));
    assert_eq!((out.as_str(), faults.as_str(), ended), ("cba\n", "", [true; 3]));
}
