//! Every example is a test: the command in the first line of its `test.sim` runs with that script,
//! and must end with status 0.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::common::Folder;

const TIDEMILL: &str = env!("CARGO_BIN_EXE_tidemill");

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn script_of(example: &str) -> String {
    format!("examples/{example}/test.sim")
}

/// The arguments of each line `# tidemill ...` at the beginning of a script.
fn commands(script: &str) -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(root().join(script)).expect("a script");
    let lines = text.lines().map_while(|line| line.strip_prefix("# tidemill "));
    lines.map(|line| line.split_whitespace().map(str::to_owned).collect()).collect()
}

/// The arguments of the first of them.
fn arguments(script: &str) -> Vec<String> {
    commands(script).into_iter().next().expect("the command")
}

fn run(example: &str, extra: &[&str]) -> Output {
    let script = script_of(example);
    // Files that it writes are removed after the test.
    let folder = Folder::new();
    let place = |argument: String| match &*argument {
        "DIR" => folder.path().display().to_string(),
        _ => argument,
    };
    Command::new(TIDEMILL)
        .current_dir(root())
        .args(arguments(&script).into_iter().map(place))
        .args(["--script", &script])
        .args(extra)
        .output()
        .expect("the program starts")
}

/// Runs an example; its output must have a line with each of these.
fn check(example: &str, lines: &[&str]) {
    let output = run(example, &[]);
    let data = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{example}\n{errors}\n{data}");
    for line in lines {
        assert!(data.contains(line), "{example} prints no `{line}`:\n{data}");
    }
}

#[test]
fn balancer() {
    check("balancer", &[]);
}

#[test]
fn firewall() {
    check("firewall", &[]);
}

#[test]
fn router() {
    check("router", &[]);
}

