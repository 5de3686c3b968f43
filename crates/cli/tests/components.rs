//! Programs of components run to their end and print the expected output: examples, programs of one
//! language feature each, and programs that fault. `BLESS=1` rewrites the output of the latter two.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::SystemTime;

use tidemill_support::cases::{self, Unpacked};
use tidemill_support::golden::{self, blesses};

use crate::common::{Folder, root, status, stderr, stdout, tidemill};

/// The components in a folder.
fn components(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the folder");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let mut paths: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|ending| ending == "com")).collect();
    paths.sort();
    paths
}

/// Runs a program in its folder, with the options of its first line.
fn run(path: &Path, more: &[&str]) -> Output {
    let source = tidemill_support::text(path);
    let options = source.lines().next().unwrap_or_default();
    let options = options.strip_prefix("(* options: ").and_then(|it| it.strip_suffix(" *)"));
    tidemill()
        .current_dir(path.parent().expect("a folder"))
        .arg("run")
        .args(options.unwrap_or_default().split_whitespace())
        .args(more)
        .arg(path.file_name().expect("a name"))
        .stdin(Stdio::null())
        .output()
        .expect("the command starts")
}

/// Compares the output and result of the programs in a folder of cases with those recorded in it.
fn check(folder: &str, keeps_status: bool, more: &[&str]) {
    // Only output without options is recorded.
    if blesses() && !more.is_empty() {
        return;
    }
    let path = format!("tests/cl/{folder}");
    let files = cases::folder(&path, 50);
    let unpacked = Unpacked::new(folder, files.iter().flat_map(|(_, cases)| cases));
    golden::check_cases(&path, 50, |case, place, golden| {
        let output = run(&unpacked.path().join(&case.name), more);
        let status = status(&output);
        case.set_section("out", stdout(&output));
        case.set_section("err", stderr(&output));
        if keeps_status {
            case.set_section("status", format!("{status}\n"));
        } else if status != 0 {
            golden.fail(format!("{place}: status {status}"));
        }
    });
}

#[test]
fn features_keep_their_promises() {
    check("run", false, &[]);
}

#[test]
fn faults_are_reported_where_they_are() {
    check("fault", true, &[]);
}

/// The oracle of the code generator gives the same results.
#[test]
fn interpreted_programs_keep_them_too() {
    let interpreted = ["--engine", "interpret"];
    check("run", false, &interpreted);
    check("fault", true, &interpreted);
}

/// The output of a program does not depend on the order of processes. (Without checkpoints one of
/// them would not end: it tests the preemption of a process.)
#[test]
fn schedules_change_nothing() {
    for seed in ["1", "2", "77"] {
        check("run", false, &["--seed", seed]);
    }
}

#[test]
fn examples_print_their_expected_output() {
    let mut count = 0;
    for folder in fs::read_dir(root().join("examples")).expect("the folder") {
        let folder = folder.expect("an entry").path();
        let Ok(expected) = fs::read_to_string(folder.join("test.out")) else { continue };
        // Their components are apps of a graph, or need a capture: other tests run them.
        if ["sample.flow", "make.py"].iter().any(|sample| folder.join(sample).exists()) {
            continue;
        }
        for path in components(&folder) {
            let files = Folder::new();
            let at = files.path().to_str().expect("text").to_owned();
            for engine in ["compiled", "interpret"] {
                let output = run(&path, &["--root", &at, "--engine", engine]);
                assert_eq!(stdout(&output), expected, "{path:?}\n{}", stderr(&output));
                assert_eq!((stderr(&output).as_str(), status(&output)), ("", 0), "{path:?}");
            }
            count += 1;
        }
    }
    assert!(count >= 15, "{count} examples");
}

