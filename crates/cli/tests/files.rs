//! Files that rules write, run as users run them, and read back.

use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use tidemill_support::golden;

use crate::common::{Folder, root, run, status, stderr, stdout, tidemill};

const PROGRAM: &str = "
sink(\"ticks.jsonl\", tick).
sink(\"ticks.csv\", tick).
sink(\"ticks.parquet\", tick).
sink(\"by-%M%S.jsonl\", tick).
r1 tick(@N, Number, b\"x\", [Number, \"a\"]) :- count(@N, Number), Number > 0.
materialize(count, infinity, 1, keys(1)).
count(@NODE, 0).
r2 count(@N, C + 1) :- periodic(@N, E, 0.5, 5), count(@N, C).
";

fn read(folder: &Path, name: &str) -> String {
    std::fs::read_to_string(folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let name = |entry: std::io::Result<std::fs::DirEntry>| entry.expect("it").file_name();
    let mut names: Vec<String> =
        entries.map(|entry| name(entry).to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn a_simulation_writes_below_the_root_and_repeats() {
    let folder = Folder::new();
    let program = folder.file("a.olg", PROGRAM);
    let out = folder.path().join("out");
    std::fs::create_dir(&out).expect("a folder");
    let mut before = None;
    for _ in 0..2 {
        let output = run(&format!("sim {program} --nodes 2 --root {}", out.display()));
        assert_eq!(status(&output), 0, "{}", stderr(&output));
        let expected = [
            "by-0000.jsonl",
            "by-0001.jsonl",
            "by-0002.jsonl",
            "ticks.csv",
            "ticks.jsonl",
            "ticks.parquet",
        ];
        assert_eq!(names(&out), ["0", "1"]);
        for (node, rows) in [("0", 5), ("1", 5)] {
            let own = out.join(node);
            assert_eq!(names(&own), expected);
            let lines = read(&own, "ticks.jsonl");
            let is_own = |line: &str| line.starts_with(&format!("{{\"a1\":\"n{node}:1\","));
            assert!(lines.lines().all(is_own) && lines.lines().count() == rows, "{lines}");
        }
        let out = out.join("0");
        let lines = read(&out, "ticks.jsonl");
        let first = lines.lines().next().expect("a line");
        assert_eq!(first, r#"{"a1":"n0:1","a2":1,"a3":"b\"x\"","a4":[1,"a"]}"#);
        let parts = expected.iter().filter(|name| name.starts_with("by-"));
        assert_eq!(parts.map(|name| read(&out, name)).collect::<String>(), lines);
        let table = read(&out, "ticks.csv");
        let mut rows = table.lines();
        assert_eq!(rows.next(), Some("a1,a2,a3,a4"));
        assert_eq!(rows.next(), Some(r#"n0:1,1,"b""x""","[1,""a""]""#));
        let columns = std::fs::read(out.join("ticks.parquet")).expect("a file");
        assert!(columns.starts_with(b"PAR1") && columns.ends_with(b"PAR1"));
        let is = (lines, table, columns);
        assert!(before.as_ref().is_none_or(|before| *before == is), "a simulation repeats");
        before = Some(is);
    }
}

/// A run that continues until it is stopped.
fn start(program: &str, out: &Path) -> Child {
    let mut command = tidemill();
    command.args(["run", program, "--listen", "localhost:0", "--root"]).arg(out);
    command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts")
}

#[test]
fn what_is_interrupted_is_complete_and_nothing_is_overwritten_by_the_next_run() {
    let folder = Folder::new();
    let program = "sink(\"all.csv\", tick). sink(\"x-%Y.jsonl\", tick). sink(\"t.parquet\", tick).
        r1 tick(@N, E) :- periodic(@N, E, 0.01).";
    let program = folder.file("a.olg", program);
    let out = folder.path().join("out");
    std::fs::create_dir(&out).expect("a folder");
    for signal in ["-INT", "-TERM"] {
        let child = start(&program, &out);
        let begun = || names(&out).iter().any(|name| name.ends_with("jsonl.part"));
        (0..200).take_while(|_| !begun()).for_each(|_| {
            std::thread::sleep(Duration::from_millis(20));
        });
        std::thread::sleep(Duration::from_millis(1200));
        assert!(read(&out, "all.csv").lines().count() > 1, "lines are there after a second");
        let mut kill = std::process::Command::new("kill");
        kill.args([signal, &child.id().to_string()]);
        assert!(kill.status().expect("kill").success());
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(status(&output), 0, "{}", stderr(&output));
        assert!(read(&out, "all.csv").ends_with('\n'));
        let columns = std::fs::read(out.join("t.parquet")).expect("a file");
        assert!(columns.ends_with(b"PAR1"));
    }
    let rotated = names(&out).into_iter().filter(|name| name.starts_with("x-"));
    let rotated: Vec<String> = rotated.collect();
    assert!(rotated.len() >= 2 && rotated[0].ends_with("-1.jsonl"), "{rotated:?}");
    assert!(names(&out).iter().all(|name| !name.ends_with(".part")));
}

/// A file size limit acts like a full disk.
#[test]
fn a_file_that_cannot_be_written_stops_its_sink_and_not_the_node() {
    let folder = Folder::new();
    let program = "sink(\"big.jsonl\", big). sink(\"small.jsonl\", small).
        sink(\"taken.jsonl\", small).
        r1 big(@N, E, \"0123456789012345678901234567890123456789\") :- periodic(@N, E, 0, 2000).
        r2 small(@N, E) :- periodic(@N, E, 0.2, 4).";
    let program = folder.file("a.olg", program);
    std::fs::create_dir(folder.path().join("taken.jsonl")).expect("a folder");
    let command = "trap '' XFSZ; ulimit -f 200; exec \"$0\" \"$@\"";
    let mut limited = std::process::Command::new("sh");
    limited.args(["-c", command, env!("CARGO_BIN_EXE_tidemill"), "run", &program]);
    limited.args(["--listen", "localhost:0", "--for", "1.2", "--root"]).arg(folder.path());
    let output = limited.env("XDG_RUNTIME_DIR", "/nonexistent").output().expect("it starts");
    let err = stderr(&output);
    assert_eq!(status(&output), 1, "{err}");
    assert_eq!(err.matches("fault[sink]: cannot write `big.jsonl`: ").count(), 1, "{err}");
    assert_eq!(err.matches("fault[sink]: cannot write `taken.jsonl`: ").count(), 1, "{err}");
    assert!(err.contains("taken.jsonl: 4 of 4 tuples were not written"), "{err}");
    let text = read(folder.path(), "big.jsonl");
    let kept = text.lines().count();
    assert!(kept > 0 && text.ends_with("\"}\n"), "whole records are kept");
    assert!(err.contains(&format!("big.jsonl: {} of 2000 tuples were not written", 2000 - kept)));
    assert_eq!(read(folder.path(), "small.jsonl").lines().count(), 4);
}

#[test]
fn frames_go_into_captures() {
    let folder = Folder::new();
    let rules = "sink(\"seen.pcap\", seen).
        r1 seen(@N, Time, Bytes) :- packet(@N, Port, Id, Time, Bytes, Ttl), Ttl > 1.";
    let graph = "src :: Generator { frames: [
            \"02:00:00:00:00:01 > 02:00:00:00:00:02 ip 10.0.0.1 > 10.0.0.2 udp 1 > 2 bytes 10\",
            \"02:00:00:00:00:01 > 02:00:00:00:00:02 arp who 10.0.0.2 tell 10.0.0.1\"] }
        rules :: Rules { fields: \"time, bytes, ip.ttl\" }
        src -> rules";
    let (rules, graph) = (folder.file("a.olg", rules), folder.file("a.flow", graph));
    let root = folder.path().display();
    let output = run(&format!("run {rules} {graph} --listen localhost:0 --root {root}"));
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    let file = std::fs::File::open(folder.path().join("seen.pcap")).expect("a capture");
    let mut reader = tidemill_apps::capture::CaptureReader::new(file).expect("a capture");
    let mut frame = tidemill_apps::capture::Frame::default();
    reader.next(&mut frame).expect("a frame");
    let text = tidemill_apps::frame::describe(&frame.bytes);
    assert!(text.contains("ip 10.0.0.1 > 10.0.0.2 udp 1 > 2"), "{text}");
    assert!(reader.next(&mut frame).is_err());
}

#[test]
fn a_folder_for_files_needs_files() {
    let folder = Folder::new();
    let program = folder.file("a.olg", "r1 a(@N) :- periodic(@N, E, 1, 1). watch(a).");
    for verb in ["run", "sim"] {
        let output = run(&format!("{verb} {program} --root /tmp"));
        assert_eq!((status(&output), stdout(&output)), (2, String::new()));
        assert!(stderr(&output).contains("--root has no effect here"), "{}", stderr(&output));
    }
}

#[test]
fn components_make_and_read_messages() {
    let folder = root().join("tests/cl/messages");
    let proto = root().join("examples/telemetry/telemetry.proto");
    for engine in ["compiled", "interpret"] {
        let mut command = tidemill();
        command.arg("run").arg(folder.join("messages.com")).arg(&proto).args(["--engine", engine]);
        let output = command.output().expect("it starts");
        assert_eq!(status(&output), 0, "{}", stderr(&output));
        golden::check(&folder.join("messages.out"), stdout(&output));
    }
}