#[test]
fn overlay() {
    check("overlay", &[r#"n0:1 i - alive("n0:1", b"\xc0\x00\x02\x02")"#]);
}

#[test]
fn ping() {
    check("ping", &[r#"roundTrip("n1:1", "n0:1", 0.020000000s)"#]);
}

#[test]
fn ring() {
    check("ring", &[r#"owner("n2:1", 42, "n2:1", 4)"#]);
}

#[test]
fn robust_ring() {
    check("robust-ring", &[r#"successor("n0:1", "n1:1")"#]);
}

#[test]
fn chord() {
    check("chord", &["report(\"n0:1\", "]);
}

#[test]
fn lan() {
    check("lan", &[r#"68.079913 n2:1 i - neighbour("n2:1", "10.0.0.1", "02:00:00:00:00:00")"#]);
}

#[test]
fn blocklist() {
    check("blocklist", &[r#"5.000000 n0:1 i - gate::blocked("n0:1", b"\x0a\x00\x00B")"#]);
}

#[test]
fn gossip() {
    check("gossip", &[r#", 2, "the mill turns", "#]);
}

#[test]
fn routes() {
    check("routes", &[r#"best("n0:1", "n2:1", [2, ["n0:1", "n1:1", "n2:1"]])"#]);
}

#[test]
fn path_vector() {
    check("path-vector", &[r#"route("n1:1", "n3:1", ["n1:1", "n5:1", "n4:1", "n3:1"], 11)"#]);
}

#[test]
fn link_state() {
    check("link-state", &[r#"route("n0:1", "n4:1", "n1:1")"#]);
}

#[test]
fn paxos() {
    check("paxos", &[r#"decided("n0:1", 2, "majority")"#]);
}

#[test]
fn raft() {
    check("raft", &[r#"i - leading("n2:1", 2)"#]);
}

#[test]
fn kv() {
    check("kv", &["kv history: "]);
}

#[test]
fn lock() {
    check("lock", &["dropped: lost 5, periodics_skipped"]);
}

#[test]
fn crdt() {
    check("crdt", &["row 450"]);
}

#[test]
fn chain() {
    check("chain", &["register history: "]);
}

#[test]
fn two_phase_commit() {
    check("two-phase-commit", &[r#"outcome("n3:1", "lend", "abort")"#]);
}

#[test]
fn leader() {
    check("leader", &["leader("]);
}

#[test]
fn telemetry() {
    check("telemetry", &[r#"latest("n0:1", 1, "n1:1", 21.5, "mill 1")"#]);
}

#[test]
fn journal() {
    check("journal", &["rows: heard 2"]);
}

#[test]
fn spread() {
    check("spread", &[r#"version("n11:1", "greet.olg", 2, "#]);
}

#[test]
fn narada() {
    check("narada", &["member("]);
}

#[test]
fn monitor() {
    check("monitor", &[r#"audit::count("n0:1", "snapshot", "#]);
}

/// What is counted becomes known in several turns. None of the comparisons with such a count is
/// made with a count of an earlier turn: neither in simulations, nor in any order of turns.
#[test]
fn no_quorum_is_of_an_earlier_count() {
    let scripts = [
        "paxos/together.sim",
        "paxos/explore.sim",
        "two-phase-commit/together.sim",
        "two-phase-commit/explore.sim",
        "raft/grows.sim",
    ];
    for script in scripts.map(|it| format!("examples/{it}")) {
        let commands = commands(&script);
        assert!(!commands.is_empty(), "{script}");
        for command in commands {
            assert_passes(&command, &script, &[]);
        }
    }
}

/// Checks that a command with a script ends with status 0.
fn assert_passes(command: &[String], script: &str, options: &[&str]) {
    let output = Command::new(TIDEMILL)
        .current_dir(root())
        .args(command)
        .args(["--script", script])
        .args(options)
        .output()
        .expect("the program starts");
    let data = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{command:?} with {script}:\n{data}");
}

/// Examples whose expectations hold for one network only have a script without any, for the faults
/// of tests, under which the properties of their programs hold.
#[test]
fn properties_hold_under_faults() {
    for example in ["leader", "path-vector", "ping", "routes"] {
        let script = format!("examples/{example}/faults.sim");
        assert_passes(&arguments(&script), &script, &["--seeds", "1..20"]);
    }
}

/// A failing script gives another status than a passing one.
#[test]
fn a_missed_expectation_is_a_failure() {
    let script = std::env::temp_dir().join(format!("tidemill-miss-{}.sim", std::process::id()));
    std::fs::write(&script, "at 2 expect 0 answered(NODE, NODE, 100)\nat 3 end\n")
        .expect("written");
    let output = Command::new(TIDEMILL)
        .current_dir(root())
        .args(["sim", "examples/ping/ping.olg", "--script"])
        .arg(&script)
        .output()
        .expect("the program starts");
    std::fs::remove_file(&script).expect("removed");
    assert_eq!(output.status.code(), Some(1));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("answered"), "{errors}");
}

/// The same program, options and seed give the same bytes.
#[test]
fn runs_repeat() {
    for example in ["gossip", "paxos"] {
        let (one, two) = (run(example, &["--json"]), run(example, &["--json"]));
        assert!(one.stdout == two.stdout, "{example}");
        assert!(one.stdout.len() > 100, "{example}");
    }
}

/// Every example is run here.
#[test]
fn all_examples_are_run() {
    let mut folders: Vec<String> = std::fs::read_dir(root().join("examples"))
        .expect("the folder")
        .map(|entry| entry.expect("an entry").path())
        // Examples of components have their expected output in a file of another name.
        .filter(|folder| folder.join("test.sim").exists() || !folder.join("test.out").exists())
        .filter_map(|folder| Some(folder.file_name()?.to_string_lossy().into_owned()))
        .collect();
    folders.sort();
    let tests = include_str!("examples.rs");
    for folder in folders {
        assert!(tests.contains(&format!("check(\"{folder}\"")), "{folder} is not run");
    }
}

/// Examples are in the common layout.
#[test]
fn examples_are_formatted() {
    let output = Command::new("sh")
        .current_dir(root())
        .args(["-c", &format!("{TIDEMILL} fmt --check examples/*/*.olg examples/*/*.flow")])
        .output()
        .expect("a shell");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{errors}");
}