/// Options for the graph beside components take effect.
#[test]
fn a_graph_beside_components_gets_its_options() {
    let folder = Folder::new();
    let program = folder.file(
        "a.com",
        "COMPONENT Main REQUIRES Packets; VARIABLE packet: TEXT;
        BEGIN Packets!Open(\"end\"); Packets?Opened;
          Packets!Receive; Packets?Packet(packet); WRITE(packet); WRITELINE
        END Main;",
    );
    fs::create_dir(folder.path().join("parts")).expect("a folder");
    folder.file("parts/src.flow", "src :: Generator { frames: [$FRAME] }\n");
    let graph = folder.file(
        "a.flow",
        "#define FRAME \"hex 61\"\n#include \"src.flow\"\nend :: Outside\nsrc -> end.input\n",
    );
    let parts = folder.path().join("parts").display().to_string();
    for engine in ["compiled", "dispatch"] {
        let mut command = tidemill();
        command.args(["run", &program, &graph, "--stats", "--busy-wait", "--engine", engine]);
        command.args(["-I", &parts, "-D", "FRAME=\"hex 62\""]);
        let output = command.stdin(Stdio::null()).output().expect("it starts");
        let err = stderr(&output);
        assert_eq!((status(&output), stdout(&output).as_str()), (0, "b\n"), "{err}");
        assert!(err.contains("link src.output->end.input: "), "{err}");
        assert!(!err.contains("has no effect"), "{err}");
    }
}

/// Components beside a graph get the capture time of a packet, to the nanosecond.
#[test]
fn a_packet_has_its_capture_time() {
    let folder = Folder::new();
    let capture = folder.capture("in.pcap", 1_500_000_001, b"a frame of some bytes");
    let program = folder.file(
        "a.com",
        "COMPONENT Main REQUIRES Packets; VARIABLE packet: TEXT; time: INTEGER;
        BEGIN Packets!Open(\"end\"); Packets?Opened;
          Packets!GetTime; Packets?Time(time); WRITE(time); WRITE(\" \");
          Packets!Receive; Packets?Packet(packet);
          Packets!GetTime; Packets?Time(time); WRITE(time); WRITELINE
        END Main;",
    );
    let text = format!(
        "src :: PcapReader {{ file: \"{}\" }}\nend :: Outside\nsrc -> end.input\n",
        capture.display()
    );
    let graph = folder.file("a.flow", &text);
    let output = tidemill().args(["run", &program, &graph]).output().expect("it starts");
    assert_eq!(stdout(&output), "0 1500000001\n", "{}", stderr(&output));
}

/// Graphs and components are compiled by different parts of the program, and both are in the perf
/// map.
#[test]
fn the_perf_map_lists_compiled_functions() {
    let folder = Folder::new();
    let program = folder.file("a.com", "COMPONENT Main; BEGIN WRITE(1) END Main;");
    let graph = folder.file(
        "a.flow",
        "src :: Generator { frames: [\"hex 61\"], packets: 1 }\nend :: Sink\nsrc -> end\n",
    );
    for (option, modules) in
        [(None, &[][..]), (Some("--perf-map"), &["components::Main", "packets::breathe"])]
    {
        let start = SystemTime::now();
        let mut command = tidemill();
        command.args(["run", &program, &graph]).args(option).stdin(Stdio::null());
        let child = command.stdout(Stdio::piped()).spawn().expect("it starts");
        let map = format!("/tmp/perf-{}.map", child.id());
        let output = child.wait_with_output().expect("it ends");
        assert_eq!((status(&output), stdout(&output).as_str()), (0, "1"));
        if option.is_none() {
            // One that is older was left by an earlier process of the same number.
            let written = fs::metadata(&map).and_then(|map| map.modified());
            assert!(written.is_err() || written.is_ok_and(|written| written < start));
            continue;
        }
        let names = fs::read_to_string(&map).expect("the map");
        for module in modules {
            assert!(names.contains(&format!(" {module}")), "no {module} in {names}");
        }
        fs::remove_file(&map).expect("the map is ours");
    }
}

/// The failure of an app beside components is reported with its name, as in a graph alone.
#[test]
fn an_app_failure_beside_components_is_reported() {
    let folder = Folder::new();
    let program = folder.file(
        "a.com",
        "COMPONENT Main REQUIRES SystemTime;
        BEGIN SystemTime!Wait(300); SystemTime?Passed END Main;",
    );
    let script = folder.file("b.com", "COMPONENT Main; BEGIN HALT(3) END Main;");
    let graph = folder.file("a.flow", &format!("bad :: Script {{ file: \"{script}\" }}\n"));
    let mut command = tidemill();
    let output = command.args(["run", &program, &graph]).output().expect("it starts");
    let err = stderr(&output);
    assert!(err.contains("tidemill: app bad: "), "{err}");
    assert!(err.contains("fault[halt]: HALT(3)") && err.contains("bad: restarted"), "{err}");
}

/// What components write is an object a line, as are the lines of rules, and the last line need not
/// end.
#[test]
fn with_json_each_line_is_an_object() {
    let folder = Folder::new();
    let main = "COMPONENT Main REQUIRES SystemTime;
        BEGIN
          SystemTime!Wait(200); SystemTime?Passed;
          WRITE(\"a \\\"); WRITE(1); WRITELINE; WRITE(\"b\")
        END Main;";
    let com = folder.file("a.com", main);
    let rules =
        folder.file("a.olg", "t1 tick(@N, 1) :- periodic(@N, _, 0, 1). watchmod(tick, \"h\").");
    let lines = |arguments: &[&str]| {
        let output = tidemill().args(arguments).args([&com, &rules, "--json"]).output();
        let output = output.expect("it starts");
        assert_eq!(status(&output), 0, "{}", stderr(&output));
        let text = stdout(&output);
        text.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let found = lines(&["run", "--listen", "localhost:0"]);
    assert_eq!(found.len(), 3, "{found:?}");
    assert!(found[0].starts_with("{\"t\":"), "{found:?}");
    assert_eq!(found[1..], ["{\"line\":\"a \\\\1\"}", "{\"line\":\"b\"}"]);
    let alone = tidemill().args(["run", &com, "--json"]).output().expect("it starts");
    assert_eq!(stdout(&alone), "{\"line\":\"a \\\\1\"}\n{\"line\":\"b\"}\n");
    let found = lines(&["sim", "--nodes", "2"]);
    for node in ["n0:1", "n1:1"] {
        for line in ["a \\\\1", "b"] {
            let object = format!("{{\"node\":\"{node}\",\"line\":\"{line}\"}}");
            assert!(found.contains(&object), "{found:?}");
        }
    }
    assert!(found.iter().all(|line| line.starts_with('{') && line.ends_with('}')), "{found:?}");
}
